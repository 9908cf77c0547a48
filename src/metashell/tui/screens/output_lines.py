"""Lines of text that a command wrote: as many as come, wrapped, and drawn as they are scrolled to.

Everything but colours of ours is escaped; what was written is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, Final

import pyarrow as pa
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from metashell.fs.escape import escape_text
from metashell.tui.lines import LineList, SeenFacts, TextRows, folded, moving_keys, over_widget
from metashell.tui.part import shown_key
from metashell.tui.text import cut

if TYPE_CHECKING:
    from metashell.tui.jobs import Job


_READS: Final = "reading what was found"
_BESIDE: Final = "  "
_LEAST_HELD: Final = 8
"""Columns in which a value is worth being shown."""


class PathList(LineList):
    """Paths, as many as there are.

    Args:
        grows: Whether more may come.
    """

    HELP = "What was found. The arrows move, `enter` goes to the node. `x` exports the paths."
    DEFAULT_CSS = """
    PathList { background: $background; color: $foreground; height: 1fr; }
    PathList > .path-list--cursor {
        color: $block-cursor-blurred-foreground; background: $block-cursor-blurred-background;
        text-style: $block-cursor-blurred-text-style;
    }
    PathList:focus > .path-list--cursor {
        color: $block-cursor-foreground; background: $block-cursor-background;
        text-style: $block-cursor-text-style;
    }
    PathList:nocolor > .path-list--cursor { text-style: reverse; }
    PathList > .path-list--held { color: $text-muted; }
    """
    COMPONENT_CLASSES: ClassVar = {"path-list--cursor", "path-list--held"}
    BINDINGS: ClassVar = [
        *moving_keys("list", letters=False),
        shown_key("enter", "choose", "Go to node", "list.choose"),
        shown_key("x", "export", "Export", "export"),
    ]

    class Chosen(Message):
        """A line was taken."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    class Left(Message):
        """The cursor went above the first line."""

    def __init__(self, grows: Callable[[], bool] = lambda: False) -> None:
        super().__init__()
        self.paths: list[str] = []
        """All lines, as they were given."""
        self._grows = grows
        self._widest = 0
        self.held = SeenFacts[str, str](
            self, lambda: map(self.paths.__getitem__, self.seen), _READS
        )
        """The texts beside the paths."""

    def allow_focus(self) -> bool:
        """Take keys only where there is something to choose from."""
        return bool(self.paths)

    @property
    def chosen(self) -> str | None:
        """The line of the cursor."""
        return self.paths[self.cursor] if self.cursor < len(self.paths) else None

    def clear(self) -> None:
        """Show nothing."""
        self.paths, self._widest, self.cursor = [], 0, 0
        self.virtual_size = Size(0, 0)
        self.scroll_home(animate=False)
        self.refresh()

    def add(self, paths: Sequence[str]) -> None:
        """Show more lines behind the others."""
        self.paths += paths
        for path in paths:
            if len(path) > self._widest or not path.isascii():
                self._widest = max(self._widest, cell_len(path))
        self.virtual_size = Size(self._widest, len(self.paths))
        self.refresh()
        self.held.ask()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Look at what comes into sight."""
        super().watch_scroll_y(old_value, new_value)
        self.held.ask()

    def on_resize(self) -> None:
        """Look at what comes into sight."""
        self.held.ask()

    @property
    def n_lines(self) -> int:
        """All lines so far."""
        return len(self.paths)

    def go_to_line(self, line: int) -> None:
        """Put the cursor on a line."""
        self.put_cursor(max(min(line, self.n_lines - 1), 0))
        self.show_cursor()

    def action_move(self, by: int) -> None:
        """Go down so many lines; above the first one is what they came from."""
        if self.cursor + by < 0:
            self.post_message(self.Left())
        self.go_to_line(self.cursor + by)

    def awaits(self, action: str) -> bool:
        """Whether a key goes below the last line, and more lines may come."""
        by = {"move(1)": 1, "page(1)": self.page}.get(action, 0)
        return bool(by) and self.cursor + by >= len(self.paths) and self._grows()

    def action_choose(self) -> None:
        """Take the line of the cursor."""
        if self.chosen is not None:
            self.post_message(self.Chosen(self.chosen))

    def action_export(self) -> None:
        """Write the paths to a file."""
        if not self.paths:
            self.explorer.tell("nothing was found")
            return
        paths = pa.table({"path": pa.array(self.paths, pa.string())})
        self.explorer.ask_where_to_export([("find", paths)])

    def render_line(self, y: int) -> Strip:
        """Draw a line."""
        at, width, style = self.scroll_offset.y + y, self.size.width, self.rich_style
        if at >= len(self.paths):
            return Strip.blank(width, style)
        if at == self.cursor:
            style += self.get_component_rich_style("path-list--cursor")
        row, left = cleaned(self.paths[at]), self.scroll_offset.x
        text = Text(row if isinstance(row, str) else row.plain, style, no_wrap=True)
        widest = max(cell_len(self.paths[i]) for i in self.seen)
        column = max(text.cell_len, min(widest, width // 2)) + len(_BESIDE)
        # The scroll bar covers the end of the line.
        room = self.scrollable_content_region.width - column
        held = cut(self.held.known.get(self.paths[at], ""), room)
        if held and room >= _LEAST_HELD:
            text.set_length(column)
            muted = over_widget(self, "path-list--held") if at != self.cursor else Style.null()
            text.append(held, muted)
        return Strip(text.render(self.app.console)).crop_extend(left, left + width, style)


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
