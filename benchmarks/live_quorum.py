"""A quorum on loopback in a process of its own, and how soon a program prints what it commits.

Must stay as small as `measure`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from children import PROGRAM, check, environment
from directories import HERE
from measure import RSS_UNIT_BYTES, Measurement, one_cpu


class Quorum:
    """One controller, which serves a checkpoint; see `live_server`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.port = int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def commit(self) -> float:
        """Commit a record; returns when that was, on time.monotonic's clock."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._line())


@contextmanager
def serving(checkpoint: Path) -> Iterator[Quorum]:
    """Serve a checkpoint until the block ends."""
    argv = [sys.executable, str(HERE / "live_server.py"), str(checkpoint)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdin is not None
        try:
            yield Quorum(process)
        finally:
            process.stdin.close()


def printed(quorum: Quorum, words: Sequence[str], n_records: int) -> Measurement:
    """From the moment in which a record is committed until its line can be read from a pipe.

    Args:
        quorum: What is followed, and commits one record after the other.
        words: A command that prints a line for each record, and goes on until ^C.
        n_records: How many are measured, after a first one.
    """
    measurement = Measurement()
    argv = [*PROGRAM, "-q", f"127.0.0.1:{quorum.port}", *words]
    with one_cpu():
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout is not None
    check(process.stdout.readline() != b"", "it follows nothing")
    for i in range(n_records + 1):
        committed = quorum.commit()
        check(process.stdout.readline() != b"", "it has ended")
        wall = time.monotonic() - committed
        if i:
            measurement.wall_s.append(wall)
        else:
            measurement.first_s = wall
    process.send_signal(signal.SIGINT)
    check(process.stdout.read() == b"", "it prints more than was committed")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    check(process.returncode == 130, f"it ends with status {process.returncode} at ^C")
    measurement.user_s = [usage.ru_utime]
    measurement.peak_rss_bytes = usage.ru_maxrss * RSS_UNIT_BYTES
    return measurement
