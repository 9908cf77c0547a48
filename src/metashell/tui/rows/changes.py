"""Rows of two answers compared: what changed from one state to another. For jobs."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from metashell.commands.rows.cell_text import plain_texts


def changed_rows(
    table: pa.Table, before: pa.Table | None, key: str, columns: Sequence[str] | None = None
) -> pa.Array | None:
    """Which rows are new or not as they were.

    Args:
        table: The rows.
        before: Rows of the same kind, of the state before; None where there is none.
        key: The column that names a row.
        columns: What is compared; None for all.

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
