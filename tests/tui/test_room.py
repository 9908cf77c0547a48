"""What has the room of the screen: rows on a low one, and no more for the tree than it needs."""

from __future__ import annotations

import pytest

from metashell.tui.node.pane import NodePane
from metashell.tui.records.chips import ChipBar
from metashell.tui.records.pane import RecordPane
from metashell.tui.records.stream import RecordList
from metashell.tui.rows.table import RowTable
from metashell.tui.tree.tree import NodeTree
from metashell.tui.views.health_lists import KindList
from support.fixtures import fixture
from support.pilot import Driver, drive, session_on


@pytest.mark.parametrize(
    ("view", "part"),
    [("records", RecordList), ("brokers", RowTable), ("health", RowTable), ("quorum", RowTable)],
)
def test_low_screens_show_rows(view: str, part: type[RecordList | RowTable]) -> None:
    """At 40 columns by 12 rows there are at least three rows."""

    async def test(driver: Driver) -> None:
        await driver.look(view)
        shown = [table for table in driver.app.screen.query(part) if table.display]
        n_heads = 1 if part is RowTable else 0
        assert 3 <= max(table.size.height for table in shown) - n_heads

    drive(test, size=(40, 12))


def test_the_tree_is_as_wide_as_its_names() -> None:
    """On a wide screen it has what its longest name needs, and more when it meets a longer one."""

    async def test(driver: Driver) -> None:
        tree = driver.one(NodeTree)
        before = tree.outer_size.width
        assert before < 30
        driver.app.go("/image/topics/byName/topic-000/0")
        await driver.settled()
        assert before <= tree.outer_size.width < 50
        assert "delegationToken/" in driver.screen()
        await driver.press("w")

    drive(test, size=(200, 50))


def test_the_focus_is_seen_without_colours() -> None:
    """The tree has a thick border, and a table a header of its own, where the keys go to them."""

    async def test(driver: Driver) -> None:
        tree, pane = driver.one(NodeTree), driver.one(NodePane)
        driver.app.go("/image/topics")
        await driver.settled()
        assert "thick" == tree.styles.border_right[0]
        table = driver.one(RowTable)
        head = table.get_component_rich_style("row-table--header")
        title = pane.query_one("#node-head")
        before = title.styles.background
        table.focus()
        await driver.settled()
        assert before != title.styles.background
        assert "vkey" == tree.styles.border_right[0]
        assert head != table.get_component_rich_style("row-table--header")
        assert pane.has_focus_within
        tree.focus()
        await driver.settled()
        assert before == title.styles.background

    drive(test)


def test_the_focus_is_seen_among_records() -> None:
    """The list has a header of its own, the filters a word, and the details a thick border."""

    async def test(driver: Driver) -> None:
        await driver.press("2")
        view = driver.view
        head, pane = view.query_one("#records-head"), driver.one(RecordPane)
        focused = head.styles.background
        assert "solid" == pane.styles.border_top[0]
        await driver.press("tab")
        assert pane.has_focus
        assert "heavy" == pane.styles.border_top[0]
        assert focused != head.styles.background
        await driver.press("shift+tab", "shift+tab")
        chips = driver.one(ChipBar)
        assert chips.has_focus
        assert chips.render().spans[0].style == "reverse bold"

    drive(test)


def test_the_kinds_of_problems_have_the_lines_that_rows_leave() -> None:
    """Few rows leave lines to the kinds, three rows always have room, and the choice is seen."""

    async def test(driver: Driver) -> None:
        await driver.look("health")
        kinds, table = driver.one(KindList), driver.one(RowTable)
        body = driver.app.query_one("#health-body")
        before = kinds.size.height
        kinds.focus()
        for code in kinds.codes[1:]:
            await driver.press("down")
            assert code == kinds.code
            assert 3 <= table.size.height - table.header_height
            assert kinds.highlighted is not None
            top = kinds.scroll_offset.y
            assert top <= kinds.highlighted < top + kinds.size.height
            if table.n_lines <= 3:
                assert kinds.size.height >= before
                assert body.size.height == kinds.size.height + table.outer_size.height
        shared = kinds.size
        await driver.press("z")
        assert (80, 22) == body.outer_size
        assert 21 == kinds.outer_size.height + table.outer_size.height  # below the name
        await driver.press("z")
        assert shared == kinds.size

    drive(test, session_on(fixture("real-44-broker-down").input))
