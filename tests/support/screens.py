"""The screens of the explorer that are worth a picture: how to get there, and how to know it.

For the snapshots of the tests and for the pictures in documents.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from metashell.sources.opening import open_request
from metashell.sources.request import Choice, OpenRequest
from metashell.sources.source import Source
from metashell.tui.session import ExplorerSession
from support.fixtures import DEMO, fixture_dir
from support.pilot import SMALL, Driver, drive, session_on
from support.recording import Frame, frame_of

Check = Callable[[Driver], object]
TOPIC: Final = "/image/topics/byName/csv-imports"
EARLIER: Final = 1891
BROKER: Final = tuple(str(fixture_dir("node-44") / "broker102" / name) for name in ("d1", "d2"))
"""Log directories of a recorded broker."""


@dataclass(frozen=True, slots=True)
class Screen:
    """One of them."""

    name: str
    keys: tuple[str, ...]
    """Pressed one after the other once the source is open."""
    check: Check
    """Whether it is the screen that it should be."""
    path: str = "/"
    at: int | None = None
    """An offset to go to first; None for the end of the log."""
    theme: str = "metashell-dark"
    size: tuple[int, int] = SMALL
    typed: str = ""
    """Typed behind the keys."""
    directories: tuple[str, ...] = ()
    """Of a recorded broker, in place of the bundled cluster."""

    def session(self) -> ExplorerSession:
        """What the explorer opens."""
        if not self.directories:
            return session_on(DEMO, theme=self.theme, path=self.path)
        choice = Choice(self.directories[0], log_dirs=self.directories[1:])

        def open_it() -> Source:
            source = open_request(OpenRequest(choice=choice))
            assert isinstance(source, Source)
            return source

        return session_on(open_it, theme=self.theme, path=self.path)


def _is_view(view_id: str) -> Check:
    return lambda driver: driver.view.id == view_id


def _is_screen(name: str) -> Check:
    return lambda driver: type(driver.app.screen).__name__ == name


SCREENS: Final = (
    Screen("home", (), _is_view("home"), path=""),
    Screen("home-medium", (), _is_view("home"), path="", size=(120, 40)),
    Screen("home-large", (), _is_view("home"), path="", size=(200, 50)),
    Screen("home-broker", (), _is_view("home"), path="", size=(200, 50), directories=BROKER),
    Screen("explorer", (), _is_view("explorer"), path="/image/topics/byName"),
    Screen("topic", (), _is_view("explorer"), path=TOPIC),
    Screen("earlier", (), lambda d: d.view_state.source.moment_offset == EARLIER, TOPIC, EARLIER),
    Screen("records", ("2",), _is_view("records")),
    Screen("health", ("3",), _is_view("health")),
    Screen("quorum", ("4",), _is_view("quorum")),
    Screen("brokers", ("5",), _is_view("brokers")),
    Screen("groups", ("7",), _is_view("groups"), directories=BROKER),
    Screen("group", ("7", "enter"), lambda d: d.view.opened is not None, directories=BROKER),  # type: ignore[attr-defined]
    Screen("help", ("f1",), lambda d: d.app.screen.query("HelpPanel"), "/image/topics/byName"),
    Screen("command", ("colon",), _is_screen("CommandScreen"), typed="topics"),
    Screen("find", ("f",), _is_screen("FindScreen")),
    Screen(
        "high-contrast", ("3",), lambda d: d.app.theme == "high-contrast", theme="high-contrast"
    ),
)
"""All of them, on the bundled cluster or on a recorded broker."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a recording."""

    keys: tuple[str, ...]
    """Pressed one after the other."""
    caption: str
    seconds: float
    is_there: Callable[[str], bool]
    """Whether a text is the screen that it should be."""


def _says(*texts: str) -> Callable[[str], bool]:
    return lambda screen: all(text in screen for text in texts)


BROKEN: Final = 1891
"""Offset at which broker 104 is fenced for good."""
STORY: Final = (
    Step((), "csv-imports waits for broker 104: since when, and why?", 4.0,
         _says("waits for 104", "end of the log")),
    Step(("comma",), ",  the last time that partitions went offline", 4.0,
         _says(f"offset {BROKEN}", "offline 0 → 3")),
    Step(("left_square_bracket",), "[  the change before: every partition has a leader", 4.0,
         lambda screen: "waits for 104" not in screen),
    Step(("right_square_bracket",), "]  forward again: • marks what changed", 4.0,
         _says(f"offset {BROKEN}", "•offline")),
    Step(("h",), "h  the topic's history: which records, from what to what", 4.0,
         _says("leader 104 → -1")),
    Step(("D", "comma"), ",  it happened before, six minutes earlier", 4.0,
         _says("offset 1606", "12:33:40", "offline 0 → 3")),
    Step(("full_stop",), ".  and the next time, which lasts", 3.0, _says(f"offset {BROKEN}")),
    Step(("E",), "E  back to now", 3.0, _says("end of the log", "waits for 104")),
)  # fmt: skip
"""Through the timeline of the bundled cluster, where three partitions of a topic go offline."""
STORY_NAME: Final = "timeline"
"""What its recording is called."""
POSTER: Final = 1
"""The step that stands still where nothing may move."""


def record(session: ExplorerSession, size: tuple[int, int]) -> list[Frame]:
    """Go through `STORY`."""
    frames: list[Frame] = []

    async def test(driver: Driver) -> None:
        for step in STORY:
            for key in step.keys:
                await driver.press(key)
            driver.app.clear_notifications()
            await driver.settled()
            assert step.is_there(driver.screen()), f"{step.caption}:\n{driver.screen()}"
            frames.append(frame_of(driver, step.caption, step.seconds))

    drive(test, session, size)
    return frames


def show(
    screen: Screen,
    then: Callable[[Driver], Awaitable[None] | None],
    *,
    size: tuple[int, int] | None = None,
    session: ExplorerSession | None = None,
) -> None:
    """Go to a screen, check that it is the one, and do something there."""

    async def test(driver: Driver) -> None:
        if screen.at is not None:
            driver.app.travel(screen.at)
            await driver.settled()
        if screen.path not in ("", "/"):
            driver.app.go(screen.path)
            await driver.settled()
        for key in screen.keys:
            await driver.press(key)
        if screen.typed:
            await driver.type(screen.typed)
        for widget in driver.app.screen.query("Input"):
            widget.cursor_blink = False  # type: ignore[attr-defined]
        # On a busy machine a message tells what takes long.
        await driver.settled()
        driver.app.clear_notifications()
        await driver.settled()
        assert screen.check(driver), f"not the screen {screen.name}:\n{driver.screen()}"
        done = then(driver)
        if done is not None:
            await done

    drive(test, session or screen.session(), size or screen.size)
