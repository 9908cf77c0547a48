"""What can be read: contrast, the keys at the bottom, the first screen."""

from __future__ import annotations

import pytest
from textual.color import Color

from metashell.tui.node.node_detail import DetailMode
from metashell.tui.node.node_lines import LineView
from metashell.tui.node.pane import NodePane
from metashell.tui.records.stream import RecordList
from metashell.tui.rows.table import RowTable
from metashell.tui.tree.tree import NodeTree
from metashell.tui.view import VIEWS
from support.pilot import SMALL, WIDE, Driver, drive, session_on

TOPICS = "/image/topics/byName"
Drawn = NodeTree | RecordList | RowTable


def luminance(color: Color) -> float:
    """As WCAG defines it."""
    parts = [part / 255 for part in color.rgb]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color, other: Color) -> float:
    """From 1, none, to 21, black on white."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def faint(widget: Drawn, least: float) -> list[tuple[str, float]]:
    """The texts that a widget draws with less contrast than that."""
    found = []
    for y in range(widget.size.height):
        for segment in widget.render_line(y):
            style = segment.style
            if not segment.text.strip() or style is None or style.color is None:
                continue
            assert style.bgcolor is not None, segment
            behind = Color.from_rich_color(style.bgcolor)
            ratio = contrast(Color.from_rich_color(style.color), behind)
            if ratio < least:
                found.append((segment.text, round(ratio, 1)))
    return found


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("theme", "least"), [("textual-dark", 3.5), ("textual-light", 4.0), ("high-contrast", 7.0)]
)
def test_contrast(theme: str, least: float) -> None:
    """What is drawn by hand can be read, with the cursor, and where the focus is elsewhere."""

    async def test(driver: Driver) -> None:
        driver.app.go(TOPICS)
        await driver.settled()
        for _ in range(2):
            for kind in (NodeTree, RowTable):
                assert [] == faint(driver.one(kind), least)
            await driver.press("tab")
        await driver.look("records")
        for _ in range(2):
            assert [] == faint(driver.one(RecordList), least)
            await driver.press("tab")

    drive(test, session_on(theme=theme))


@pytest.mark.cases(1)
@pytest.mark.parametrize("size", [(60, 20), SMALL, WIDE])
def test_keys_at_the_bottom(size: tuple[int, int]) -> None:
    """They fit in every view, in one order, and help is always there."""

    async def test(driver: Driver) -> None:
        for spec in VIEWS:
            if not spec.is_offered:
                continue
            await driver.look(spec.id)
            await driver.until(
                lambda: driver.screen().splitlines()[-1].endswith("? Help"), "help is not shown"
            )
            shown = driver.screen().splitlines()[-1]
            assert shown.index(": Command") < shown.index("/ Filter") < shown.index("? Help")

    drive(test, size=size)


def test_keys_of_what_is_closed() -> None:
    """A bar that goes while it is to show other keys does so in silence."""

    async def test(driver: Driver) -> None:
        for key in ("f", "colon", "x"):
            await driver.pilot.press(key, "tab", "escape", "escape")
        await driver.settled()
        assert len(driver.app.screen_stack) == 1

    drive(test)


def test_overview() -> None:
    """The root says how the cluster is; `d` shows its children, and back."""

    async def test(driver: Driver) -> None:
        pane, view = driver.one(NodePane), driver.view
        assert pane.mode is DetailMode.OVERVIEW
        said = [line.text for line in view.query_one(LineView).lines]
        assert "cluster     FOEwebgxRXOFbKdSIiDwwg" in said
        assert "metadata    4.4-IV2, offset 4111, epoch 1" in said
        assert "quorum      3 voters, leader 1" in said
        assert "brokers     2, 2 fenced" in said
        assert "topics      59" in said
        assert "partitions  234, 234 offline, 234 under-replicated" in said
        assert "health      critical: press 3 to see what to do" in said
        assert "  ● offline-partitions 234, under-min-isr 234" in said
        assert " ".join(said[-1].split()) == "? help; ctrl+p finds every action"
        assert said[-1][12:] in driver.screen()
        await driver.press("d")
        assert pane.mode is DetailMode.CHILDREN
        await driver.press("d")
        assert pane.mode is DetailMode.OVERVIEW
        assert driver.view.copyable() == ("overview", "\n".join(said))

    drive(test, size=(80, 26))
