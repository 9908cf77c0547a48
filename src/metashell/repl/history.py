"""The lines entered, kept across sessions in a file of the user's state directory.

One line a line, oldest first, UTF-8. The file is readable by its owner alone, as a line may hold
anything. Shells that run at the same time append to the same file. A directory that can't be
written costs the memory of earlier sessions, never the shell.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import History

from metashell.commands.framework.statement import logical_lines, one_line
from metashell.fs.escape import to_bytes
from metashell.places.uri import holds_credentials
from metashell.places.user import replace_file, user_directory

MAX_LINES = 10_000
"""Lines kept when the file is opened; appended lines may exceed it until the next time."""
MAX_BYTES = 4 << 20
"""The part of the file's end that is read at most."""


def default_path() -> Path:
    """Return the history's place on this platform."""
    return Path(user_directory("state")) / "history"


def recall(line: str, previous: str | None) -> str | None:
    """A line whose first word is ``!!`` with the line before in its place; None where none was."""
    stripped = line.lstrip()
    if not stripped.startswith("!!"):
        return line
    return None if previous is None else previous + stripped[2:]


class LineHistory(History):
    """A history in a file; in memory alone where the file can't be used.

    Args:
        path: The file, made when missing; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self.lines: list[str] = []
        """Every line, oldest first; grows as lines are entered."""
        self.problem: str | None = None
        """Why lines are not kept, or None."""
        self._path = path
        if path is not None:
            try:
                _make_private(path)
                self.lines = _read(path)
            except (OSError, ValueError) as error:
                self._give_up(error)

    def load_history_strings(self) -> Iterable[str]:
        """Return the lines, newest first."""
        return self.lines[::-1]

    @property
    def last(self) -> str | None:
        """The newest line, or None."""
        return self.lines[-1] if self.lines else None

    def append_string(self, string: str) -> None:
        """Remember an entry; a pasted block is lines, and one that goes on below is one.

        One that begins with a space is not kept, nor one with credentials in a URI.
        """
        if string.startswith(" ") or holds_credentials(string):
            return
        for text in logical_lines("\n".join(string.splitlines())):
            line = recall(one_line(text), self.last)
            if line is not None and line.strip():
                self.lines.append(line)
                super().append_string(line)

    def store_string(self, string: str) -> None:
        """Append a line to the file."""
        if self._path is None:
            return
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                # One write, so that shells running side by side don't mix their lines.
                os.write(descriptor, to_bytes(f"{string}\n"))
            finally:
                os.close(descriptor)
        except (OSError, ValueError) as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        self.problem = f"history is not kept: {self._path}: {reason}"
        self._path = None


def _make_private(path: Path) -> None:
    """Make the file and its directory, and take away others' rights to the file."""
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    # Not blocking, so that a named pipe in its place can't hang the shell.
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(0, "Not a regular file")
        if stat.S_IMODE(mode) & 0o077 and hasattr(os, "fchmod"):
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _read(path: Path) -> list[str]:
    """Read the newest lines, and shorten a file that has outgrown its cap."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MAX_BYTES - 1))
        data = file.read(MAX_BYTES + 1)
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    if size > MAX_BYTES:
        lines = lines[1:]  # its beginning is cut off, or the byte before was a line end
    lines = [line for line in lines if line.strip()]
    if len(lines) > MAX_LINES or size > MAX_BYTES:
        lines = lines[-MAX_LINES:]
        with suppress(OSError):
            replace_file(path, to_bytes("".join(f"{line}\n" for line in lines)))
    return lines
