"""The parts of a log as lines of text, for ``stats --section timeline``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from metashell.commands.survey import table

if TYPE_CHECKING:
    from metashell.fs.node import JsonValue
    from metashell.image.density import Axis

_COUNTS: Final = (
    *("records", "topics", "nodes", "configs", "security", "quorum", "other", "noOps"),
    *("elections", "faults"),
)
_BAR: Final = 20


def timeline_lines(rows: Sequence[dict[str, JsonValue]], axis: Axis) -> list[str]:
    """A line for each part, with a bar of the records that say something."""
    from metashell.schema.times import iso_time

    by_time = axis.value == "time"
    told = [_integer(row["records"]) - _integer(row["noOps"]) for row in rows]
    most = max(told, default=0) or 1
    cells = [
        (
            iso_time(_integer(row["begin"])) if by_time else str(row["begin"]),
            "-" if row["lastOffset"] is None else f"{row['firstOffset']}..{row['lastOffset']}",
            *(str(row[name]) for name in _COUNTS),
            "#" * -(-n * _BAR // most),
        )
        for row, n in zip(rows, told, strict=True)
    ]
    titles = ("NOOPS" if name == "noOps" else name.upper() for name in _COUNTS)
    return list(table(("BEGIN", "OFFSETS", *titles, ""), cells, left={0} if by_time else set()))


def _integer(value: JsonValue) -> int:
    assert isinstance(value, int)
    return value
