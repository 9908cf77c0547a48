"""The footer: which keys it has room for, and what the mouse does with them."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest
from textual.app import App, ComposeResult
from textual.binding import Binding

from metashell.tui.frame.key_bar import KeyBar, Shown, chosen
from support.rest import resting


def key(name: str, description: str, key_id: str) -> Shown:
    """A key that may be shown."""
    return Shown(Binding(name, "do", description, id=key_id), name, True, "")


OF_ALL = [
    key("?", "Help", "help"),
    key(":", "Command", "command"),
    key("/", "Filter", "filter"),
    key("f", "Find", "find"),
    key("q", "Quit", "quit"),
]
OWN = [key("m", "Its beginning", "health.moment"), key("d", "Deep check", "health.deep")]


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (200, "m d : / f q ?"),
        (69, "m d : / f q ?"),
        (68, "m d : / f ?"),
        (55, "m d : / ?"),
        (50, "m : / f ?"),
        (48, "m : / ?"),
        (27, ": / ?"),
        (8, "?"),
        (2, ""),
    ],
)
def test_chosen(width: int, expected: str) -> None:
    """Help is last and always there; a part's own keys stand before those of everything."""
    keys = chosen([*OWN, *OF_ALL], width)
    assert expected.split() == [shown.key for shown in keys]
    assert sum(shown.width for shown in keys) <= width


class _Program(App[None]):
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = [
        Binding("a", "note('a')", "First", tooltip="the first one"),
        Binding("b", "note('b')", "Second"),
        Binding("c", "never", "Third"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []

    def compose(self) -> ComposeResult:
        """The bar alone."""
        yield KeyBar()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """One of them can't be done now."""
        return None if action == "never" else True

    def action_note(self, key: str) -> None:
        """Note what was pressed."""
        self.done.append(key)

    def action_never(self) -> None:
        """Note that it was done all the same."""
        self.done.append("never")

    def bell(self) -> None:
        """Note it."""
        self.done.append("bell")


def test_the_mouse() -> None:
    """A click presses the key that is drawn there, and the key below the mouse is marked."""

    async def run() -> None:
        app = _Program()
        async with app.run_test(size=(40, 4)) as pilot:
            with resting(pilot):
                bar = app.query_one(KeyBar)
                await pilot.pause()
                assert "a First b Second c Third " == bar.render().plain
                for x in (0, 6, 7, 8, 15, 16, 23, 24, 39):
                    await pilot.click(KeyBar, offset=(x, 0))
                    app.done.append("|")
                assert "a|a||b|b||bell|||" == "".join(app.done)
                hovered = bar.get_component_rich_style("key-bar--hover")
                for x, expected in ((3, ["a First"]), (7, []), (9, ["b Second"]), (39, [])):
                    await pilot.hover(KeyBar, offset=(x, 0))
                    text = bar.render()
                    marks = [text.plain[m.start : m.end] for m in text.spans if m.style == hovered]
                    assert expected == marks
                    assert ("the first one" if x == 3 else None) == bar.tooltip

    asyncio.run(run())
