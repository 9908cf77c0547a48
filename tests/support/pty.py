"""A program on a pseudo-terminal, with an emulator that shows what a person would see."""

from __future__ import annotations

import copy
import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pyte
from pyte.screens import Char, Cursor, StaticDefaultDict

from support.waiting import LIMIT_S, Deadline, wait_readable, wait_until

CTRL_A = "\x01"
CTRL_C = "\x03"
CTRL_D = "\x04"
CTRL_E = "\x05"
CTRL_R = "\x12"
TAB = "\t"
ENTER = "\r"
ESCAPE = "\x1b"
UP = "\x1b[A"
DOWN = "\x1b[B"
RIGHT = "\x1b[C"
PASTE_BEGIN = "\x1b[200~"
PASTE_END = "\x1b[201~"

_KEPT_BYTES = 1 << 16
_ALTERNATE_SCREEN = 1049
"""The private mode in which full-screen programs draw; the shell's screen is kept meanwhile."""

_TAKE_TERMINAL = "import os, sys; os.login_tty(0); os.execvp(sys.argv[1], sys.argv[1:])"


class _Screen(pyte.HistoryScreen):
    """An emulator that answers the program's questions, such as where the cursor is."""

    def __init__(self, columns: int, rows: int, answer: Callable[[str], None]) -> None:
        self._shells: tuple[dict[int, StaticDefaultDict[int, Char]], Cursor] | None = None
        super().__init__(columns, rows, history=5000)
        self._answer = answer

    def write_process_input(self, data: str) -> None:
        self._answer(data)

    def set_mode(self, *modes: int, **kwargs: bool) -> None:
        """Also begin an alternate screen, which pyte does not know."""
        super().set_mode(*modes, **kwargs)
        if kwargs.get("private") and _ALTERNATE_SCREEN in modes and self._shells is None:
            self._shells = (dict(self.buffer), copy.copy(self.cursor))
            self.buffer.clear()

    def reset_mode(self, *modes: int, **kwargs: bool) -> None:
        """Also bring back the screen and the cursor from before the alternate one."""
        super().reset_mode(*modes, **kwargs)
        if kwargs.get("private") and _ALTERNATE_SCREEN in modes and self._shells is not None:
            rows, self.cursor = self._shells
            self._shells = None
            self.buffer.clear()
            self.buffer.update({y: row for y, row in rows.items() if y < self.lines})
            self.cursor.y = min(self.cursor.y, self.lines - 1)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Keep the cursor on the screen and in its line, as terminals do; pyte leaves it below."""
        new_lines = lines or self.lines
        if new_lines < self.lines:
            n_above = max(0, self.cursor.y - new_lines + 1)
            rows = {y - n_above: row for y, row in self.buffer.items()}
            self.buffer.clear()
            self.buffer.update({y: row for y, row in rows.items() if 0 <= y < new_lines})
            self.cursor.y -= n_above
            self.lines = new_lines
        super().resize(new_lines, columns)
        self.cursor.x = min(self.cursor.x, self.columns - 1)


class Terminal:
    """A running program and its screen; a context manager that ends both.

    Args:
        command: The program and its arguments.
        env: Set on top of a small environment of the tests' own.
        rows: Height of the screen.
        columns: Width of the screen.
        cwd: The program's directory.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        rows: int = 24,
        columns: int = 80,
        cwd: Path | None = None,
    ) -> None:
        self._fd, slave = pty.openpty()
        self._is_dumb = env.get("TERM") == "dumb"
        self.raw = b""
        """The end of what the program has written."""
        self._screen = _Screen(columns, rows, self.send)
        self._stream = pyte.ByteStream(self._screen)
        self._set_size(rows, columns)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-ISc", _TAKE_TERMINAL, *command],
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env=_environment(env),
                cwd=cwd,
            )
        finally:
            os.close(slave)

    @property
    def modes(self) -> list[object]:
        """The terminal's modes, as of `termios.tcgetattr`."""
        return termios.tcgetattr(self._fd)

    @modes.setter
    def modes(self, modes: list[object]) -> None:
        termios.tcsetattr(self._fd, termios.TCSANOW, modes)

    @property
    def _is_read(self) -> bool:
        """Whether the program takes keys: edits lines by itself, or waits for one on a dumb screen.

        There ^C between the prompt and the waiting would be seen when the next line comes.
        """
        if not self._is_dumb:
            return not termios.tcgetattr(self._fd)[3] & termios.ICANON
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return True  # no Linux
        return stat.rpartition(")")[2].split()[0] == "S"

    @property
    def lines(self) -> list[str]:
        """The rows of the screen without trailing spaces."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        """The screen as one string, empty rows at its end cut."""
        return "\n".join(self.lines).rstrip("\n")

    @property
    def cursor_line(self) -> str:
        """The row that the cursor is in."""
        return self.lines[self._screen.cursor.y]

    def send(self, text: str) -> None:
        """Type text; keys are the constants of this module."""
        data = text.encode("utf-8", "surrogateescape")
        while data:
            data = data[os.write(self._fd, data) :]

    def enter(self, line: str) -> None:
        """Type a line and press Enter."""
        self.send(line + ENTER)

    def read_until(self, marker: str | re.Pattern[str]) -> str:
        """Read until the screen shows a text or matches a pattern; returns the screen."""
        pattern = re.compile(re.escape(marker)) if isinstance(marker, str) else marker
        self.read_while(lambda: pattern.search(self.text) is None, f"the screen shows {marker!r}")
        return self.text

    def read_prompt(self, prompt: str, *, is_raw: bool = True) -> None:
        """Read until the cursor stands in a row that says nothing but a prompt.

        Keys that steer the line are the terminal's own before that, as in any shell, and until the
        program takes them: it does so once it has drawn the prompt, unless not `is_raw`.
        """
        self.read_while(lambda: self.cursor_line != prompt.rstrip(), f"the prompt {prompt!r}")
        if is_raw:
            wait_until(lambda: self._is_read, lambda: f"keys are taken\n{self.describe()}")

    def read_while(self, condition: Callable[[], bool], awaited: str) -> None:
        """Read while a condition holds; fails with the whole screen when it does so too long."""
        deadline = Deadline()
        while condition():
            if not wait_readable(self._fd, deadline):
                raise AssertionError(f"not within {LIMIT_S} s: {awaited}\n{self.describe()}")
            if not self._read():
                raise AssertionError(f"the program ended before: {awaited}\n{self.describe()}")

    def read_to_end(self) -> int:
        """Read until the program ends; returns its exit status."""
        deadline = Deadline()
        while wait_readable(self._fd, deadline):
            if not self._read():
                break
        wait_until(
            lambda: self._process.poll() is not None,
            lambda: f"the program ends\n{self.describe()}",
        )
        return self._process.returncode

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the screen; the program gets SIGWINCH."""
        self._screen.resize(rows, columns)
        self._set_size(rows, columns)

    def signal(self, number: int) -> None:
        """Send the program a signal."""
        self._process.send_signal(number)

    def stop(self) -> None:
        """Stop the program by force, and read all that it has written."""
        self.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)
        while select.select([self._fd], [], [], 0)[0]:
            self._read()

    def clear(self) -> None:
        """Forget what the screen shows."""
        self._screen.reset()

    def hang_up(self) -> None:
        """Take the terminal away from the program."""
        os.close(self._fd)
        self._fd = os.open(os.devnull, os.O_RDWR)

    def describe(self) -> str:
        """Return the screen in a frame and the end of the raw output, for a failed test."""
        width = self._screen.columns
        frame = "+" + "-" * width + "+"
        rows = "\n".join(f"|{line:<{width}}|" for line in self._screen.display)
        return f"{frame}\n{rows}\n{frame}\nraw: {self.raw[-1000:]!r}"

    def close(self) -> None:
        """End the program and all that it started on this terminal."""
        if self._process.poll() is None:
            # The program leads its session and group, see _TAKE_TERMINAL; before that, ours.
            if os.getpgid(self._process.pid) == self._process.pid:
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
        self._process.wait()
        os.close(self._fd)  # what is left of the session gets SIGHUP

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _read(self) -> bool:
        """Feed the emulator; False at the end of the output."""
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError as error:
            if error.errno != errno.EIO:  # Linux: nobody has the other side open
                raise
            return False
        self.raw = (self.raw + data)[-_KEPT_BYTES:]
        self._stream.feed(data)
        return bool(data)

    def _set_size(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without anything of the developer's own."""
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    python_path = os.pathsep.join(path for path in sys.path if path)
    return {
        **kept,
        "PYTHONPATH": python_path,
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        **extra,
    }
