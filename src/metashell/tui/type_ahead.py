"""Keys, one after the other: the next is handled when all that the one before does is done.

A key may open a line or a screen, or move the focus. What was typed behind it is meant for that,
and comes before any of it is there.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from textual.events import Key, Paste

from metashell.fs.escape import escape
from metashell.tui.keyboard import MOST_PASTED

if TYPE_CHECKING:
    from textual.dom import DOMNode
    from textual.timer import Timer

    from metashell.tui.app import Explorer

_WITHOUT_SOURCE: Final = ("quit", "suspend_process", "cancel", "help", "screenshot_file")
"""What keys do while the source is being opened; all others wait for it."""
_AT_ONCE: Final = ("ctrl+c", "ctrl+z")
"""Keys that wait for nothing while it is."""
_LEAST_ROUNDS: Final = 3
"""A key's own handlers, those of what these say, and once more: a list tells what was chosen."""
_MOST_ROUNDS: Final = 8
_LONGEST_S: Final = 5.0
"""Whatever a key does, the next ones are not held back longer."""
_MOST: Final = 10_000
"""Keys that are kept; what is typed beyond waits in the terminal."""


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
        """Gives up on the one that is followed; None while none is."""

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
        elif not self._app.is_open and isinstance(event, Key) and event.key in _AT_ONCE:
            return True
        elif self._has_to_wait(event) or not self.is_at_rest:
            self._kept.append(event)
            return False
        if isinstance(event, Paste):
            self._clean(event)
        return True

    def _has_to_wait(self, event: Key | Paste) -> bool:
        """Whether it needs the source, which is not open yet."""
        if self._app.is_open:
            return False
        if isinstance(event, Key) and self.is_at_rest:
            bound = self._app.active_bindings.get(event.key)
            name = "" if bound is None else bound.binding.action.partition("(")[0]
            if name.rpartition(".")[2] in _WITHOUT_SOURCE:
                return False
            self._app.tell("the source is not open yet: your keys wait for it")
        return True

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
        if self._kept and self._timer is None and self._next is None:
            self._next = self._kept.popleft()
            self._app.post_message(self._next)

    def _go_round(self, number: int, n_rounds: int, before: DOMNode | None) -> None:
        """Follow the way of a key, again where it changed what keys go to."""
        target = self._app.focused or self._app.screen
        if n_rounds >= _MOST_ROUNDS or (n_rounds >= _LEAST_ROUNDS and target is before):
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
