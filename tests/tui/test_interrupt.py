"""^C: it copies what is selected, or stops what runs, and never quits."""

from __future__ import annotations

import threading

from textual.widgets import Input

from metashell.tui.jobs import Job
from metashell.tui.rows.table import RowTable
from support.pilot import Driver, drive


def test_never_quits() -> None:
    """Where nothing runs and nothing is selected, it says what quits."""

    async def test(driver: Driver) -> None:
        await driver.press("ctrl+c")
        assert driver.app.is_running
        assert driver.app._exit is False
        assert ["nothing runs and nothing is selected: q quits"] == driver.told

    drive(test)


def test_stops_a_job_before_it_copies() -> None:
    """In a table too: the row is copied once nothing runs."""
    go_on = threading.Event()

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics")
        await driver.settled()
        table = driver.one(RowTable)
        table.focus()
        await driver.settled()

        def work(job: Job) -> None:
            while not job.cancelled():
                go_on.wait(0.01)

        job = driver.app.jobs.start("counting", work, print, owner=driver.app)
        await driver.pilot.press("ctrl+c")
        await driver.until(job.cancelled, "stopped")
        assert "" == driver.app.clipboard
        assert "cancelled: counting" in driver.told
        await driver.press("ctrl+c")
        assert table.row_text == driver.app.clipboard

    drive(test)


def test_copies_selected_text_of_a_line() -> None:
    """A typed line's selection is copied, and the line stays."""

    async def test(driver: Driver) -> None:
        await driver.press("colon")
        await driver.type("topics")
        line = driver.app.focused
        assert isinstance(line, Input)
        line.select_all()
        await driver.press("ctrl+c")
        assert "topics" == driver.app.clipboard
        assert "topics" == line.value
        line.cursor_position = 0
        await driver.press("ctrl+c")
        assert "nothing runs and nothing is selected: escape closes this" in driver.told
        assert driver.app.screen.is_modal

    drive(test)
