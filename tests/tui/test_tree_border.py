"""What the tree draws beside its border and its scroll bar."""

from __future__ import annotations

from textual.geometry import Region
from textual.strip import Strip

from metashell.tui.tree.tree import NodeTree
from support.pilot import Driver, drive

LOW = (80, 14)
"""A screen that the tree does not fit into."""


def picture(tree: NodeTree) -> list[Strip]:
    """The lines that can be seen."""
    return tree.render_lines(Region(0, 0, *tree.region.size))


def test_a_border_is_no_line_of_the_tree() -> None:
    """With the whole screen, and with a filter, each line is there once and both borders are."""

    async def test(driver: Driver) -> None:
        tree = driver.one(NodeTree)
        await driver.press("z")
        lines = [strip.text for strip in picture(tree)]
        assert lines[0].startswith("╭─")
        assert 1 == sum("quorum" in text for text in lines)
        await driver.press("z")
        tree.filter_by("qu")
        await driver.settled()
        assert "filter qu: 1 of " in picture(tree)[-1].text

    drive(test, size=(80, 40))


def test_what_is_cut_and_marked_is_seen_beside_the_scroll_bar() -> None:
    """The bar is drawn over the widget: a line ends before it."""

    async def test(driver: Driver) -> None:
        tree = driver.one(NodeTree)
        driver.app.go("/image/topics/byId")
        await driver.settled()
        await driver.press("right", "down")
        assert tree.show_vertical_scrollbar
        assert tree.line is not None
        tree._marks.take({tree.line.key: True})
        left = tree.scrollable_content_region.width
        left += tree.gutter.left
        ends = {line[left - 3 : left] for line in driver.screen().splitlines() if "│ ├" in line}
        assert len(ends) > 2
        assert {end[-1] for end in ends} == {"•", "…"}

    drive(test, size=LOW)
