"""Handles keys one after the other: the next key waits until the one before is done.

A key may open a line or a screen, or move the focus. The keys typed after it are meant for the new
place, and come before it is there. A job that leads to another place has the same effect.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from textual.command import CommandPalette
from textual.events import Key, Paste

from metashell.fs.escape import escape
from metashell.tui.keyboard import MOST_PASTED

if TYPE_CHECKING:
    from textual.dom import DOMNode
    from textual.timer import Timer

    from metashell.tui.app import Explorer
    from metashell.tui.jobs import Job

_WITHOUT_SOURCE: Final = ("quit", "suspend_process", "cancel", "help", "screenshot_file")
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
_OF_NODE: Final = ("look", "other_table", *_TAKING)
"""The actions of keys that wait for the node or the record that the cursor went to."""
_GATHERS_S: Final = 0.02
"""How often it is looked whether the list of everything has what is typed."""
_CHOOSING: Final = ("enter", "down", "up", "pagedown", "pageup")
"""Keys that choose from a list below a line."""
_PATIENCE_S: Final = 0.5
"""Seconds that a key that gives up waits for a job: keys typed in one go stay in order."""
_LEAST_ROUNDS: Final = 3
"""A key's own handlers, those of what these say, and once more: a list tells what was chosen."""
_LONGEST_S: Final = 5.0
"""Whatever a key does, the next ones are not held back longer."""
_MOST: Final = 10_000
"""Keys that are kept; what is typed beyond waits in the terminal."""


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
        self._next: Key | Paste | None = None
        """The one that was held back, and is on its way now."""
        self._followed = 0
        """Counts the keys that were followed."""
        self._timer: Timer | None = None
        """The timer that gives up on the followed key; None while no key is followed."""
        self._patience: Timer | None = None
        """The timer that tells the user what keys wait for; None if no such message is due."""
        self._gathers_since: float | None = None
        """When a key began to wait for the list of everything."""
        self._moving: Timer | None = None
        """The timer that gives up on a late move of the focus; None without such a move."""

    @property
    def is_full(self) -> bool:
        """Whether more is kept than there should be; may be asked from any thread."""
        return len(self._kept) >= _MOST

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is held back and everything is done."""
        return self._timer is None and self._next is None and not self._kept

    def admits(self, event: Key | Paste) -> bool:
        """Whether a key, or what was pasted, is to be handled now; else it comes again."""
        if event is self._next:
            self._next = None
        elif self._is_at_once(event):
            return True
        elif self._gives_up(event):
            self._kept.clear()  # they were for what will not be there
            self._end_patience()
        elif self._has_to_wait(event) or not self.is_at_rest or self._is_led(event):
            self._kept.append(event)
            self._tell_soon()
            return False
        if isinstance(event, Paste):
            self._clean(event)
        return True

    def _is_at_once(self, event: Key | Paste) -> bool:
        """Whether a key waits for nothing."""
        if not isinstance(event, Key):
            return False
        if not self._app.is_open:
            return event.key in _AT_ONCE
        return event.key == _SUSPEND and self._leading is not None

    def _has_to_wait(self, event: Key | Paste) -> bool:
        """Whether it needs the source, which is not open yet."""
        if self._app.is_open:
            return False
        if isinstance(event, Key) and self.is_at_rest:
            if not self._needs_source(event):
                return False
            self._app.tell("the source is not open yet: your keys wait for it")
        return True

    def _needs_source(self, event: Key | Paste) -> bool:
        return self._action(event) not in _WITHOUT_SOURCE

    def _action(self, event: Key | Paste) -> str:
        """Name of what a key does now; empty for text and where that is not known."""
        if not isinstance(event, Key):
            return ""
        bound = self._app.active_bindings.get(event.key)
        name = "" if bound is None else bound.binding.action.partition("(")[0]
        return name.rpartition(".")[2]

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

    def _is_led(self, event: Key | Paste) -> bool:
        """Whether the way to what a key is for goes on."""
        view, job = self._app.view, self._leading
        if self._moving is not None or (view is not None and not view.is_ready):
            return True
        if self._is_gathering(event):
            self._gathers_since = self._gathers_since or time.monotonic()
            self._app.set_timer(_GATHERS_S, self.go_on)
            return True
        self._gathers_since = None
        action = self._action(event)
        if action in _OF_STATE and self._app.awaits_move():
            return True
        if action in _OF_NODE and view is not None and view.catches_up():
            return True
        # The keys that leave a view do so whatever it finds.
        return job is not None and not (_is_long(job) and action in _ELSEWHERE)

    def _is_gathering(self, event: Key | Paste) -> bool:
        """Whether a key chooses from the list of everything, which is for an older text yet."""
        app = self._app
        if not isinstance(app.screen, CommandPalette) or not isinstance(event, Key):
            return False
        looks = any(worker.node is app.screen and not worker.is_finished for worker in app.workers)
        return looks and event.key in _CHOOSING

    def _gives_up(self, event: Key | Paste) -> bool:
        """Whether a key ends what the others wait for, which takes long."""
        job = self._leading
        since = self._gathers_since if job is None else job.began
        if since is None or not isinstance(event, Key) or event.key not in _GIVING_UP:
            return False
        return time.monotonic() - since >= _PATIENCE_S

    def _tell_soon(self) -> None:
        if self._patience is None and self._leading is not None:
            self._patience = self._app.set_timer(_PATIENCE_S, self._tell)

    def _end_patience(self) -> None:
        """Have the next wait told after its own time once no key waits."""
        if self._patience is not None and not self._kept:
            self._patience.stop()
            self._patience = None

    def _tell(self) -> None:
        """Say what keys wait for, or let one of them end that."""
        self._patience = None
        job = self._leading
        if job is None or not self._kept:
            return
        if self._timer is not None or self._next is not None:
            self._tell_soon()  # behind the key at hand
            return
        keys = [event.key if isinstance(event, Key) else "" for event in self._kept]
        at = next((i for i, key in enumerate(keys) if key in _GIVING_UP), None)
        if at is None:
            self._app.tell(f"{job.title}: your keys wait for it, escape ends it")
            return
        for _ in range(at):
            self._kept.popleft()
        self._send()

    def _clean(self, paste: Paste) -> None:
        """Let nothing be pasted that steers a terminal, nor more than a line can be."""
        if len(paste.text) > MOST_PASTED:
            paste.text = paste.text[:MOST_PASTED]
            told = f"the text is too long: only its first {MOST_PASTED:,} characters are pasted"
            self._app.tell(told)
        # Lines are drawn as they are typed.
        paste.text = "\n".join(escape(text) for text in paste.text.splitlines())

    def follow(self, *, is_text: bool) -> None:
        """Have the next key handled when all is done that the key at hand does.

        Args:
            is_text: Whether it only adds to a line that is typed.
        """
        self._followed += 1
        number = self._followed
        self._timer = self._app.set_timer(_LONGEST_S, lambda: self._end(number))
        self._go_round(number, _LEAST_ROUNDS - 1 if is_text else 0, None)

    def go_on(self) -> None:
        """Have the next key handled."""
        if not self._kept or self._timer is not None or self._next is not None:
            return
        if not self._app.is_open and self._needs_source(self._kept[0]):
            return
        if self._is_led(self._kept[0]):
            self._tell_soon()
        else:
            self._send()

    def go_on_behind(self) -> None:
        """Have the next key handled when all is done that a job's end does."""
        if self._kept and self._timer is None and self._next is None:
            self.follow(is_text=False)

    def move_once_drawn(self, part: DOMNode, move: Callable[[], object]) -> None:
        """Move the focus when something new is drawn, for which keys wait: they are for it.

        Args:
            part: The part that is drawn anew.
            move: Moves the focus.
        """

        def end() -> None:
            if self._moving is not None:
                self._moving.stop()
                self._moving = None
                self.go_on_behind()

        def drawn() -> None:
            move()
            end()

        end()
        self._moving = self._app.set_timer(_LONGEST_S, end)
        part.call_after_refresh(drawn)

    def _send(self) -> None:
        self._next = self._kept.popleft()
        self._end_patience()
        self._app.post_message(self._next)

    def _go_round(self, number: int, n_rounds: int, before: DOMNode | None) -> None:
        """Follow the way of a key, again where it changed what keys go to."""
        target = self._app.focused or self._app.screen
        if n_rounds >= _LEAST_ROUNDS and target is before:
            self._end(number)
        else:
            self._pass(number, n_rounds, target, deque(target.ancestors_with_self))

    def _pass(self, number: int, n_rounds: int, target: DOMNode, way: deque[DOMNode]) -> None:
        """Go on behind all that waits at the next node of a way."""
        if number != self._followed or self._timer is None:
            return
        while way:
            node = way.popleft()
            # A screen handles nothing before it is mounted.
            if node.call_later(self._pass, number, n_rounds, target, way):
                return
        self._go_round(number, n_rounds + 1, target)

    def _end(self, number: int) -> None:
        if number == self._followed and self._timer is not None:
            self._timer.stop()
            self._timer = None
            self.go_on()
