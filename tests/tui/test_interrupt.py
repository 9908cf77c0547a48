"""^C: it copies what is selected, or stops what runs, and never quits."""

from __future__ import annotations

import json
import threading

from textual.widgets import Input

from metashell.tui.jobs import Job
from metashell.tui.records.filters import Chip
from metashell.tui.rows.table import RowTable
from metashell.tui.views.records import RecordsView
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


def test_copies_the_record_under_the_cursor() -> None:
    """In Records it copies what `Y` does, and says where there is no record."""

    async def test(driver: Driver) -> None:
        await driver.look("records")
        await driver.press("up")
        await driver.press("ctrl+c")
        copied = driver.app.clipboard
        assert "offset" in json.loads(copied)
        assert f"record {json.loads(copied)['offset']} copied" in driver.told
        await driver.press("Y")
        assert copied == driver.app.clipboard
        view = driver.app.query_one(RecordsView)
        view.show_only(Chip("--topic", "no-such-topic"))
        await driver.settled()
        await driver.press("ctrl+c")
        assert driver.told[-1] == "no record is under the cursor"

    drive(test)


def test_says_that_a_table_has_no_row() -> None:
    """Where a filter leaves nothing there is nothing to copy."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics")
        await driver.settled()
        table = driver.one(RowTable)
        table.focus()
        table.filter_by("no such topic")
        await driver.settled()
        await driver.press("ctrl+c")
        assert "no row is under the cursor" in driver.told

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
