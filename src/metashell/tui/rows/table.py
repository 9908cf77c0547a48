"""A table of rows as commands answer them: an Arrow table of any length, formatted as it is drawn.

Sorting and filtering work on whole columns, in a job; nothing is made for a row that is not seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc
from rich.segment import Segment
from textual import events
from textual.binding import Binding
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from metashell.commands.rows.cell_colours import CellColour
from metashell.commands.rows.cell_text import is_number, shown_texts
from metashell.tui.jobs import Job
from metashell.tui.lines import nothing_left, show_filter
from metashell.tui.part import quiet_key, shown_key
from metashell.tui.rows.cells import (
    TableRows,
    columns_of,
    order_of,
    place_of,
    row_at,
    there,
)
from metashell.tui.rows.column_table import ColumnTable
from metashell.tui.rows.columns import ColumnsScreen
from metashell.tui.rows.signs import stands_for
from metashell.tui.rows.table_lines import Styles, draw_row, header_styles_of, styles_of
from metashell.tui.rows.widths import Sort, sort_again

__all__ = ["RowTable", "order_of"]

_SORT_TIP: Final = "sort by the underlined column, which left and right choose"


class RowTable(ColumnTable):
    """Rows that can be sorted, filtered and gone through.

    `show` sets them; `Chosen` says which one was taken with Enter or a double click, `Moved` which
    one the cursor is on.
    """

    HELP = (
        "A table. `↑` `↓` go through the rows, `←` `→` choose a column. `enter` or a "
        "double click opens the node of the row. `›` in the header says that columns follow.\n\n"
        "`s` sorts by the chosen column, which is underlined, and shows the first row. Numbers "
        "and times begin with the largest, coloured words with the worst. `s` again reverses the "
        "order, a third time takes it back. A click on a header does the same. `c` chooses "
        "the columns, `/` filters, `x` exports, `Y` copies the row. `ctrl+c` copies it "
        "too, unless a job runs.\n\n"
        "`•` marks rows and cells that changed since the previous stop."
    )
    BEGINS_FIRST: ClassVar[bool] = False
    """Whether the cursor stays on the first row until the user moves it."""
    keeps_cursor = True
    """Whether the row of the cursor is marked also where the focus is elsewhere."""
    COMPONENT_CLASSES: ClassVar = {
        f"row-table--{part}"
        for part in (
            *(colour.value for colour in CellColour),
            *("header", "fixed", "row", "sign", "cursor", "hover"),
        )
    }
    DEFAULT_CSS = """
    RowTable {
        height: 1fr; scrollbar-size: 0 1; background: $background; color: $foreground;
        & > .row-table--hover { background: $block-hover-background; }
        & > .row-table--red { color: $text-error; text-style: bold; }
        & > .row-table--yellow { color: $text-warning; text-style: bold; }
        & > .row-table--sign { color: $primary-muted; }
        & > .row-table--row { background: $background; color: $foreground; }
        & > .row-table--fixed { background: $background; color: $foreground; text-style: bold; }
        & > .row-table--header { background: $background; color: $text-muted; }
        & > .row-table--cursor {
            background: $block-cursor-blurred-background;
            color: $block-cursor-blurred-foreground;
            text-style: $block-cursor-blurred-text-style;
        }
        &:focus > .row-table--cursor {
            background: $block-cursor-background; color: $block-cursor-foreground;
            text-style: $block-cursor-text-style;
        }
    }
    """
    BINDINGS: ClassVar = [
        shown_key("s", "sort", "Sort", "table.sort", _SORT_TIP),
        quiet_key("c", "columns", "Columns", "table.columns", "choose the columns"),
        # Textual's own way between widgets, also where a screen has another use for these keys.
        Binding("tab", "app.focus_next", show=False),
        Binding("shift+tab", "app.focus_previous", show=False),
    ]

    class Chosen(Message):
        """A row was taken."""

        def __init__(self, table: RowTable, row: dict[str, Any]) -> None:
            super().__init__()
            self.table, self.row = table, row

    class Moved(Chosen):
        """The cursor went to a row."""

    class Drawn(Message):
        """Other rows are shown, or the same in another order."""

        def __init__(self, table: RowTable) -> None:
            super().__init__()
            self.table = table

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._given: tuple[pa.Table, pa.Array | None] | None = None
        """Rows that are shown, or will be once they are arranged, and their marks."""
        self._marked: pa.Array | None = None
        self.changed: Mapping[str, pa.Array] = {}
        """By column, bool[n]: cells that changed since the previous stop."""
        self._order: pa.Array | None = None
        self._filter = ""
        self._at: Mapping[str, Any] | None = None
        """The row that the cursor is to go to, in place of the one that it is on."""
        self._afresh = False
        self._told: dict[str, Any] | None = None
        self._styles: tuple[Styles, Styles] | None = None
        """The styles of the rows that are being drawn, and of the header."""
        self._is_moved = False
        """Whether the user moved the cursor."""
        self._hovered: int | None = None
        """The row under the mouse; None once the keyboard was used."""
        self._goes_up = False
        """Whether the first row of the order that the user asked for is to be seen."""

    def show(
        self,
        table: pa.Table,
        marked: pa.Array | None = None,
        *,
        first: Sequence[str] = (),
        afresh: bool = False,
        at: Mapping[str, Any] | None = None,
        changed: Mapping[str, pa.Array] | None = None,
    ) -> None:
        """Show rows in place of those before; order, filter and place of the cursor are kept.

        The cursor stays on the row that is about the same: `place_of` says which.

        Args:
            table: The rows, with the types that `metashell.commands.rows.cell_text` takes.
            marked: bool[n]: rows that changed since the previous stop; None for none.
            first: The columns shown unless the user chooses others; all if not given.
            afresh: Whether the rows are about something else. Then filter and cursor are forgotten,
                and the order is the one that the user chose for such rows.
            at: The row that the cursor goes to then, by values of some of its columns.
            changed: By column, bool[n]: cells that changed since the previous stop.
        """
        self.changed = changed or {}
        is_first = self._given is None
        self._given, self._first = (table, marked), there(table, first)
        if afresh:
            self._sort, self._filter = None, ""
            self._afresh, self._at = True, at
        if is_first or afresh:
            self._sort = self._sort or self.explorer.remembered.sort(table.column_names)
        if self._sort is not None and self._sort[0] not in table.column_names:
            self._sort = None
        if self._sort is None and not self._filter:
            if self.is_attached:
                self.explorer.jobs.cancel(self, "arrange")
            self._draw(None)
        else:
            self._arrange(leads=is_first or afresh)

    @property
    def row(self) -> dict[str, Any] | None:
        """Values of the row that the cursor is on; None where there is none."""
        at = self._index
        return None if self.table is None or at is None else row_at(self.table, at)

    @property
    def _index(self) -> int | None:
        """Which of all rows the cursor is on; None where there is none."""
        at = self.cursor
        if self.table is None or not 0 <= at < self.n_lines:
            return None
        return at if self._order is None else self._order[at].as_py()

    @property
    def shown(self) -> pa.Table | None:
        """The rows as they are shown: filtered and sorted, with the columns chosen."""
        return self._ordered(self.columns_shown)

    @property
    def taken(self) -> pa.Table | None:
        """The rows as they are shown, with the columns that those of signs stand for."""
        return self._ordered(dict.fromkeys(map(self._sorted_column, self.columns_shown)))

    def _ordered(self, names: Iterable[str]) -> pa.Table | None:
        table = None if self.table is None else self.table.select(list(names))
        return table if table is None or self._order is None else table.take(self._order)

    def texts(self) -> dict[str, str]:
        """The row that the cursor is on as texts, but for signs; empty where there is none."""
        at = self._index
        if self.table is None or at is None:
            return {}
        row = self.table.slice(at, 1)
        names = [name for name in row.column_names if self._sorted_column(name) == name]
        return {name: shown_texts(row.column(name))[0].as_py() for name in names}

    @property
    def filter_text(self) -> str:
        """The text that a shown row contains in any case; empty for all rows."""
        return self._filter

    def filter_by(self, text: str) -> None:
        """Show only rows with a text in one of their cells."""
        if text != self._filter:
            self._filter = text
            self._arrange()

    def sort_by(self, column: str, *, descending: bool = False) -> None:
        """Show the rows in another order."""
        self._sort = (column, descending)
        self._arrange()

    @property
    def sorted_by(self) -> tuple[str, bool] | None:
        """(column, whether descending) that decides about the order; None for that given."""
        return self._sort

    # The user's actions.

    def action_sort(self) -> None:
        """Sort by the column of the cursor."""
        if self.columns_shown:
            self._sort_at(self.cursor_column)

    def action_columns(self) -> None:
        """Choose the columns."""
        table = self.table
        if table is None:
            return
        names = [*self._first, *(n for n in table.column_names if n not in self._first)]

        def choose(chosen: list[str] | None) -> None:
            if chosen:
                self.explorer.remembered.choose_columns(names, chosen)
                self._draw(self._order)

        # A column that is hidden because it is empty now is not left out for ever.
        chosen = self.explorer.remembered.columns(table.column_names) or self._first
        self.explorer.push_screen(ColumnsScreen(names, chosen or names), choose)

    def action_copy_selection(self) -> None:
        """Copy the row: its cells as they are shown, with tabs between."""
        text = self.row_text
        if text is None:
            self.explorer.tell("no row is under the cursor")
        else:
            self.explorer.copy(text, "row")

    @property
    def row_text(self) -> str | None:
        """The cells of the cursor's row with tabs between; None where there is none."""
        if self._rows is None or self.row is None:
            return None
        assert self.table is not None
        cells = TableRows(self.table, self.columns_shown, self._order, None, whole=True)
        return "\t".join(text.plain for text in cells.row(self.cursor))

    def go_to_line(self, line: int) -> None:
        """Put the cursor on a row; new rows move it without this."""
        self._hover(None)
        line = max(min(line, self.n_lines - 1), 0)
        self._is_moved = self._is_moved or line != self.cursor
        self.put_cursor(line)
        self.show_cursor()
        self._tell_row()

    def action_choose(self) -> None:
        """Tell which row was taken."""
        row = self.row
        if row is not None:
            self.post_message(self.Chosen(self, row))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Mark the row under the mouse."""
        y = event.y - self.gutter.top - self.header_height
        self._hover(y + int(self.scroll_y) if y >= 0 else None)

    def on_leave(self) -> None:
        """Mark none: the mouse is elsewhere."""
        self._hover(None)

    def _hover(self, row: int | None) -> None:
        before, self._hovered = self._hovered, row
        for line in (before, row):
            if line is not None and before != row:
                self.refresh_line(line)

    def click_header(self, column: int) -> None:
        """Sort by the column that was clicked on."""
        at = self.column_at(column)
        if at is not None:
            self._go_to_column(at)
            self._sort_at(at)

    def _tell_row(self) -> None:
        row = self.row
        if row is not None and row != self._told:
            self._told = row
            self.post_message(self.Moved(self, row))

    def _sort_at(self, column: int) -> None:
        name = self._sorted_column(self.columns_shown[column])
        self._take_sort(sort_again(name, self._sort, descends=self._descends(name)))

    def _take_sort(self, sort: Sort | None) -> None:
        """Sort as the user wants it, here and in every such table."""
        assert self._given is not None
        self._sort, self._goes_up = sort, True
        self.explorer.remembered.choose_sort(self._given[0].column_names, sort)
        self._arrange(leads=True)

    def _sorted_column(self, name: str) -> str:
        """The column by which a column that is shown is sorted."""
        assert self.table is not None
        return stands_for(self.table.schema.field(name))

    def _is_text(self, name: str) -> bool:
        return self._sorted_column(name) == name and super()._is_text(name)

    def _descends(self, name: str) -> bool:
        """Whether a column is sorted with the largest first at first: numbers and times are."""
        assert self._given is not None
        kind = self._given[0].schema.field(name).type
        return is_number(kind) or pa.types.is_timestamp(kind)

    # Drawing.

    def render_line(self, y: int) -> Strip:
        """Draw a line; below the header of a table without rows it says so."""
        if y == 1 and self.table is not None and not self.n_lines:
            is_filtered = bool(self._filter and len(self.table))
            text = nothing_left("row", self._filter) if is_filtered else "nothing here"
            style = self.rich_style
            return Strip([Segment(f" {text}", style)]).adjust_cell_length(self.size.width, style)
        row = y - self.header_height + int(self.scroll_y)
        if y >= self.header_height and row >= self.n_lines:
            return Strip.blank(self.size.width, self.rich_style)
        if self._styles is None:
            self._styles = styles_of(self), header_styles_of(self)
        is_header = y < self.header_height
        is_marked = self.has_focus or self.keeps_cursor
        strip = draw_row(
            self.labels if is_header or self._rows is None else self._rows.row(row),
            self.seen_columns,
            self._styles[is_header],
            n_fixed=self.n_fixed,
            width=self.size.width,
            is_cursor=not is_header and is_marked and row == self.cursor,
            is_hover=not is_header and row == self._hovered,
        )
        if not (is_header and self.goes_on):
            return strip
        edge = Segment("›", self._styles[is_header].row)
        return Strip([*strip.crop(0, self.room - 1), edge, *strip.crop(self.room)])

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw some lines, in styles that are asked for once."""
        self._styles = None
        return super().render_lines(crop)

    def _arrange(self, *, leads: bool = False) -> None:
        """Sort and filter; `leads`: whether the next keys are for what comes of it."""
        if self._given is None:
            return
        table, sort, text = self._given[0], self._sort, self._filter
        names = columns_of(table, self._first, self.explorer.remembered)
        searched = table.select(list(names))
        if sort is not None and sort[0] not in searched.column_names:
            searched = searched.append_column(table.schema.field(sort[0]), table.column(sort[0]))

        def work(job: Job) -> pa.Array | None:
            return order_of(searched, sort, text, job.cancelled)

        title = "filtering" if text else "sorting"
        self.explorer.jobs.start(title, work, self._draw, owner=self, key="arrange", leads=leads)

    def _draw(self, order: pa.Array | None) -> None:
        """Show the rows given, in that order."""
        assert self._given is not None
        row = self._at if self._afresh else self.row
        goes_up, self._goes_up = self._goes_up, False
        if self.BEGINS_FIRST and not self._is_moved and self._at is None:
            row = None
        line = self.cursor - int(self.scroll_y)
        name = self._cursor_name()
        self.table, self._marked = self._given
        self._order = order
        names = columns_of(self.table, self._first, self.explorer.remembered)
        self._rows = TableRows(self.table, names, order, self._marked, self.changed)
        show_filter(self, self._filter, len(self._rows), len(self.table))
        at = self._place(row)
        if goes_up and (at is None or at >= self.size.height - self.header_height):
            at = 0
        if at is None:
            at = 0 if self._afresh else min(self.cursor, max(self.n_lines - 1, 0))
        column = names.index(name) if name in names and not self._afresh else 0
        self.cursor, self.cursor_column = at, column
        self.n_passed = 0 if self._afresh else self.n_passed
        self._lay_out()
        if self._afresh:
            self.scroll_to(y=max(0, at - max(self.size.height - 2, 1) // 2), animate=False)
        else:
            self.scroll_to(y=0 if goes_up else max(0, at - line), animate=False)
        self._afresh, self._at = False, None
        if self.is_attached:
            self._tell_row()
            self.post_message(self.Drawn(self))

    def _place(self, row: Mapping[str, Any] | None) -> int | None:
        """Where a row is shown; None where it is not."""
        assert self.table is not None
        at = place_of(self.table, row)
        if at is None or self._order is None:
            return at
        found = pc.index(self._order, pa.scalar(at, pa.int64())).as_py()
        return None if found < 0 else found
