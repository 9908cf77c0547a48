"""When Python looks for garbage that only it can free: while nobody waits for an answer.

A full collection looks at every object there is, which takes longer than a key press may. Memory
that jobs have freed is for all of them, and goes back to the system at such times too.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

_YOUNG: Final = (2_000, 5)
"""New objects, and collections of such, after which those are looked at."""
_NEVER: Final = 1_000_000_000
_SWITCH_S: Final = 0.0005
"""How long a job may keep the thread that draws waiting for the interpreter."""
_IDLE_S: Final = 1.0
_LONGEST_S: Final = 30.0
"""Full collections are not put off longer, however busy the user is."""
_ARENA_MAX: Final = -8
"""M_ARENA_MAX of glibc's mallopt."""
_MMAP_THRESHOLD: Final = -3
"""M_MMAP_THRESHOLD of it."""
_COLUMN_BYTES: Final = 1 << 20
"""Larger blocks are columns, and go back to the system as soon as they are freed."""
_OLD: Final = 100
"""A full collection is due after this number of collections of younger objects."""


class _State:
    is_ours = False
    """Whether collecting is up to this module: it is not where a program shows the explorer."""


_STATE: Final = _State()


@contextmanager
def ready_for_keys() -> Iterator[None]:
    """Collect nothing while the program starts, and old objects only when `Collecting` says so."""
    before, interval = gc.get_threshold(), sys.getswitchinterval()
    was_enabled = gc.isenabled()
    gc.disable()
    _share_freed_memory()
    _STATE.is_ours = True
    sys.setswitchinterval(_SWITCH_S)
    try:
        yield
    finally:
        _STATE.is_ours = False
        sys.setswitchinterval(interval)
        gc.set_threshold(*before)
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def _share_freed_memory() -> None:
    """Have glibc's allocator keep one heap. By default it has one for each few threads.

    Jobs run in threads. Without this, one job can't use the memory that another job freed, and
    400 MB stayed unused. Large blocks stay out of the heap, where small blocks behind them would
    keep them from being freed.
    """
    _call_allocator("mallopt", _ARENA_MAX, 1)
    _call_allocator("mallopt", _MMAP_THRESHOLD, _COLUMN_BYTES)


def _call_allocator(name: str, *arguments: int) -> None:
    """Call a function that only glibc has; elsewhere nothing is done."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None)[name](*arguments)


def release_freed() -> None:
    """Give memory that was freed back to the system: glibc's, and that of Arrow's own pool."""
    if not _STATE.is_ours:
        return
    arrow: Any = sys.modules.get("pyarrow")
    if hasattr(arrow, "default_memory_pool"):
        arrow.default_memory_pool().release_unused()
    _call_allocator("malloc_trim", 0)


def keep_all() -> None:
    """Look at nothing any more that is there by now: modules and classes stay for good."""
    if not _STATE.is_ours:
        return
    gc.freeze()
    gc.set_threshold(*_YOUNG, _NEVER)
    gc.enable()


class Collecting:
    """Decides when old objects are looked at."""

    def __init__(self) -> None:
        self._touched = self._collected = time.monotonic()

    def touch(self) -> None:
        """Note that the user did something."""
        self._touched = time.monotonic()

    def is_due(self, now: float, counts: tuple[int, ...]) -> bool:
        """Whether a full collection is worth it, and disturbs nobody.

        Args:
            now: The time by `time.monotonic`.
            counts: The counts of `gc.get_count`.
        """
        if counts[2] < _OLD:
            return False
        return now - self._touched >= _IDLE_S or now - self._collected >= _LONGEST_S

    def look(self, *_: Any) -> None:
        """Collect if it is due; to be called now and then."""
        if _STATE.is_ours and gc.isenabled() and self.is_due(time.monotonic(), gc.get_count()):
            gc.collect()
            _call_allocator("malloc_trim", 0)
            self._collected = time.monotonic()
