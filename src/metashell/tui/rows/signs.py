"""Columns of signs, which are there to be looked at: bars, lines over time, marks.

Each stands for another column: it is sorted by that, and that is taken away in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

_STANDS_FOR: Final = b"metashell.stands-for"


def with_signs(table: pa.Table, *columns: tuple[str, str, Sequence[str | None]]) -> pa.Table:
    """A table with columns of signs.

    Args:
        table: The rows.
        columns: (name, the column that it stands for, and behind, texts) of each.
    """
    for name, other, texts in columns:
        field = pa.field(name, pa.string(), metadata={_STANDS_FOR: other})
        at = table.column_names.index(other) + 1
        table = table.add_column(at, field, pa.array(texts, pa.string()))
    return table


def is_drawn(name: str) -> bool:
    """Whether a column is drawn: a bar, or a line over time."""
    return name.endswith(("_bar", "_over_time"))


def stands_for(field: pa.Field) -> str:
    """The column that a column stands for; its own name if it has no signs."""
    found: bytes = (field.metadata or {}).get(_STANDS_FOR, field.name.encode())
    return found.decode()
