"""A source that changes: its news are shown, wait while it is paused, and move nothing else."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import metashell
from metashell.log import framing as framing_module
from metashell.log.framing import build_frames
from metashell.log.read import Loaded
from metashell.sources.live import LiveQuorum
from metashell.sources.source import Source
from metashell.tui import following as following_module
from metashell.tui.frame.status import StatusLine
from metashell.tui.jobs import Job
from metashell.tui.session import ExplorerSession
from metashell.tui.timeline.timeline import Timeline
from support.fake_server import FakeQuorumServer
from support.logs import make_directory, record, topic_batch
from support.pilot import Driver, drive, session_on

NOOP = record("NoOpRecord")


@contextlib.contextmanager
def session_with(server: FakeQuorumServer) -> Iterator[ExplorerSession]:
    """A session on a quorum, which is left at the end."""
    opened: list[Source] = []

    def open_it() -> Source:
        opened.append(metashell.open_quorum(server.address(), follow=True))
        return opened[-1]

    try:
        yield session_on(open_it)
    finally:
        for source in opened:
            assert source.live is not None
            source.live.close()


def offset_of(driver: Driver) -> int | None:
    """The last offset that is shown."""
    return driver.view_state.source.status().offset


def status_text(driver: Driver) -> str:
    """The status line."""
    return driver.one(StatusLine).render().plain


async def reach(driver: Driver, offset: int) -> None:
    """Wait until the state up to an offset is shown."""
    await driver.until(lambda: offset_of(driver) == offset, f"offset {offset} is shown")
    await driver.settled()


def test_commits_are_shown() -> None:
    """The state is another one; where the user is, and the view, stay."""

    async def test(driver: Driver) -> None:
        driver.app.moved_to("/image/topics/byName")
        await driver.look("records")
        serial, end = driver.view_state.serial, server.append(8)
        await reach(driver, end - 1)
        assert driver.view_state.serial > serial
        assert driver.app.path == "/image/topics/byName"
        assert driver.view.id == "records"
        assert (
            driver.app.screen.focused is None or driver.view in driver.app.screen.focused.ancestors
        )
        assert "topic-4" in driver.view_state.source.ls("/image/topics/byName")
        assert f"live  offset {end - 1}  leader 1  lag 0" in status_text(driver)

    with FakeQuorumServer(3) as server:
        server.append(4)
        with session_with(server) as session:
            drive(test, session)


def test_noops_cost_nothing() -> None:
    """They move where the log ends, in what is said and asked; nothing else is done again."""

    async def test(driver: Driver) -> None:
        app, began = driver.app, list[str]()
        end = server.append(1, [NOOP])
        await driver.until(lambda: app.following.shown_at is not None, "one is shown")
        await reach(driver, end - 1)
        serial, start = driver.view_state.serial, app.jobs.start

        def note(title: str, *args: Any, **options: Any) -> Job:
            began.append(title)
            return start(title, *args, **options)

        framed = list[str]()

        def frame(loaded: Loaded) -> Any:
            framed.append("frames")
            return build_frames(loaded)

        following = app.following
        with (
            patch.object(app.jobs, "start", note),
            patch.object(framing_module, "build_frames", frame),
        ):
            for _ in range(5):
                end = server.append(1, [NOOP])
                await driver.until(lambda: following.shown_offset == end - 1, "it came")  # noqa: B023
            await driver.until(lambda: f"offset {end - 1} " in status_text(driver), "it is told")
            assert began == framed == []
            # Whoever asks is told of them.
            assert offset_of(driver) == end - 1
            assert framed == ["frames"]
            assert driver.view_state.serial == serial
            server.append(4)
            await driver.until(lambda: began, "what changes something is shown")
        await driver.until(lambda: driver.view_state.serial > serial, "another view state")

    with FakeQuorumServer(1) as server:
        server.append(4)
        with session_with(server) as session:
            drive(test, session)


def test_news_are_awaited_asleep() -> None:
    """The thread that waits for them is woken by each, and not now and then."""
    waited = list[float]()
    wait = LiveQuorum.wait

    def note(live: LiveQuorum, generation: int, timeout_s: float) -> bool:
        waited.append(timeout_s)
        return wait(live, generation, timeout_s)

    async def test(driver: Driver) -> None:
        for _ in range(3):
            end = server.append(1, [NOOP])
            await reach(driver, end - 1)

    with FakeQuorumServer(1) as server, patch.object(LiveQuorum, "wait", note):
        server.append(4)
        with session_with(server) as session:
            drive(test, session)
    # A record and its commit may be two pieces of news.
    assert len(waited) <= 2 * 3 + 3
    assert min(waited) >= 10


def test_noops_are_shown_where_they_are_seen() -> None:
    """The list of records has them at once where they are not hidden."""

    async def test(driver: Driver) -> None:
        await driver.look("records")
        await driver.press("H")
        for _ in range(3):
            serial, end = driver.view_state.serial, server.append(1, [NOOP])
            await reach(driver, end - 1)
            await driver.until(lambda: driver.view_state.serial > serial, "another view state")  # noqa: B023
            await driver.until(lambda: f" {end - 1} " in driver.screen(), "its line")  # noqa: B023

    with FakeQuorumServer(1) as server:
        server.append(4)
        with session_with(server) as session:
            drive(test, session)


def test_the_timeline_ends_where_the_status_line_does() -> None:
    """Also behind NoOps, for which nothing is asked again."""

    async def test(driver: Driver) -> None:
        app, timeline = driver.app, driver.one(Timeline)
        end = server.append(1)
        await reach(driver, end - 1)
        await driver.until(lambda: timeline.track is not None, "the log is known")
        await driver.until(lambda: timeline.shown == end - 1, "its end is shown")
        assert app.following.shown_at is not None
        for _ in range(2):
            serial, end = driver.view_state.serial, server.append(1, [NOOP])
            await reach(driver, end - 1)
            assert driver.view_state.serial == serial
            assert timeline.shown == end - 1
            await driver.until(lambda: f"newest {end - 1} " in driver.screen(), "its end")  # noqa: B023

    with FakeQuorumServer(1) as server:
        server.append(4)
        with session_with(server) as session:
            drive(test, session)


def test_noops_are_shown_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Views tell offsets, too: after a while they are brought up to date."""

    async def test(driver: Driver) -> None:
        monkeypatch.setattr(following_module, "_UNTOLD_S", 0.0)
        monkeypatch.setattr(following_module, "_UNTOLD_REST", 0.0)
        serial, end = driver.view_state.serial, server.append(1, [NOOP])
        await reach(driver, end - 1)
        assert driver.view_state.serial > serial

    with FakeQuorumServer(1) as server:
        server.append(4)
        with session_with(server) as session:
            drive(test, session)


