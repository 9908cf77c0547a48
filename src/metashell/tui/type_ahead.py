"""Handles keys one after the other: the next key waits until the one before is done.

A key may open a line or a screen, or move the focus. The keys typed after it are meant for the new
place, and come before it is there. A job that leads to another place has the same effect.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from textual.command import CommandPalette
from textual.events import Key, Paste
from textual.widgets import Input

from metashell.fs.escape import escape

if TYPE_CHECKING:
    from textual.dom import DOMNode

    from metashell.tui.app import Explorer
    from metashell.tui.jobs import Job

MOST_PASTED: Final = 1 << 16
"""Characters that are taken of what is pasted at once."""
_WITHOUT_SOURCE: Final = ("quit", "suspend_process", "cancel", "help")
"""The actions of keys that work while the source is being opened; all other keys wait for it."""
_SUSPEND: Final = "ctrl+z"
_AT_ONCE: Final = ("ctrl+c", _SUSPEND)
"""Keys that wait for nothing while it is."""
_GIVING_UP: Final = ("ctrl+c", "escape")
"""Keys that end what other keys wait for."""
_ELSEWHERE: Final = ("view", "command_line", "find", "go_to", "help", "quit")
"""The actions of keys that do not depend on the result of a view."""
_IN_PART: Final = ("look", "arrange")
"""Keys of the jobs that follow a path in their tree, or sort and filter their table."""
_TAKING: Final = ("export", "copy_value", "open_in")
"""The actions of keys that use the shown content."""
_OF_STATE: Final = (
    "changes", "bookmark", "relations", "command_line", "go_to", "place_back", "place_forward",
    *_TAKING,
)  # fmt: skip
"""The actions of keys that wait for the end of a move in time."""
_OF_NODE: Final = ("look", *_TAKING)
"""The actions of keys that wait for the node or the record that the cursor went to."""
_LOOK_S: Final = 0.01
"""How often a key that waits looks whether it may go on."""
_CHOOSING: Final = ("enter", "down", "up", "pagedown", "pageup")
"""Keys that choose from a list below a line."""
_PATIENCE_S: Final = 0.5
"""Seconds that a key that gives up waits for a job: keys typed in one go stay in order."""
_ROUNDS: Final = 3
"""A key's own handlers, those of what these say, and once more: a list tells what was chosen."""
_LONGEST_S: Final = 5.0
"""Whatever a key does, the next ones are not held back longer."""


def _is_long(job: Job) -> bool:
    """Whether a job that keys wait for can take long, and ends within its part."""
    return job.is_awaited or job.key in _IN_PART


