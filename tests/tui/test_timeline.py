"""The bar over the log: what it shows, and moving along it with keys and mouse."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.geometry import Offset

import metashell
from kraftgen.batch import encode_batch
from metashell.errors import MetashellError
from metashell.fs.path import encode_path
from metashell.records.density import Axis
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from metashell.tui.session import ExplorerSession
from metashell.tui.timeline import known as timeline_known
from metashell.tui.timeline.play import Player
from metashell.tui.timeline.timeline import Timeline
from metashell.tui.timeline.track import Track
from support.fixtures import fixture
from support.live import Cluster
from support.logs import make_directory, record, topic_batch, topic_log, topic_record
from support.pilot import SMALL, WIDE, Driver, drive, session_on
from support.shell import run_on
from support.small_cluster import TIME

Test = Callable[[Driver], Awaitable[None]]


def timeline_of(driver: Driver) -> Timeline:
    """The bar."""
    timeline = driver.app.timeline
    assert timeline is not None
    return timeline


def track_of(driver: Driver) -> Track:
    """Its log."""
    track = timeline_of(driver).track
    assert track is not None
    return track


def lines(driver: Driver) -> list[str]:
    """Its bar, and the text below; not the states of partitions between."""
    found = timeline_of(driver).render().plain.split("\n")
    return [found[0], found[-1]]


def shown(driver: Driver) -> int:
    """The offset that the program shows."""
    return timeline_of(driver).shown


async def arrived(driver: Driver, offset: int) -> None:
    """Wait until the program shows the state at an offset, and stands there."""
    timeline = timeline_of(driver)
    await driver.until(
        lambda: shown(driver) == offset == timeline.at and not timeline.is_travelling,
        f"not at {offset}",
    )
    await driver.settled()


async def known(driver: Driver) -> None:
    """Wait until the log was looked at."""
    await driver.until(lambda: timeline_of(driver).track is not None, "the log is not known")
    if driver.app.focused is None:  # a view takes the focus when it first shows something
        driver.view.show_scene(driver.scene)
    await driver.settled()


def drive_on(test: Test, source: str | Path | Callable[[], Source], **options: Any) -> None:
    """Run a test once the log is known."""
    name = source
    opened = fixture(name).input if isinstance(name, str) else source

    async def run(driver: Driver) -> None:
        await known(driver)
        await test(driver)

    session: ExplorerSession = session_on(opened)
    drive(run, session, **options)


def test_shows_the_whole_log() -> None:
    """From the oldest to the newest offset, the end of which is shown."""

    async def test(driver: Driver) -> None:
        track = track_of(driver)
        low, high = driver.scene.source.history.range()
        assert (low, high) == (track.low, track.high) == (3262, shown(driver))
        bar, labels = lines(driver)
        assert SMALL[0] == len(bar)
        # Nothing of what the cursor is on is cut: the times of both ends make room.
        assert labels.startswith("3262  newest 4111 08:28:55  1 NoOp  234 offline, 234 under-repl")
        assert labels.endswith("  4111")
        assert labels in driver.screen()

    drive_on(test, "real-44-trimmed")


def test_has_the_day_once_where_there_is_room() -> None:
    """On a wide screen; the bar takes all of it."""

    async def test(driver: Driver) -> None:
        bar, labels = lines(driver)
        assert WIDE[0] == len(bar)
        assert labels.startswith("3262 2026-11-21 08:27:07  newest 4111 08:28:55  ")

    drive_on(test, "real-44-trimmed", size=WIDE)


def test_says_which_state_an_offset_inside_a_batch_has() -> None:
    """A batch counts whole: the state shown is that of another offset than was asked for."""

    async def test(driver: Driver) -> None:
        driver.app.travel("3500")
        await driver.settled()
        (told,) = driver.told
        assert told.startswith("offset 3500 lies inside a batch, which counts whole: shown is the ")
        assert f"after offset {shown(driver)};" in told
        assert shown(driver) < 3500
        driver.app.clear_notifications()
        driver.app.travel(shown(driver))
        driver.app.travel("3262")
        await driver.settled()
        assert [] == driver.told

    drive_on(test, "real-44-trimmed")


def test_resizes() -> None:
    """Columns are counted anew."""

    async def test(driver: Driver) -> None:
        await driver.pilot.resize_terminal(50, 24)
        await driver.until(lambda: 50 == len(lines(driver)[0]), "it has another width")
        assert "4111" == lines(driver)[1][-4:]

    drive_on(test, "real-44-trimmed")


def test_moves_by_columns() -> None:
    """The scene follows, and knows what changed since the stop before, which is marked."""

    async def test(driver: Driver) -> None:
        track = track_of(driver)
        before = track.beside(track.high, -1, SMALL[0], Axis.TIME)
        assert before is not None
        await driver.press("t", "left")
        await arrived(driver, before)
        assert driver.scene.cluster is not None
        assert before == driver.scene.cluster.moment_offset
        assert (before, track.high) == driver.scene.span
        assert "|" == lines(driver)[0][-1]
        assert f"offset {before} " in lines(driver)[1]
        await driver.press("right")
        await arrived(driver, track.high)
        assert driver.scene.is_newest
        assert (before, track.high) == driver.scene.span

    drive_on(test, "real-44-broker-down")


def test_the_cursor_moves_at_once() -> None:
    """The program follows when it rests, straight to the last place."""

    async def test(driver: Driver) -> None:
        timeline, track = timeline_of(driver), track_of(driver)
        serial = driver.scene.serial
        timeline.focus()
        for _ in range(5):
            timeline.action_move(-1)
            assert timeline.at < timeline.shown == track.high
        aim = timeline.at
        assert "→ offset" in lines(driver)[1]
        await arrived(driver, aim)
        assert (aim, track.high) == driver.scene.span
        assert driver.scene.serial > serial

    drive_on(test, "real-44-broker-down")


def test_ends() -> None:
    """Home and end; there it says that there is nothing further, and where it is followed."""

    async def test(driver: Driver) -> None:
        track = track_of(driver)
        await driver.press("t", "home")
        await arrived(driver, track.low)
        await driver.press("left")
        assert "this is the oldest state" in lines(driver)[1]
        await driver.press("end")
        await arrived(driver, track.high)
        assert driver.scene.is_newest
        await driver.press("right")
        assert "this is the end of the log" in lines(driver)[1]
        await driver.press("shift+left")
        await driver.until(lambda: shown(driver) < track.high, "not gone")

    drive_on(test, "real-44-live")


def test_steps_from_change_to_change() -> None:
    """From any view; NoOps are passed over."""

    async def test(driver: Driver) -> None:
        stops = track_of(driver).density.stops.tolist()
        await driver.press("left_square_bracket")
        await arrived(driver, stops[-1])
        await driver.press("left_square_bracket")
        await arrived(driver, stops[-2])
        assert (stops[-2], stops[-1]) == driver.scene.span
        await driver.press("right_square_bracket", "right_square_bracket")
        await arrived(driver, track_of(driver).high)
        assert driver.scene.is_newest

    drive_on(test, "real-44-trimmed")


def test_jumps_to_changes_of_the_node() -> None:
    """Of the one that is selected; the line tells what changed."""

    async def test(driver: Driver) -> None:
        source = driver.scene.source
        path = "/image/cluster/brokers"
        driver.app.go(path)
        await driver.settled()
        rows = run_on(source, f"changes -o tsv --columns offset,change {path}").out.splitlines()
        last = max(int(row.split("\t")[0]) for row in rows[1:] if not row.endswith("\tunchanged"))
        density = track_of(driver).density
        await driver.press("left_curly_bracket")
        await arrived(driver, int(density.last[density.applied(last - 1)]))
        assert "103: fenced false → true" in lines(driver)[1]
        await driver.press("right_curly_bracket")
        await driver.until(lambda: "no later change of" in lines(driver)[1], "not said")
        assert path == driver.app.path
        # The path is on the screen, so rows beside the tree change nothing.
        await driver.press("tab", "right_curly_bracket")
        await driver.until(lambda: f"no later change of {path};" in lines(driver)[1], "not said")

    drive_on(test, "real-44-broker-down", size=WIDE)


def test_jumps_pass_over_what_is_not_covered() -> None:
    """Changes that older files remember, but no state of the files shows, are no stops."""

    async def test(driver: Driver) -> None:
        driver.app.go("/image/topics/byName/orders")
        await driver.settled()
        await driver.press("left_curly_bracket")
        await arrived(driver, 4106)
        await driver.press("left_curly_bracket")
        await driver.until(lambda: "no earlier change of" in lines(driver)[1], "not said")
        assert 4106 == driver.scene.source.moment_offset

    drive(test, size=WIDE)


def test_jumps_to_elections() -> None:
    """Of the quorum, where no topic is selected."""

    async def test(driver: Driver) -> None:
        (election,) = track_of(driver).density.elections.tolist()
        assert "^" in lines(driver)[0]
        await driver.press("less_than_sign")
        await arrived(driver, election)
        assert "1 LeaderChange" in lines(driver)[1]
        await driver.press("greater_than_sign")
        await driver.until(lambda: "no later change of leader" in lines(driver)[1], "not said")

    drive_on(test, "real-44-broker-down", size=WIDE)


def test_jumps_to_leaders_of_partitions(tmp_path: Path) -> None:
    """Of the selected topic's, which has a name that is data; others do not count."""
    name, other = "[bold]x[/]", "y"

    def partition(topic: int, **fields: object) -> bytes:
        fields = {"partition_id": 0, "topic_id": topic.to_bytes(16, "big"), **fields}
        return record("PartitionChangeRecord" if "leader" in fields else "PartitionRecord",
                      **fields)  # fmt: skip

    def made(topic: int) -> bytes:
        return record(
            "PartitionRecord", partition_id=0, topic_id=topic.to_bytes(16, "big"), leader=1,
            replicas=[1, 2], isr=[1, 2],
        )  # fmt: skip

    values = [
        record("TopicRecord", name=name, topic_id=(1).to_bytes(16, "big")),
        made(1),
        record("TopicRecord", name=other, topic_id=(2).to_bytes(16, "big")),
        made(2),
        partition(1, leader=2),
        partition(2, leader=2),
        record("NoOpRecord"),
    ]
    batches = [encode_batch([v], base_offset=i, timestamp=TIME + i) for i, v in enumerate(values)]
    directory = make_directory(tmp_path, (0, b"".join(batches)))

    async def test(driver: Driver) -> None:
        driver.app.go(encode_path(("image", "topics", "byName", name)))
        await driver.settled()
        await driver.press("less_than_sign")
        await arrived(driver, 4)
        assert "  0: leader 1 → 2 " in lines(driver)[1]
        await driver.press("less_than_sign")
        await arrived(driver, 1)

    drive_on(test, directory, size=WIDE)


