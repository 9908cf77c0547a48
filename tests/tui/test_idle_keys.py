"""Keys that do nothing where they are pressed say so."""

from __future__ import annotations

import pytest
from textual.widgets._toast import ToastRack

from metashell.tui.rows.table import RowTable
from metashell.tui.tree.tree import NodeTree
from support.pilot import Driver, drive


def test_says_so() -> None:
    """A key without a use here, and one whose use the node does not have; each once."""

    async def test(driver: Driver) -> None:
        await driver.press("k", "u", "u")
        assert ["u does nothing here: ? lists the keys"] == driver.told
        driver.app.clear_notifications()
        driver.app.go("/image/topics")
        await driver.settled()
        await driver.press("v")
        assert ["v (Value) is not available here: ? lists the keys"] == driver.told

    drive(test)


@pytest.mark.cases(2)
@pytest.mark.parametrize("view", ["explorer", "records", "health", "quorum", "brokers"])
def test_escape_drops_the_filter(view: str) -> None:
    """A filter that was kept goes with escape, in every view; without one escape says so."""

    async def test(driver: Driver) -> None:
        await driver.look(view)
        await driver.press("escape")
        assert ["no job runs and no filter holds"] == driver.told
        driver.app.clear_notifications()
        await driver.press("slash")
        await driver.type("no such thing")
        await driver.press("enter")
        assert driver.view.filter_text == "no such thing"
        await driver.press("escape")
        assert not driver.view.filter_text
        assert ["filter dropped: no such thing"] == driver.told

    drive(test)


def test_escape_drops_the_filter_of_a_directory_above() -> None:
    """Also from a directory in the one that is filtered, and from the right side."""

    async def test(driver: Driver) -> None:
        for keys in ((), ("tab",)):
            driver.app.go("/image/topics")
            await driver.settled()
            driver.one(NodeTree).focus()
            await driver.press("right", "slash")
            await driver.type("byna")
            await driver.press("enter", "right", *keys)
            before = driver.one(NodeTree).outline.n_lines
            await driver.press("escape")
            assert driver.one(NodeTree).outline.n_lines == before + 1
            await driver.press("escape")
            assert "no job runs and no filter holds" in driver.told
            driver.app.clear_notifications()

    drive(test)


def test_is_silent_where_a_key_works_or_is_text() -> None:
    """A typed line, moves at an end, and keys that do something say nothing."""

    async def test(driver: Driver) -> None:
        await driver.press("up", "left", "f", "u", "u", "escape", "escape")
        driver.app.go("/image/topics")
        await driver.settled()
        driver.one(RowTable).focus()
        await driver.press("up", "left", "s", "home")
        assert not [told for told in driver.told if "here" in told]

    drive(test)


def test_toasts_leave_the_headers_and_the_timeline_alone() -> None:
    """However many there are, the first lines are seen, and the last ones from the timeline on."""

    async def test(driver: Driver) -> None:
        before = driver.screen().split("\n")[:4]
        await driver.press("slash")
        driver.app.tell("a message")
        await driver.settled()
        rack = driver.app.screen.query_one(ToastRack)
        assert rack.region.bottom <= driver.app.timeline.region.y
        await driver.press("escape")
        below = driver.screen().split("\n")[driver.app.timeline.region.y :]
        for i in range(20):
            driver.app.tell(f"message {i}\nof two lines")
        await driver.settled()
        lines = driver.screen().split("\n")
        assert "message" in "\n".join(lines[4:])
        assert before == lines[:4]
        assert below == lines[driver.app.timeline.region.y :]
        assert "offset" in lines[-2]

    drive(test)
    drive(test, size=(40, 12))