class TypeAhead:
    """Holds back what is typed too early.

    Args:
        app: Handles the keys.
    """

    def __init__(self, app: Explorer) -> None:
        self._app = app
        self._kept: deque[Key | Paste] = deque()
        self._typed = asyncio.Event()
        self._is_busy = False
        """Whether a key is being handled."""
        self._gives_up: Key | None = None
        """A key that ends what others waited for: it waits for nothing."""

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is held back and everything is done."""
        return not (self._is_busy or self._kept)

    def keeps(self, event: Key | Paste) -> bool:
        """Take a key, or what was pasted, to be handled in its turn; False if it is for now."""
        if isinstance(event, Key) and (
            event.key in _AT_ONCE
            and (not self._app.is_open or (event.key == _SUSPEND and self._leading is not None))
        ):
            return False
        if isinstance(event, Paste):
            self._clean(event)
        self._kept.append(event)
        self._typed.set()
        return True

    async def run(self) -> None:
        """Have keys handled, one after the other, as long as the program runs."""
        while True:
            await self._typed.wait()
            self._typed.clear()
            while self._kept:
                if self._waits():
                    await self._wait()
                    await self._settle(_ROUNDS)  # what the end of a job does
                if self._kept and not self._waits():
                    await self._handle(self._kept.popleft())

    async def _handle(self, event: Key | Paste) -> None:
        is_text = isinstance(self._app.focused, Input) and (
            isinstance(event, Paste) or event.is_printable
        )
        self._is_busy = True
        try:
            is_view = self._action(event) == "view"
            # A view comes in one picture, with the focus.
            with self._app.batch_update() if is_view else nullcontext():
                await self._app.press(event)
                await self._settle(1 if is_text else _ROUNDS)
            self._app.screen.check_idle()
        finally:
            self._is_busy = False

    async def _wait(self) -> None:
        """Wait until the first key may be handled; one that gives up ends that after a while."""
        began, is_told = time.monotonic(), False
        while self._kept and self._waits():
            job = self._leading
            if not self._app.is_open:
                if not is_told:
                    self._app.tell("the source is not open yet: your keys wait for it")
                is_told = True
            elif time.monotonic() - (began if job is None else job.began) >= _PATIENCE_S:
                if self._give_up():
                    return
                if job is not None and not is_told and time.monotonic() - began >= _PATIENCE_S:
                    self._app.tell(f"{job.title}: your keys wait for it, escape ends it")
                    is_told = True
            await asyncio.sleep(_LOOK_S)

    def _give_up(self) -> bool:
        """Handle the first key that gives up next, if there is one, and none of those before."""
        for at, event in enumerate(self._kept):
            if isinstance(event, Key) and event.key in _GIVING_UP:
                for _ in range(at):
                    self._kept.popleft()
                self._gives_up = event
                return True
        return False

    def _waits(self) -> bool:
        """Whether the first key has to wait for what it is for."""
        event, app = self._kept[0], self._app
        if not app.screen.is_mounted:  # its keys may ask for its parts
            return True
        view, job, action = app.view, self._leading, self._action(event)
        if event is self._gives_up:
            return False
        if not app.is_open:
            return action not in _WITHOUT_SOURCE
        if (view is not None and not view.is_ready) or self._is_gathering(event):
            return True
        if self._awaits(event):
            return True
        if action in _OF_STATE and app.awaits_move():
            return True
        if action in _OF_NODE and view is not None and view.catches_up():
            return True
        # The keys that leave a view do so whatever it finds.
        return job is not None and not (_is_long(job) and action in _ELSEWHERE)

    def _awaits(self, event: Key | Paste) -> bool:
        """Whether the focused part waits, for what a key does there, for what is on its way."""
        awaits: Any = getattr(self._app.focused, "awaits", None)
        return awaits is not None and awaits(self._bound(event))

    def _action(self, event: Key | Paste) -> str:
        """Name of what a key does now; empty for text and where that is not known."""
        return self._bound(event).partition("(")[0].rpartition(".")[2]

    def _bound(self, event: Key | Paste) -> str:
        """The action of a key now, with its arguments."""
        bound = self._app.active_bindings.get(event.key) if isinstance(event, Key) else None
        return "" if bound is None else bound.binding.action

    @property
    def _leading(self) -> Job | None:
        """The job that keys wait for; long jobs within a hidden view do not count."""
        if not self._app.is_open:
            return None
        return next((job for job in self._app.jobs.leading if self._is_seen(job)), None)

    def _is_seen(self, job: Job) -> bool:
        """Whether a job leads elsewhere, or is long and within what is seen."""
        app = self._app
        owner: Any = job.owner
        seen = app.screen if app.screen.is_modal else app.view
        return not _is_long(job) or seen in owner.ancestors_with_self

    def _is_gathering(self, event: Key | Paste) -> bool:
        """Whether a key chooses from the list of everything, which is for an older text yet."""
        app = self._app
        if not isinstance(app.screen, CommandPalette) or not isinstance(event, Key):
            return False
        looks = any(worker.node is app.screen and not worker.is_finished for worker in app.workers)
        return looks and event.key in _CHOOSING

    def _clean(self, paste: Paste) -> None:
        """Let nothing be pasted that steers a terminal, nor more than a line can be."""
        if len(paste.text) > MOST_PASTED:
            paste.text = paste.text[:MOST_PASTED]
            told = f"the text is too long: only its first {MOST_PASTED:,} characters are pasted"
            self._app.tell(told)
        # Lines are drawn as they are typed.
        paste.text = "\n".join(escape(text) for text in paste.text.splitlines())

    async def _settle(self, n_rounds: int) -> None:
        """Wait until all is done that the key at hand does: behind what waits at each part."""
        try:
            async with asyncio.timeout(_LONGEST_S):
                before: DOMNode | None = None
                while n_rounds > 0 or before is not (self._app.focused or self._app.screen):
                    before = self._app.focused or self._app.screen
                    for node in before.ancestors_with_self:
                        done = asyncio.Event()
                        # A screen handles nothing before it is mounted.
                        if node.call_later(done.set):
                            await done.wait()
                    n_rounds -= 1
        except TimeoutError:
            return
