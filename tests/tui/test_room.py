"""What has the room of the screen: rows on a low one, and no more for the tree than it needs."""

from __future__ import annotations

import re

import pytest

from metashell.tui.node.pane import NodePane
from metashell.tui.records.detail import RecordPane
from metashell.tui.records.filtered import ChipBar
from metashell.tui.records.stream import RecordList
from metashell.tui.rows.table import RowTable
from metashell.tui.tree.tree import NodeTree
from support.fixtures import DEMO
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


@pytest.mark.parametrize(
    ("keys", "row"),
    [
        ("g/image/configs", r"BROKER +log.r…n.ms +604800000 "),
        ("g/image/acls", r"TOPIC:csv- +PREFIXED +WRITE +User:…ouse +ALLOW "),
        (":acls", r"TOPIC:csv- +PREFIXED +User:warehouse +[*] +WRITE +ALLOW "),
        ("g/image/topics/byName/clickstream", r" 0 +under-replicated +102 +102,103 +104,"),
        ("g/image/topics/byName/payments", r" 0 +101 +101,102,103 +101,102,103 "),
    ],
)
def test_what_decides_is_in_sight(keys: str, row: str) -> None:
    """At 80 columns a row has the cells that it is read for, and no column that is empty."""

    async def test(driver: Driver) -> None:
        await driver.type(keys)
        await driver.press("enter")
        assert re.search(row, driver.screen()), driver.screen()

    drive(test, session_on(DEMO))


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/image/acls", (
            r"PREFIXED +READ ", r"LITERAL +DESCRIBE ", "resource: CLUSTER:kafka-cluster",
            "principal: User:billing", r"ACLs 39  D Children  r  h ", r" changed 1935  directory ─",
        )),
        ("/image/topics/byName/clickstream", (r" 0 +under-replicated +102 ", r" created 208 ─")),
        ("/image/nothing-of-that-name", (r"… nothing-of-tha…  \(not there\) ─",)),
    ],
)  # fmt: skip
def test_what_decides_is_whole_on_a_narrow_screen(path: str, shown: tuple[str, ...]) -> None:
    """At 60 columns words that decide are whole; a fact or a title without room is left out."""

    async def test(driver: Driver) -> None:
        driver.app.go(path)
        await driver.settled()
        for wanted in shown:
            assert re.search(wanted, driver.screen()), (wanted, driver.screen())

    drive(test, session_on(DEMO), size=(60, 20))


@pytest.mark.parametrize("size", [(60, 20), (40, 12)])
def test_every_view_has_its_key_in_sight(size: tuple[int, int]) -> None:
    """Where not all views have room for their names, the last ones have their keys."""

    async def test(driver: Driver) -> None:
        keys = re.findall(r" (\d)(?= |$)", driver.screen().splitlines()[0])
        assert ["0", "1", "2", "3", "4", "5"] == keys

    drive(test, session_on(DEMO), size=size)


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
        await driver.press("W")

    drive(test, size=(200, 50))


def test_the_focus_is_seen() -> None:
    """The panel that has it has another border, with colours and without; nothing else has it."""

    def framed(driver: Driver) -> list[object]:
        panels = (NodeTree, NodePane)
        return [driver.one(panel).styles.border_top for panel in panels]

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics/byName")
        await driver.settled()
        table = driver.one(RowTable)
        head = table.get_component_rich_style("row-table--header")
        tree, pane = framed(driver)
        assert tree != pane
        await driver.press("tab")
        assert [pane, tree] == framed(driver)
        assert head == table.get_component_rich_style("row-table--header")

    drive(test)


def test_the_focus_is_seen_among_records() -> None:
    """The list or the details have another border, the filters a word."""

    async def test(driver: Driver) -> None:
        await driver.press("2")
        pane = driver.one(RecordPane)
        before = pane.styles.border_top
        await driver.press("tab")
        assert pane.has_focus
        assert before != pane.styles.border_top
        await driver.press("shift+tab", "shift+tab")
        chips = driver.one(ChipBar)
        assert chips.has_focus
        assert chips.render().spans[0].style == "reverse bold"

    drive(test)
