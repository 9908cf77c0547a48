"""What outlives the program: bookmarks, columns and sorting."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from metashell.tui.rows.table import RowTable
from support.pilot import Driver, drive, session_on


@pytest.mark.long
def test_outlive_the_program(tmp_path: Path) -> None:
    """What one run chose holds in the next one."""
    session = replace(session_on(), memory=tmp_path / "metashell" / "explorer.json")
    bookmarks = []

    async def first(driver: Driver) -> None:
        driver.app.go("/image/topics")
        await driver.settled()
        await driver.press("b")
        bookmarks.extend(driver.app.places.bookmarks)
        driver.one(RowTable).focus()
        await driver.press("right", "s", "c", "down", "down", "space", "enter")

    async def second(driver: Driver) -> None:
        assert bookmarks == driver.app.places.bookmarks
        driver.app.go("/image/topics")
        await driver.settled()
        table = driver.one(RowTable)
        assert ("partitions", True) == table.sorted_by
        assert table.table is not None
        assert "offline" not in table.columns_shown
        assert table.shown is not None
        counts = table.shown.column("partitions").to_pylist()
        assert counts == sorted(counts, reverse=True)

    drive(first, session)
    assert bookmarks
    drive(second, session)
