"""Turns of jobs that work on all partitions: together they would take the memory of each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from metashell.dataclass import dataclass
from metashell.tui.gc_policy import release_freed

_LOOK_S: Final = 0.05
"""How often who waits looks whether the result is still wanted."""


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """Somebody who waits, or whose turn it is."""

    cancelled: Callable[[], bool]
    is_urgent: bool


class Turns:
    """One at a time goes on; of those that wait the newest goes first, as a user asked for it.

    Who was cancelled holds up nobody, though it may take a while to end.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[_Turn] = []
        self._going: list[_Turn] = []

    @contextmanager
    def take(self, cancelled: Callable[[], bool], *, is_urgent: bool = True) -> Iterator[None]:
        """Wait for a turn, and have it for the time of the block; not within another one.

        Args:
            cancelled: Whether the result is wanted no more.
            is_urgent: Whether to go before others that are not.

        Raises:
            KeyboardInterrupt: It was cancelled meanwhile.
        """
        turn = _Turn(cancelled, is_urgent)
        with self._changed:
            self._waiting.append(turn)
            try:
                while not self._is_next(turn):
                    self._changed.wait(_LOOK_S)
                    if cancelled():
                        raise KeyboardInterrupt
                self._going.append(turn)
            finally:
                self._waiting.remove(turn)
        try:
            yield
        finally:
            release_freed()
            with self._changed:
                self._going.remove(turn)
                self._changed.notify_all()

    def _is_next(self, turn: _Turn) -> bool:
        if not all(going.cancelled() for going in self._going):
            return False
        waiting = [other for other in reversed(self._waiting) if not other.cancelled()]
        waiting.sort(key=lambda other: not other.is_urgent)
        return not waiting or waiting[0] is turn
