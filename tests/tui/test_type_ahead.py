"""Keys that are typed before what they are meant for is there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest
from textual.events import Key, Paste
from textual.widgets import Input

import metashell
from metashell.sources.source import Source
from metashell.tui.app import Explorer
from metashell.tui.asking.completing import CompletingInput
from metashell.tui.frame.filter_bar import FilterBar
from metashell.tui.frame.help import Help
from metashell.tui.keyboard import MOST_PASTED
from metashell.tui.screens.command import CommandScreen
from metashell.tui.tree.jump_bar import JumpBar
from metashell.tui.views.records import RecordsView
from support.pilot import SAMPLE, SMALL, Driver, drive, session_on
from support.waiting import LIMIT_S

_NAMES = {":": "colon", "/": "slash", "?": "question_mark", "@": "at", "\r": "enter"}


async def at_once(driver: Driver, *keys: str) -> None:
    """Type keys as a terminal hands them over: all of them before any is handled."""
    for key in keys:
        character = key if len(key) == 1 else None
        driver.app.post_message(Key(_NAMES.get(key, key), character))
    await driver.settled()


@pytest.mark.cases(3)
@pytest.mark.parametrize("key", [":", "f", "g", "/", "@", "i", "ctrl+p"])
def test_lines_get_all_that_is_typed(key: str) -> None:
    """Whatever opens a line: nothing typed behind it is lost or does something else."""

    async def test(driver: Driver) -> None:
        await at_once(driver, key, *"quorum")
        assert isinstance(driver.app.focused, Input | JumpBar)
        if isinstance(driver.app.focused, Input):
            assert driver.app.focused.value == "quorum"
        else:
            assert "quorum" in driver.screen()

    drive(test)


def test_help_and_views() -> None:
    """Keys behind those that open help and views are for these."""

    async def test(driver: Driver) -> None:
        await at_once(driver, "?", "?", "2", "/", *"topic", "enter", "end")
        assert not driver.app.screen.query(Help)
        assert isinstance(driver.view, RecordsView)
        assert driver.view.filter_text == "topic"
        assert not driver.app.query(FilterBar)

    drive(test)


def test_behind_enter() -> None:
    """What is typed behind a line is for what the line leads to."""

    async def test(driver: Driver) -> None:
        await at_once(driver, "g", *"/image/cluster", "\r", ":", *"pwd", "\r", "escape", "g", "z")
        assert driver.app.path == "/image/cluster"
        assert driver.one(Input).value == "z"

    drive(test)


def test_from_the_list_of_everything() -> None:
    """What is chosen there opens a line, too."""

    async def test(driver: Driver) -> None:
        await at_once(driver, "ctrl+p", *"partitions")
        await driver.until(lambda: "partitions" in driver.screen(), "it is found")
        await at_once(driver, "down", "enter", *"x")
        await driver.until(lambda: isinstance(driver.app.screen, CommandScreen), "a line")
        await driver.settled()
        assert driver.one(CompletingInput).value.endswith("x")

    drive(test)


def test_pasted_behind_a_key() -> None:
    """What is pasted waits for its turn as keys do."""

    async def test(driver: Driver) -> None:
        driver.app.post_message(Key("colon", ":"))
        driver.app.post_message(Paste("brokers\x1b[2J"))
        await at_once(driver, "x")
        assert driver.one(CompletingInput).value == "brokers\\x1b[2Jx"

    drive(test)


def test_huge_paste_is_cut_aloud() -> None:
    """A line takes so much; that there was more is said."""

    async def test(driver: Driver) -> None:
        await driver.press("colon")
        driver.app.post_message(Paste("y" * (MOST_PASTED + 1)))
        await driver.settled()
        assert len(driver.one(CompletingInput).value) == MOST_PASTED
        assert driver.told == ["the text is too long: only its first 65,536 characters are pasted"]

    drive(test)


def test_waits_for_the_source() -> None:
    """What is typed while the source is opened is done then; what needs no source at once."""
    go_on = threading.Event()

    def open_it(_progress: Callable[[int, int], None]) -> Source:
        assert go_on.wait(LIMIT_S)
        return metashell.open(SAMPLE)

    async def run() -> None:
        app = Explorer(session_on(open=open_it))
        async with app.run_test(size=SMALL, notifications=True) as pilot:
            driver = Driver(app, pilot)
            await pilot.press("question_mark")
            assert app.screen.query(Help)
            await pilot.press("question_mark", "2", "colon", *"quorum")
            told = "the source is not open yet: your keys wait for it"
            await driver.until(lambda: driver.told == [told], "not told")
            assert app.is_running
            go_on.set()
            await driver.until(lambda: app.scene is not None, "not opened")
            await driver.settled()
            assert driver.one(CompletingInput).value == "quorum"
            assert isinstance(driver.view, RecordsView)

    asyncio.run(run())


def test_leaving_does_not_wait() -> None:
    """^C leaves while the source is opened, whatever was typed before."""
    go_on = threading.Event()

    def open_it(_progress: Callable[[int, int], None]) -> Source:
        assert go_on.wait(LIMIT_S)
        return metashell.open(SAMPLE)

    async def run() -> None:
        app = Explorer(session_on(open=open_it))
        async with app.run_test(size=SMALL, notifications=True) as pilot:
            await pilot.press("colon", "x", "ctrl+c")
            await Driver(app, pilot).until(lambda: not app.is_running or app._exit, "goes on")

    asyncio.run(run())
    go_on.set()


def test_goes_on_whatever_a_key_does() -> None:
    """A key whose part is gone or busy for good does not hold back the next ones for ever."""

    async def test(driver: Driver) -> None:
        is_over = asyncio.Event()
        timeline = driver.app.timeline
        assert timeline is not None
        await driver.press("t")
        timeline.call_later(is_over.wait)
        for key in ("j", "ctrl+p"):
            driver.app.post_message(Key(key, None))
        await driver.until(lambda: driver.app.screen.is_modal, "the next key does something")
        is_over.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metashell.tui.type_ahead._LONGEST_S", 0.05)
        drive(test)
