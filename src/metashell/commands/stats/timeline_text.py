"""The parts of a log as lines of text, for ``stats --section timeline``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.shared.columns import table_lines

if TYPE_CHECKING:
    from metashell.commands.rows.query import RowMapping
    from metashell.records.density import Axis

_COUNTS: Final = (
    *("records", "topics", "nodes", "configs", "security", "quorum", "other", "no_ops"),
    *("elections", "faults"),
)
_BAR: Final = 20


def timeline_lines(rows: Sequence[RowMapping], axis: Axis) -> list[str]:
    """A line for each part, with a bar of the records that say something."""
    from metashell.schema.timestamps import iso_time

    by_time = axis.value == "time"
    told = [row["records"] - row["no_ops"] for row in rows]
    most = max(told, default=0) or 1
    cells = [
        (
            iso_time(row["begin"]) if by_time else str(row["begin"]),
            "-" if row["last_offset"] is None else f"{row['first_offset']}..{row['last_offset']}",
            *(str(row[name]) for name in _COUNTS),
            "#" * -(-n * _BAR // most),
        )
        for row, n in zip(rows, told, strict=True)
    ]
    titles = (name.replace("_", "").upper() for name in _COUNTS)
    return list(
        table_lines(("BEGIN", "OFFSETS", *titles, ""), cells, left={0} if by_time else set())
    )
