"""What a table cuts is shown below it, as far as there is room."""

from __future__ import annotations

import asyncio

from textual.app import App, ComposeResult

from metashell.tui.node.node_table import WholeText
from support.rest import resting


class _Program(App[None]):
    def compose(self) -> ComposeResult:
        """The text alone."""
        yield WholeText(2)


def test_room_is_taken_once_there_is_a_text() -> None:
    """A row with nothing cut takes no line, and leaves a row before it its lines."""

    async def run() -> None:
        async with _Program().run_test(size=(12, 12)) as pilot:
            with resting(pilot):
                whole, taken = pilot.app.query_one(WholeText), list[int]()
                for text in ("", "0123456789 abc", "", "abc", None, "", "abc"):
                    whole.show(text)
                    await pilot.pause()
                    taken.append(whole.outer_size.height if whole.display else 0)
                assert [0, 2, 2, 2, 0, 0, 1] == taken

    asyncio.run(run())
