"""A table whose columns are as wide as its rows need and the room allows, and its cursor's column.

Columns without room scroll beside the first column, one column at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate, takewhile
from typing import ClassVar, Final

import pyarrow as pa
from rich.text import Text
from textual.geometry import Size
from textual.message import Message

from metashell.commands.rows.cell_text import is_number
from metashell.commands.shared.columns import display_width
from metashell.fs.escape import escape
from metashell.tui.lines import LineList, moving_keys
from metashell.tui.part import quiet_key, shown_key
from metashell.tui.rows.cells import TableRows
from metashell.tui.rows.columns import in_words
from metashell.tui.rows.table_lines import cut_column
from metashell.tui.rows.widths import (
    BLANKS,
    Sort,
    TableColumn,
    column_at,
    scrolled_to,
    squeeze,
    starts,
    widen,
)
from metashell.tui.text import cell

_WIDEST: Final = 60
_NARROWEST: Final = 24
"""No column is cut below that so that others fit."""
_LEAST: Final = 5
"""Cells that a header keeps."""
_NARROW: Final = 48
"""Columns of a narrow table."""
_WIDE: Final = 100
"""Columns of the terminal from which on a text column may be as wide as it likes."""
_MOST_FIXED: Final = 0.6
"""Part of the room that columns may take and still stand where they are."""
_UP, _DOWN = " ▲", " ▼"


class ColumnTable(LineList):
    """Lays out the columns; `RowTable` has the rows."""

    NARROW: ClassVar[Mapping[str, int]] = {
        "resource": 5,
        "pattern_type": 6,
        "principal": 5,
        "host": 8,
        "operation": 6,
        "permission": 10,
        "resource_type": 8,
        "resource_name": 5,
        "key": 4,
        "state": 6,
        "partition": 10,
        "leader": 10,
    }
    """Columns that leave the room to others on a narrow screen, and what part of it they take."""
    STAYING: ClassVar[Collection[str]] = ("topic", "partition", "code")
    """Columns that stay beside the first one while others scroll: with it they name a row."""

    BINDINGS: ClassVar = [
        shown_key("enter", "choose", "Open", "table.choose", "open what the row is about"),
        *moving_keys("table"),
        quiet_key("right", "beside(1)", "Right", "table.right"),
        quiet_key("left", "beside(-1)", "Left", "table.left"),
        quiet_key(
            "ctrl+right", "column(-1)", "Last column", "table.last-column", "go to the last column"
        ),
        quiet_key(
            "ctrl+left", "column(0)", "First column", "table.first-column", "go to the first column"
        ),
    ]
    header_height = 1
    cursor_column = 0
    """The column that the user chose."""
    n_fixed = 1
    """How many columns stay where they are."""

    class Fitted(Message):
        """Columns are seen in other widths or at other places."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._laid_out: list[TableColumn] = []
        self.headers: Mapping[str, str] = {}
        """By column another name that it has here."""
        self.table: pa.Table | None = None
        """All rows, in the order in which they were given."""
        self._rows: TableRows | None = None
        self._sort: Sort | None = None
        self._first: tuple[str, ...] = ()
        self._laid_at = 0
        """The width for which the columns were laid out."""

    @property
    def columns_shown(self) -> tuple[str, ...]:
        """Names of the columns drawn, in order. Others are drawn once the rows are arranged."""
        return () if self._rows is None else self._rows.names

    @property
    def n_lines(self) -> int:
        """The rows that are shown."""
        return 0 if self._rows is None else len(self._rows)

    @property
    def cut_text(self) -> str:
        """The cells of the cursor's row that are cut, whole and with their headers; else empty."""
        rows = self._rows
        if rows is None or not 0 <= self.cursor < len(rows):
            return ""
        cells = rows.row(self.cursor)
        room = self._room
        at_edge = cut_column(
            cells, self._laid_out, n_fixed=self.n_fixed, left=int(self.scroll_x), room=room
        )
        cut = [
            f"{in_words(name)}: {text.plain}"
            for i, (name, text) in enumerate(zip(self.columns_shown, cells, strict=True))
            if i == at_edge or text.cell_len > self._laid_out[i].width - BLANKS
        ]
        return "  ".join(cut)

    def on_resize(self) -> None:
        """Give columns the room that there is."""
        if self.size.width != self._laid_at:
            self._lay_out()
        else:
            self._tell_fit()

    def _cursor_name(self) -> str | None:
        names = self.columns_shown
        return names[self.cursor_column] if self.cursor_column < len(names) else None

    # The column of the cursor.

    @property
    def _room(self) -> int:
        """Cells of a line that no scroll bar covers."""
        return self.size.width - self.scrollbar_size_vertical

    def _column_at(self, x: int) -> int | None:
        return column_at(self._laid_out, self.n_fixed, int(self.scroll_x), x)

    def action_column(self, at: int) -> None:
        """Go to the first (0) or the last column (-1)."""
        self._go_to_column(range(len(self._laid_out))[at] if self._laid_out else 0)

    def _go_to_column(self, column: int) -> None:
        if not self._laid_out:
            return
        column = max(0, min(column, len(self._laid_out) - 1))
        if column != self.cursor_column:
            self.cursor_column = column
            self._lay_out()
        self._bring_column_into_view(column)

    def action_beside(self, by: int) -> None:
        """Go to the column beside; where columns do not fit, scroll by a column as well."""
        column, first = self.cursor_column + by, int(self.scroll_x)
        self._go_to_column(column)
        most = max(self.virtual_size.width - self.scrollable_content_region.width, 0)
        begins = starts(self._laid_out, self.n_fixed)
        if by > 0 and first < most and column < len(begins) and int(self.scroll_x) <= first:
            least = next(start for start in begins if start > first)
            if least <= begins[column]:  # the column itself is still seen
                self.scroll_to(x=least, animate=False)

    def _bring_column_into_view(self, column: int) -> None:
        """Scroll so that a column can be seen, and begin with a whole one."""
        room, x = self.scrollable_content_region.width, int(self.scroll_x)
        x = scrolled_to(self._laid_out, self.n_fixed, column, x, room)
        self.scroll_to(x=x, animate=False)

    # Widths.

    def _lay_out(self) -> None:
        """Decide about the columns' widths, and draw everything again."""
        rows = self._rows
        if rows is None:
            return
        self._laid_at = self.size.width
        room, x = self._laid_at or _WIDE, int(self.scroll_x)
        before = starts(self._laid_out, self.n_fixed)
        self._laid_out = self._columns(rows, room)
        if sum(column.width for column in self._laid_out) > room:
            # The first one names the rows: only a narrow table cuts it.
            behind = range(room >= _NARROW, len(self._laid_out))
            texts = [i for i in behind if self._is_text(self.columns_shown[i])]
            if not squeeze(self._laid_out, room, texts, min(_NARROWEST, room // 2)):
                self._laid_out = self._columns(rows, room, are_cut=True)
        widen(self._laid_out, room)
        for column in self._laid_out:
            column.label.truncate(column.width - BLANKS, overflow="ellipsis")
        widths = [column.width for column in self._laid_out]
        self.n_fixed = self._n_staying(widths, room)
        self.virtual_size = Size(sum(widths), len(rows) + self.header_height)
        begins = starts(self._laid_out, self.n_fixed)
        beside = before.index(x) if x > 0 and x in before[: len(begins)] else None
        if beside is not None and begins[beside] != x:
            # The column beside the fixed one stays there: a header before it can get wider.
            self.scroll_to(x=begins[beside], animate=False)
        self.refresh()
        self._tell_fit()

    def _n_staying(self, widths: Sequence[int], room: int) -> int:
        """How many columns stay: what does not leave room for the others scrolls with them."""
        staying = takewhile(
            lambda i: i == 0 or self.columns_shown[i] in self.STAYING, range(len(widths))
        )
        ends = accumulate(widths[i] for i in staying)
        return sum(end <= room * _MOST_FIXED for end in ends)

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        """Tell that other columns are seen."""
        super().watch_scroll_x(old_value, new_value)
        self._tell_fit()

    def _tell_fit(self) -> None:
        if self.is_attached:
            self.post_message(self.Fitted())

    def _columns(self, rows: TableRows, room: int, *, are_cut: bool = False) -> list[TableColumn]:
        """The columns, each as wide as it needs and may be.

        Args:
            rows: The rows of the table.
            room: The width for all columns, in cells.
            are_cut: Whether texts leave a narrow screen to others, because not all fit.
        """
        sorted_by = None if self._sort is None else self._sort[0]
        found: list[TableColumn] = []
        for i, (header, width) in enumerate(zip(self._headers(rows), rows.widths, strict=True)):
            arrow = len(_UP) if self.columns_shown[i] == sorted_by else 0
            widest = self._widest(self.columns_shown[i], room, width) if are_cut else _WIDEST
            is_last = i == len(rows.widths) - 1
            # Nothing comes behind the last one: what is scrolled to it shows it whole.
            most = max(widest, room - found[0].width - 2) if is_last and i else widest
            found.append(
                TableColumn(
                    label=self._label(i, header, to_the_right=rows.to_the_right[i]),
                    needed=max(display_width(escape(header)) + arrow, width),
                    most=most,
                )
            )
        return found

    def _is_text(self, name: str) -> bool:
        """Whether a column that is shown has texts or lists, of which a part tells something."""
        assert self.table is not None
        kind = self.table.schema.field(name).type
        return not (is_number(kind) or pa.types.is_timestamp(kind))

    def _headers(self, rows: TableRows) -> Iterator[str]:
        """The names of the columns in words, with the day that their times leave out."""
        for i, name in enumerate(self.columns_shown):
            day = rows.day_of(i)
            if name.endswith("_bar") or not self.header_height:
                yield ""
            else:
                called = self.headers.get(name, name)
                yield in_words(called if day is None else f"{name.removesuffix('_time')}_{day[5:]}")

    def _label(self, i: int, header: str, *, to_the_right: bool) -> Text:
        arrow = ""
        if self._sort is not None and self._sort[0] == self.columns_shown[i]:
            arrow = _DOWN if self._sort[1] else _UP
        label = cell(header + arrow, to_the_right=to_the_right)
        if i == self.cursor_column:
            label.stylize("underline")
        return label

    def _widest(self, name: str, room: int, width: int) -> int:
        """How wide a column may be at most, if not all fit: a number stays whole.

        Args:
            name: The column.
            room: The width for all columns, in cells.
            width: Cells of the widest text.
        """
        if room >= _WIDE:
            return _WIDEST
        part, least = self.NARROW.get(name), max(width, _LEAST)
        if part is None:
            return max(_NARROWEST, room // 3)
        return min(room // part, least) if self._is_text(name) else least
