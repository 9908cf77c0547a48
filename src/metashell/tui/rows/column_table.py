"""A table whose columns are as wide as its rows need and the room allows, and its cursor's column.

Columns without room are passed over beside the first column, one column at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate, takewhile
from typing import ClassVar, Final

import pyarrow as pa
from rich.text import Text
from textual.geometry import Size
from textual.message import Message

from metashell.commands.rows.cell_colours import colours_of
from metashell.commands.rows.cell_text import is_number
from metashell.commands.rows.columns import NOT_ZERO
from metashell.commands.shared.columns import display_width
from metashell.fs.escape import escape
from metashell.tui.lines import LineList, moving_keys
from metashell.tui.part import quiet_key, shown_key
from metashell.tui.rows.cells import TableRows
from metashell.tui.rows.columns import in_words
from metashell.tui.rows.widths import BLANKS, Sort, TableColumn, fitted, in_sight
from metashell.tui.text import cell

_WIDEST: Final = 60
_LEAST_HEADERS: Final = ((56, 8), (0, 4))
"""(columns of the table, cells that a header keeps there)."""
_LEAST_TEXT: Final = 8
_LEAST_LIST: Final = 11
"""Cells that are kept of each; a list of three brokers has room."""
_PARTS: Final = 5
"""A text keeps such a part of the room."""
_WIDE: Final = 100
"""Columns of a table from which on the first column, which names the rows, is not cut."""
_MOST_FIXED: Final = 0.6
"""Part of the room that columns may take and still stand where they are."""
_UP, _DOWN = " ▲", " ▼"
_NOTHING: Final = ("", "-")


class ColumnTable(LineList):
    """Lays out the columns; `RowTable` has the rows."""

    STAYING: ClassVar[Collection[str]] = ("topic", "partition", "code", "subject")
    """Columns that stay beside the first one while others scroll: with it they name a row."""
    WORDS: ClassVar[Collection[str]] = (
        "pattern_type", "operation", "permission", "resource_type", "status", "type", "result",
        "code",
    )  # fmt: skip
    """Columns of words that decide about a row: beside those that have colours, none is cut."""

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
    n_passed = 0
    """How many of the others are passed over."""

    class Fitted(Message):
        """Columns are seen in other widths or at other places."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._laid_out: list[TableColumn] = []
        self.seen_columns: Sequence[tuple[int, int]] = ()
        """(column, width) of each column in sight."""
        self.labels: Sequence[Text] = ()
        """By column, the text of its header."""
        self.headers: Mapping[str, str] = {}
        """By column another name that it has here."""
        self.table: pa.Table | None = None
        """All rows, in the order in which they were given."""
        self._rows: TableRows | None = None
        self._sort: Sort | None = None
        self._first: tuple[str, ...] = ()

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
        """The cells of the cursor's row that are cut or out of sight, with their headers."""
        rows = self._rows
        if rows is None or not 0 <= self.cursor < len(rows):
            return ""
        cells, seen = rows.row(self.cursor), dict(self.seen_columns)
        cut = [
            f"{in_words(name)}: {cell.plain}"
            for i, (name, cell) in enumerate(zip(self.columns_shown, cells, strict=True))
            if cell.cell_len > seen.get(i, 0) - BLANKS and (i in seen or cell.plain not in _NOTHING)
        ]
        return "  ".join(cut)

    def on_resize(self) -> None:
        """Give columns the room that there is."""
        self._lay_out()

    def _cursor_name(self) -> str | None:
        names = self.columns_shown
        return names[self.cursor_column] if self.cursor_column < len(names) else None

    # The column of the cursor.

    @property
    def room(self) -> int:
        """Cells of a line that no scroll bar covers."""
        has_bar = self.n_lines + self.header_height > self.size.height
        return max(self.size.width - has_bar * self.styles.scrollbar_size_vertical, 0)

    @property
    def goes_on(self) -> bool:
        """Whether there are columns behind the last one in sight."""
        return bool(self.seen_columns) and self.seen_columns[-1][0] < len(self._laid_out) - 1

    @property
    def _is_end_whole(self) -> bool:
        """Whether the last column is seen with all that it needs, or nothing else gives way."""
        if self.goes_on or not self.seen_columns:
            return not self.seen_columns
        last, width = self.seen_columns[-1]
        is_alone = len(self.seen_columns) <= self.n_fixed + 1
        return is_alone or width >= self._laid_out[last].needed + BLANKS

    def column_at(self, x: int) -> int | None:
        """The column that stands at a cell of the line; None behind the last one."""
        ends = accumulate(width for _, width in self.seen_columns)
        pairs = zip(self.seen_columns, ends, strict=True)
        return next((column for (column, _), end in pairs if x < end), None)

    def action_column(self, at: int) -> None:
        """Go to the first (0) or the last column (-1)."""
        self._go_to_column(range(len(self._laid_out))[at] if self._laid_out else 0)

    def _go_to_column(self, column: int) -> None:
        """Have the cursor on a column, or on the nearest one, and all of it in sight."""
        if not self._laid_out:
            return
        self.cursor_column = max(0, min(column, len(self._laid_out) - 1))
        beside = max(self.cursor_column - self.n_fixed, 0)
        self.n_passed = min(self.n_passed, beside)
        self._lay_out()
        is_last = self.cursor_column == len(self._laid_out) - 1
        least = fitted(self._laid_out, self.room)[self.cursor_column]
        while self.n_passed < beside and (
            dict(self.seen_columns).get(self.cursor_column, 0) < least
            or (is_last and not self._is_end_whole)
        ):
            self._pass_over(self.n_passed + 1)

    def action_beside(self, by: int) -> None:
        """Go to the column beside; where columns do not fit, scroll by a column as well."""
        column, passed = self.cursor_column + by, self.n_passed
        self._go_to_column(column)
        is_room = self.n_fixed + passed < column < len(self._laid_out)
        if by > 0 and passed == self.n_passed and is_room and not self._is_end_whole:
            self._pass_over(passed + 1)

    def on_mouse_scroll_right(self) -> None:
        """Go to the column beside."""
        self.action_beside(1)

    def on_mouse_scroll_left(self) -> None:
        """Go to the column beside."""
        self.action_beside(-1)

    # Widths.

    def _lay_out(self) -> None:
        """Decide about the columns' widths, and draw everything again."""
        rows = self._rows
        if rows is None:
            return
        room = self.room or _WIDE
        self._laid_out = list(self._columns(rows, room))
        staying = takewhile(
            lambda i: i == 0 or self.columns_shown[i] in self.STAYING, range(len(self._laid_out))
        )
        widths = fitted(self._laid_out, room)
        ends = accumulate(widths[i] for i in staying)
        self.n_fixed = sum(end <= room * _MOST_FIXED for end in ends)
        self.virtual_size = Size(room, len(rows) + self.header_height)
        self._pass_over(min(self.n_passed, max(len(widths) - self.n_fixed - 1, 0)))
        while self.n_passed:
            self._pass_over(self.n_passed - 1)
            if not self._is_end_whole:
                self._pass_over(self.n_passed + 1)
                break

    def _pass_over(self, n: int) -> None:
        """Pass over so many columns beside those that stay."""
        self.n_passed = n
        self.seen_columns = in_sight(self._laid_out, self.room or _WIDE, self.n_fixed, n)
        assert self._rows is not None
        self.labels = [self._label(i, header) for i, header in enumerate(self._headers(self._rows))]
        for i, width in self.seen_columns:
            self.labels[i].truncate(width - BLANKS, overflow="ellipsis")
        self.refresh()
        if self.is_attached:
            self.post_message(self.Fitted())

    def _columns(self, rows: TableRows, room: int) -> Iterator[TableColumn]:
        """The room that each column wants."""
        assert self.table is not None
        least_head = next(cells for least, cells in _LEAST_HEADERS if room >= least)
        for i, (header, width) in enumerate(zip(self._headers(rows), rows.widths, strict=True)):
            head, kept = display_width(escape(header + self._arrow(i))), min(width, _WIDEST)
            needed, is_text = max(head, kept), self._is_text(self.columns_shown[i])
            if is_text and (i or room < _WIDE):
                is_list = pa.types.is_list(self.table.schema.field(self.columns_shown[i]).type)
                kept = min(kept, max(_LEAST_LIST if is_list else _LEAST_TEXT, room // _PARTS))
            yield TableColumn(
                # Nothing comes behind the last one: what is scrolled to it shows it whole.
                needed=max(needed, width) if i == len(rows.widths) - 1 else needed,
                tight=max(head, kept), least=max(kept, min(head, least_head)), is_text=is_text,
            )  # fmt: skip

    def _is_text(self, name: str) -> bool:
        """Whether a column that is shown has names, sentences or lists: a part tells something."""
        assert self.table is not None
        field = self.table.schema.field(name)
        is_word = name in self.WORDS or any(w != NOT_ZERO for w in colours_of(field).values())
        kind, others = field.type, (pa.types.is_timestamp, pa.types.is_boolean)
        return not (is_word or is_number(kind) or any(is_kind(kind) for is_kind in others))

    def _headers(self, rows: TableRows) -> Iterator[str]:
        """The names of the columns in words, with the day that their times leave out."""
        for i, name in enumerate(self.columns_shown):
            day = rows.day_of(i)
            if name.endswith("_bar") or not self.header_height:
                yield ""
            else:
                called = self.headers.get(name, name)
                yield in_words(called if day is None else f"{name.removesuffix('_time')}_{day[5:]}")

    def _arrow(self, i: int) -> str:
        """The sign of the column that decides about the order."""
        if self._sort is None or self._sort[0] != self.columns_shown[i]:
            return ""
        return _DOWN if self._sort[1] else _UP

    def _label(self, i: int, header: str) -> Text:
        assert self._rows is not None
        label = cell(header + self._arrow(i), to_the_right=self._rows.to_the_right[i])
        if i == self.cursor_column:
            label.stylize("underline")
        return label
