"""Sets up Python and the allocator for a program that draws while jobs read gigabytes."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

_SWITCH_S: Final = 0.0005
"""How long a job may keep the thread that draws waiting for the interpreter."""
_GARBAGE: Final = (50_000, 20, 100)
"""Thresholds of the collector: to look at all objects takes longer than a key press may."""
_ARENA_MAX: Final = -8
"""M_ARENA_MAX of glibc's mallopt."""
_MMAP_THRESHOLD: Final = -3
"""M_MMAP_THRESHOLD of it."""
_COLUMN_BYTES: Final = 1 << 20
"""Larger blocks are columns, and go back to the system as soon as they are freed."""


@contextmanager
def ready_for_keys() -> Iterator[None]:
    """Let the thread that draws go first, and have glibc's allocator keep one heap.

    Glibc has a heap for each few threads by default. Jobs run in threads: one job can't use the
    memory that another job freed, and 400 MB stayed unused. Large blocks stay out of the heap,
    where small blocks behind them would keep them from being freed.
    """
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    gc.set_threshold(*_GARBAGE)
    sys.setswitchinterval(_SWITCH_S)
    _call_allocator("mallopt", _ARENA_MAX, 1)
    _call_allocator("mallopt", _MMAP_THRESHOLD, _COLUMN_BYTES)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)
        gc.unfreeze()


def release_freed() -> None:
    """Give memory that was freed back to the system: glibc's, and that of Arrow's own pool."""
    arrow: Any = sys.modules.get("pyarrow")
    if hasattr(arrow, "default_memory_pool"):
        arrow.default_memory_pool().release_unused()
    _call_allocator("malloc_trim", 0)


def _call_allocator(name: str, *arguments: int) -> None:
    """Call a function that only glibc has; elsewhere nothing is done."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None)[name](*arguments)
