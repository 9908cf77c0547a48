"""The view of a fleet: rows as they are read, what differs, and whether copies agree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from metashell.judgement.copies_rows import examine_fleet
from metashell.judgement.quorum_words import headline, who_is_behind
from metashell.sources.opening import open_fleet
from metashell.tui.session import ExplorerSession
from metashell.tui.views.fleet import FleetView
from support.fixtures import fixture_dir
from support.fleets import backups
from support.pilot import Driver, drive, session_on
from support.shell import run

BROKEN = "_b_broken"
"""What a directory of the name `[b]broken` is called."""


def voters(name: str) -> Any:
    """A fleet of the three voters of a fixture."""
    return open_fleet([str(fixture_dir(f"{name}/voter-{node}")) for node in (1, 2, 3)])


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
        await driver.press("C")
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
        told = "if the quorum is lost: voter 2's copy wins; start 1 and 2; controller-1 is 426"
        await driver.until(lambda: told in driver.screen(), "a comparison")
        other = next(name for name in column(driver, "cluster") if "controller" not in str(name))
        view_of(driver).table.go_to_line(column(driver, "cluster").index(other))
        await driver.settled()
        assert "copy wins" not in driver.screen()

    drive(test, session)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "voters-leader-tail-3",
            "voter-2 is 29 records behind voter-1; voter-3 is 29 records behind voter-1",
        ),
        (
            "voters-two-epochs-3",
            "voter-1 has other records than another copy from offset 327 on; voter-2 has other"
            " records than another copy from offset 327 on; voter-3 is 10 records behind voter-1",
        ),
    ],
)
def test_words_for_copies(name: str, told: str) -> None:
    """They are those of ``quorum --copies``, then who is behind, or has other records."""
    fleet = voters(name)
    ran = run(fleet.root, "quorum --copies", source=fleet)
    found = examine_fleet(fleet, lambda: None)
    assert "voter 1's copy wins; start 1 and 2, or 1 and 3" == headline(found)
    assert told == "; ".join(who_is_behind(found))
    assert ran.out.splitlines()[0].casefold().rstrip(".") == headline(found)


def test_who_is_behind_is_in_sight_at_80_columns() -> None:
    """With the words of Health, and beside a verdict that compares the shorter part alone."""

    async def test(driver: Driver) -> None:
        await driver.until(
            lambda: "the quorum is lost: voter 1's copy wins" in driver.screen(), "words"
        )
        await driver.press("C")
        await driver.until(lambda: "equal" in driver.screen(), "verdicts")
        screen = driver.screen()
        assert "3 directories · 3 ok · 2 behind · 1 cluster" in screen
        for name, behind, offset in (("1", 0, 376), ("2", 29, 347), ("3", 29, 347)):
            assert re.search(rf"voter-{name} +ok +equal +{behind} +{offset} ", screen)
        await driver.press("7")
        await driver.until(lambda: "partition of" in driver.screen(), "the whole message")

    drive(test, session_on(lambda: voters("voters-leader-tail-3")), size=(80, 24))


def test_copies_are_compared_in_the_view_of_the_quorum() -> None:
    """It says whose copy wins, which ones are behind and by how much; a row leads into the copy."""

    async def test(driver: Driver) -> None:
        await driver.press("4")
        await driver.until(lambda: "Copies of the log" in driver.screen(), "copies")
        lines = driver.screen().splitlines()
        assert [
            " if the quorum is lost:",
            " voter 1's copy wins; start 1 and 2, or 1 and 3",
            " voter-2 is 29 records behind voter-1",
            " voter-3 is 29 records behind voter-1",
        ] == lines[1:5]
        for name, n_behind, can_win, end in (("1", 0, "yes", 377), ("2", 29, "yes", 348)):
            row = rf"voter-{name} +{n_behind} +{can_win} +\d+ +{end} "
            assert re.search(row, driver.screen()), driver.screen()
        await driver.press("down", "enter")
        assert "/clusters/voter-2" == driver.app.path
        await driver.press("4")
        await driver.until(lambda: "Voters and observers" in driver.screen(), "its own quorum")

    drive(test, session_on(lambda: voters("voters-leader-tail-3")), size=(80, 24))


def test_other_fleets_name_the_key(session: ExplorerSession) -> None:
    """Copies of several clusters have no quorum together."""

    async def test(driver: Driver) -> None:
        await driver.press("4")
        assert "6 shows all of them, and enter goes into one" in driver.screen()

    drive(test, session)
