"""Lines of text that a command wrote: as many as come, wrapped, and drawn as they are scrolled to.

Everything but colours of ours is escaped; what was written is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Final

from rich.text import Text
from textual.geometry import Size

from metashell.fs.escape import escape_text
from metashell.tui.lines import TextRows, folded

if TYPE_CHECKING:
    from metashell.tui.jobs import Job

MOST_LINES: Final = 100_000
"""Lines that are kept."""
_LONGEST_LINE: Final = 1 << 16
_AT_ONCE: Final = 2_000
"""Lines that are drawn before keys are looked at again."""
_TAB: Final = 8
_COLOURS = re.compile("(\x1b\\[[0-9;]{0,20}m)")


class Stream:
    """Takes text in the thread of a job, and hands whole lines to the thread that draws.

    Args:
        job: Tells.
        show: Takes lines.
        follows: Whether the newest lines are kept where they get too many; else what writes them
            is ended.
    """

    def __init__(
        self, job: Job, show: Callable[[list[str]], object], *, follows: bool = False
    ) -> None:
        self._job, self._show, self._follows = job, show, follows
        self.is_full = False
        """Whether there was more than is kept."""
        self.count = 0
        """Whole lines that were taken."""
        self._begun = ""
        self._waiting: list[str] = []
        self._is_told = False
        self._lock = Lock()

    def write(self, text: str) -> None:
        """Take some text.

        Raises:
            KeyboardInterrupt: There is too much of it.
        """
        *lines, self._begun = f"{self._begun}{text}".split("\n")
        if len(self._begun) > _LONGEST_LINE:
            self._begun = self._begun[: _LONGEST_LINE + 1]
        if not self._follows and self.count + len(lines) > MOST_LINES:
            self.is_full = True
            self._give(lines[: MOST_LINES - self.count])
            self.count = MOST_LINES
            raise KeyboardInterrupt
        self.count += len(lines)
        self._give(lines)

    def finish(self) -> None:
        """Take a last line without an end as one."""
        begun, self._begun = self._begun, ""
        if begun:
            self._give([begun])

    def _give(self, lines: list[str]) -> None:
        if not lines:
            return
        with self._lock:
            self._waiting += lines
            if len(self._waiting) > MOST_LINES:
                del self._waiting[:-MOST_LINES]
            is_told, self._is_told = self._is_told, True
        if not is_told:
            self._job.tell(self._hand_over)

    def _hand_over(self) -> None:
        with self._lock:
            lines, self._waiting = self._waiting[:_AT_ONCE], self._waiting[_AT_ONCE:]
            self._is_told = is_more = bool(self._waiting)
        self._show(lines)
        if is_more:
            self._job.tell(self._hand_over)


def cleaned(line: str) -> str | Text:
    """A line as it may be drawn: no control character, and colours as styles."""
    if len(line) > _LONGEST_LINE:
        line = line[:_LONGEST_LINE] + "…"
    if "\x1b" not in line:
        return escape_text(line).expandtabs(_TAB)
    # Every other piece is a sequence of ours.
    pieces = _COLOURS.split(line)
    pieces[::2] = [escape_text(piece) for piece in pieces[::2]]
    text = Text.from_ansi("".join(pieces).expandtabs(_TAB), no_wrap=True)
    return text if text.spans else text.plain


class TextLines(TextRows):
    """Text that a command wrote."""

    HELP = "What the command wrote. The arrows scroll, `home` and `end` go to its ends."
    DEFAULT_CSS = """
    TextLines { background: $background; color: $foreground; overflow-x: hidden; height: 1fr;
        scrollbar-size-vertical: 1; }
    TextLines:focus { background-tint: $foreground 5%; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines: list[str | Text] = []
        """The lines written, escaped so that they can be drawn."""
        self.follows = False
        """Whether the newest line stays in sight."""

    @property
    def text(self) -> str:
        """Everything, without its colours."""
        return "\n".join(map(_plain, self.lines))

    def clear(self) -> None:
        """Show nothing."""
        self.lines, self.rows = [], []
        self.scroll_home(animate=False)
        self.take_rows(self.laid_at)

    def write(self, lines: Sequence[str]) -> None:
        """Show more lines."""
        is_at_end, first = self.is_vertical_scroll_end, len(self.lines)
        self.lines += [cleaned(line) for line in lines]
        too_many = len(self.lines) - MOST_LINES
        if too_many > 0:
            # More than need be, so that this is not done for each line.
            del self.lines[: too_many + MOST_LINES // 10]
            self.lay_out()
        else:
            self._wrap(first)
        if self.follows and is_at_end:
            self.scroll_end(animate=False, immediate=True)

    def lay_out(self) -> None:
        """Wrap all lines."""
        self.laid_at, self.rows = self.room, []
        self._wrap(0)

    def _wrap(self, first: int) -> None:
        """Wrap the lines from one on, once there is room."""
        if self.laid_at:
            for at, line in enumerate(self.lines[first:], first):
                self.rows += [(at, a, b) for a, b in folded(_plain(line), self.laid_at)]
        self.take_rows(self.laid_at)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The number of rows of the wrapped text."""
        return len(self.rows) or len(self.lines)

    def row_text(self, at: int) -> Text:
        """A piece of a line."""
        i, start, stop = self.rows[at]
        line = self.lines[i]
        return Text(line[start:stop]) if isinstance(line, str) else line[start:stop]


def _plain(line: str | Text) -> str:
    return line if isinstance(line, str) else line.plain
