"""Keys that do nothing where they are pressed say so."""

from __future__ import annotations

import pytest
from textual.widgets._toast import ToastRack

from metashell.tui.frame.filter_bar import FilterBar
from support.pilot import Driver, drive


@pytest.mark.cases(2)
@pytest.mark.parametrize("view", ["explorer", "records", "health", "quorum", "brokers"])
def test_escape_drops_the_filter(view: str) -> None:
    """A filter that was kept goes with escape, in every view; without one escape says so."""

    async def test(driver: Driver) -> None:
        await driver.look(view)
        await driver.press("escape")
        assert ["no further place"] == driver.told
        driver.app.clear_notifications()
        await driver.press("slash")
        await driver.type("no such thing")
        await driver.press("enter")
        assert driver.view.filter_text == "no such thing"
        await driver.press("escape")
        assert not driver.view.filter_text
        assert driver.told[-1].startswith("filter dropped: ")
        assert driver.told[-1].endswith("no such thing")

    drive(test)


def test_toasts_leave_the_headers_and_the_status_alone() -> None:
    """However many there are, the first lines and the last two are seen."""

    async def test(driver: Driver) -> None:
        before = driver.screen().split("\n")[:4]
        await driver.press("slash")
        driver.app.tell("a message")
        await driver.settled()
        rack = driver.app.screen.query_one(ToastRack)
        assert rack.region.bottom <= driver.one(FilterBar).region.y
        await driver.press("escape")
        below = driver.screen().split("\n")[-2:]
        for i in range(20):
            driver.app.tell(f"message {i}\nof two lines")
        await driver.settled()
        lines = driver.screen().split("\n")
        assert "message" in "\n".join(lines[4:])
        assert before == lines[:4]
        assert below == lines[-2:]
        assert "offset" in lines[-2]

    drive(test)
    drive(test, size=(40, 12))
