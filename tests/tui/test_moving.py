"""Going between places, times and clusters: whatever happens, what is shown belongs together."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import metashell
from metashell.errors import SourceError
from metashell.sources.opening import open_fleet
from metashell.tui import moving as moving_module
from metashell.tui import view_state as view_state_module
from metashell.tui.app import Explorer
from metashell.tui.frame.status import StatusLine
from metashell.tui.remembered import VisitedNode
from metashell.tui.screens.command import CommandScreen
from metashell.tui.session import ExplorerSession
from metashell.tui.timeline.timeline import Timeline
from metashell.tui.tree.tree import NodeTree
from metashell.tui.view import ASKED, VIEWS
from metashell.tui.view_state import ViewState
from support.fleets import OTHER_ID, backups
from support.pilot import SAMPLE, Driver, drive, session_on
from support.waiting import LIMIT_S

ONE, TWO, OTHER, BROKEN = (
    f"/clusters/{name}" for name in ("controller-1", "controller-2", OTHER_ID, "broken")
)
EARLIER = 3398
"""An offset that both controllers cover; a batch ends there, as at `LATER`."""
LATER = 3499


@pytest.fixture
def fleet(tmp_path: Path) -> ExplorerSession:
    """Two copies of one cluster, another cluster, and a directory that can't be read."""
    parent = backups(tmp_path / "fleet")
    (parent / "broken").mkdir()
    paths = [str(path) for path in sorted(parent.iterdir())]
    return session_on(lambda: open_fleet(paths))  # type: ignore[arg-type,return-value]


def where(driver: Driver) -> tuple[str, int | None]:
    """The cluster at hand and its offset; every part of the program must agree on it."""
    view_state = driver.view_state
    if view_state.cluster is None:
        return view_state.prefix, None
    if view_state.fleet is not None:
        member = view_state.fleet.members[view_state.prefix.rpartition("/")[2]]
        assert member.opened is view_state.cluster
    assert driver.one(StatusLine).view_state is view_state
    assert driver.one(Timeline).shown == view_state.cluster.status().offset
    return view_state.prefix, view_state.cluster.moment_offset


async def go(driver: Driver, path: str, offset: int | None = None) -> None:
    """Go to a path, and wait until it is shown."""
    driver.app.go(path, offset=offset)
    await driver.settled()


@pytest.mark.long
def test_every_view_in_every_cluster(fleet: ExplorerSession) -> None:
    """Views outside of clusters, in each, and in one that can't be read, which they say."""

    async def test(driver: Driver) -> None:
        for path in ("/", ONE, BROKEN):
            await go(driver, path)
            for spec in (spec for spec in VIEWS if spec.needs != ASKED):
                await driver.look(spec.id)
                assert driver.view.id == spec.id
                assert driver.app.path == path
                assert where(driver) == (path.rstrip("/"), None)
                if path == BROKEN:
                    assert str(driver.view_state.problem)[:40] in driver.screen(), spec.id
        assert not any("internal error" in text for text in driver.told)

    drive(test, fleet)


def test_a_cluster_that_cannot_be_read(fleet: ExplorerSession) -> None:
    """What is shown is not that of the cluster before; why is said once, and by who is asked."""

    async def test(driver: Driver) -> None:
        await go(driver, ONE)
        await go(driver, BROKEN)
        assert driver.view_state.cluster is None
        assert driver.view_state.problem is not None
        assert [text for text in driver.told if text.startswith(BROKEN)] == [
            f"{BROKEN}: {driver.view_state.problem}"
        ]
        driver.app.travel(EARLIER)
        await driver.settled()
        assert driver.told[-1] == driver.view_state.problem
        await go(driver, TWO)
        assert where(driver) == (TWO, None)

    drive(test, fleet)


