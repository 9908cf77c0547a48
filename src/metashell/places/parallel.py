"""Jobs that wait for a store, done several at a time: latency rules there, not bandwidth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

THREADS: Final = 8
"""How many jobs wait at a time."""


def in_parallel(
    jobs: Sequence[Callable[[], Any]], each: Callable[[Any], None] | None = None
) -> list[Any]:
    """The results of several jobs that wait for a store, in order; the first error ends it.

    Args:
        jobs: The functions to call.
        each: Called with each result, in order, in this thread.
    """
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(THREADS, "metashell-read")
    found = []
    try:
        # Map would begin all at once as well: what is waiting is cancelled below.
        for future in [pool.submit(job) for job in jobs]:
            found.append(future.result())
            if each is not None:
                each(found[-1])
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return found