def test_jumps_to_faults(tmp_path: Path) -> None:
    """It tells what is wrong, and marks the column."""
    first, second, third = topic_log(3)
    damaged = bytearray(second)
    damaged[-1] ^= 1
    directory = make_directory(tmp_path, (0, first + bytes(damaged) + third))

    async def test(driver: Driver) -> None:
        assert "!" in lines(driver)[0]
        await driver.press("left_parenthesis")
        await arrived(driver, 2)
        assert any("offset 2" in text for text in driver.told)
        await driver.press("right_parenthesis")
        await driver.until(
            lambda: (
                "no later fault in the log's files; here: " in lines(driver)[1] or shown(driver) > 2
            ),
            "not said",
        )

    drive_on(test, directory)


def test_a_sound_log_has_no_faults() -> None:
    """It says so."""

    async def test(driver: Driver) -> None:
        await driver.press("left_parenthesis")
        told = "no earlier fault in the log's files"
        await driver.until(lambda: told in lines(driver)[1], "not said")

    drive_on(test, "real-44-trimmed")


def test_plays() -> None:
    """From the beginning, change after change, one scene at a time; it stops at the end."""

    async def test(driver: Driver) -> None:
        timeline, seen = timeline_of(driver), []
        timeline.watch(timeline, "has_focus", lambda: None, init=False)
        show_scene = timeline.show_scene

        def note(scene: Any) -> None:
            show_scene(scene)
            seen.append(timeline.shown)

        timeline.show_scene = note  # type: ignore[method-assign]
        focused = driver.app.focused
        driver.app.action_play()
        assert timeline.player.is_playing
        assert "▶ 4/s" in lines(driver)[1]
        timeline.player.change_speed(64)
        assert "▶ 256/s" in lines(driver)[1]
        await driver.until(lambda: not timeline.player.is_playing, "plays on")
        await arrived(driver, track_of(driver).high)
        assert sorted(set(seen)) == seen
        assert track_of(driver).low == seen[0]
        assert driver.scene.is_newest
        assert focused is driver.app.focused

    drive_on(test, "real-44-broker-down")


