"""Runs a function for each directory of a fleet in processes of its own.

Owns how many there are and that none is left behind: not after ^C, not when this process is killed.
A worker that dies costs the row that it was at, and no other.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Final, TypeAlias

from metashell.places.seen import Seen, begin_seeing, seen
from metashell.places.uri import is_archive
from metashell.sources.fleet.member import FleetRow

PoolJob: TypeAlias = tuple[object, ...]
"""The arguments of one call."""
Function: TypeAlias = Callable[..., FleetRow]

DIED: Final = "the process that read it died: out of memory, or killed"
_POLL_S: Final = 0.1
"""How often is asked whether to stop."""


def run_all(
    function: Function,
    jobs: Sequence[PoolJob],
    n_workers: int,
    *,
    stop: Callable[[], None] = lambda: None,
) -> Iterator[tuple[int, FleetRow | None]]:
    """Call a function for each job, the results in the order in which they come.

    Args:
        function: A function of a module; it never raises.
        jobs: Picklable arguments.
        n_workers: Processes; with one, a single job, or a place in an archive as first argument,
            all is done in this process.
        stop: Called again and again; it raises to end everything.

    Yields:
        (the job's number, the result); None where the process died at it, twice.
    """
    # The memory of this process holds what an archive has.
    is_here = any(is_archive(str(job[0])) for job in jobs)
    if n_workers <= 1 or len(jobs) <= 1 or is_here:
        for i, job in enumerate(jobs):
            stop()
            yield i, function(*job)
        return
    suspects: list[int] = []
    left = deque(range(len(jobs)))
    while left:
        yield from _Round(function, jobs, n_workers, stop).run(left, suspects)
    for i in suspects:
        # Alone, so that it is known who is at fault.
        died: list[int] = []
        yield from _Round(function, jobs, 1, stop).run(deque([i]), died)
        if died:
            yield i, None


class _Round:
    """The life of one pool, which ends with its first worker that dies."""

    def __init__(
        self,
        function: Function,
        jobs: Sequence[PoolJob],
        n_workers: int,
        stop: Callable[[], None],
    ) -> None:
        self._function, self._jobs, self._stop = function, jobs, stop
        self._n_workers = n_workers

    def run(self, left: deque[int], died: list[int]) -> Iterator[tuple[int, FleetRow | None]]:
        """Take jobs from `left`; of those under way when a worker dies `died` gets the numbers."""
        with _pool(min(self._n_workers, len(left))) as pool:
            running: dict[Future[FleetRow], int] = {}
            while left or running:
                try:
                    # No more than are worked at: the others are not suspected when one dies.
                    while left and len(running) < self._n_workers:
                        running[pool.submit(self._function, *self._jobs[left[0]])] = left[0]
                        left.popleft()
                except BrokenProcessPool:
                    died += running.values()
                    return
                done, _ = wait(running, timeout=_POLL_S, return_when=FIRST_COMPLETED)
                self._stop()
                broken = False
                for future in done:
                    try:
                        row = future.result()
                    except BrokenProcessPool:
                        broken = True
                        continue
                    yield running.pop(future), row
                if broken:
                    died += running.values()
                    return


@contextmanager
def _pool(n_workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes are gone at the end, whatever they are at."""
    # Not forked: threads and locks of this process are not copied.
    pool = ProcessPoolExecutor(
        n_workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(seen(),),
    )
    try:
        yield pool
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.kill()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin(known: Seen) -> None:
    """Begin a worker: ^C is for its parent to act on, and it does not outlive that.

    Args:
        known: The memory of stores that its parent has.
    """
    begin_seeing(known)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=watch, name="metashell-parent", daemon=True).start()
