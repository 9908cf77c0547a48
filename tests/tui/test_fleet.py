"""The view of a fleet: rows as they are read, what differs, and whether copies agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.sources.opening import open_fleet
from metashell.tui.screens.find import FindScreen
from metashell.tui.session import ExplorerSession
from metashell.tui.views.fleet import FleetTable, FleetView
from support.fleets import OTHER_ID, SAMPLE_ID, backups
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


def test_rows(session: ExplorerSession) -> None:
    """Each directory has its row; what can't be read and what differs is marked with words."""

    async def test(driver: Driver) -> None:
        assert driver.view.id == "fleet"
        assert column(driver, "cluster") == [BROKEN, "controller-2", "controller-1", OTHER_ID]
        assert column(driver, "state") == [
            "unreadable",
            "offline-partitions",
            "offline-partitions",
            "ok",
        ]
        assert column(driver, "cluster_id") == [None, SAMPLE_ID, SAMPLE_ID, OTHER_ID]
        assert column(driver, "differs_in") == ["", "", "", "cluster_id,metadata_version"]
        assert (
            "4 directories · 1 unreadable · 2 offline-partitions · 1 ok · 2 clusters"
            in driver.screen()
        )
        assert "can't be read:" in driver.screen()
        assert view_of(driver).unread == set()
        assert driver.app.focused is not None

    drive(test, session)


def test_enter_goes_into_the_cluster(session: ExplorerSession) -> None:
    """One that can't be read says why instead."""

    async def test(driver: Driver) -> None:
        await driver.look("fleet")
        await driver.press("enter")
        assert driver.told[-1].startswith(f"{BROKEN}: ")
        assert driver.view.id == "fleet"
        await driver.press("down", "enter")
        assert driver.app.path == "/clusters/controller-2"
        assert driver.view.id == "explorer"
        # The line at the bottom is about that cluster, whatever the cursor is on then.
        await driver.press("6", "down")
        assert "\n controller-2  end of the log  offset 4111" in driver.screen()

    drive(test, session)


def test_back_leads_to_the_fleet_again(session: ExplorerSession) -> None:
    """Also where another cluster was visited before."""

    async def test(driver: Driver) -> None:
        await driver.look("fleet")
        await driver.press("down", "enter")
        assert driver.app.path == "/clusters/controller-2"
        await driver.press("6", "down", "enter")
        assert driver.app.path == "/clusters/controller-1"
        await driver.press("alt+left")
        assert driver.view.id == "fleet"
        await driver.press("alt+right")
        assert (driver.view.id, driver.app.path) == ("explorer", "/clusters/controller-1")
        await driver.press("alt+left", "alt+left")
        assert (driver.view.id, driver.app.path) == ("fleet", "/")
        assert driver.scene.cluster is None

    drive(test, session)


def test_verifies_on_demand(session: ExplorerSession) -> None:
    """`v` compares copies of a cluster, and says so in each row."""

    async def test(driver: Driver) -> None:
        await driver.look("fleet")
        assert view_of(driver).verified is None
        await driver.press("v")
        assert column(driver, "verdict") == ["unknown", "equal", "equal", "alone"]
        assert "not compared" in driver.screen()
        assert "None" not in driver.screen()
        await driver.press("down")
        assert "compared at offset 3685: equal" in driver.screen()
        assert [name for name, _ in view_of(driver).tables()] == ["fleet", "fleet-verify"]
        await driver.press("u")
        assert view_of(driver).verified is None

    drive(test, session)


