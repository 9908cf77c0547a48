"""Rows of two answers compared: what changed from one state to another. For jobs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.rows.cell_colours import shows_the_worst
from metashell.commands.rows.cell_text import is_list, plain_texts
from metashell.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TableChanges:
    """The rows and cells that differ from the previous stop."""

    rows: pa.Array | None
    """bool[n]; None without such a stop."""
    cells: Mapping[str, pa.Array]
    """By column, bool[n]: the result of `changed_cells`."""

    def take(self, order: pa.Array) -> TableChanges:
        """The changes of the rows in another order."""
        rows = None if self.rows is None else self.rows.take(order)
        return TableChanges(rows, {name: cells.take(order) for name, cells in self.cells.items()})

    @classmethod
    def between(cls, table: pa.Table, before: pa.Table, key: str) -> TableChanges:
        """Compare all of two tables of the same kind, by the column that names a row."""
        keys, keys_before = (rows.column(key).to_pylist() for rows in (table, before))
        return cls(
            changed_rows(table, before, key), changed_cells(table, before, keys, keys_before)
        )


UNCHANGED: Final = TableChanges(None, {})


def changed_rows(
    table: pa.Table, before: pa.Table | None, key: str, columns: Sequence[str] | None = None
) -> pa.Array | None:
    """Find the rows that are new or that changed.

    Args:
        table: The rows.
        before: Rows of the same kind, from the state before; None without such a state.
        key: The column that names a row.
        columns: The columns to compare; None for all.

    Returns:
        bool[n]; None without a state before.
    """
    if before is None:
        return None
    names = [key, *(table.column_names if columns is None else columns)]
    if any(name not in before.column_names for name in names):
        return None
    known = {row[0]: row for row in _rows(before, names)}
    return pa.array([known.get(row[0]) != row for row in _rows(table, names)], pa.bool_())


def _rows(table: pa.Table, names: Sequence[str]) -> list[tuple[str | None, ...]]:
    texts = [plain_texts(table.column(name)).to_pylist() for name in names]
    return list(zip(*texts, strict=True))


def changed_cells(
    table: pa.Table,
    before: pa.Table,
    keys: Sequence[Hashable],
    keys_before: Sequence[Hashable],
) -> dict[str, pa.Array]:
    """Find the cells that changed.

    Args:
        table: The rows.
        before: Rows of the same kind, from another state.
        keys: The thing that each row of `table` is about; None for rows that are not compared.
        keys_before: The things of the rows of `before`.

    Returns:
        By the names of columns with such cells, bool[n]; a row that `before` lacks has none.
    """
    places = {key: at for at, key in enumerate(keys_before) if key is not None}
    at = pa.array([None if key is None else places.get(key) for key in keys], pa.int64())
    found = {}
    for name in table.column_names:
        if name not in before.column_names:
            continue
        now, was = _seen_texts(table, name), _seen_texts(before, name).take(at)
        same = pc.fill_null(pc.equal(now, was), False)
        both_null = pc.and_(pc.is_null(now), pc.is_null(was))
        differs = pc.and_(pc.is_valid(at), pc.invert(pc.or_(same, both_null)))
        if pc.any(differs).as_py():
            found[name] = differs
    return found


def _seen_texts(table: pa.Table, name: str) -> pa.Array:
    """string[n]: what a table shows of a column, so that a mark says that this is another text."""
    column = table.column(name)
    if is_list(column.type) and shows_the_worst(table.schema.field(name)):
        column = pc.list_slice(column, 0, 1)
    return plain_texts(column)
