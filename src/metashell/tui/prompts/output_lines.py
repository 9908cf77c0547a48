"""Lines of text that a command wrote: as many as come, wrapped, and drawn as they are scrolled to.

Everything but colours of ours is escaped; what was written is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, Final

from rich.cells import cell_len, chop_cells
from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from metashell.fs.escape import escape_text

if TYPE_CHECKING:
    from textual.selection import Selection

    from metashell.tui.jobs import Job

MOST_LINES: Final = 100_000
"""Lines that are kept."""
_LONGEST_LINE: Final = 1 << 16
_AT_ONCE: Final = 2_000
"""Lines that are drawn before keys are looked at again."""
_TAB: Final = 8
_COLOURS = re.compile("(\x1b\\[[0-9;]{0,20}m)")

Row = str | Text


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


def cleaned(line: str) -> Row:
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


def wrapped(row: Row, width: int) -> Sequence[Row]:
    """A row as rows of at most so many columns."""
    plain = row if isinstance(row, str) else row.plain
    if plain.isascii():
        if len(plain) <= width:
            return (row,)
    elif cell_len(plain) <= width:
        return (row,)
    pieces = _pieces(plain, width)
    if isinstance(row, str):
        return pieces
    ends, at = [], 0
    for piece in pieces[:-1]:
        at += len(piece)
        ends.append(at)
    return list(row.divide(ends))


def _pieces(text: str, width: int) -> list[str]:
    """A text in pieces, cut between words unless that leaves half of the room empty."""
    pieces, at = [], 0
    while at < len(text):
        # Signs without a width of their own make a piece of more signs than columns.
        window = text[at : at + 2 * width]
        room = window[:width] if window.isascii() else chop_cells(window, width)[0]
        stop = max(len(room), 1)
        if at + stop < len(text):
            space = window.rfind(" ", stop // 2, stop)
            stop = space + 1 if space >= 0 else stop
        pieces.append(text[at : at + stop])
        at += stop
    return pieces


class TextLines(ScrollView, can_focus=True):
    """Text that can be scrolled and selected."""

    HELP = "What the command wrote. The arrows scroll, `home` and `end` go to its ends."
    DEFAULT_CSS = """
    TextLines { background: $background; color: $foreground; overflow-x: hidden; height: 1fr;
        scrollbar-size-vertical: 1; }
    TextLines:focus { background-tint: $foreground 5%; }
    """
    BINDINGS: ClassVar = [
        Binding("home", "scroll_home", "To the top", show=False, id="lines.first"),
        Binding("end", "scroll_end", "To the end", show=False, id="lines.last"),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.lines: list[Row] = []
        """The lines written, escaped so that they can be drawn."""
        self.follows = False
        """Whether the newest line stays in sight."""
        self._rows: list[Row] = []
        self._wrapped_at = 0

    @property
    def allow_select(self) -> bool:
        """Text can be selected with the mouse."""
        return True

    @property
    def text(self) -> str:
        """Everything, without its colours."""
        return "\n".join(row if isinstance(row, str) else row.plain for row in self.lines)

    def clear(self) -> None:
        """Show nothing."""
        self.lines, self._rows = [], []
        self.scroll_home(animate=False)
        self._resized()

    def write(self, lines: Sequence[str]) -> None:
        """Show more lines."""
        new = [cleaned(line) for line in lines]
        is_at_end = self.is_vertical_scroll_end
        self.lines += new
        too_many = len(self.lines) - MOST_LINES
        if too_many > 0:
            # More than need be, so that this is not done for each line.
            too_many = min(too_many + MOST_LINES // 10, len(self.lines))
            del self.lines[:too_many]
            self._wrap()
        elif self._wrapped_at:
            for row in new:
                self._rows += wrapped(row, self._wrapped_at)
        self._resized()
        if self.follows and is_at_end:
            self.scroll_end(animate=False, immediate=True)

    def on_resize(self, event: events.Resize) -> None:
        """Wrap anew where the width is another one."""
        if self.scrollable_content_region.width != self._wrapped_at:
            self._wrap()
            self._resized()

    def _wrap(self) -> None:
        self._wrapped_at = width = max(self.scrollable_content_region.width, 0)
        self._rows = []
        if width:
            for row in self.lines:
                self._rows += wrapped(row, width)

    def _resized(self) -> None:
        self.virtual_size = Size(self._wrapped_at, len(self._rows))
        self.refresh(layout=self.styles.is_auto_height)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The number of rows of the wrapped text."""
        return len(self._rows) or len(self.lines)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text."""
        rows = (row if isinstance(row, str) else row.plain for row in self._rows)
        return selection.extract("\n".join(rows)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Show what is selected."""
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw a row."""
        at, width, style = self.scroll_offset.y + y, self.size.width, self.rich_style
        if at >= len(self._rows):
            return Strip.blank(width, style)
        row = self._rows[at]
        text = Text(row) if isinstance(row, str) else row.copy()
        selection = self.text_selection
        span = None if selection is None else selection.get_span(at)
        if span is not None:
            start, end = span
            marked = self.screen.get_component_rich_style("screen--selection")
            text.stylize(marked, start, len(text) if end == -1 else end)
        strip = Strip(text.render(self.app.console)).apply_style(style)
        return strip.crop_extend(0, width, style).apply_offsets(0, at)
