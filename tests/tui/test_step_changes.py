"""`=`: what changed since the previous stop in time, as rows to walk through."""

from __future__ import annotations

import pyarrow as pa
import pytest

from metashell.tui.screens.command import CommandScreen
from support.fixtures import DEMO
from support.pilot import Driver, drive, session_on

_FENCED = ("/image/cluster/brokers/104", "fenced false → true")


async def travel(driver: Driver, offset: int) -> None:
    """Go to an offset."""
    driver.app.travel(offset)
    await driver.settled()


async def rows_of(driver: Driver) -> pa.Table:
    """Press the key, and wait for the rows."""
    await driver.press("equals_sign")
    await driver.settled()
    screen = driver.app.screen
    assert isinstance(screen, CommandScreen)
    (table,) = screen.pane.row_tables
    assert table.has_focus
    assert table.table is not None
    return table.table


def told(rows: pa.Table) -> list[tuple[str, str]]:
    """Each path with what happened to it."""
    return list(zip(rows["path"].to_pylist(), rows["what"].to_pylist(), strict=True))


def test_what_happened_at_a_stop_and_until_the_one_before() -> None:
    """After a move back: the batch that ends there, then what is later."""

    async def test(driver: Driver) -> None:
        await travel(driver, 1891)
        rows = await rows_of(driver)
        assert driver.screen().startswith(" changes --since 1878 --until 2049 /image  17 rows")
        assert rows["offset"].to_pylist() == [*range(1878, 1892), 1916, 1917, 1935]
        assert told(rows)[13] == _FENCED
        assert [what.startswith("later: ") for _, what in told(rows)] == [False] * 14 + [True] * 3

    drive(test, session_on(DEMO))


def test_what_a_move_forward_brought() -> None:
    """All behind the stop before, which had its own batch already."""

    async def test(driver: Driver) -> None:
        await travel(driver, 1851)
        await travel(driver, 1891)
        rows = await rows_of(driver)
        assert rows["offset"].to_pylist() == [*range(1878, 1892)]
        assert told(rows)[5] == (
            "/image/topics/byName/csv-imports/1",
            "leader 104 → -1, isr [104] → [], elr [] → [104], lastKnownElr [] → [104]",
        )
        await driver.press("end", "enter")
        assert driver.app.path == _FENCED[0]
        await driver.press("alt+left")
        assert isinstance(driver.app.screen, CommandScreen)

    drive(test, session_on(DEMO))


@pytest.mark.parametrize("stops", [(), (1891, 1891)])
def test_it_takes_two_stops(stops: tuple[int, ...]) -> None:
    """Before any move, and where one did not move, it says so; the key bar offers it behind one."""

    async def test(driver: Driver) -> None:
        assert "= What changed" not in driver.screen()
        for stop in stops:
            await travel(driver, stop)
        assert ("= What changed" in driver.screen()) is bool(stops)
        await driver.press("equals_sign")
        said = "nothing changed since the previous stop" if stops else "not available here"
        assert said in driver.screen()

    drive(test, session_on(DEMO))