@pytest.mark.cases(1)
@pytest.mark.parametrize("key", ["space", "escape", "left"])
def test_a_key_stops_it(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is; + and - do not."""
    monkeypatch.setattr(Player, "tick", lambda _: None)  # it must not end by itself before

    async def test(driver: Driver) -> None:
        timeline = timeline_of(driver)
        await driver.pilot.press("t", "space")
        assert timeline.player.is_playing
        await driver.pilot.press("minus", "plus", "plus", "minus", "minus")
        assert "▶ 2/s" == timeline.player.state
        await driver.pilot.press(key)
        assert "" == timeline.player.state
        await driver.until(lambda: not timeline.is_travelling, "goes on")

    drive_on(test, "real-44-broker-down")


def test_what_can_not_be_reached_ends_playing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told once, and the cursor is back where the program is."""

    async def test(driver: Driver) -> None:
        timeline = timeline_of(driver)
        await driver.press("t", "home")
        await arrived(driver, track_of(driver).low)

        def refuse(*_: object, **__: object) -> Source:
            raise MetashellError("not today")

        monkeypatch.setattr(Source, "at", refuse)
        driver.app.action_play()
        await driver.until(lambda: not timeline.player.is_playing, "plays on")
        await arrived(driver, track_of(driver).low)
        assert ["not today"] == driver.told

    drive_on(test, "real-44-trimmed")


def test_the_mouse() -> None:
    """A click goes there; the mouse above a column tells what it holds; the wheel steps."""

    async def test(driver: Driver) -> None:
        track, timeline = track_of(driver), timeline_of(driver)
        await driver.pilot.hover(Timeline, offset=(6, 0))
        assert track.column_text(6, SMALL[0], Axis.TIME)[0][:20] in lines(driver)[1]
        assert track.high == timeline.at
        await driver.pilot.click(Timeline, offset=(10, 0))
        await arrived(driver, track.offset_at(10, SMALL[0], Axis.TIME))
        region = timeline.region.offset
        await driver.pilot.mouse_down(Timeline, offset=(10, 0))
        await driver.pilot.hover(offset=region + Offset(20, 0))
        assert track.offset_at(20, SMALL[0], Axis.TIME) == timeline.at
        await driver.pilot.mouse_up(Timeline, offset=(20, 0))
        await arrived(driver, track.offset_at(20, SMALL[0], Axis.TIME))
        there = track.step(timeline.at, 1)
        timeline.step(1)
        assert there is not None
        await arrived(driver, there)

    drive_on(test, "real-44-broker-down")


def test_columns_by_offset() -> None:
    """The position stays."""

    async def test(driver: Driver) -> None:
        before = lines(driver)[0]
        await driver.press("t", "a")
        assert Axis.OFFSET is timeline_of(driver).axis
        assert before != lines(driver)[0]
        assert track_of(driver).high == shown(driver)
        assert "columns by offset" in lines(driver)[1]

    drive_on(test, "real-44-broker-down")


def test_one_state_has_no_time() -> None:
    """A checkpoint by itself; no key fails."""
    path = fixture("all-records-checkpoint").input

    async def test(driver: Driver) -> None:
        assert "this source holds one state" in lines(driver)[0]
        keys = ("left_square_bracket", "left_curly_bracket", "less_than_sign", "left_parenthesis")
        await driver.press(*keys, "t", "left", "home", "space", "m")
        await driver.pilot.click(Timeline, offset=(3, 0))
        assert driver.scene.is_newest
        assert any("one state" in text for text in driver.told)

    drive_on(test, lambda: metashell.open_file(path))


def test_a_fleet_shows_the_cluster_at_hand(tmp_path: Path) -> None:
    """None outside of all; each has its own log, and moves by itself."""
    names = ("one", "two")
    for name, n in zip(names, (3, 5), strict=True):
        (tmp_path / name).mkdir()
        make_directory(tmp_path / name, (0, b"".join(topic_log(n))))

    async def test(driver: Driver) -> None:
        assert "the timeline shows one cluster" in lines(driver)[0]
        await driver.press("left_square_bracket")
        assert any("which cluster?" in text for text in driver.told)
        driver.app.moved_to("/clusters/one/image")
        await driver.settled()
        await arrived(driver, 5)
        await driver.press("left_square_bracket")
        await arrived(driver, 3)
        assert (3, 5) == driver.scene.span
        driver.app.moved_to("/clusters/two/image")
        await driver.settled()
        await arrived(driver, 9)
        driver.app.moved_to("/clusters/one/image")
        await driver.settled()
        await arrived(driver, 3)

    fleet: Any = open_fleet([str(tmp_path / name) for name in names])
    drive(test, session_on(lambda: fleet))


def test_the_log_grows() -> None:
    """With the news; the newest offset is still shown, an earlier one stays."""
    live = Cluster(*topic_log(3))

    async def test(driver: Driver) -> None:
        assert 5 == shown(driver)
        live.commit(topic_batch(6, 2))
        driver.app.news(live.source())
        await driver.until(lambda: track_of(driver).high == 7, "not grown")
        await arrived(driver, 7)
        await driver.press("left_square_bracket")
        await arrived(driver, 5)
        assert 3 + 1 == len(track_of(driver).density)

    drive_on(test, live.source)


def test_keys_wait_for_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was pressed while it is looked at is done then; cancelled, it is looked at again.

    Keys for another state wait only where one was asked for.
    """
    find_out = timeline_known.find_out
    hold = [True]

    def slow(job: Any, *args: Any) -> Any:
        while hold[0] and not job.cancelled():
            job.rest(0.01)
        return find_out(job, *args)

    monkeypatch.setattr("metashell.tui.timeline.timeline.find_out", slow)

    def is_cancelled(driver: Driver) -> bool:
        # The newest job is cancelled first: one that looks at the node may be newer.
        driver.app.action_cancel()
        return "was not read" in lines(driver)[0]

    async def test(driver: Driver) -> None:
        timeline = timeline_of(driver)
        assert "looking at the log" in lines(driver)[0]
        assert not timeline.is_aiming
        timeline.step(-1)
        assert timeline.is_aiming
        await driver.until(lambda: is_cancelled(driver), "not cancelled")
        assert not timeline.is_aiming
        timeline.step(-1)
        hold[0] = False
        await driver.until(lambda: timeline.track is not None, "not known")
        await arrived(driver, track_of(driver).step(track_of(driver).high, -1) or 0)

    async def opened(driver: Driver) -> None:
        await test(driver)

    _drive_unsettled(opened)


def _drive_unsettled(test: Test) -> None:
    """As `drive`, but jobs may go on when the test begins."""
    import asyncio

    from metashell.tui.app import Explorer

    async def run() -> None:
        app = Explorer(session_on(fixture("real-44-trimmed").input))
        app.animation_level = "none"
        async with app.run_test(size=SMALL, notifications=True) as pilot:
            driver = Driver(app, pilot)
            await driver.until(lambda: app.timeline is not None, "not opened")
            await pilot.pause()
            await test(driver)

    asyncio.run(run())


def test_names_of_types_are_a_topic_apart(tmp_path: Path) -> None:
    """What no definition describes counts, without failing."""
    strange = bytes([1, 120, 0]) + b"\x1b[31m"
    log = [topic_batch(0), encode_batch([strange, topic_record(1)], base_offset=1)]
    directory = make_directory(tmp_path, (0, b"".join(log)))

    async def test(driver: Driver) -> None:
        assert "1 Topic, 1 unknown" in lines(driver)[1] or "1 unknown, 1 T" in lines(driver)[1]
        assert "\x1b" not in driver.screen()

    drive_on(test, directory, size=WIDE)
