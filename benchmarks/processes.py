"""What a tree of processes takes, as ``/proc`` tells it: CPU time, and peaks of memory.

Spark's Python workers are children of a child of ours that we can't wait for, so nothing else tells
of them. Where there is no ``/proc`` nothing is told.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_INTERVAL_S: Final = 0.5
_PYTHON_WORKER: Final = b"pyspark"
"""In the command line of Spark's Python workers, and of the daemon that they are forked from."""


@dataclass(slots=True)
class Peaks:
    """The largest resident sets seen so far, in bytes; 0 where nothing is told."""

    any_process: int = 0
    python_worker: int = 0

    def look(self) -> None:
        """Ask all descendants of this process. The kernel keeps their peaks, so it is enough to
        ask each once before it ends.
        """
        for pid in descendants():
            with suppress(OSError, ValueError):
                peak = peak_bytes(pid)
                self.any_process = max(self.any_process, peak)
                if _is_python_worker(pid):
                    self.python_worker = max(self.python_worker, peak)


@contextmanager
def watched() -> Iterator[Peaks]:
    """Look at the processes now and then while a block runs, and at its end."""
    peaks, ended = Peaks(), threading.Event()

    def watch() -> None:
        while not ended.wait(_INTERVAL_S):
            peaks.look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        ended.set()
        thread.join()
        peaks.look()


def user_seconds(*, of_python_workers: bool = False) -> float:
    """CPU time in user mode of this process and its descendants, those that ended included.

    Args:
        of_python_workers: Whether Spark's Python workers alone count.
    """
    ticks = 0
    for pid in (os.getpid(), *descendants()):
        with suppress(OSError, ValueError, IndexError):
            if of_python_workers and not _is_python_worker(pid):
                continue
            fields = _stat(pid)
            ticks += int(fields[11]) + int(fields[13])
    return float(ticks) / os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> dict[str, float]:
    """CPU time so far by kind of process: this one, Java, and the others below, which decode."""
    found = {"driver": 0.0, "java": 0.0, "workers": 0.0}
    for pid in (os.getpid(), *descendants()):
        with suppress(OSError, ValueError, IndexError):
            fields = [int(field) / os.sysconf("SC_CLK_TCK") for field in _stat(pid)[11:15]]
            program = Path(_PROC, str(pid), "cmdline").read_bytes().partition(b"\0")[0]
            kind = "java" if os.path.basename(program) == b"java" else "workers"
            found["driver" if pid == os.getpid() else kind] += sum(fields[:2])
            found["workers"] += sum(fields[2:])  # Children that ended.
    return found


def busy_seconds() -> float:
    """CPU time of all that runs on this machine so far."""
    with suppress(OSError, ValueError, IndexError):
        user, nice, system, _, _, *more = Path(_PROC, "stat").read_text().split("\n")[0].split()[1:]
        ticks = sum(map(int, (user, nice, system, *more[:3])))
        return float(ticks) / os.sysconf("SC_CLK_TCK")
    return 0.0


def reset_peak() -> None:
    """Let `peak_bytes` of this process begin anew, where the kernel can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def descendants() -> list[int]:
    """Children of this process, their children and so on."""
    parents: dict[int, list[int]] = {}
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            pid = int(entry.name)
            parents.setdefault(int(_stat(pid)[1]), []).append(pid)
    found, upcoming = [], [os.getpid()]
    while upcoming:
        children = parents.get(upcoming.pop(), [])
        found += children
        upcoming += children
    return found


def _stat(pid: int) -> list[str]:
    """The fields behind the name, which may hold spaces and parentheses."""
    return Path(_PROC, str(pid), "stat").read_text(errors="replace").rpartition(")")[2].split()


def peak_bytes(pid: int) -> int:
    """The largest resident set that a process had; 0 where nothing tells."""
    for line in Path(_PROC, str(pid), "status").read_text(errors="replace").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _is_python_worker(pid: int) -> bool:
    words = Path(_PROC, str(pid), "cmdline").read_bytes().split(b"\0")
    # The Java process names PySpark too, in its class path.
    return _PYTHON_WORKER in b" ".join(words[1:4]) and b"python" in os.path.basename(words[0])
