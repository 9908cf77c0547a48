"""Driving the explorer without a terminal: keys go in, its state and its screen come out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar
from unittest.mock import patch

from textual._compositor import Compositor
from textual.content import Content
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.widget import Widget

import metashell
from metashell.sources.source import Source
from metashell.tui.app import Explorer
from metashell.tui.session import ExplorerSession
from metashell.tui.view import View
from metashell.tui.view_state import ViewState
from metashell.tui.views.answer import AnswerView
from support.fixtures import SAMPLE
from support.rest import drain, resting, rings_soon
from support.seeds import PROFILE
from support.waiting import LIMIT_S, until

SMALL = (80, 24)
WIDE = (160, 48)

_W = TypeVar("_W", bound=Widget)


class Driver:
    """A running explorer in the hands of a test."""

    def __init__(self, app: Explorer, pilot: Pilot[int]) -> None:
        self.app, self.pilot = app, pilot
        self.has_drawn = False
        """Whether the test has looked at the screen."""

    @property
    def view_state(self) -> ViewState:
        """What is shown."""
        assert self.app.view_state is not None
        return self.app.view_state

    @property
    def view(self) -> View:
        """The view that can be seen."""
        assert self.app.view is not None
        return self.app.view

    def one(self, kind: type[_W]) -> _W:
        """The only widget of a kind on the screen."""
        return self.app.screen.query_one(kind)

    async def press(self, *keys: str) -> None:
        """Press keys, and wait until nothing goes on any more."""
        await self.pilot.press(*keys)
        await self.settled()

    async def type(self, text: str) -> None:
        """Type a text."""
        names = {" ": "space", "/": "slash", ":": "colon", "-": "minus", ".": "full_stop"}
        await self.press(*(names.get(c, c) for c in text))

    async def look(self, view_id: str) -> None:
        """Go to a view."""
        self.app.show_view(view_id)
        await self.settled()

    async def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait until something holds."""
        await until(condition, lambda: f"{what}\n{self.screen()}")

    async def settled(self) -> None:
        """Wait until no job goes on, nothing was put off, and every message was handled."""
        while True:
            await until(self._is_idle, lambda: f"at rest: {self._at_work()}\n{self.screen()}")
            await drain(self.pilot, most_rounds=30)
            if self._is_idle():
                return

    def _is_idle(self) -> bool:
        is_typed = self.app.type_ahead.is_at_rest or not self.app.is_open
        return is_typed and not self.app.jobs.busy and not rings_soon(self.app)

    def _at_work(self) -> str:
        return ", ".join(job.title for job in self.app.jobs.busy) or "something put off"

    def screen(self) -> str:
        """The screen as text."""
        self.has_drawn = True
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    @property
    def told(self) -> list[str]:
        """The messages that are shown."""
        return [notification.message for notification in self.app._notifications]


def plain_title(driver: Driver) -> str:
    """The title of the rows that are looked at."""
    view = driver.view
    assert isinstance(view, AnswerView)
    return Content.from_markup(view.table.border_title or "").plain


def session_on(
    source: Path | str | Callable[[], Source] = SAMPLE, **options: Any
) -> ExplorerSession:
    """A session on a directory, or on what a function opens."""

    def open_it(progress: Callable[[int, int], None]) -> Source:
        if callable(source):
            return source()
        return metashell.open(source, progress=progress)

    session = ExplorerSession(open=open_it, name="test", title=lambda _: "test")
    return replace(session, **options)


def drive(
    test: Callable[[Driver], Awaitable[None]],
    session: ExplorerSession | None = None,
    size: tuple[int, int] = SMALL,
    *,
    draws: bool = False,
) -> None:
    """Run the explorer for a test, which begins when the source is open.

    Args:
        test: Has it in its hands.
        session: What it shows; the sample with none.
        size: Columns and rows of the screen.
        draws: Whether each change is drawn as it comes. Without it the screen is drawn where the
            test looks at it, and in CI at the end.
    """

    async def run() -> None:
        app = Explorer(session or session_on())
        app.animation_level = "none"
        async with app.run_test(size=size, notifications=True) as pilot:
            driver = Driver(app, pilot)
            # What is told stays there until a test has looked, however long that takes.
            with (
                resting(pilot),
                patch.multiple("metashell.tui.frame.passing", _TOLD_S=LIMIT_S, _READ_S=LIMIT_S),
            ):
                await driver.until(
                    lambda: app.view_state is not None or app.failure or app.defect, "not opened"
                )
                await driver.settled()
                await test(driver)
                if app.is_running and not driver.has_drawn and PROFILE != "default":
                    driver.screen()

    draws_none = nullcontext() if draws else patch.object(Compositor, "render_update", _not_drawn)
    with draws_none, patch.object(Stylesheet, "_parse_rules", _parsed_once):
        asyncio.run(run())


_render: Final = Compositor.render_update


def _not_drawn(compositor: Compositor, full: bool = False, **options: Any) -> Any:
    """Draw whole pictures, which are exported, and no changes."""
    compositor._dirty_regions.clear()
    return _render(compositor, full, **options) if full else None


_parse: Final = Stylesheet._parse_rules
_parsed: Final[dict[Hashable, list[RuleSet]]] = {}


def _parsed_once(sheet: Stylesheet, css: str, *where: Any, **more: Any) -> list[RuleSet]:
    """Parse a text once for all tests; Textual does so for each explorer, and changes no rule."""
    key = (css, where, *sorted(more.items()), frozenset(sheet._variables.items()))
    if key not in _parsed:
        _parsed[key] = _parse(sheet, css, *where, **more)
    return _parsed[key]
