"""The keys of a list of paths."""

from __future__ import annotations

import asyncio

import pytest
from textual.app import App, ComposeResult

from metashell.tui.screens.output_lines import PathList
from support.rest import resting


class _Program(App[None]):
    def compose(self) -> ComposeResult:
        """The list alone."""
        yield PathList(lambda: False)


@pytest.mark.parametrize(
    ("height", "expected"), [(4, [3, 6, 9, 9, 6, 3, 0, 0]), (1, [1, 2, 3, 4, 3, 2, 1, 0])]
)
def test_a_page_is_a_screen_but_one_line(height: int, expected: list[int]) -> None:
    """So one line is seen before and after; where there is one line, the page is that."""

    async def run() -> None:
        async with _Program().run_test(size=(20, height)) as pilot:
            with resting(pilot):
                paths, seen = pilot.app.query_one(PathList), list[int]()
                paths.add([f"/{i}" for i in range(10)])
                paths.focus()
                await pilot.pause()
                for key in ["pagedown"] * 4 + ["pageup"] * 4:
                    await pilot.press(key)
                    assert 0 <= paths.cursor - paths.scroll_offset.y < height
                    seen.append(paths.cursor)
                assert expected == seen

    asyncio.run(run())
