"""The bar over the log: what it shows, and moving along it with keys and mouse."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.geometry import Offset

import metashell
from metashell.errors import MetashellError
from metashell.records.density import Axis
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from metashell.tui.session import ExplorerSession
from metashell.tui.timeline import jumps as timeline_known
from metashell.tui.timeline.jumps import Player
from metashell.tui.timeline.timeline import Timeline
from metashell.tui.timeline.track import Track
from support.fixtures import fixture
from support.live import Cluster
from support.logs import make_directory, topic_batch, topic_log
from support.pilot import SMALL, Driver, drive, session_on

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
        driver.view.show_view_state(driver.view_state)
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


def test_the_cursor_moves_at_once() -> None:
    """The program follows when it rests, straight to the last place."""

    async def test(driver: Driver) -> None:
        timeline, track = timeline_of(driver), track_of(driver)
        serial = driver.view_state.serial
        timeline.focus()
        for _ in range(5):
            timeline.action_move(-1)
            assert timeline.at < timeline.shown == track.high
        aim = timeline.at
        assert "→ offset" in lines(driver)[1]
        await arrived(driver, aim)
        assert (aim, track.high) == driver.view_state.span
        assert driver.view_state.serial > serial

    drive_on(test, "real-44-broker-down")


def test_plays() -> None:
    """From the beginning, change after change, one view state at a time; it stops at the end."""

    async def test(driver: Driver) -> None:
        timeline, seen = timeline_of(driver), []
        timeline.watch(timeline, "has_focus", lambda: None, init=False)
        show_view_state = timeline.show_view_state

        def note(view_state: Any) -> None:
            show_view_state(view_state)
            seen.append(timeline.shown)

        timeline.show_view_state = note  # type: ignore[method-assign]
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
        assert driver.view_state.is_newest
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


def test_one_state_has_no_time() -> None:
    """A checkpoint by itself; no key fails."""
    path = fixture("all-records-checkpoint").input

    async def test(driver: Driver) -> None:
        assert "this source holds one state" in lines(driver)[0]
        keys = ("left_square_bracket", "left_curly_bracket", "less_than_sign", "left_parenthesis")
        await driver.press(*keys, "t", "left", "home", "space", "m")
        await driver.pilot.click(Timeline, offset=(3, 0))
        assert driver.view_state.is_newest
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
        assert any("which directory?" in text for text in driver.told)
        driver.app.moved_to("/clusters/one/image")
        await driver.settled()
        await arrived(driver, 5)
        await driver.press("left_square_bracket")
        await arrived(driver, 3)
        assert (3, 5) == driver.view_state.span
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
