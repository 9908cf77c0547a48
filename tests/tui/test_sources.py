"""Every kind of source is shown by every view, and moves in time where it can."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.widgets import Static

import metashell
from kraftgen.files import segment_name
from metashell.log.changed import list_directory
from metashell.read_settings import ReadSettings
from metashell.sources.cached import open_cached_source
from metashell.sources.reduced import ReducedSource
from metashell.sources.source import Source
from metashell.tui import following
from metashell.tui.frame.status import StatusLine
from metashell.tui.timeline.timeline import Timeline
from metashell.tui.view import VIEWS
from metashell.tui.views.health import HealthView
from metashell.tui.views.quorum import QuorumView
from metashell.tui.views.records import RecordsView
from support.cached import keep
from support.fleets import torn
from support.live import AwaitedCluster
from support.logs import make_directory, topic_batch
from support.pilot import SAMPLE, Driver, drive, session_on
from support.s3 import S3Server

LOG = SAMPLE / "__cluster_metadata-0"
END, EARLIER = 4111, 3398
"""The sample's last offset, and one at which a batch ends."""


async def look_at_all(driver: Driver) -> None:
    """Look at each view; nothing may go wrong, and each says something of the source."""
    for spec in VIEWS[1:6]:
        await driver.look(spec.id)
        assert driver.view.id == spec.id
    assert not any("error" in text for text in driver.told), driver.told


def n_records(driver: Driver) -> int:
    """How many records the view of records has."""
    view = driver.app.query_one(RecordsView)
    assert view.model.is_complete
    return view.model.n_records


async def travel(driver: Driver, point: int | None) -> int | None:
    """Go to an offset, and tell which one is shown then."""
    driver.app.travel(point)
    await driver.settled()
    cluster = driver.view_state.cluster
    assert cluster is not None
    offset = cluster.status().offset
    assert driver.one(Timeline).shown == offset
    assert f"offset {offset}" in driver.one(StatusLine).render().plain
    return offset


@pytest.mark.long
def test_reduced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What looks behind the image is asked of the log itself; the rest of what was kept."""
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(tmp_path / "cache"))
    shutil.copytree(SAMPLE, tmp_path / "node")
    directory = tmp_path / "node" / LOG.name
    assert keep(directory)

    def open_it() -> Source:
        source = open_cached_source(list_directory(str(directory)), ReadSettings())
        assert isinstance(source, ReducedSource)
        return source

    async def test(driver: Driver) -> None:
        assert isinstance(driver.view_state.opened, ReducedSource)
        await look_at_all(driver)
        whole = n_records(driver)
        health = driver.app.query_one(HealthView).answer
        quorum = driver.app.query_one(QuorumView).answer
        assert await travel(driver, EARLIER) == EARLIER
        await look_at_all(driver)
        assert n_records(driver) < whole
        assert await travel(driver, None) == END
        await look_at_all(driver)
        assert n_records(driver) == whole
        again, asked = (
            driver.app.query_one(HealthView).answer,
            driver.app.query_one(QuorumView).answer,
        )
        assert health is not None
        assert again is not None
        assert quorum is not None
        assert asked is not None
        # Where time was travelled in the log itself was opened: the answers stay the same.
        assert again.found.drop_columns(["since_offset", "since_time"]).equals(
            health.found.drop_columns(["since_offset", "since_time"])
        )
        assert asked.rows["quorum"].table.equals(quorum.rows["quorum"].table)

    drive(test, session_on(open_it))


@pytest.mark.long
@pytest.mark.parametrize(
    "open_it",
    [
        lambda: metashell.open_file(next(LOG.glob("*.checkpoint"))),
        lambda: metashell.open_file(sorted(LOG.glob("*.log"))[-1]),
        lambda: metashell.open(SAMPLE, committed_only=True),
    ],
    ids=["checkpoint", "segment", "committed only"],
)
def test_a_part_of_a_log(open_it: Callable[[], Source]) -> None:
    """Each view shows what is known; who travels to what is not covered stays, and is told."""

    async def test(driver: Driver) -> None:
        await look_at_all(driver)
        before = driver.view_state.source.status().offset
        driver.app.travel(END + 1)
        await driver.settled()
        assert len(driver.told) == 1
        assert driver.view_state.source.status().offset == before
        driver.app.travel(None)
        await driver.press("less_than_sign", "left_square_bracket", "E")
        assert driver.view_state.source.status().offset == before

    drive(test, session_on(open_it))


@pytest.mark.long
def test_strict(tmp_path: Path) -> None:
    """The image ends before the first fault, in time too; a torn end is told."""
    directory = torn("real-44-live", tmp_path, 7)
    opened = metashell.open(directory, strict=True)
    last = opened.status().offset
    assert last is not None

    async def test(driver: Driver) -> None:
        await look_at_all(driver)
        assert "torn tail" in driver.screen()
        await driver.press("left_square_bracket")
        cluster = driver.view_state.cluster
        assert cluster is not None
        offset = cluster.status().offset
        assert offset is not None
        assert offset < last
        assert await travel(driver, None) == last

    drive(test, session_on(lambda: metashell.open(directory, strict=True)))


@pytest.mark.long
def test_s3(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory in a store is read once, and shown as one here."""
    s3.give_credentials(monkeypatch)
    s3.upload(SAMPLE, "explorer/node-2")

    async def test(driver: Driver) -> None:
        await look_at_all(driver)
        assert await travel(driver, EARLIER) == EARLIER
        assert await travel(driver, None) == END
        assert driver.app.following.is_following

    drive(test, session_on(lambda: metashell.open(s3.uri("explorer/node-2"), engine="local")))


