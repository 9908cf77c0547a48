"""Lines of the tree that are drawn once: the picture is that of lines drawn anew."""

from __future__ import annotations

import pytest
from textual.geometry import Region
from textual.strip import Strip

from metashell.tui.tree.drawn_lines import DrawnLines
from metashell.tui.tree.tree import NodeTree
from support.pilot import Driver, drive

LOW = (80, 14)
"""A screen that the tree does not fit into."""


def picture(tree: NodeTree) -> list[Strip]:
    """The lines that can be seen."""
    return tree.render_lines(Region(0, 0, *tree.region.size))


def test_a_line_that_moves_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the tree scrolls by a line, that line is drawn, and those that the cursor was on."""
    drawn: list[int] = []
    draw = NodeTree.render_line

    def counted(tree: NodeTree, y: int) -> Strip:
        drawn.append(y)
        return draw(tree, y)

    async def test(driver: Driver) -> None:
        tree = driver.one(NodeTree)
        await driver.press(*["down"] * tree.size.height)
        top = tree.scroll_offset.y
        assert top
        picture(tree)
        drawn.clear()
        await driver.press("down")
        picture(tree)
        assert tree.scroll_offset.y == top + 1
        assert sorted(set(drawn)) == [tree.size.height - 2, tree.size.height - 1]

    monkeypatch.setattr(NodeTree, "render_line", counted)
    drive(test, size=LOW)


def test_lines_are_drawn_anew_where_they_look_otherwise() -> None:
    """Cursor, focus, filter, width, marks and theme are seen at once."""

    async def test(driver: Driver) -> None:
        tree = driver.one(NodeTree)

        async def change_theme() -> None:
            driver.app.theme = "textual-light"

        async def mark() -> None:
            assert tree.line is not None
            tree._marks._take({tree.line.key: True})

        steps = [
            *("down", "tab", "shift+tab", "w", "end", "pageup", "left", "right"),
            *(change_theme, mark, "tab"),
        ]
        for step in steps:
            if isinstance(step, str):
                await driver.press(step)
            else:
                await step()
            await driver.settled()
            kept = picture(tree)
            tree._drawn = DrawnLines()
            tree._styles_cache.clear()
            assert kept == picture(tree), step

    drive(test, size=LOW)


def test_a_border_is_no_line_of_the_tree() -> None:
    """With the whole screen, and with a filter, each line is there once and both borders are."""

    async def test(driver: Driver) -> None:
        tree = driver.one(NodeTree)
        await driver.press("z")
        lines = [strip.text for strip in picture(tree)]
        assert "/" in lines[0]
        assert 1 == sum("quorum" in text for text in lines)
        await driver.press("z")
        tree.filter.filter_by("qu")
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
        tree._marks._take({tree.line.key: True})
        left = tree.scrollable_content_region.width
        ends = {line[left - 3 : left] for line in driver.screen().splitlines() if "│ ├" in line}
        assert len(ends) > 2
        assert {end[-1] for end in ends} == {"•", "…"}

    drive(test, size=LOW)
