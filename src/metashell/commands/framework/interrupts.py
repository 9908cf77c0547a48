"""Who gets ^C.

The terminal sends SIGINT to every process in the foreground. While a program that the user talks to
(a pager, ``!vi``) is in front, ^C is its business and must not end the shell.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


def _do_nothing(_signum: int, _frame: FrameType | None) -> None:
    """Swallow the signal; unlike SIG_IGN this is not inherited by the programs started."""


@contextmanager
def left_to_children() -> Iterator[None]:
    """Leave ^C to the processes in front for the length of a block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, _do_nothing)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