@pytest.mark.long
def test_places_across_clusters(fleet: ExplorerSession) -> None:
    """Back and forward, and bookmarks, lead to the cluster and the very offset."""

    async def test(driver: Driver) -> None:
        app = driver.app
        await go(driver, f"{ONE}/image/features", EARLIER)
        await go(driver, f"{TWO}/image/topics")
        assert where(driver) == (TWO, None)
        await driver.press("b")
        await go(driver, f"{TWO}/image/topics", EARLIER)
        await go(driver, "/clusters")
        assert where(driver) == ("", None)
        for path, expected in (
            (f"{TWO}/image/topics", (TWO, EARLIER)),
            (f"{TWO}/image/topics", (TWO, None)),
            (f"{ONE}/image/features", (ONE, EARLIER)),
        ):
            app.action_place_back()
            await driver.settled()
            assert (app.path, where(driver)) == (path, expected)
        app.action_place_forward()
        await driver.settled()
        assert (app.path, where(driver)) == (f"{TWO}/image/topics", (TWO, None))
        await go(driver, f"{TWO}/image/topics", EARLIER)
        await go(driver, f"{ONE}/image")
        app.visit(VisitedNode(f"{TWO}/image/topics"))
        await driver.settled()
        assert (app.path, where(driver)) == (f"{TWO}/image/topics", (TWO, None))

    drive(test, fleet)


def test_an_offset_that_is_not_covered(fleet: ExplorerSession) -> None:
    """It is said, and the cluster that was gone to is shown as it is."""

    async def test(driver: Driver) -> None:
        await go(driver, f"{ONE}/image", EARLIER)
        await go(driver, f"{OTHER}/image", 99_999)
        assert driver.app.path == f"{OTHER}/image"
        assert where(driver) == (OTHER, None)
        assert any("offset" in text for text in driver.told)
        driver.app.clear_notifications()
        driver.app.travel(99_999)
        await driver.settled()
        assert where(driver) == (OTHER, None)
        assert len(driver.told) == 1
        driver.app.action_place_back()
        await driver.settled()
        assert where(driver) == (ONE, EARLIER)

    drive(test, fleet)


@pytest.mark.long
def test_commands_in_clusters(fleet: ExplorerSession) -> None:
    """`at` moves the cluster at hand; outside of all it says that none is."""

    async def run(driver: Driver, line: str) -> None:
        await driver.press("colon")
        screen = driver.app.screen
        assert isinstance(screen, CommandScreen)
        screen.run(line)
        await driver.settled()

    async def test(driver: Driver) -> None:
        await run(driver, "at 3398")
        assert "needs one cluster" in driver.screen()
        await driver.press("escape")
        await go(driver, f"{TWO}/image")
        await run(driver, "at 3398")
        await driver.press("escape")
        assert where(driver) == (TWO, EARLIER)
        await run(driver, "cd /clusters/controller-1")
        assert (driver.app.path, where(driver)) == (ONE, (ONE, None))

    drive(test, fleet)


class Slow:
    """Lets the way to one cluster take until it may end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
        self.may, self.began = threading.Event(), threading.Event()
        whole = view_state_module.view_state_of

        def view_state_of(source: Any, to: str, **options: Any) -> ViewState:
            if to.startswith(path):
                self.began.set()
                assert self.may.wait(LIMIT_S)
            return whole(source, to, **options)

        monkeypatch.setattr(moving_module, "view_state_of", view_state_of)


@pytest.mark.long
def test_changes_of_mind(fleet: ExplorerSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who goes to a cluster and back before that is open is where they went last."""

    async def test(driver: Driver) -> None:
        await go(driver, ONE)
        slow = Slow(monkeypatch, TWO)
        driver.app.moved_to(TWO)
        await driver.until(slow.began.is_set, "not begun")
        driver.app.moved_to(ONE)
        slow.may.set()
        await driver.settled()
        assert (driver.app.path, where(driver)) == (ONE, (ONE, None))
        driver.app.moved_to(TWO)
        driver.app.travel(EARLIER)
        await driver.settled()
        assert (driver.app.path, where(driver)) == (TWO, (TWO, EARLIER))

    drive(test, fleet)


