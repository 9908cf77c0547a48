"""Lines of text that scroll: only those that are seen are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from rich.text import Text

from metashell.commands.shared.columns import display_width
from metashell.tui.lines import TextRows, folded, nothing_left, show_filter
from metashell.tui.node.value import ValueLine
from metashell.tui.part import shown_key

_LITTLE: Final = 4


class LineView(TextRows):
    """Lines of a value, a text or a record."""

    HELP = (
        "The text of the node. `•` marks fields that changed since the previous stop, with old "
        "and new value. The arrows, `pageup` and `pagedown` scroll. `L` wraps long "
        "lines. `/` shows only the lines that contain a text. `Y` copies the whole text. `o` "
        "opens it in the pager, `e` in the editor."
    )
    DEFAULT_CSS = """
    LineView { height: 1fr; padding: 0 0 0 1; scrollbar-size-vertical: 1; }
    LineView > .lines--key { color: $text-primary; text-style: bold; }
    LineView > .lines--changed { color: $text-warning; text-style: bold; }
    LineView > .lines--match {
        background: $warning; color: $background; text-style: bold underline;
    }
    """
    COMPONENT_CLASSES: ClassVar = {"lines--key", "lines--changed", "lines--match"}
    BINDINGS: ClassVar = [
        shown_key("L", "wrap", "Long lines", "node.wrap", "wrap long lines, or cut them")
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines: Sequence[ValueLine] = ()
        """The lines, whether shown or not."""
        self.filter_text = ""
        """The text that a shown line contains in any case; empty for all lines."""
        self.wraps = True
        """Whether long lines go on below."""

    def show(self, lines: Sequence[ValueLine], *, afresh: bool = False) -> None:
        """Show lines in place of those before; the place and the filter are kept.

        Args:
            lines: The lines.
            afresh: Forget place and filter: they are lines of something else.
        """
        self.lines = lines
        if afresh:
            self.filter_text = ""
            self.scroll_to(x=0, y=0, animate=False)
        self.lay_out()

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
        for row, (i, _, _) in enumerate(self.rows):
            line = self.lines[i]
            if line.is_marked and len(line.text) > line.key:
                return row
        return None

    def filter_by(self, text: str) -> None:
        """Show only lines that contain a text, whatever the case."""
        if text != self.filter_text:
            self.filter_text = text
            self.lay_out()

    def action_wrap(self) -> None:
        """Wrap long lines, or let them scroll."""
        self.wraps = not self.wraps
        self.scroll_to(x=0, animate=False)
        self.lay_out()

    def lay_out(self) -> None:
        """Wrap the lines that the filter leaves."""
        self.laid_at = width = self.room
        wanted = self.filter_text.casefold()
        self.rows = []
        n_shown = 0
        for i, line in enumerate(self.lines):
            if wanted and wanted not in line.text.casefold():
                continue
            n_shown += 1
            if self.wraps and width > 0:
                pieces = folded(line.text, width, _indent(line, width), line.key)
            else:
                pieces = [(0, len(line.text))]
            self.rows += [(i, a, b) for a, b in pieces]
        show_filter(self, self.filter_text, n_shown, len(self.lines))
        widest = (
            0
            if self.wraps
            else max((display_width(self.lines[i].text) for i, _, _ in self.rows), default=0)
        )
        self.take_rows(widest)

    def nothing(self) -> str:
        """That no line has what the filter wants."""
        return f" {nothing_left('line', self.filter_text)}" if self.filter_text else ""

    def row_text(self, at: int) -> Text:
        """A piece of a line, with its field, a change and what the filter wants marked."""
        i, start, stop = self.rows[at]
        line = self.lines[i]
        indent = " " * _indent(line, self.size.width) if start else ""
        shown = line.text[start:stop]
        text = Text(indent + shown, no_wrap=True, end="")
        if line.is_marked:
            text.stylize(self.get_component_rich_style("lines--changed", partial=True))
        if line.key > start:
            text.stylize(
                self.get_component_rich_style("lines--key", partial=True), 0, line.key - start
            )
        if self.filter_text:
            style = self.get_component_rich_style("lines--match", partial=True)
            for a, b in matches(shown, self.filter_text):
                text.stylize(style, len(indent) + a, len(indent) + b)
        return text


def _indent(line: ValueLine, width: int) -> int:
    """Columns before what goes on below: few where the names leave little room beside them."""
    return line.indent if line.indent <= width // 2 else min(_LITTLE, width // 2)


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
