"""Standard output and standard error.

Owns buffering, encoding, what a terminal may be sent, and failures of writing. Nothing else in the
command line writes to either stream. Data is written to the file itself and not to Python's own
buffers, which would be flushed once more, and loudly, when the interpreter ends.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import BinaryIO, Final, TextIO

from metashell.errors import MetashellError

_BUFFER_CHARS: Final = 1 << 16
_WIDTH_DEFAULT: Final = 80


class OutputError(Exception):
    """Standard output can't be written: the disk is full, it is closed.

    No `MetashellError`, because a command reports those as its own and goes on.
    """


class StreamOutput:
    """Buffered text to a stream, as UTF-8 whatever the locale says.

    After a failure every further write fails in the same way, so that a command in a long loop
    ends.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._pieces: list[str] = []
        self._size = 0
        self._failure: OSError | OutputError | None = None
        self.is_terminal = stream is not None and _is_terminal(stream)
        self.has_text = False
        """Whether anything was written."""
        self.before_sending: Callable[[], None] | None = None
        """Called before data reaches a terminal, where something may be drawn."""

    @property
    def width(self) -> int:
        """Columns of the terminal; 80 where there is none."""
        return terminal_width(self._stream) if self.is_terminal else _WIDTH_DEFAULT

    @property
    def height(self) -> int:
        """Rows of the terminal; 24 where there is none."""
        try:
            return os.get_terminal_size(self._stream.fileno()).lines or 24 if self._stream else 24
        except (OSError, ValueError):
            return 24

    def write(self, text: str) -> None:
        """Write text; to a terminal as `for_terminal` says.

        Raises:
            BrokenPipeError: The reader is gone.
            OutputError: It can't be written.
        """
        if self.is_terminal:
            from metashell.fs.escape import for_terminal

            text = for_terminal(text)
        self._pieces.append(text)
        self.has_text = True
        self._size += len(text)
        if self._size >= _BUFFER_CHARS or self._failure is not None:
            self.flush()

    def flush(self) -> None:
        """Write what is buffered; raises as `write` does."""
        if self._failure is not None:
            self.discard()
            raise self._failure
        if not self._size:
            return
        text = "".join(self._pieces)
        self.discard()
        self._send(encode(text, terminal=False))

    def paint(self, text: str) -> None:
        """Write text at once, sequences that steer the terminal included; raises as `write`."""
        self.has_text = True
        self.flush()
        self._send(encode(text, terminal=False))

    def _send(self, data: bytes) -> None:
        if self.is_terminal and self.before_sending is not None:
            self.before_sending()
        try:
            _write_all(self._stream, data)
        except BrokenPipeError as error:
            self._failure = error
            raise
        except OSError as error:
            self._failure = OutputError(f"standard output: {error.strerror}")
            raise self._failure from error

    def discard(self) -> None:
        """Forget what is buffered."""
        self._pieces.clear()
        self._size = 0


class Diagnostics:
    """Lines on standard error, each after the data written before it.

    Nothing here raises: where diagnostics can't be written, nobody reads them.
    """

    def __init__(self, stream: TextIO | None, out: StreamOutput) -> None:
        self._stream = stream
        self._out = out
        self.is_terminal = stream is not None and _is_terminal(stream)
        self.progress: Callable[[int, int], None] | None = None
        """Gets (done, in all) in place of a bar, where something else draws on the terminal."""
        self.last_word = ""
        """The last line that was written, without what hints at it."""
        self._lock = Lock()
        """Held while something is written: a bar is drawn by whoever knows how far things are."""
        self.drawn = ""
        """The line that was drawn and stands there; empty for none."""
        out.before_sending = self.erase

    @property
    def width(self) -> int:
        """Columns of the terminal; 80 where there is none."""
        return terminal_width(self._stream) if self.is_terminal else _WIDTH_DEFAULT

    def line(self, text: str) -> None:
        """Write a line, such as ``ls: /x: No such file or directory``."""
        from metashell.fs.escape import diagnostic

        if not text.startswith(" "):
            self.last_word = text
        text = diagnostic(text)
        if self.is_terminal:
            from metashell.commands.shared.wrapped import sentence_lines

            text = "\n".join(sentence_lines(text, self.width))
        self.raw(encode(f"{text}\n", terminal=self.is_terminal))

    def program(self, text: str) -> None:
        """Write a line that comes from the program rather than from a command."""
        self.line(f"metashell: {text}")

    def error(self, error: MetashellError, prefix: str = "metashell: ") -> None:
        """Write an error, and on a line of its own what to do next."""
        for line in error.lines(prefix):
            self.line(line)

    def raw(self, data: bytes) -> None:
        """Write bytes as they are."""
        with suppress(OSError, OutputError):  # Remembered there: the next write of data tells.
            self._out.flush()
        self.erase()
        with self._lock:
            self._write(data)

    def draw(self, line: str, over: str | None = None) -> None:
        """Draw a line in place of the one drawn before; any thread may.

        It is gone as soon as anything else is written.

        Args:
            line: The line.
            over: The only line that gives way to it; None for any.
        """
        with self._lock:
            if over is not None and self.drawn not in ("", over):
                return
            self._write(f"\r{line.ljust(len(self.drawn))}".encode())
            self.drawn = line

    def erase(self) -> None:
        """Take away what was drawn."""
        with self._lock:
            if self.drawn:
                self._write(b"\r" + b" " * len(self.drawn) + b"\r")
                self.drawn = ""

    def _write(self, data: bytes) -> None:
        if self._stream is None:
            return
        try:
            _write_all(self._stream, data)
        except OSError:
            self._stream = None


def encode(text: str, *, terminal: bool) -> bytes:
    """UTF-8 of text from anywhere, for a terminal as `for_terminal` says; never fails."""
    if text.isascii() and not terminal:
        return text.encode("ascii")
    from metashell.fs.escape import for_terminal, to_bytes

    return to_bytes(for_terminal(text) if terminal else text)


def terminal_width(stream: TextIO | None) -> int:
    """Columns of the terminal behind a stream; the variable COLUMNS goes before it."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns[:6]) > 0:
        return int(columns[:6])
    try:
        return os.get_terminal_size(stream.fileno()).columns or _WIDTH_DEFAULT if stream else 80
    except (OSError, ValueError):
        return _WIDTH_DEFAULT


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


def _write_all(stream: TextIO | None, data: bytes) -> None:
    """Write all bytes past Python's buffers, waiting where the file does not take them yet."""
    if stream is None or stream.closed:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    stream.flush()
    binary = getattr(stream, "buffer", None)
    if binary is None:
        stream.write(data.decode("utf-8", "replace"))
        return
    target: BinaryIO | io.RawIOBase = getattr(binary, "raw", binary)
    view = memoryview(data)
    while view:
        written = target.write(view)
        if written is None:
            select.select([], [stream], [])
            continue
        view = view[written:]
    if target is binary:
        binary.flush()


def standard_streams() -> tuple[StreamOutput, Diagnostics]:
    """Both streams of this process; one that is closed can be made, but not written."""
    out = StreamOutput(sys.stdout)
    return out, Diagnostics(sys.stderr, out)