def test_the_way_to_a_cluster_is_cancelled(
    fleet: ExplorerSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cluster before is shown, and looked at."""

    async def test(driver: Driver) -> None:
        await go(driver, f"{ONE}/image")
        slow = Slow(monkeypatch, TWO)
        driver.app.moved_to(TWO)
        await driver.until(slow.began.is_set, "not begun")
        driver.app.action_cancel()
        slow.may.set()
        await driver.settled()
        assert (driver.app.path, where(driver)) == (ONE, (ONE, None))

    drive(test, fleet)


def test_cancelled_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    """It leads nowhere, and the next one does; going back ends a way that is not wanted."""
    began, may = threading.Event(), threading.Event()
    whole = view_state_module.view_state_there

    def slow(view_state: ViewState, path: str, *, moves: bool, point: Any = None) -> ViewState:
        if point == EARLIER:
            began.set()
            assert may.wait(LIMIT_S)
        return whole(view_state, path, moves=moves, point=point)

    monkeypatch.setattr(moving_module, "view_state_there", slow)

    async def test(driver: Driver) -> None:
        driver.app.travel(EARLIER)
        await driver.until(began.is_set, "not begun")
        await driver.press("escape")
        assert driver.told == [f"cancelled: going to {EARLIER}"]
        driver.app.travel(LATER)
        await driver.settled()
        may.set()
        assert where(driver) == ("", LATER)
        driver.app.travel(EARLIER)
        driver.app.visit(VisitedNode("/image", LATER))
        await driver.settled()
        assert where(driver) == ("", LATER)
        driver.app.travel("nonsense")
        await driver.settled()
        assert where(driver) == ("", LATER)
        assert "nonsense" in driver.told[-1]

    drive(test)


def test_a_directory_of_directories() -> None:
    """It is no cluster: as a fleet's only member it is one that can't be read."""
    parent = SAMPLE.parent

    async def test(driver: Driver) -> None:
        name = parent.name
        assert driver.view_state.fleet is not None
        assert list(driver.view_state.fleet.members) == [name]
        await driver.look("health")
        assert "health is not available" in driver.screen()
        await driver.look("fleet")
        assert "1 directory · 1 unreadable · 0 clusters" in driver.screen()

    drive(test, session_on(lambda: open_fleet([str(parent)])))  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError("defect")])
def test_opening_ends_unexpectedly(error: BaseException) -> None:
    """The program ends rather than to stay on an empty screen."""

    def open_it() -> Any:
        raise error

    async def test(driver: Driver) -> None:
        app: Explorer = driver.app
        assert app.view_state is None
        if isinstance(error, KeyboardInterrupt):
            assert isinstance(app.failure, SourceError)
        else:
            assert app.defect is error
        assert app.return_code

    drive(test, session_on(open_it))


def test_a_view_state_that_comes_as_one_moves() -> None:
    """The cursor of the tree stays where the user has put it."""

    async def test(driver: Driver) -> None:
        tree, before = driver.one(NodeTree), driver.app.path
        tree.action_move(1)
        path = tree.path
        assert path != before
        driver.view.show_view_state(driver.view_state)
        await driver.settled()
        assert tree.path == driver.app.path == path

    drive(test)


def test_going_to_the_end_at_once() -> None:
    """A step that waits for the cursor to rest does not lead away from there again."""

    async def test(driver: Driver) -> None:
        driver.app.action_step(-1)
        assert driver.one(Timeline).at < driver.one(Timeline).shown
        driver.app.action_travel_end()
        await driver.settled()
        assert where(driver) == ("", None)

    drive(test)


def test_two_jobs_on_one_source() -> None:
    """What is decoded is decoded once, however many views ask at the same time."""
    opened = []

    def open_it() -> Any:
        opened.append(metashell.open(SAMPLE))
        return opened[-1]

    async def test(driver: Driver) -> None:
        for _ in range(2):
            for spec in VIEWS[1:6]:
                driver.app.show_view(spec.id)
                driver.app.travel(LATER)
                driver.app.travel(None)
        await driver.settled()
        assert driver.view_state.is_newest
        assert driver.told == []
        assert driver.view.id == "brokers"
        assert "leaders" in driver.screen()

    drive(test, session_on(open_it))
