"""Every wait of the tests: each has a condition and a limit, none is a fixed sleep."""

from __future__ import annotations

import asyncio
import os
import select
import threading
import time
from collections.abc import Callable

LIMIT_S = float(os.environ.get("METASHELL_WAIT_S", "180"))
"""How long anything is awaited, programs that start Spark included; generous, as a machine under
load must not fail a test. Only what is wrong waits that long. The one other bound is that of a
whole test, `timeout` in pyproject.toml."""

_POLL_S = 0.005
_REST = 20
"""A condition that takes long to look at is looked at less often, not all the time."""


class Deadline:
    """A moment after which waiting is over."""

    def __init__(self) -> None:
        self._end = time.monotonic() + LIMIT_S

    @property
    def left_s(self) -> float:
        """Seconds left, 0 when it has passed."""
        return max(0.0, self._end - time.monotonic())

    @property
    def has_passed(self) -> bool:
        """Whether waiting is over."""
        return self.left_s == 0


def wait_readable(fd: int, deadline: Deadline) -> bool:
    """Wait until a descriptor has something to read; False when the deadline passed first."""
    return bool(select.select([fd], [], [], deadline.left_s)[0])


def wait_until(condition: Callable[[], bool], what: Callable[[], str] | str) -> None:
    """Wait until a condition holds; fails the test with `what` when it does not in time."""
    deadline = Deadline()
    tick = threading.Event()
    begin = time.thread_time()
    while not condition():
        if deadline.has_passed:
            raise AssertionError(
                f"not within {LIMIT_S} s: {what if isinstance(what, str) else what()}"
            )
        tick.wait(max(_POLL_S, _REST * (time.thread_time() - begin)))
        begin = time.thread_time()


async def until(condition: Callable[[], object], what: Callable[[], str] | str) -> None:
    """The same for a test that shares its thread with what it waits for."""
    deadline = Deadline()
    while not condition():
        if deadline.has_passed:
            raise AssertionError(
                f"not within {LIMIT_S} s: {what if isinstance(what, str) else what()}"
            )
        await asyncio.sleep(_POLL_S)
