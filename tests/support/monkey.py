"""Random keys, clicks and sizes for the explorer, the same ones for the same seed."""

from __future__ import annotations

import random
import re
from traceback import format_exception
from typing import Final

from textual.css.query import NoMatches

from metashell.fs.escape import UNSAFE
from support.pilot import Driver

_UNSAFE: Final = re.compile(f"[{UNSAFE}]")
_LEAVING: Final = {"q", "ctrl+q"}
"""Keys that end the program: nothing would be left to be tried."""
_MOVES: Final = (
    "enter", "escape", "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "tab",
    "shift+tab", "backspace", "delete", "space",
)  # fmt: skip
_KEYS: Final = (
    *"abcdefghijklmnoprstuvwxyzBENOY0123456789", "f1", "f2", "colon", "slash", "question_mark",
    "at", "alt+left", "alt+right", "left_square_bracket", "right_square_bracket", "minus",
    "left_curly_bracket", "right_curly_bracket", "less_than_sign", "greater_than_sign", "insert",
    "left_parenthesis", "right_parenthesis", "ctrl+p", "ctrl+s", "ctrl+a", "full_stop", "asterisk",
)  # fmt: skip
COMMANDS: Final = (
    "ls", "cat *", "find . -name t*", "partitions", "topics --all", "changes", "log", "stats",
    "check", "no-such", "at 5", "at -1", "cd /image/topics", "cd ..", "grep x *", "'", "at end",
    "brokers", "quorum", "du", "cat /nothing", "$(x)", "log -f", "export", "diff 0 5", "history",
)  # fmt: skip
_SIZES: Final = ((20, 6), (40, 10), (80, 24), (120, 30), (200, 60), (1, 1), (30, 60), (200, 7))


class Monkey:
    """Tries things.

    Args:
        driver: The explorer.
        seed: What is tried.
    """

    def __init__(self, driver: Driver, seed: int) -> None:
        self.driver = driver
        self.random = random.Random(seed)
        self.done: list[str] = []
        """What was tried."""
        self.defects: list[str] = []
        """What went wrong in jobs that should not be able to."""
        fails = driver.app.jobs._fails

        def failed(error: Exception) -> object:
            if defect_is(error):
                self.defects.append("\n".join(format_exception(error)))
            return fails(error)

        driver.app.jobs._fails = failed

    async def run(self, n_steps: int, *, settle_each: int = 7) -> None:
        """Try so many things; looks after each whether all is well."""
        for n in range(n_steps):
            if not self.driver.app.is_running or self.driver.app._exit:
                return
            await self.step()
            if n % settle_each == 0:
                await self.driver.settled()
            self.check()
        await self.driver.settled()
        self.check()

    async def step(self) -> None:
        """Try something."""
        pilot, choose = self.driver.pilot, self.random.choice
        kind = self.random.random()
        if kind < 0.35:
            await self._press(choose(_MOVES))
        elif kind < 0.8:
            await self._press(choose(_KEYS))
        elif kind < 0.9:
            await self._click()
        elif kind < 0.93:
            size = choose(_SIZES)
            self.done.append(f"resize {size}")
            await pilot.resize_terminal(*size)
        elif kind < 0.96:
            await self.command(choose(COMMANDS))
        elif kind < 0.98:
            await self._press("escape")
            await self._press("escape")
            await self._press(choose("123456"))
        else:
            self.done.append("travel")
            self.driver.app.travel(self.random.randrange(0, 4000))

    async def command(self, text: str) -> None:
        """Type a command."""
        from metashell.tui.screens.command import CommandScreen

        app = self.driver.app
        if not isinstance(app.screen, CommandScreen):
            await self._press("escape")
            await self._press("colon")
        if isinstance(app.screen, CommandScreen) and app.screen.is_mounted:
            try:
                app.screen.run(text)
            except NoMatches:
                return  # not composed yet: no user types that fast
            self.done.append(f"run {text}")

    async def _press(self, key: str) -> None:
        if key not in _LEAVING:
            self.done.append(key)
            await self.driver.pilot.press(key)

    async def _click(self) -> None:
        width, height = self.driver.app.size
        at = (self.random.randrange(max(width, 1)), self.random.randrange(max(height, 1)))
        times = self.random.choice((1, 1, 1, 2, 3))
        self.done.append(f"click {at} {times}")
        await self.driver.pilot.click(offset=at, times=times)

    def check(self) -> None:
        """Nothing is broken, and nothing steers the terminal."""
        app = self.driver.app
        problem = app.defect or app._exception
        if problem is not None:
            raise AssertionError(self.story()) from problem
        assert not self.defects, f"{self.story()}\n{self.defects[0]}"
        if app.is_running and not app._exit:
            problem_drawn = unsafe_on(self.driver)
            assert problem_drawn is None, f"{self.story()}\n{problem_drawn} is drawn"

    def story(self, n_last: int = 40) -> str:
        """What was tried last."""
        return f"{len(self.done)} steps, the last ones: {self.done[-n_last:]}"


_OURS: Final = re.compile(r"(look|app\.view)\('[a-z]+'\)|(edit|remove)\([0-9]+\)")
"""Actions of the program's own tabs and filters."""


def unsafe_on(driver: Driver) -> str | None:
    """What the screen has that steers a terminal or came of markup in data; None for nothing."""
    for strip in driver.app.screen._compositor.render_strips():
        for segment in strip:
            found = _UNSAFE.search(segment.text)
            if found is not None:
                return repr(segment.text)
            style = segment.style
            click = "" if style is None else style.meta.get("@click", "")
            if style is not None and (style.link or (click and not _OURS.fullmatch(str(click)))):
                return f"{segment.text!r} with {style}"
    return None


def defect_is(error: Exception) -> bool:
    """Whether an error is a defect of the program."""
    from metashell.errors import MetashellError

    return not isinstance(error, MetashellError)
