"""The view of the quorum: of files, of earlier offsets, and of a live quorum while it changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

import metashell
from metashell.tui.session import ExplorerSession
from metashell.tui.views.quorum import QuorumView
from support.fake_server import FakeQuorumServer
from support.fixtures import copy_of
from support.pilot import Driver, drive, session_on
from support.shell import run_on


def view_of(driver: Driver) -> QuorumView:
    """The view, which is seen."""
    view = driver.view
    assert isinstance(view, QuorumView)
    return view


NODES, EPOCHS = "quorum", "quorum-epochs"


def shown(driver: Driver, name: str, column: str) -> list[object]:
    """A column of a table."""
    table = view_of(driver).tables_by_name[name].table
    assert table is not None
    found: list[object] = table[column].to_pylist()
    return found


def test_only_another_width_draws_it_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view that comes back is as it was; on a wide screen its bars are longer."""
    drawn: list[int] = []
    draw = QuorumView.drawn

    def counted(view: QuorumView, name: str, table: pa.Table) -> pa.Table:
        drawn.append(view.bar_width)
        return draw(view, name, table)

    async def test(driver: Driver) -> None:
        for view in ("quorum", "explorer", "quorum"):
            await driver.look(view)
            await driver.settled()
            if view == "explorer":
                drawn.clear()
        assert drawn == []
        before = view_of(driver).bar_width
        await driver.pilot.resize_terminal(160, 48)
        await driver.until(lambda: drawn, "drawn anew")
        assert drawn[-1] > before

    monkeypatch.setattr(QuorumView, "drawn", counted)
    drive(test)


def test_says_what_disagrees(tmp_path: Path) -> None:
    """Where a node's files and its log differ, a sentence tells it."""
    directory = copy_of("real-44-live", tmp_path)
    state = next(directory.rglob("quorum-state"))
    state.write_text('{"leaderId":1,"leaderEpoch":0,"data_version":1,"votedId":-1}')

    async def test(driver: Driver) -> None:
        await driver.look("quorum")
        assert view_of(driver).answer is not None
        assert "! " in driver.screen()
        assert "quorum-state" in driver.screen()

    drive(test, session_on(directory))


def test_filters_and_exports_the_table_at_hand() -> None:
    """What the focus is on is filtered, and comes first among what is taken away."""

    async def test(driver: Driver) -> None:
        await driver.look("quorum")
        view = view_of(driver)
        view.filter_by("Leader")
        await driver.settled()
        assert view.filter_text == "Leader"
        (first, rows), (second, _), _ = view.tables()
        assert (first, second) == ("quorum", "quorum-epochs")
        assert rows["id"].to_pylist() == [1]
        assert view.copyable() is not None
        view.tables_by_name[EPOCHS].focus()
        await driver.settled()
        assert view.filter_text == ""
        (first, rows), *_ = view.tables()
        assert first == "quorum-epochs"
        assert "lasted_bar" not in rows.column_names

    drive(test)


@contextmanager
def following(server: FakeQuorumServer) -> Iterator[ExplorerSession]:
    """A session that follows a server; what it opens is closed in the end."""
    opened = []

    def open_it() -> metashell.Source:
        source = metashell.open_quorum(server.address(), follow=True)
        opened.append(source)
        return source

    try:
        yield session_on(open_it)
    finally:
        for source in opened:
            if source.live is not None:
                source.live.close()


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the quorum asked more often than every two seconds."""
    monkeypatch.setattr(QuorumView, "SAMPLE_S", 0.02)
    monkeypatch.setattr("metashell.quorum.answers.DESCRIBE_EVERY_S", 0.02)


def lags(driver: Driver) -> Sequence[object]:
    """The lag of each voter, by id."""
    by_id = zip(shown(driver, NODES, "id"), shown(driver, NODES, "lag"), strict=True)
    return [lag for _, lag in sorted(by_id, key=str)]


@pytest.mark.usefixtures("often")
def test_follows_a_live_quorum() -> None:
    """A voter falls behind, another leads, nobody does: all that is seen without a key."""

    async def test(driver: Driver) -> None:
        await driver.look("quorum")
        view = view_of(driver)
        await driver.until(lambda: view.answer is not None and lags(driver) == [0, 0, 0], "no lags")
        await driver.until(lambda: "connected to 127.0.0.1:" in driver.screen(), "not told")

        server.kill(3)
        server.append(10)
        await driver.until(lambda: lags(driver) == [0, 0, 10], "no lag of a dead voter")
        await driver.until(lambda: "█" in str(shown(driver, NODES, "lag_over_time")[2]), "no line")

        server.elect(2)
        await driver.until(lambda: "leader 2" in driver.screen(), "no new leader")
        await driver.until(lambda: shown(driver, EPOCHS, "leader")[0] == 2, "no new epoch")

        server.lose_leader()
        await driver.until(lambda: "not connected to a leader" in driver.screen(), "not lost")
        await driver.until(lambda: "no leader known, 2 was the last" in driver.screen(), "not told")

    with FakeQuorumServer(3) as server, following(server) as session:
        server.append(8)
        drive(test, session, size=(100, 30))


@pytest.mark.usefixtures("often")
def test_notes_lags_while_another_view_is_seen() -> None:
    """The history grows once the view was opened; the table is not asked for then."""

    async def test(driver: Driver) -> None:
        await driver.look("quorum")
        view = view_of(driver)
        await driver.until(lambda: len(view.lags) > 1, "no samples")
        await driver.look("explorer")
        assert driver.view is not view
        view.lags.clear()
        await driver.until(lambda: len(view.lags) > 1, "no further samples")

    with FakeQuorumServer(3) as server, following(server) as session:
        server.append(8)
        drive(test, session)


@pytest.mark.usefixtures("often")
def test_an_earlier_offset_of_a_live_quorum() -> None:
    """Lag is of now: an earlier state has none, and says why."""

    async def test(driver: Driver) -> None:
        await driver.look("quorum")
        driver.app.travel(3)
        await driver.settled()
        view = view_of(driver)
        await driver.until(lambda: "from log, " in driver.screen(), "not the log")
        assert "lag_over_time" not in view.tables_by_name[NODES].columns_shown
        assert "lag and observers are known only of now" in driver.screen()

    with FakeQuorumServer(3) as server, following(server) as session:
        server.append(8)
        drive(test, session)


def test_all_controllers_dead() -> None:
    """The status line, the view, the nodes and `quorum` say the same of who leads."""

    async def test(driver: Driver) -> None:
        said = "no leader known, 1 was the last"
        server.kill(1)
        await driver.until(lambda: said in driver.screen(), "not on the status line")
        await driver.look("quorum")
        await driver.until(lambda: f"{said} · epoch 1" in driver.screen(), "not in the view")
        cluster = driver.app.view_state.cluster
        assert cluster is not None
        assert cluster.newest.value("/quorum/leader") is None
        assert f"quorum: {said}" in run_on(cluster.newest, "quorum").err

    with FakeQuorumServer(1) as server, following(server) as session:
        server.append(8)
        drive(test, session, size=(140, 30))
