"""Lines of text that scroll: only those that are seen are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from metashell.commands.shared.columns import display_width
from metashell.tui.node.value import ValueLine
from metashell.tui.part import AppPart
from metashell.tui.rows.filter_line import nothing_left, show_filter

Row = tuple[int, int, int]
"""(line, from, to): what of a line stands on a row of the screen."""


class LineView(AppPart, ScrollView, can_focus=True):
    """Lines of a value, a text or a record."""

    HELP = (
        "The text of the node. `•` marks fields that changed since the previous stop, with old "
        "and new value. The arrows, `pageup` and `pagedown` scroll. `w` wraps long "
        "lines. `/` shows only the lines that contain a text. `Y` copies the whole text. `o` "
        "opens it in the pager, `e` in the editor."
    )
    DEFAULT_CSS = """
    LineView { height: 1fr; padding: 0 1; background: $surface; scrollbar-size-vertical: 1; }
    LineView > .lines--key { color: $text-primary; text-style: bold; }
    LineView > .lines--changed { color: $text-warning; text-style: bold; }
    LineView > .lines--match {
        background: $warning; color: $background; text-style: bold underline;
    }
    """
    COMPONENT_CLASSES: ClassVar = {"lines--key", "lines--changed", "lines--match"}
    BINDINGS: ClassVar = [
        Binding("up", "scroll_up", "Up", show=False, id="lines.up"),
        Binding("down", "scroll_down", "Down", show=False, id="lines.down"),
        Binding("left", "scroll_left", "Left", show=False, id="lines.left"),
        Binding("right", "scroll_right", "Right", show=False, id="lines.right"),
        Binding("home", "scroll_home", "To the top", show=False, id="lines.first"),
        Binding("end", "scroll_end", "To the end", show=False, id="lines.last"),
        Binding("pageup", "page_up", "Page up", show=False, id="lines.page-up"),
        Binding("pagedown", "page_down", "Page down", show=False, id="lines.page-down"),
        Binding("w", "wrap", "Wrap", id="node.wrap"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: Sequence[ValueLine] = ()
        self._rows: list[Row] = []
        self._filter = ""
        self._laid_at = 0
        """Cells of the lines when they were wrapped."""
        self.wraps = True
        """Whether long lines go on below."""

    @property
    def lines(self) -> Sequence[ValueLine]:
        """The lines, whether shown or not."""
        return self._lines

    @property
    def filter_text(self) -> str:
        """The text that a shown line contains in any case; empty for all lines."""
        return self._filter

    def show(self, lines: Sequence[ValueLine], *, afresh: bool = False) -> None:
        """Show lines in place of those before; the place and the filter are kept.

        Args:
            lines: The lines.
            afresh: Forget place and filter: they are lines of something else.
        """
        self._lines = lines
        if afresh:
            self._filter = ""
            self.scroll_to(x=0, y=0, animate=False)
        self._lay_out()

    def show_change(self) -> bool:
        """Scroll to the first field that changed, once there is room; whether there is one."""
        is_there = self._row_of_change is not None
        if is_there:
            self.call_after_refresh(self._scroll_to_change)
        return is_there

    def _scroll_to_change(self) -> None:
        row, height = self._row_of_change, self.size.height
        if row is not None and not 0 <= row - self.scroll_offset.y < height:
            self.scroll_to(y=max(row - height // 2, 0), animate=False)

    @property
    def _row_of_change(self) -> int | None:
        """The first row with both sides of a field, without the names that it stands below."""
        for row, (i, _, _) in enumerate(self._rows):
            line = self._lines[i]
            if line.is_marked and len(line.text) > line.key:
                return row
        return None

    def filter_by(self, text: str) -> None:
        """Show only lines that contain a text, whatever the case."""
        if text != self._filter:
            self._filter = text
            self._lay_out()

    def action_wrap(self) -> None:
        """Wrap long lines, or let them scroll."""
        self.wraps = not self.wraps
        self.scroll_to(x=0, animate=False)
        self._lay_out()

    def on_resize(self, event: events.Resize) -> None:
        """Wrap again."""
        if self._room_for_lines != self._laid_at:
            self._lay_out()

    def watch_show_vertical_scrollbar(self) -> None:
        """Wrap again: the bar takes a column, and its coming is no resize in each case."""
        self._lay_out()

    @property
    def _room_for_lines(self) -> int:
        return self.scrollable_content_region.width or self.size.width

    def _lay_out(self) -> None:
        self._laid_at = width = self._room_for_lines
        wanted = self._filter.casefold()
        rows: list[Row] = []
        n_shown = 0
        for i, line in enumerate(self._lines):
            if wanted and wanted not in line.text.casefold():
                continue
            n_shown += 1
            if self.wraps and width > 0:
                rows.extend((i, a, b) for a, b in folded(line, width))
            else:
                rows.append((i, 0, len(line.text)))
        self._rows = rows
        show_filter(self, self._filter, n_shown, len(self._lines))
        widest = (
            0
            if self.wraps
            else max((display_width(self._lines[i].text) for i, _, _ in rows), default=0)
        )
        self.virtual_size = Size(widest, len(rows))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw a row."""
        scroll_x, scroll_y = self.scroll_offset
        width, style, at = self.size.width, self.rich_style, scroll_y + y
        if at >= len(self._rows):
            nothing = f" {nothing_left('line', self._filter)}" if y == 0 and self._filter else ""
            return (
                Strip(Text(nothing).render(self.app.console))
                .extend_cell_length(width, style)
                .apply_style(style)
            )
        text = self._drawn(at)
        strip = Strip(text.render(self.app.console)).apply_style(style)
        return strip.crop_extend(scroll_x, scroll_x + width, style).apply_offsets(scroll_x, at)

    def _drawn(self, at: int) -> Text:
        i, start, stop = self._rows[at]
        line = self._lines[i]
        indent = " " * _indent(line, self.size.width) if start else ""
        shown = line.text[start:stop]
        text = Text(indent + shown, no_wrap=True, end="")
        if line.is_marked:
            text.stylize(self.get_component_rich_style("lines--changed", partial=True))
        if line.key > start:
            text.stylize(
                self.get_component_rich_style("lines--key", partial=True), 0, line.key - start
            )
        if self._filter:
            style = self.get_component_rich_style("lines--match", partial=True)
            for a, b in matches(shown, self._filter):
                text.stylize(style, len(indent) + a, len(indent) + b)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(at)) is not None:
            a, b = span
            style = self.screen.get_component_rich_style("screen--selection")
            text.stylize(style, a, len(text) if b == -1 else b)
        return text

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text that was selected with the mouse."""
        rows = range(len(self._rows))
        return selection.extract("\n".join(self._drawn(at).plain for at in rows)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw what is selected."""
        self.refresh()


