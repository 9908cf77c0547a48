"""The details of one record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from textual import events

from metashell.commands.shared.columns import display_width
from metashell.fs.escape import escape
from metashell.redact import REDACTED
from metashell.tui.node.node_lines import LineView
from metashell.tui.node.value import ValueLine
from metashell.tui.records.detail import Bytes, RecordDetail, position_text
from metashell.tui.records.short_lines import fitting_width, hex_lines

_HIDDEN: Final = "not shown: this record may hold secrets"
_AROUND: Final = 4
"""Columns around the text: of the border, the padding and the scroll bar."""
_LEAST: Final = 30
"""Columns that the details take at least."""
_MOST: Final = (52, 84)
"""Columns that the details take at most for short and for long rows of bytes: the list has the
rest, and longer lines go on below."""
_LONG_ROWS: Final = 187
"""Columns of the screen from which on the pane beside the list shows long rows of bytes."""


class RecordPane(LineView):
    """Fields, batch and bytes of a record."""

    HELP = (
        "The selected record: its fields as in `log --json`, its batch and its bytes in hex. "
        "Positions are those in the file. The arrows scroll. `w` lets long lines go on below, "
        "or to the right. `d` hides this."
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.detail: RecordDetail | None = None
        self._room = 0
        """Columns of the screen where the details are beside the list; else 0."""
        self._drawn_at = 0
        """The width for which the bytes were drawn."""
        self._needed = 0
        """Columns that the widest record took so far: what narrows again moves the list."""

    def fit(self, room: int) -> None:
        """Be beside the list on a screen of so many columns, or below it where they are 0."""
        self._room, self._needed = room, _LEAST
        self.styles.width = min(_LEAST, room // 2) if room else None
        self._draw()

    def forget_width(self) -> None:
        """Be as wide as the records need that are shown from now on."""
        self.fit(self._room)

    def show_record(self, detail: RecordDetail) -> None:
        """Show a record."""
        is_other = self.detail is None or self.detail.offset != detail.offset
        self.detail = detail
        self.border_title = f"record {detail.offset}: fields, batch, bytes"
        self._draw(afresh=is_other)

    def tell(self, text: str) -> None:
        """Show a text in place of a record."""
        self.detail = self.border_title = None
        self.show([ValueLine(escape(text))], afresh=True)

    def on_resize(self, event: events.Resize) -> None:
        """Fit the bytes into the width."""
        if self.size.width != self._drawn_at:
            self._draw()

    def _draw(self, *, afresh: bool = False) -> None:
        detail = self.detail
        if detail is None:
            return
        self._drawn_at = self.size.width
        is_long = not self._room or self._room >= _LONG_ROWS
        width = (self._room // 2 or self.size.width) - _AROUND
        lines = list(_lines(detail, fitting_width(width if is_long else 0)))
        self.show(lines, afresh=afresh)
        if self._room:
            widest = max(display_width(line.text) for line in lines) + _AROUND
            self._needed = max(self._needed, min(widest, _MOST[is_long]))
            self.styles.width = min(self._needed, self._room // 2)


def _lines(detail: RecordDetail, width: int) -> Iterator[ValueLine]:
    kind = escape(detail.type)
    yield ValueLine(kind, len(kind), 2)
    if detail.target is not None:
        yield ValueLine(f"→ {escape(detail.target.path)}", 0, 2)
    if detail.error is not None:
        yield ValueLine(f"! {escape(detail.error)}", 0, 2, is_marked=True)
    yield from _pairs(detail.fields)
    yield _title("where")
    yield from _pairs(detail.place)
    yield _title("batch")
    yield from _pairs(detail.batch)
    yield from _bytes("key", detail.key, detail, width)
    yield from _bytes("value", detail.value, detail, width)


def _title(text: str) -> ValueLine:
    return ValueLine(f"── {text}", 0, 3)


def _pairs(pairs: Iterable[tuple[str, str]]) -> Iterator[ValueLine]:
    found = [(escape(name), escape(text)) for name, text in pairs]
    width = max((display_width(name) for name, _ in found), default=0)
    for name, text in found:
        head = f"{name}{' ' * (width - display_width(name))}  "
        yield ValueLine(head + text, len(head), len(head))


def _bytes(what: str, found: Bytes, detail: RecordDetail, width: int) -> Iterator[ValueLine]:
    if found.hidden is not None:
        yield _title(f"{what}: {_HIDDEN}")
        if found.hidden != REDACTED:
            yield _title(found.hidden)
        return
    if found.data is None:
        yield _title(f"{what}: none")
        return
    where = position_text(found.position, len(found.data), is_inflated=detail.is_inflated)
    yield _title(f"{what}: position {where}")
    for text in hex_lines(found.data, found.position, width):
        yield ValueLine(text)
