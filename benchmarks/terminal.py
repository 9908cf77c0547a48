"""Runs the explorer on a pseudo-terminal, and says when it has drawn what.

What is drawn is taken as bytes: a word that stands in one place is written in one piece. An
emulator would be large and slow; see `measure`.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from collections.abc import Sequence
from typing import Final

from children import PROGRAM, check, environment
from measure import RSS_UNIT_BYTES, Measurement

_SIZE: Final = (80, 24)
"""Columns and rows."""
LARGE: Final = (120, 35)
_LIMIT_S: Final = 60.0
_QUIET_S: Final = 0.6
"""After so long without a byte the program has drawn all that it has to."""
DOWN_AND_UP: Final = (b"\x1b[B", b"\x1b[A")
"""And so on, so that each press has something to move."""
_PLACE: Final = re.compile(rb"\x1b\[(\d+);\d+H")
_PRESS_EVERY_S: Final = 0.1
_VIEW_S: Final = 0.4
"""A view is there by then."""
_BODY: Final = range(3, 31)
"""Rows of a `LARGE` screen in which the tree is: others change by themselves."""
_LONGEST_S: Final = 2.0
"""A press without an answer by then moved nothing: the one before it was late."""


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


def keys_while_busy(
    arguments: Sequence[str], marker: bytes, first: Sequence[bytes], presses: int
) -> Measurement:
    """Arrow keys in the tree, one each tenth of a second, while something is computed.

    Args:
        arguments: Of the program.
        marker: What is drawn when the source is open.
        first: Keys that begin the work and lead back to the tree; they are not measured.
        presses: Arrow keys.
    """
    measurement = Measurement()
    explorer = _Explorer(arguments, LARGE)
    explorer.read_until(marker)
    for key in first:
        explorer.write(key)
        explorer.read_for(_VIEW_S)
    for i in range(presses):
        wall = explorer.answered(DOWN_AND_UP[i % 3 == 2], _BODY)
        if wall is not None:
            measurement.wall_s.append(wall)
        explorer.read_for(_PRESS_EVERY_S - (wall or 0))
    explorer.read_until_quiet()  # the work has ended: something turns as long as it goes on
    user, rss = explorer.quit()
    measurement.user_s = [user]
    measurement.peak_rss_bytes = rss
    return measurement


def search(arguments: Sequence[str], marker: bytes, pattern: str, runs: int) -> Measurement:
    """A search of Records, from `enter` until nothing more is drawn; each in a program of its own.

    Args:
        arguments: Of the program.
        marker: What is drawn when the source is open.
        pattern: A regular expression, which is typed at once.
        runs: How often.
    """
    measurement = Measurement()
    for _ in range(runs):
        explorer = _Explorer(arguments, LARGE)
        explorer.read_until(marker)
        for key in (b"2", b"/"):
            explorer.write(key)
            explorer.read_until_quiet()
        begin = time.perf_counter()
        explorer.write(f"{pattern}\r".encode())
        explorer.read_until_quiet()
        measurement.wall_s.append(time.perf_counter() - begin - _QUIET_S)
        user, rss = explorer.quit()
        measurement.user_s.append(user)
        measurement.peak_rss_bytes = max(measurement.peak_rss_bytes, rss)
    return measurement


def bytes_of_views(
    arguments: Sequence[str], marker: bytes, keys: Sequence[bytes], runs: int
) -> Measurement:
    """What a switch to another view sends, once each view was seen.

    Args:
        arguments: Of the program.
        marker: What is drawn when the source is open.
        keys: Of the views.
        runs: Switches to each.
    """
    measurement = Measurement()
    explorer = _Explorer(arguments, LARGE)
    explorer.read_until(marker)
    explorer.read_until_quiet()
    for i in range(runs + 1):
        for key in keys:
            begin = time.perf_counter()
            explorer.write(key)
            n_bytes = explorer.read_until_quiet()
            if i:
                measurement.wall_s.append(time.perf_counter() - begin - _QUIET_S)
                measurement.sent_bytes = max(measurement.sent_bytes, n_bytes)
    user, rss = explorer.quit()
    measurement.user_s = [user]
    measurement.peak_rss_bytes = rss
    return measurement


class _Explorer:
    """The program on a terminal of its own."""

    def __init__(self, arguments: Sequence[str], size: tuple[int, int] = _SIZE) -> None:
        variables = environment(TERM="xterm-256color", COLORTERM="truecolor")
        columns, rows = size
        self._pid, self._fd = pty.fork()
        if not self._pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
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

    def read_until_quiet(self) -> int:
        """Read until nothing more comes; returns how many bytes came."""
        n_bytes = 0
        while piece := self.read(_QUIET_S):
            n_bytes += len(piece)
        return n_bytes

    def read_for(self, seconds: float) -> None:
        """Read whatever comes in a time."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)

    def answered(self, key: bytes, rows: range) -> float | None:
        """Press a key; seconds until something is drawn in some rows, None where nothing is."""
        begin, seen = time.perf_counter(), b""
        self.write(key)
        while (left := begin + _LONGEST_S - time.perf_counter()) > 0:
            seen += self.read(left)
            if any(int(place[1]) in rows for place in _PLACE.finditer(seen)):
                return time.perf_counter() - begin
        return None

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
