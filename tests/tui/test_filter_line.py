"""The line that names a filter, beside what it leaves."""

from __future__ import annotations

import pytest

from metashell.tui.node.pane import NodePane
from metashell.tui.tree.tree import NodeTree
from support.pilot import Driver, drive


@pytest.mark.cases(2)
@pytest.mark.parametrize("view", ["health", "brokers", "quorum"])
def test_a_kept_filter_is_named_beside_the_count(view: str) -> None:
    """The text stays on the screen with how many rows are left, until the filter goes."""

    async def test(driver: Driver) -> None:
        await driver.look(view)
        driver.view.filter_by("no such thing")
        await driver.settled()
        assert "filter no such thing: 0 of " in driver.screen()
        assert "no row contains 'no such thing': escape drops the filter" in driver.screen()
        await driver.press("escape")
        assert "filter no such thing" not in driver.screen().replace("filter dropped", "")

    drive(test)


def test_the_explorer_names_the_filter_of_each_side() -> None:
    """Also where the directory of the tree is out of sight; it goes with the filter."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics")
        await driver.settled()
        driver.one(NodeTree).focus()
        await driver.press("right", "slash")
        await driver.type("byna")
        await driver.press("enter", "right")
        assert "filter byna: 1 of 2" in driver.screen()
        driver.one(NodePane).filter_by("topic-001")
        await driver.settled()
        assert "filter topic-001: 1 of 59" in driver.screen()
        await driver.press("up", "up", "up")
        assert "filter byna" not in driver.screen()

    drive(test)


def test_the_count_gives_way_to_the_text() -> None:
    """A long text is cut at its end, and nothing of it is markup."""

    async def test(driver: Driver) -> None:
        await driver.look("brokers")
        driver.view.filter_by("[bold]" + 80 * "x")
        await driver.settled()
        assert "filter [bold]xxxxx" in driver.screen()

    drive(test)


def test_the_rows_of_a_command_name_their_filter() -> None:
    """Those below the line do as those of a view."""

    async def test(driver: Driver) -> None:
        await driver.press("colon")
        await driver.type("brokers")
        await driver.press("enter", "slash")
        await driver.type("fenced")
        await driver.press("enter")
        assert "filter fenced: " in driver.screen()

    drive(test)


@pytest.mark.cases(2)
@pytest.mark.parametrize("view", ["health", "quorum", "brokers"])
@pytest.mark.parametrize("end", ["enter", "down", "escape"])
def test_the_focus_goes_back(view: str, end: str) -> None:
    """Whatever ends the line, the part that had the focus before has it again."""

    async def test(driver: Driver) -> None:
        await driver.look(view)
        for part in driver.view.query("*"):
            if not part.focusable:
                continue
            part.focus()
            await driver.press("slash")
            await driver.type("1")
            await driver.press(end)
            assert part.has_focus
            driver.view.drop_filter()

    drive(test)
