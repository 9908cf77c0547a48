"""Sends a command's text in the REPL to the screen or to a pager.

Short output is written to the screen. Output longer than the screen goes whole to the user's pager
while it is made. No more than a screenful is ever held. All text for the screen or the pager has
passed `for_terminal`.
"""

from __future__ import annotations

import os
import re
import threading
from typing import TextIO

from prompt_toolkit.utils import get_cwidth

from metashell.commands.framework.programs import Pipe
from metashell.commands.shared.pager import pager_environment
from metashell.fs.escape import for_terminal, to_bytes

REVEAL_AFTER_S = 0.15
"""How long a screenful is awaited before what is there is shown."""
_HOME = "\x1b[H"
_STYLING = re.compile(r"\x1b\[[0-9;]*m")


def write_to(stream: TextIO, text: str) -> None:
    """Write text to a stream whatever its encoding, and flush it."""
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(text)
    else:
        stream.flush()
        encoding = (stream.encoding or "utf-8").lower().replace("_", "-")
        utf8 = encoding in {"utf-8", "utf8"}
        buffer.write(to_bytes(text) if utf8 else text.encode(encoding, "backslashreplace"))
    stream.flush()


def terminal_size(stream: TextIO) -> os.terminal_size:
    """Return the present size of the terminal behind a stream; 80 x 24 where there is none."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        size = os.terminal_size((80, 24))
    return os.terminal_size((size.columns or 80, size.lines or 24))


class Plain:
    """Text into a stream that is no terminal."""

    is_terminal = False
    width = 80

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write text at once."""
        write_to(self._stream, text)

    def flush(self) -> None:
        """Nothing is held."""

    def finish(self) -> int:
        """Nothing is held."""
        return 0

    def reveal(self) -> None:
        """Nothing is held."""


class ScreenRows:
    """Counts the screen rows that a text takes."""

    def __init__(self, width: int) -> None:
        self.count = 0
        """Rows taken, with the one begun."""
        self._width = width
        self._column = 0

    def feed(self, text: str, stop: int) -> None:
        """Count on, until `stop` rows are passed. Cost: of a screenful at most."""
        begin = 0
        while begin < len(text) and self.count <= stop:
            if self._column == 0:
                self.count += 1
            newline = text.find("\n", begin)
            end = len(text) if newline < 0 else newline
            part = text[begin : min(end, begin + (stop + 2) * self._width * 2)]
            self._column += get_cwidth(_STYLING.sub("", part))
            if self._column > self._width:
                self.count += (self._column - 1) // self._width
                self._column = (self._column - 1) % self._width + 1
            if newline < 0:
                return
            self._column = 0
            begin = newline + 1


class Screen:
    """Text onto the terminal, by way of a pager where it is longer than the screen.

    Text is held until a screenful is there or a moment has passed. Quick long output is therefore
    seen in the pager only. Slow output is seen as it comes.

    Args:
        stream: The terminal.
        pager: The pager's command line, or None.
    """

    is_terminal = True

    def __init__(self, stream: TextIO, pager: str | None) -> None:
        self._stream = stream
        self._pager_command = pager
        self._pager: Pipe | None = None
        self._lock = threading.Lock()
        self._held: list[str] = []
        self._n_shown = 0  # of the pieces in _held
        self._timer: threading.Timer | None = None
        self._rows = ScreenRows(self.width)
        self._last_char = "\n"

    @property
    def width(self) -> int:
        """Columns of the terminal at this moment."""
        return terminal_size(self._stream).columns

    @property
    def has_pager(self) -> bool:
        """Whether what is longer than the screen goes to a pager."""
        return self._pager_command is not None

    @property
    def is_paging(self) -> bool:
        """Whether a pager is in front."""
        return self._pager is not None

    def write(self, text: str) -> None:
        """Write text; raises BrokenPipeError once the user has left the pager."""
        if not text:
            return
        text = for_terminal(text)
        if self._pager is not None:
            self._pager.write(text)
            return
        if self._pager_command is None:
            self._emit(text)
            return
        with self._lock:
            self._held.append(text)
            # A row for the prompt and one for the toolbar.
            limit = max(1, terminal_size(self._stream).lines - 2)
            self._rows.feed(text, limit)
            if self._rows.count > limit:
                self._start_pager(self._pager_command)
            elif self._n_shown:
                self._show()
            elif self._timer is None:
                self._timer = threading.Timer(REVEAL_AFTER_S, self.reveal)
                self._timer.daemon = True
                self._timer.start()

    @property
    def height(self) -> int:
        """Rows of the terminal at this moment."""
        return terminal_size(self._stream).lines

    def paint(self, text: str) -> None:
        """Draw over the screen; no pager comes in between."""
        self.reveal()
        self._emit(text)
        if text.endswith(_HOME):
            self._last_char = "\n"  # a row of its own begins there

    def flush(self) -> None:
        """Show what is held, or hand it to the pager."""
        if self._pager is not None:
            self._pager.flush()
        else:
            self.reveal()

    def reveal(self) -> None:
        """Show what is held."""
        with self._lock:
            if self._pager is None:
                self._show()

    def finish(self) -> int:
        """Show all, wait until the user leaves the pager; returns 0. More may be written then."""
        self._stop_timer()
        if self._pager is not None:
            pager, self._pager = self._pager, None
            pager.finish()
        else:
            self.reveal()
            if self._last_char != "\n":
                self._emit("\n")  # the prompt begins a row of its own
        self._held.clear()
        self._n_shown, self._timer = 0, None
        self._rows = ScreenRows(self.width)
        return 0

    def _show(self) -> None:
        pieces = self._held[self._n_shown :]
        self._n_shown = len(self._held)
        if pieces:
            self._emit("".join(pieces))

    def _emit(self, text: str) -> None:
        self._last_char = text[-1]
        write_to(self._stream, text)

    def _start_pager(self, command: str) -> None:
        """Hand everything to the pager, what is on the screen too."""
        self._stop_timer()
        text = "".join(self._held)
        self._held.clear()
        self._pager = Pipe(command, pager_environment(os.environ), is_terminal=True)
        self._pager.write(text)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
