"""The view of a fleet: rows as they are read, what differs, and whether copies agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.sources.opening import open_fleet
from metashell.tui.session import ExplorerSession
from metashell.tui.views.fleet import FleetView, copies_words
from support.fleets import backups
from support.pilot import Driver, drive, session_on

BROKEN = "_b_broken"
"""What a directory of the name `[b]broken` is called."""


def view_of(driver: Driver) -> FleetView:
    """The view, which is seen."""
    view = driver.view
    assert isinstance(view, FleetView)
    return view


def column(driver: Driver, name: str) -> list[object]:
    """A column as it is shown."""
    ((_, shown), *_) = view_of(driver).tables()
    found: list[object] = shown[name].to_pylist()
    return found


@pytest.fixture
def session(tmp_path: Path) -> ExplorerSession:
    """Two copies of one cluster, another cluster, and a directory that can't be read."""
    parent = backups(tmp_path / "fleet")
    (parent / "[b]broken").mkdir()
    paths = [str(path) for path in sorted(parent.iterdir())]
    return session_on(lambda: open_fleet(paths))  # type: ignore[arg-type,return-value]


def test_looking_into_a_cluster_reads_nothing_again(
    session: ExplorerSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are those of the fleet, whichever cluster is at hand, and in whichever state."""
    read = []

    def note(view: FleetView, **_: bool) -> None:
        read.append(view)

    monkeypatch.setattr(FleetView, "begin", note)

    async def test(driver: Driver) -> None:
        await driver.look("fleet")
        driver.app.moved_to("/clusters/controller-2")
        await driver.settled()
        assert driver.view_state.cluster is not None
        assert len(read) == 1
        driver.app.travel(4000)
        await driver.settled()
        assert not driver.view_state.is_newest
        assert len(read) == 1

    drive(test, session)


def test_rows_are_of_one_time(session: ExplorerSession) -> None:
    """A cluster that is shown at an offset has the row of its log's end, as the others have."""

    async def test(driver: Driver) -> None:
        await driver.look("fleet")
        driver.app.moved_to("/clusters/controller-2")
        await driver.settled()
        driver.app.travel(4000)
        await driver.settled()
        assert not driver.view_state.is_newest
        await driver.press("u")
        offsets = dict(zip(column(driver, "cluster"), column(driver, "offset"), strict=True))
        assert offsets["controller-2"] == 4111
        await driver.press("v")
        assert column(driver, "verdict") == ["unknown", "equal", "equal", "alone"]

    drive(test, session)


def test_cursor_waits_on_the_worst(session: ExplorerSession) -> None:
    """Rows that come put the cursor on the first one, until the user has moved it."""

    async def test(driver: Driver) -> None:
        view = view_of(driver)
        assert view.rows is not None
        rows, _ = view.rows
        names = set(rows["cluster"].to_pylist())
        assert "│ directory " in driver.screen()  # several can be of one cluster
        table = view.table
        view.take(rows, names)  # as at the start: nothing is read, by name
        view.take(rows, names - {"controller-2"})
        assert column(driver, "cluster")[0] == "controller-2"
        assert table.row is not None
        assert table.row["cluster"] == "controller-2"
        view.take(rows, set())
        assert (table.row["cluster"], table.cursor) == (BROKEN, 0)
        await driver.press("down")
        assert table.row["cluster"] == "controller-2"
        view.take(rows, {BROKEN})
        assert (table.row["cluster"], table.cursor) == ("controller-2", 0)
        view.take(rows, set())
        assert (table.row["cluster"], table.cursor) == ("controller-2", 1)

    drive(test, session)


def test_copies_are_compared_in_words(session: ExplorerSession) -> None:
    """Below a copy stands who would win a vote, and how far the other one is behind."""

    async def test(driver: Driver) -> None:
        await driver.until(lambda: "offline" in driver.screen(), "rows")
        view_of(driver).table.go_to_line(column(driver, "cluster").index("controller-1"))
        told = "2 copies of this cluster: controller-2 would win a vote; controller-1 is 426"
        await driver.until(lambda: told in driver.screen(), "a comparison")
        other = next(name for name in column(driver, "cluster") if "controller" not in str(name))
        view_of(driver).table.go_to_line(column(driver, "cluster").index(other))
        await driver.settled()
        assert "copies of this cluster" not in driver.screen()

    drive(test, session)


@pytest.mark.parametrize(
    ("ends", "departs", "can_win", "told"),
    [
        ((7, 7), None, (True, True), "a or b would win a vote; all end at the same record"),
        ((7, 6), None, (True, False), "a would win a vote; b is 1 record behind a"),
        ((7, None), None, (False, False), "none would win a vote; b has no log"),
        ((7, 9), 5, (False, True), "b would win a vote; a is 2 records behind b; b has other "
         "records from offset 5 on"),
    ],
)  # fmt: skip
def test_words_for_copies(
    ends: tuple[int, int | None], departs: int | None, can_win: tuple[bool, bool], told: str
) -> None:
    """Who wins, who is behind by how much, and where a copy has other records."""
    rows = [
        {"copy": name, "can_win": wins, "log_epoch": 1, "log_end_offset": end, "departs_at": at}
        for name, wins, end, at in zip("ab", can_win, ends, (None, departs), strict=True)
    ]
    if departs is not None:
        rows[1]["departs_at"] = departs
    assert f"2 copies of this cluster: {told}" == copies_words(rows)