@pytest.mark.long
def test_a_quorum_while_every_view_is_looked_at() -> None:
    """News come, the leader is lost and found, time is travelled: nothing moves by itself."""
    cluster = AwaitedCluster(topic_batch(0, 11), topic_batch(11, 19))

    async def commit(driver: Driver, n: int) -> None:
        last = driver.view_state.source.status().offset
        assert last is not None
        cluster.commit(topic_batch(last + 1, n))
        await driver.until(
            lambda: driver.view_state.source.status().offset == last + n, "news are not shown"
        )
        await driver.settled()

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics/byName/t7")
        await driver.settled()
        for spec in VIEWS[1:6]:
            await driver.look(spec.id)
            await driver.press("down")
            focused, path = driver.app.focused, driver.app.path
            await commit(driver, 3)
            assert driver.view.id == spec.id
            assert driver.app.focused is focused
            assert driver.app.path == path
        await driver.look("records")
        assert n_records(driver) == driver.view_state.source.status().offset + 1  # type: ignore[operator]
        cluster.leader, cluster.problem = None, "not connected to a leader"
        await driver.look("quorum")
        driver.one(StatusLine).look()
        assert "not connected to a leader" in driver.one(StatusLine).render().plain
        assert "not connected to a leader" in str(
            driver.view.query_one("#quorum-notes", Static).render()
        )
        cluster.leader, cluster.problem = 2, None
        assert await travel(driver, 10) == 10
        cluster.commit(topic_batch(driver.one(Timeline).track.high + 1, 2))  # type: ignore[union-attr]
        end = cluster.source().status().offset
        for spec in VIEWS[1:6]:
            await driver.look(spec.id)
            assert driver.view_state.source.status().offset == 10
        assert await travel(driver, None) == end
        await driver.press("p")
        cluster.commit(topic_batch(end + 1, 2))  # type: ignore[operator]
        await driver.until(lambda: driver.app.following.has_news, "no news wait")
        await look_at_all(driver)
        assert driver.view_state.source.status().offset == end
        await driver.press("p")
        await driver.until(
            lambda: driver.view_state.source.status().offset == end + 2,  # type: ignore[operator]
            "the news that waited are not shown",
        )

    drive(test, session_on(cluster.source))


@pytest.mark.parametrize("is_cached", [False, True])
@pytest.mark.parametrize("rest", [b"", topic_batch(1, leader_epoch=7)])
def test_a_log_that_gets_shorter(
    rest: bytes, is_cached: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower truncates its log: its new end is shown, and what is gone is told."""
    monkeypatch.setattr(following, "_DIRECTORY_S", 0.05)
    monkeypatch.setenv("METASHELL_CACHE_DIR", str(tmp_path / "cache"))
    directory = make_directory(tmp_path, (0, topic_batch(0) + topic_batch(1, 3)))
    told: list[str] = []

    def open_it() -> Source:
        assert keep(directory)
        source = open_cached_source(list_directory(str(directory)), ReadSettings())
        assert source is not None
        return source

    async def test(driver: Driver) -> None:
        monkeypatch.setattr(driver.app, "tell", told.append)
        (directory / segment_name(0)).write_bytes(topic_batch(0) + rest)
        await driver.until(
            lambda: driver.view_state.source.status().offset == int(bool(rest)), "it is not shown"
        )

    drive(test, session_on(open_it if is_cached else directory))
    assert ["the log was truncated from offset 3, epoch 1, to offset 0, epoch 1"] == told


def test_a_torn_tail_that_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that starts again cuts it off: the log ends where it did, without the mark."""
    monkeypatch.setattr(following, "_DIRECTORY_S", 0.05)
    directory = make_directory(tmp_path, (0, topic_batch(0) + topic_batch(1)[:-5]))

    async def test(driver: Driver) -> None:
        assert ("torn tail",) == driver.view_state.source.status().notes
        (directory / segment_name(0)).write_bytes(topic_batch(0))
        await driver.until(
            lambda: driver.view_state.source.status().notes == (), "the mark is still there"
        )
        await driver.settled()
        driver.one(StatusLine).look()
        assert "torn" not in driver.one(StatusLine).render().plain

    drive(test, session_on(directory))