def test_noops_are_shown_less_often_where_that_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked again for them takes a small part of the time, however large the cluster is."""

    async def test(driver: Driver) -> None:
        app = driver.app
        end = server.append(1, [NOOP])
        await driver.until(lambda: app.following.shown_at is not None, "one is shown")
        await reach(driver, end - 1)
        monkeypatch.setattr(following_module, "_UNTOLD_S", 0.0)
        app.jobs.spent_s += 3600
        serial, end = driver.view_state.serial, server.append(1, [NOOP])
        await reach(driver, end - 1)
        assert driver.view_state.serial == serial

    with FakeQuorumServer(1) as server:
        server.append(4)
        with session_with(server) as session:
            drive(test, session)


def test_pause() -> None:
    """News wait and are counted; then the newest state is shown."""

    async def test(driver: Driver) -> None:
        following, before = driver.app.following, offset_of(driver)
        await driver.press("p")
        assert following.is_paused
        end = server.append(4)
        await driver.until(lambda: following.n_newer_records == 4, "four records wait")
        assert offset_of(driver) == before
        assert following.has_news
        assert "paused: 1 newer state, 4 records" in status_text(driver)
        await driver.press("p")
        await reach(driver, end - 1)
        assert not following.has_news
        assert "paused" not in status_text(driver)

    with FakeQuorumServer(1) as server:
        server.append(4)
        with session_with(server) as session:
            drive(test, session)


def test_pause_and_the_end() -> None:
    """Who went to the end while it was paused is not led back to an older state."""

    async def test(driver: Driver) -> None:
        following = driver.app.following
        await driver.press("p")
        middle = server.append(4)
        await driver.until(lambda: following.has_news, "a state waits")
        older = following._waiting
        end = server.append(4)
        await driver.until(lambda: following.n_newer_records == 8, "eight records wait")
        await driver.press("E")
        assert offset_of(driver) == end - 1
        following._waiting = older
        await driver.press("p")
        assert offset_of(driver) == end - 1 > middle

    with FakeQuorumServer(1) as server:
        server.append(4)
        with session_with(server) as session:
            drive(test, session)


def test_earlier_states_stay() -> None:
    """News lead nobody away from an earlier state; the end is that of then."""

    async def test(driver: Driver) -> None:
        driver.app.travel(first)
        await driver.settled()
        assert offset_of(driver) == first
        end = server.append(4)
        live = driver.view_state.source.live
        assert live is not None
        await driver.until(lambda: live.status().end_offset == end, "it is fetched")
        assert offset_of(driver) == first
        assert f"earlier state  E: newest  offset {first}  leader 1" in status_text(driver)
        await driver.press("E")
        assert offset_of(driver) == end - 1

    with FakeQuorumServer(1) as server:
        first = server.append(4) - 1
        server.append(4)
        with session_with(server) as session:
            drive(test, session)


def test_connection_is_told() -> None:
    """A leader that is lost, one that comes back, another one that is elected."""

    async def test(driver: Driver) -> None:
        line = driver.one(StatusLine)

        def is_told() -> bool:
            problem = None if line.facts.status is None else line.facts.status.problem
            return problem is not None and problem[-20:] in status_text(driver)

        await driver.until(lambda: "leader 1" in status_text(driver), "the leader is shown")
        server.kill(1)
        await driver.until(is_told, "a problem is told")
        server.elect(3)
        await driver.until(lambda: "leader 3" in status_text(driver), "the next leader is shown")
        server.restart(1)
        server.append(4)
        await driver.until(
            lambda: line.facts.status.problem is None,  # type: ignore[union-attr]
            "the problem is over",
        )
        await driver.until(lambda: "leader 3" in status_text(driver), "it leads still")

    with FakeQuorumServer(3) as server:
        server.append(4)
        with session_with(server) as session:
            drive(test, session)


def test_line_moves_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long the quorum has been silent is shown without a key."""
    monkeypatch.setattr("metashell.tui.frame.status._REFRESH_S", 0.02)

    async def test(driver: Driver) -> None:
        line = driver.one(StatusLine)
        drawn: list[str] = []

        def note() -> None:
            drawn.append(driver.screen().splitlines()[line.region.y])

        line.set_interval(0.1, note)
        await driver.until(lambda: len(set(drawn)) > 2, "the age is another one")
        assert all(" s ago" in text for text in drawn)

    with FakeQuorumServer(1) as server:
        server.append(4)
        with session_with(server) as session:
            drive(test, session)


