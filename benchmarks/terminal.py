"""Runs the explorer on a pseudo-terminal, and says when it has drawn what.

What is drawn is taken as bytes: a word that stands in one place is written in one piece. An
emulator would be large and slow; see `measure`.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import termios
import time
from collections.abc import Sequence
from typing import Final

from children import PROGRAM, check, environment
from measure import RSS_UNIT_BYTES, Measurement

_COLUMNS, _ROWS = 80, 24
_LIMIT_S: Final = 60.0
_QUIET_S: Final = 0.6
"""After so long without a byte the program has drawn all that it has to."""
DOWN_AND_UP: Final = (b"\x1b[B", b"\x1b[A")
"""And so on, so that each press has something to move."""


def first_paint(arguments: Sequence[str], marker: bytes, runs: int) -> Measurement:
    """From the start of the program until something is on the terminal."""
    measurement = Measurement()
    for i in range(runs + 1):
        begin = time.perf_counter()
        explorer = _Explorer(arguments)
        explorer.read_until(marker)
        wall = time.perf_counter() - begin
        user, rss = explorer.quit()
        if i:  # The first brings the files into memory.
            measurement.wall_s.append(wall)
            measurement.user_s.append(user)
        measurement.peak_rss_bytes = max(measurement.peak_rss_bytes, rss)
    return measurement


def key_press(
    arguments: Sequence[str], marker: bytes, runs: int, keys: tuple[bytes, bytes] = DOWN_AND_UP
) -> Measurement:
    """From a key press until something of its answer is on the terminal.

    Args:
        arguments: Of the program.
        marker: What is drawn when everything is there.
        runs: Presses that are measured.
        keys: Pressed in turn; the second undoes what the first did.
    """
    measurement = Measurement()
    explorer = _Explorer(arguments)
    explorer.read_until(marker)
    explorer.read_until_quiet()
    for i in range(runs + 1):
        begin = time.perf_counter()
        explorer.write(keys[i % 2])
        check(explorer.read(_LIMIT_S) != b"", "the explorer has ended")
        wall = time.perf_counter() - begin
        explorer.read_until_quiet()
        if i:
            measurement.wall_s.append(wall)
        else:
            measurement.first_s = wall
    user, rss = explorer.quit()
    measurement.user_s = [user]
    measurement.peak_rss_bytes = rss
    return measurement


class _Explorer:
    """The program on a terminal of its own."""

    def __init__(self, arguments: Sequence[str]) -> None:
        variables = environment(TERM="xterm-256color")
        self._pid, self._fd = pty.fork()
        if not self._pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
            os.execve(PROGRAM[0], [*PROGRAM, *arguments], variables)
        self._seen = b""

    def read(self, limit_s: float) -> bytes:
        """What comes next; nothing where nothing does in time, or the program has ended."""
        if not select.select([self._fd], [], [], limit_s)[0]:
            return b""
        try:
            return os.read(self._fd, 1 << 16)
        except OSError:  # Linux: nobody has the other side open
            return b""

    def read_until(self, marker: bytes) -> None:
        """Read until something was drawn."""
        end = time.monotonic() + _LIMIT_S
        while marker not in self._seen:
            piece = self.read(end - time.monotonic())
            check(piece != b"", f"{marker!r} is not drawn: {self._seen[-2000:]!r}")
            self._seen += piece

    def read_until_quiet(self) -> None:
        """Read until nothing more comes."""
        while self.read(_QUIET_S):
            pass

    def write(self, data: bytes) -> None:
        """Press a key."""
        os.write(self._fd, data)

    def quit(self) -> tuple[float, int]:
        """Leave; returns CPU time in user mode and the peak of memory in bytes."""
        self.write(b"q")
        while self.read(_LIMIT_S):
            pass
        _, status, usage = os.wait4(self._pid, 0)
        os.close(self._fd)
        code = os.waitstatus_to_exitcode(status)
        check(code == 0, f"the explorer ends with status {code}")
        return usage.ru_utime, usage.ru_maxrss * RSS_UNIT_BYTES
