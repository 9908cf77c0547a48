"""Runs a program as a whole process, several times, and says what each run took.

Owns timing, the CPU it runs on, and the peak of its memory. Must stay small itself: a child's peak
counts from the memory of the process that starts it, so this module imports nothing large and
keeps no output.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Final

_READ_BYTES: Final = 1 << 20
_HEAD_BYTES: Final = 1 << 16
RSS_UNIT_BYTES: Final = 1 if sys.platform == "darwin" else 1024


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of both; the module `statistics` would make us larger."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


class WrongOutputError(Exception):
    """A program that was to be timed does not do what it should."""


class SkippedError(Exception):
    """Something can't be measured on this machine, which says nothing about the program."""


@dataclass(slots=True, kw_only=True)
class Output:
    """What a program wrote, without keeping all of it."""

    size: int = 0
    """Bytes."""
    n_lines: int = 0
    head: bytes = b""
    """The first `_HEAD_BYTES`."""

    def add(self, piece: bytes) -> None:
        """Take in what came next."""
        self.size += len(piece)
        self.n_lines += piece.count(b"\n")
        if len(self.head) < _HEAD_BYTES:
            self.head += piece[: _HEAD_BYTES - len(self.head)]


@dataclass(slots=True, kw_only=True)
class Measurement:
    """Several runs of the same thing; times in seconds."""

    wall_s: list[float] = field(default_factory=list)
    user_s: list[float] = field(default_factory=list)
    peak_rss_bytes: int = 0
    sent_bytes: int = 0
    """The most that an answer took on the terminal; 0 where nothing is counted."""
    n_items: int = 0
    """Records that each run decodes; 0 where nothing is counted."""
    first_s: float | None = None
    """The first run in a process, before anything was cached; None for whole processes."""
    parts: dict[str, list[float]] = field(default_factory=dict)
    """Wall times of what each run consists of, where that is measured."""

    members: dict[int, dict[str, float]] = field(default_factory=dict)
    """CPU time by kind of process, for fleets of so many members; empty for anything else."""
    disturbed: bool = False
    """Whether other work took so much of the machine that wall times say nothing."""

    @property
    def median_s(self) -> float:
        """Median wall time of a run."""
        return median(self.wall_s)

    @property
    def items_per_s(self) -> float:
        """Items a second, by the median."""
        return self.n_items / self.median_s


@contextmanager
def one_cpu() -> Iterator[None]:
    """Let children started in this block have the last CPU alone; the harness keeps all."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(own)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


def run_once(
    argv: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    pinned: bool = True,
    status: int = 0,
) -> tuple[Output, float, float, int]:
    """Run a program to its end, reading what it writes through a pipe.

    Args:
        argv: The program and its arguments.
        environment: Its variables; None for ours.
        pinned: Whether it has one CPU alone.
        status: Its exit status.

    Returns:
        (output, wall time in s, user CPU time in s, peak memory in bytes).

    Raises:
        WrongOutputError: Its exit status is another one.
    """
    output = Output()
    begin = time.perf_counter()
    with one_cpu() if pinned else nullcontext():
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment
        )
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    while piece := os.read(descriptor, _READ_BYTES):
        output.add(piece)
    _, waited, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(waited)
    process.stdout.close()
    if process.returncode != status:
        raise WrongOutputError(f"exit status {process.returncode}: {' '.join(argv)}")
    return output, wall, usage.ru_utime, usage.ru_maxrss * RSS_UNIT_BYTES


def run_often(
    argv: Sequence[str],
    runs: int,
    environment: Mapping[str, str] | None = None,
    *,
    pinned: bool = True,
    status: int = 0,
) -> tuple[Output, Measurement]:
    """Run a program once unmeasured, which brings its files into memory, then `runs` times.

    The other arguments are those of `run_once`.

    Returns:
        (the last run's output, what the runs took).

    Raises:
        WrongOutputError: Its exit status is another one, or two runs write different things.
    """
    measurement = Measurement()
    expected, *_ = run_once(argv, environment, pinned=pinned, status=status)
    output = expected
    for _ in range(runs):
        output, wall, user, rss = run_once(argv, environment, pinned=pinned, status=status)
        if output != expected:
            raise WrongOutputError(f"two runs differ: {' '.join(argv)}")
        measurement.wall_s.append(wall)
        measurement.user_s.append(user)
        measurement.peak_rss_bytes = max(measurement.peak_rss_bytes, rss)
    return output, measurement
