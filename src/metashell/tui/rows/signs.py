"""Columns of signs, which are there to be looked at: bars, lines over time, marks.

Each stands for another column: it is sorted by that, and that is taken away in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_LEVELS: Final = "▁▂▃▄▅▆▇█"
SHARE: Final = "│"
"""Where an even share would end."""
_LEAST_MARKED: Final = 8
"""Cells of a bar from which on there is room for such a mark."""


def bar(value: float | None, largest: float, width: int, share: float | None = None) -> str:
    """A horizontal bar.

    Args:
        value: The value that the bar shows; None if unknown.
        largest: The value that takes the whole width.
        width: Cells.
        share: The value at which a mark stands; None for no mark.

    Returns:
        A text of so many cells; a value above 0 takes at least an eighth of a cell.
    """
    if largest <= 0 or width <= 0:
        return " " * max(width, 0)
    part = min(max(value or 0, 0) / largest, 1)
    eighths = max(round(8 * width * part), 1) if part else 0
    full, rest = divmod(eighths, 8)
    cells = [_EIGHTHS[8]] * full + ([_EIGHTHS[rest]] if rest else [])
    cells += " " * (width - len(cells))
    if share is not None and 0 < share <= largest:
        cells[min(int(width * share / largest), width - 1)] = SHARE
    return "".join(cells)


def bars(
    values: Sequence[float | None], width: int, shares: Sequence[float | None] | None = None
) -> list[str]:
    """Bars of one scale, in which the largest value or share takes the whole width.

    Narrow bars have no mark: it takes a cell, by which they may differ.
    """
    if width < _LEAST_MARKED:
        shares = None
    marks = [None] * len(values) if shares is None else shares
    largest = max((v for v in (*values, *marks) if v is not None), default=0)
    return [bar(v, largest, width, mark) for v, mark in zip(values, marks, strict=True)]


def sparkline(
    values: Sequence[int | None], n_values: int, width: int, largest: int | None = None
) -> str:
    """Values over time, the newest to the right.

    Args:
        values: Evenly spaced, the oldest first; None for nothing known.
        n_values: The number of values that fill the width; with fewer values the left is empty.
        width: Cells; each shows the largest of its values.
        largest: The value drawn highest; None for the largest value. 0 is always drawn lowest.
    """
    known = [v for v in values if v is not None]
    top = max(known, default=0) if largest is None else largest
    n_values = max(n_values, 1)
    newest = list(values)[-n_values:]
    missing = n_values - len(newest)
    cells = []
    for i in range(width):
        begin, end = (
            i * n_values // width,
            max((i + 1) * n_values // width, i * n_values // width + 1),
        )
        part = [v for v in newest[max(begin - missing, 0) : max(end - missing, 0)] if v is not None]
        cells.append(_level(max(part), top) if part else " ")
    return "".join(cells)


def _level(value: int, top: int) -> str:
    if value <= 0 or top <= 0:
        return _LEVELS[0]
    last = len(_LEVELS) - 1
    return _LEVELS[min(max(round(last * value / top), 1), last)]


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
