"""Runs pieces of work on all CPUs that the process may use.

Only calls into the kernel are worth a thread: they let go of Python's lock. A thread ends with
the work that it was made for. So none is there when a process forks, and a child has none that are
dead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock, Thread, local
from typing import Final, TypeVar

VARIABLE: Final = "METASHELL_THREADS"
"""The variable that says how many threads work at most."""

_CGROUPS: Final = Path("/sys/fs/cgroup")
_OWN_CGROUP: Final = Path("/proc/self/cgroup")

_T = TypeVar("_T")


class _Caller(local):
    leaves_cpus = 0
    """CPUs that the work of the thread leaves to other threads."""


_CALLER: Final = _Caller()


def leave_a_cpu() -> None:
    """Have the work of the calling thread leave a CPU to those that a user waits for."""
    _CALLER.leaves_cpus = 1


def leaves_a_cpu() -> bool:
    """Whether a user waits for other threads than the calling one."""
    return bool(_CALLER.leaves_cpus)


def count() -> int:
    """How many threads work at most: as the variable says, else one a CPU; in Spark's tasks one.

    Without the variable, fewer where the calling thread leaves a CPU to others.
    """
    if _is_worker_of_spark():
        return 1
    text = os.environ.get(VARIABLE, "").strip()
    # Anything else than a number is no reason to fail in the middle of an answer.
    if text.isdecimal() and len(text) < 9:
        return min(max(int(text), 1), 1024)
    return max(_n_cpus() - _CALLER.leaves_cpus, 1)


@cache
def _is_worker_of_spark() -> bool:
    """Whether Spark started the process, which it does for a task on each CPU."""
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return "pyspark.worker" in sys.modules or (main is not None and main.name == "pyspark.daemon")


@cache
def _n_cpus() -> int:
    """CPUs that the process may use, as its affinity and its control group's quota say."""
    affinity = getattr(os, "sched_getaffinity", None)
    n = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    quota = _quota(_CGROUPS, _OWN_CGROUP)
    return max(n if quota is None else min(n, round(quota)), 1)


def _quota(groups: Path, own: Path) -> float | None:
    """CPUs that the process's control group and those around it allow; None without a limit."""
    try:
        text = own.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = []
    for line in text.splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        # In a container the group's own path may not be there, but its root is.
        roots = (groups,) if not controllers else (groups / controllers, groups / "cpu")
        for root in roots:
            group = root / path.lstrip("/")
            while True:
                found.append(_limit(group))
                if group == root or root not in group.parents:
                    break
                group = group.parent
    return min((limit for limit in found if limit is not None), default=None)


def _limit(group: Path) -> float | None:
    """CPUs that one control group allows, of either version; None without a limit."""
    try:
        both = (group / "cpu.max").read_text().split()
    except OSError:
        try:
            both = [
                (group / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period")
            ]
        except OSError:
            return None
    quota, period = (int(text) if text.isdecimal() else 0 for text in [*both, "", ""][:2])
    return quota / period if quota and period else None


def run(work: Callable[[_T], None], pieces: Iterable[_T]) -> None:
    """Do some work for each piece, on several threads where there are several pieces.

    The thread that calls takes part. If it is interrupted, or work fails, the others end after the
    piece that they are at; the first error is raised.

    Args:
        work: Called with one piece; pieces must not depend on each other.
        pieces: The pieces; the first are begun first.
    """
    waiting = list(pieces)
    n = min(count(), len(waiting))
    if n < 2:
        for piece in waiting:
            work(piece)
        return
    waiting.reverse()
    lock = Lock()
    errors: list[BaseException] = []

    def take() -> None:
        try:
            while True:
                with lock:
                    if not waiting:
                        return
                    piece = waiting.pop()
                work(piece)
        except BaseException as error:
            # ^C ends here too, and the others must not go on.
            errors.append(error)
            waiting.clear()

    threads = [Thread(target=take, name=f"kernel-{i}", daemon=True) for i in range(1, n)]
    try:
        # Where no more threads can be had, those that there are do the work.
        with suppress(RuntimeError):
            for thread in threads:
                thread.start()
        take()
    finally:
        waiting.clear()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    if errors:
        raise errors[0]