def test_looking_into_a_cluster_reads_nothing_again(
    session: ExplorerSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are those of the fleet, whichever cluster is at hand, and in whichever state."""
    read = []

    def note(view: FleetView) -> None:
        read.append(view)

    monkeypatch.setattr(FleetView, "_read", note)

    async def test(driver: Driver) -> None:
        await driver.look("fleet")
        driver.app.moved_to("/clusters/controller-2")
        await driver.settled()
        assert driver.scene.cluster is not None
        assert len(read) == 1
        driver.app.travel(4000)
        await driver.settled()
        assert not driver.scene.is_newest
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
        assert not driver.scene.is_newest
        await driver.press("u")
        offsets = dict(zip(column(driver, "cluster"), column(driver, "offset"), strict=True))
        assert offsets["controller-2"] == 4111
        await driver.press("v")
        assert column(driver, "verdict") == ["unknown", "equal", "equal", "alone"]

    drive(test, session)


def test_sorts_states_by_the_worst(session: ExplorerSession) -> None:
    """In the order that the rows have anyway, and in the reverse."""

    async def test(driver: Driver) -> None:
        await driver.look("fleet")
        given = column(driver, "state")
        table = view_of(driver).query_one(FleetTable)
        await driver.press("right", "s")
        assert ("state", False) == table.sorted_by
        assert given == column(driver, "state")
        assert given[0] == "unreadable"
        await driver.press("s")
        assert given[::-1] == column(driver, "state")

    drive(test, session)


def test_filters_and_copies(session: ExplorerSession) -> None:
    """Only rows with the text are shown, and a row can be taken away."""

    async def test(driver: Driver) -> None:
        await driver.look("fleet")
        view = view_of(driver)
        view.filter_by("controller")
        await driver.settled()
        assert column(driver, "cluster") == ["controller-2", "controller-1"]
        found = view.copyable()
        assert found is not None
        assert f"cluster_id: {SAMPLE_ID}\n" in found[1]

    drive(test, session)


def test_cursor_waits_on_the_worst(session: ExplorerSession) -> None:
    """Rows that come put the cursor on the first one, until the user has moved it."""

    async def test(driver: Driver) -> None:
        view = view_of(driver)
        rows = view.rows
        assert rows is not None
        names = set(rows["cluster"].to_pylist())
        table = view.query_one(FleetTable)
        view._show(rows, names)  # as at the start: nothing is read, by name
        view._show(rows, names - {"controller-2"})
        assert column(driver, "cluster")[0] == "controller-2"
        assert table.row is not None
        assert table.row["cluster"] == "controller-2"
        view._show(rows, set())
        assert (table.row["cluster"], table.cursor_row) == (BROKEN, 0)
        await driver.press("down")
        assert table.row["cluster"] == "controller-2"
        view._show(rows, {BROKEN})
        assert (table.row["cluster"], table.cursor_row) == ("controller-2", 0)
        view._show(rows, set())
        assert (table.row["cluster"], table.cursor_row) == ("controller-2", 1)

    drive(test, session)


def test_find_searches_all_clusters(session: ExplorerSession) -> None:
    """Whichever node was looked at in the explorer, which is not seen here."""

    async def test(driver: Driver) -> None:
        driver.app.go(f"/clusters/{OTHER_ID}/image/topics")
        await driver.settled()
        await driver.press("f")
        assert " find below topics: ctrl+t everywhere " in driver.screen()
        await driver.press("escape", "6", "f")
        assert " find everywhere " in driver.screen()
        await driver.type("byName")
        screen = driver.app.screen
        assert isinstance(screen, FindScreen)
        await driver.until(lambda: not screen.is_searching, "it goes on")
        found = screen.results.paths
        assert f"/clusters/{OTHER_ID}/image/topics/byName" in found
        assert "/clusters/controller-1/image/topics/byName" in found

    drive(test, session)


def test_hints_name_the_cluster(session: ExplorerSession) -> None:
    """A path that is not there but is in the cluster at hand: `g` and `:` name that one."""

    async def test(driver: Driver) -> None:
        driver.app.go("/clusters/controller-1/image")
        await driver.settled()
        hint = "hint: did you mean /clusters/controller-1/image/topics?"
        for key in ("g", "colon"):
            await driver.press(key)
            await driver.type("ls /image/topics" if key == "colon" else "/image/topics")
            await driver.press("enter")
            assert hint in driver.screen()
            await driver.press("escape")

    drive(test, session)