@pytest.fixture
def growing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is looked at often."""
    monkeypatch.setattr(following_module, "_DIRECTORY_S", 0.02)
    return make_directory(tmp_path, (0, topic_batch(0, 4)))


def append(directory: Path, *batches: bytes) -> None:
    """Let its segment grow."""
    with (directory / f"{0:020}.log").open("ab") as file:
        file.write(b"".join(batches))


def test_directory_that_grows(growing: Path) -> None:
    """What is written is shown."""

    async def test(driver: Driver) -> None:
        assert offset_of(driver) == 3
        assert "end of the log  offset 3" in status_text(driver)
        append(growing, topic_batch(4, 2))
        await reach(driver, 5)
        assert "t5" in driver.view_state.source.ls("/image/topics/byName")

    drive(test, session_on(growing))


def test_directory_that_goes_away(growing: Path) -> None:
    """What was read stays, with the reason why there is nothing newer; until there is."""

    async def test(driver: Driver) -> None:
        following, kept = driver.app.following, growing.with_name("kept")
        shutil.move(growing, kept)
        await driver.until(lambda: following.problem, "the problem is told")
        assert offset_of(driver) == 3
        assert "No such file" in status_text(driver)
        append(kept, topic_batch(4, 2))
        shutil.move(kept, growing)
        await reach(driver, 5)
        await driver.until(lambda: following.problem is None, "the problem is over")

    drive(test, session_on(growing))


def test_files_do_not_change(tmp_path: Path) -> None:
    """There is nothing to pause, and it is said."""
    directory = make_directory(tmp_path, (0, topic_batch(0, 4)))
    file = directory / f"{0:020}.log"

    async def test(driver: Driver) -> None:
        await driver.press("p")
        assert not driver.app.following.is_paused
        assert driver.told == ["this source does not change"]

    drive(test, session_on(lambda: metashell.open_file(file)))
