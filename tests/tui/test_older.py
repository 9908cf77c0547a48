"""Times that older files tell: shown as far as they are known, and filled in behind the scenes."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import metashell
from metashell.sources import older
from metashell.sources.older import is_unread
from metashell.sources.source import Source
from metashell.tui.jobs import READING_OLDER
from metashell.tui.node.pane import NodePane
from metashell.tui.rows.table import RowTable
from metashell.tui.views.health import HealthView
from support.fixtures import fixture
from support.pilot import WIDE, Driver, drive, session_on
from support.waiting import LIMIT_S

TOPICS = "/image/topics/byName"
QUIET = "/local"
"""A place that tells no times."""


def opened() -> Source:
    """A directory whose newest checkpoint hides when most of it began."""
    return metashell.open(fixture("real-44-live").directory)


class Gate:
    """Holds up who reads older files, until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._open = threading.Event()
        read = older.read_older

        def read_slowly(source: Source, cancelled: Any) -> None:
            assert self._open.wait(LIMIT_S)
            read(source, cancelled)

        for module in ("metashell.tui.views.health", "metashell.tui.node.inspector"):
            monkeypatch.setattr(f"{module}.read_older", read_slowly)

    def open(self) -> None:
        """Let them read."""
        self._open.set()


def reads(driver: Driver) -> bool:
    """Whether older files are being read."""
    return any(job.title == READING_OLDER for job in driver.app.jobs.running)


def _rows(driver: Driver) -> RowTable:
    """The table that tells since when."""
    tables = driver.view.query(RowTable)
    return next(one for one in tables if "since_time" in one.columns_shown)


def since(driver: Driver) -> list[str]:
    """The cells that tell since when."""
    table = _rows(driver)
    rows, names = table._rows, table.columns_shown
    assert rows is not None
    at = names.index("since_time")
    return [rows.row(i)[at].plain for i in range(table.n_lines)]


def test_health_first_says_before_when(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are there at once; keys are answered meanwhile; then they say since when."""
    gate = Gate(monkeypatch)

    async def test(driver: Driver) -> None:
        driver.app.show_view("health")
        await driver.until(lambda: reads(driver), "older files are not read")
        await driver.until(lambda: isinstance(driver.app.view, HealthView), "no view")
        view = driver.view
        assert isinstance(view, HealthView)
        assert view.answer is not None
        assert view.answer.lacks_times
        driver.one(RowTable).go_to_line(driver.one(RowTable).n_lines)
        await driver.until(lambda: _rows(driver).n_lines > 2, "not all rows")
        table = _rows(driver)
        early = since(driver)
        assert any(text.startswith("before ") for text in early)
        await driver.pilot.press("tab", "down")
        await driver.until(lambda: table.cursor == 1, "the key was not answered")
        row = table.row
        gate.open()
        await driver.settled()
        assert not view.answer.lacks_times
        assert not any(text.startswith("before ") for text in since(driver))
        assert table.row is not None
        assert row is not None
        assert table.row["subject"] == row["subject"]

    drive(test, session_on(opened, path=QUIET), WIDE)


def test_reading_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Escape ends it; what is known stays."""
    gate = Gate(monkeypatch)

    async def test(driver: Driver) -> None:
        driver.app.show_view("health")
        await driver.until(lambda: reads(driver), "older files are not read")
        await driver.pilot.press("escape")
        await driver.until(lambda: not reads(driver), "not cancelled")
        gate.open()
        await driver.settled()
        view = driver.view
        assert isinstance(view, HealthView)
        assert view.answer is not None
        assert view.answer.lacks_times
        assert any(text.startswith("before ") for text in since(driver))

    drive(test, session_on(opened, path=QUIET), WIDE)


def test_a_topics_table_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its partitions are there at once, and since when later."""
    gate = Gate(monkeypatch)

    async def test(driver: Driver) -> None:
        topic = next(
            iter(driver.view_state.root.child("image").child("topics").child("byName").names())
        )
        driver.app.go(f"{TOPICS}/{topic}")
        await driver.until(lambda: reads(driver), "older files are not read")
        await driver.until(
            lambda: driver.one(NodePane).shown_path == f"{TOPICS}/{topic}", "another node"
        )
        assert any(text.startswith("before ") for text in since(driver))
        gate.open()
        await driver.settled()
        source = driver.view_state.source
        assert source is not None
        assert not is_unread(source)
        assert not any(text.startswith("before ") for text in since(driver))

    drive(test, session_on(opened, path=QUIET), WIDE)
