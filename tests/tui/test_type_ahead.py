"""Keys that are typed before what they are meant for is there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from textual.events import Key, Paste
from textual.keys import _character_to_key
from textual.widgets import Input

import metashell
from metashell.errors import UsageError
from metashell.sources.opening import open_fleet
from metashell.sources.source import Source
from metashell.tui.app import Explorer
from metashell.tui.frame.filter_bar import FilterBar
from metashell.tui.frame.help import Help
from metashell.tui.jobs import Job, Jobs
from metashell.tui.node.pane import NodePane
from metashell.tui.rows.table import RowTable
from metashell.tui.screens.command import CommandScreen
from metashell.tui.screens.completing import CompletingInput
from metashell.tui.screens.go_to import PathTarget
from metashell.tui.session import ExplorerSession
from metashell.tui.tree.jump_bar import JumpBar
from metashell.tui.type_ahead import MOST_PASTED
from metashell.tui.views.records import RecordsView
from support.fleets import backups
from support.pilot import SAMPLE, SMALL, Driver, drive, session_on
from support.waiting import LIMIT_S


def name_of(key: str) -> str:
    """What Textual calls a key."""
    return "enter" if key == "\r" else _character_to_key(key) if len(key) == 1 else key


def key_event(key: str) -> Key:
    """A key, and what it writes."""
    return Key(name_of(key), " " if key == "space" else key if len(key) == 1 else None)


async def at_once(driver: Driver, *keys: str) -> None:
    """Type keys as a terminal hands them over: all of them before any is handled."""
    for key in keys:
        driver.app.post_message(key_event(key))
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


@pytest.mark.long
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
        await at_once(driver, "enter", *"x")
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


@pytest.mark.long
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
            await driver.until(lambda: app.view_state is not None, "not opened")
            await driver.settled()
            assert driver.one(CompletingInput).value == "quorum"
            assert isinstance(driver.view, RecordsView)

    asyncio.run(run())


@pytest.mark.long
def test_all_at_once_before_the_source(tmp_path: Path) -> None:
    """What was typed in one go while it is opened is for what comes first, in its order."""
    go_on = threading.Event()
    paths = [str(path) for path in sorted(backups(tmp_path / "fleet").iterdir())]

    def open_it(_progress: Callable[[int, int], None]) -> Any:
        assert go_on.wait(LIMIT_S)
        return open_fleet(paths)

    async def run() -> None:
        app = Explorer(session_on(open=open_it))
        async with app.run_test(size=SMALL, notifications=True) as pilot:
            driver = Driver(app, pilot)
            for key in ("question_mark", "question_mark", "enter", "right", "right", "down"):
                app.post_message(Key(key, None))
            await pilot.pause()
            go_on.set()
            await driver.until(lambda: app.view_state is not None, "not opened")
            await driver.settled()
            assert not app.screen.query(Help)
            assert app.path.startswith("/clusters/")
            assert app.path.count("/") > 2

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


@contextmanager
def slow_jobs() -> Iterator[None]:
    """Every job takes a while: what comes at once would hide what is lost."""
    start = Jobs.start

    def slowly(jobs: Jobs, title: str, work: Callable[[Job], Any], *args: Any, **more: Any) -> Job:
        def later(job: Job) -> Any:
            if title:
                job.rest(0.05)
            return work(job)

        return start(jobs, title, later, *args, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Jobs, "start", slowly)
        yield


async def one_by_one(driver: Driver, *keys: str) -> None:
    """Type keys with a rest before and behind each that does more than add to a line."""
    for key in keys:
        is_text = len(key) == 1 and isinstance(driver.app.focused, Input)
        if not is_text:
            await driver.settled()
        driver.app.post_message(key_event(key))
        if not is_text:
            await driver.settled()
    await driver.settled()


def compare(session: ExplorerSession, *keys: str, first: Sequence[str] = ()) -> None:
    """Type keys one by one, then at once with slow jobs: the program must end in the same place.

    Args:
        session: What the explorer is on.
        keys: The keys.
        first: Keys before them, which are always typed one by one.
    """
    ends = []

    def ended(driver: Driver) -> tuple[object, ...]:
        pane = next(iter(driver.app.query(NodePane)), None)
        mode = None if pane is None else pane.mode
        records = [view.records.here for view in driver.app.query(RecordsView)]
        app, focused = driver.app, driver.app.focused
        typed = focused.value if isinstance(focused, Input) else None
        chosen = focused.row if isinstance(focused, RowTable) else None
        kept = (app.clipboard, list(app.places.bookmarks))
        return (
            *(app.path, driver.view.id, app.here.offset, mode, records),
            *(type(app.screen), type(focused), typed, chosen, kept),
        )

    async def rests(driver: Driver) -> None:
        await one_by_one(driver, *first, *keys)
        ends.append(ended(driver))

    async def rests_not(driver: Driver) -> None:
        await one_by_one(driver, *first)
        with slow_jobs():
            await at_once(driver, *keys)
        ends.append(ended(driver))

    drive(rests, session)
    drive(rests_not, session)
    assert ends[0] == ends[1]


_PLACES: Final = {
    "a path": ("g", *"/image/topics/byName", "enter", "right", "down", "h"),
    "a path, its table": ("g", *"/image/topics", "enter", "tab", "down", "enter"),
    "names in the tree": ("home", "right", "down", "down", "right", "right", "right", "down"),
    "another node": ("g", *"/image/topics/byName", "enter", "right", "down", "tab", "down", "r"),
    "a view": ("2", "up", "up", "m"),
    "a filter of records": ("2", "a", *"type", "space", *"RemoveTopic", "enter", "home", "enter"),
    "a search of records": ("2", "/", *"REMOVE", "enter", "home", "n", "n", "enter"),
    "a command": (":", *"topics", "enter", "/", *"topic-027", "enter", "enter"),
    "a directory of a command": (":", *"cd", "space", *"/image/topics", "enter", "right", "right"),
    "a search": ("f", *"topic-02", "enter", "enter", "down"),
    "a problem": ("3", "tab", "down", "enter", "h"),
    "the beginning of a problem": ("3", "tab", "m", "equals_sign", "down", "enter"),
    "what changed": ("comma", "comma", "equals_sign", "down", "down", "enter"),
    "the history of a problem": ("3", "tab", "m", "h", "tab", "down", "enter"),
    "what fails": ("5", "a", "w", "down", "enter", "h"),
    "a sorted table": ("5", "end", "right", "right", "right", "s", "enter"),
    "a broker": ("5", "down", "enter", "left_square_bracket", "equals_sign"),
    "an epoch": ("4", "tab", "tab", "down", "enter", "1"),
    "a proposal": ("g", *"/image/", "down", "enter"),
    "a completed path": ("g", *"/image/top", "tab", *"byN", "tab", *"topic-003", "tab", "enter"),
    "a completed command": (":", *"cd", "space", *"/image/to", "tab", *"byN", "tab", "enter"),
    "a completed filter": (
        "2", "a", *"top", "tab", *"topic-02", "down", "down", "enter", "enter", "home", "enter",
    ),
    "a completed test": ("f", *"-chang", "tab", *"3500", "down", "enter"),
    "a result": ("f", *"topic-02", "down", "down", "down", "enter", "h"),
    "neighbours": ("g", *"/image/topics/byName/topic-000", "enter", "R", "c", "enter"),
}  # fmt: skip
"""What keys lead to, and keys that go on there."""


@pytest.mark.long
@pytest.mark.cases(2)
@pytest.mark.parametrize("keys", _PLACES.values(), ids=list(_PLACES))
def test_at_once_as_one_by_one(keys: tuple[str, ...]) -> None:
    """What is typed in one go does what it does with a rest at each key."""
    compare(session_on(), *keys)


_TOPICS: Final = ("g", *"/image/topics", "enter")
_BEHIND: Final = {
    "Kafka's text of the next node": (("g", *"/quorum/epochs", "enter"), ("down", "V")),
    "children of the next node": (("g", *"/image/provenance", "enter"), ("down", "D")),
    "a copy of the next node": (_TOPICS, ("down", "Y")),
    "a table of the next node": (_TOPICS, ("down", "x")),
    "a copy of a record": (("2",), ("home", "down", "Y")),
    "a table of records": (("2",), ("x", "h")),
    "up from the last match": (("2",), ("/", *"REMOVE", "enter", "up", "up", "enter")),
    "all records again": (("2", "/", *"REMOVE", "enter"), ("/", "escape", "home", "enter")),
    "all topics again": (
        ("g", *"/image/topics/byName", "enter", "tab", "/", *"topic-027", "enter"),
        ("/", "escape", "down", "enter"),
    ),
    "a filter that goes on": (
        ("g", *"/image/topics/byName", "enter", "tab"),
        ("/", *"topic-0", "enter", "/", "2", "enter", "down"),
    ),
    "a sorted answer": (
        (":", *"topics", "enter", "s", "s", "escape"), (":", *"topics", "enter", "enter"),
    ),
    "the last result": ((), ("f", *"topic-000", "down", "down", "down", "enter")),
    "what stands in grey": ((), ("g", *"/image/top", "right", "enter")),
    "no proposals": ((), (":", *"to", "escape")),
    "a bookmark": (("b", *_TOPICS, "b", "g", *"/image", "enter", "b"), ("B", "j", "enter")),
    "from the list of everything": (("ctrl+p",), (*"view_records", "enter", "enter")),
    "two changes before": ((), ("{", "{")),
    "a bookmark of the state before": ((), ("[", "b")),
    "a bookmark of the end": (("@", *"3700", "enter"), ("E", "b")),
    "a bookmark of a record's state": (("2",), ("up", "up", "up", "up", "m", "b")),
    "a bookmark of an epoch": (("4", "tab"), ("down", "enter", "1", "b")),
}  # fmt: skip
"""Keys, and those that are typed at once when what these lead to is there."""


@pytest.mark.long
@pytest.mark.cases(2)
@pytest.mark.parametrize(("first", "keys"), _BEHIND.values(), ids=list(_BEHIND))
def test_at_once_behind_others(first: tuple[str, ...], keys: tuple[str, ...]) -> None:
    """The same, once what is at work at the beginning has ended."""
    compare(session_on(), *keys, first=first)


@pytest.mark.long
def test_into_a_cluster(tmp_path: Path) -> None:
    """Keys behind the choice of a cluster are for the cluster, however long it takes to open."""
    paths = [str(path) for path in sorted(backups(tmp_path / "fleet").iterdir())]

    session = session_on(lambda: open_fleet(paths))  # type: ignore[arg-type,return-value]
    compare(session, "enter", "right", "right", "down")
    compare(session, "1", "right", "down", "right")  # the tree was not listed yet


def test_behind_a_screen_without_parts() -> None:
    """A job brings up a screen; keys wait until its parts are there."""

    async def test(driver: Driver) -> None:
        await driver.press("comma", "comma")
        await at_once(driver, "equals_sign", "down")
        assert driver.one(RowTable).cursor == 1

    with pytest.MonkeyPatch.context() as patch, slow_jobs():
        patch.setattr("metashell.tui.type_ahead._LOOK_S", 0)
        drive(test)


@pytest.mark.parametrize("key", ["1", ":", "?", "q"])
def test_no_key_waits_for_a_view_that_it_leaves(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a view can take long; keys that are for them wait, others do not."""
    goes_on = threading.Event()
    monkeypatch.setattr("metashell.tui.views.health.ask_health", lambda *_, **__: goes_on.wait())

    async def test(driver: Driver) -> None:
        driver.app.post_message(Key("3", "3"))
        await driver.until(lambda: driver.app.jobs.leading, "Health looks")
        driver.app.post_message(Key(name_of(key), key))
        await driver.until(
            lambda: (
                driver.view.id != "health"
                or driver.app.screen.is_modal
                or driver.app.screen.query(Help)
                or driver.app._exit
            ),
            "it does what it does",
        )
        driver.app.jobs.cancel_all()
        goes_on.set()
        if not driver.app._exit:
            await driver.settled()  # what is half there can't be left

    drive(test)


def test_escape_ends_what_keys_wait_for() -> None:
    """What takes long says that keys wait for it; Escape ends it, and they are forgotten."""
    goes_on = threading.Event()

    def slowly(*_: object) -> PathTarget:
        goes_on.wait(LIMIT_S)
        raise UsageError("too late")

    async def test(driver: Driver) -> None:
        for key in ("g", *"/image", "enter", "x", "y"):
            driver.app.post_message(Key(name_of(key), key if len(key) == 1 else None))
        await driver.until(lambda: driver.told, "not told")
        assert driver.told == ["going to /image: your keys wait for it, escape ends it"]
        driver.app.post_message(Key("escape", None))
        await driver.until(lambda: driver.app.type_ahead.is_at_rest, "they wait")
        assert not driver.app.screen.is_modal
        goes_on.set()
        await driver.settled()
        assert driver.app.path == "/"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metashell.tui.screens.go_to.follow", slowly)
        patch.setattr("metashell.tui.type_ahead._PATIENCE_S", 0.05)
        drive(test)


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
        await driver.settled()  # a list of everything that is half there can't be left

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metashell.tui.type_ahead._LONGEST_S", 0.05)
        drive(test)