def folded(line: ValueLine, width: int) -> list[tuple[int, int]]:
    """Where a line is cut so that its pieces, the later ones indented, fit so many columns."""
    text, n = line.text, len(line.text)
    is_ascii = text.isascii()
    if (n if is_ascii else display_width(text)) <= width:
        return [(0, n)]
    pieces: list[tuple[int, int]] = []
    start, room = 0, width
    while start < n:
        stop = min(start + room, n) if is_ascii else _fitting(text, start, room)
        # Between words, unless that leaves half of the room empty.
        space = text.rfind(" ", start + room // 2, stop + 1) if stop < n else -1
        if space > max(start, line.key if not pieces else 0):
            stop = space + 1
        pieces.append((start, stop))
        start, room = stop, max(1, width - _indent(line, width))
    return pieces


def _fitting(text: str, start: int, room: int) -> int:
    """How far a text can go on for so many columns; one character at least."""
    stop, used = start, 0
    while stop < len(text):
        used += display_width(text[stop])
        if used > room and stop > start:
            break
        stop += 1
    return stop


def _indent(line: ValueLine, width: int) -> int:
    return min(line.indent, width // 2)


def matches(text: str, wanted: str) -> list[tuple[int, int]]:
    """Where a text holds another one, whatever the case."""
    found, folded_text, sought = [], text.casefold(), wanted.casefold()
    if len(folded_text) != len(text) or not sought:
        return []
    at = folded_text.find(sought)
    while at >= 0:
        found.append((at, at + len(sought)))
        at = folded_text.find(sought, at + len(sought))
    return found
