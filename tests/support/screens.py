"""The screens of the explorer that are worth a picture: how to get there, and how to know it.

For the snapshots of the tests and for the pictures in documents.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from metashell.tui.session import ExplorerSession
from support.fixtures import DEMO
from support.pilot import SMALL, Driver, drive, session_on

Check = Callable[[Driver], object]
TOPIC: Final = "/image/topics/byName/csv-imports"
EARLIER: Final = 1891


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
    theme: str = "textual-dark"
    typed: str = ""
    """Typed behind the keys."""


def _is_view(view_id: str) -> Check:
    return lambda driver: driver.view.id == view_id


def _is_screen(name: str) -> Check:
    return lambda driver: type(driver.app.screen).__name__ == name


SCREENS: Final = (
    Screen("overview", (), _is_view("explorer")),
    Screen("explorer", (), _is_view("explorer"), path="/image/topics/byName"),
    Screen("topic", (), _is_view("explorer"), path=TOPIC),
    Screen("earlier", (), lambda d: d.scene.source.moment_offset == EARLIER, TOPIC, EARLIER),
    Screen("records", ("2",), _is_view("records")),
    Screen("health", ("3",), _is_view("health")),
    Screen("quorum", ("4",), _is_view("quorum")),
    Screen("brokers", ("5",), _is_view("brokers")),
    Screen("help", ("f1",), lambda d: d.app.screen.query("HelpPanel"), "/image/topics/byName"),
    Screen("command", ("colon",), _is_screen("CommandScreen"), typed="topics"),
    Screen("find", ("f",), _is_screen("FindScreen")),
    Screen(
        "high-contrast", ("3",), lambda d: d.app.theme == "high-contrast", theme="high-contrast"
    ),
)
"""All of them, on the bundled cluster."""


def show(
    screen: Screen,
    then: Callable[[Driver], Awaitable[None] | None],
    *,
    size: tuple[int, int] = SMALL,
    session: ExplorerSession | None = None,
) -> None:
    """Go to a screen, check that it is the one, and do something there."""

    async def test(driver: Driver) -> None:
        if screen.at is not None:
            driver.app.travel(screen.at)
            await driver.settled()
        if screen.path != "/":
            driver.app.go(screen.path)
            await driver.settled()
        for key in screen.keys:
            await driver.press(key)
        if screen.typed:
            await driver.type(screen.typed)
        for widget in driver.app.screen.query("Input"):
            widget.cursor_blink = False  # type: ignore[attr-defined]
        driver.app.clear_notifications()
        await driver.settled()
        assert screen.check(driver), f"not the screen {screen.name}:\n{driver.screen()}"
        done = then(driver)
        if done is not None:
            await done

    drive(test, session or session_on(DEMO, theme=screen.theme, path=screen.path), size)
