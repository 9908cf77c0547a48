"""A table with columns that are there to be looked at: bars, lines over time, marks.

Each stands for a column of numbers: it is sorted by that, and that is taken away in its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from metashell.commands.rows.cell_text import shown_texts
from metashell.tui.rows.table import RowTable


class DrawnTable(RowTable):
    """A table with columns of signs and bars; the first column names the rows.

    Args:
        drawn: Columns of signs and bars, each with the column that it stands for.
        id: Id of the widget.
    """

    def __init__(self, *, drawn: Mapping[str, str] | None = None, id: str | None = None) -> None:
        super().__init__(id=id)
        self._drawn = dict(drawn or {})

    @property
    def taken(self) -> pa.Table | None:
        """The rows as they are shown, with the numbers in place of what is only looked at."""
        if self.table is None:
            return None
        names = dict.fromkeys(self._drawn.get(name, name) for name in self.columns_shown)
        table = self.table.select(list(names))
        return table if self._order is None else table.take(self._order)

    def texts(self) -> dict[str, str]:
        """The row that the cursor is on, as texts to be shown; empty where there is none."""
        cells = self._cells
        if cells is None:
            return {}
        return {name: shown_texts(cells.column(name))[0].as_py() for name in cells.schema.names}

    def row_text_of(self, *left_out: str) -> str | None:
        """That row, a line a column, without what is only looked at; None where there is none."""
        texts = self.texts()
        kept = (name for name in texts if name not in self._drawn and name not in left_out)
        return "".join(f"{name}: {texts[name]}\n" for name in kept) if texts else None

    def place_at(self, value: object) -> None:
        """Put the cursor on the row of a name, if there is one."""
        if self.table is not None:
            at = self._place({self.table.column_names[0]: value})
            if at is not None:
                self.move_cursor(row=at)

    @property
    def _cells(self) -> pa.Table | None:
        at = self._index
        return None if self.table is None or at is None else self.table.slice(at, 1)

    def _is_text(self, name: str) -> bool:
        return name not in self._drawn and super()._is_text(name)

    def _sorted_column(self, name: str) -> str:
        return self._drawn.get(name, name)


def with_columns(table: pa.Table, *columns: tuple[str, str, Sequence[str]]) -> pa.Table:
    """A table with further columns of texts.

    Args:
        table: The rows.
        columns: (name, the column that it stands behind, texts) of each.
    """
    for name, behind, texts in columns:
        at = table.column_names.index(behind) + 1
        table = table.add_column(at, name, pa.array(texts, pa.string()))
    return table
