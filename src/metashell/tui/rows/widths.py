"""The columns of a table: how wide they are, where they stand, and their order. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from rich.text import Text

from metashell.dataclass import dataclass

Sort = tuple[str, bool]
"""(column, whether descending)."""


def sort_again(name: str, current: Sort | None, *, descends: bool) -> Sort | None:
    """The order of a column that is taken: its usual one, then in reverse, then none."""
    if current == (name, not descends):
        return None
    return (name, not descends) if current == (name, descends) else (name, descends)


BLANKS: Final = 2
"""Cells beside the text of a cell."""


@dataclass(slots=True)
class TableColumn:
    """A column as it is drawn."""

    label: Text
    needed: int
    """Cells of its widest text, the label included."""
    most: int
    """Cells that a text takes at most."""

    @property
    def width(self) -> int:
        """Cells of the column."""
        return min(self.needed, self.most) + BLANKS


def squeeze(columns: Sequence[TableColumn], room: int, which: Sequence[int], least: int) -> bool:
    """Narrow some columns, the widest first, if all columns fit then; else leave them.

    The last column counts as narrowed, but keeps its width: one can scroll to what the edge cuts.

    Args:
        columns: All columns.
        room: The width for all columns, in cells.
        which: Places of the columns that may be narrowed.
        least: The width that each of these keeps, without the blanks around it.

    Returns:
        Whether all columns fit.
    """
    missing = sum(column.width for column in columns) - room
    widths = {i: columns[i].width - BLANKS for i in which}
    if missing > sum(max(width - least, 0) for width in widths.values()):
        return False
    for _ in range(missing):
        widest = max(widths, key=lambda i: widths[i])
        widths[widest] -= 1
    widths.pop(len(columns) - 1, None)
    for i, width in widths.items():
        columns[i].most = width
    return True


def widen(columns: Sequence[TableColumn], room: int) -> None:
    """Give the cells that no column takes to those that are cut, the first ones first.

    Args:
        columns: All columns.
        room: Cells that there are.
    """
    left = room - sum(column.width for column in columns)
    for column in columns:
        more = min(max(column.needed - column.most, 0), max(left, 0))
        column.most += more
        left -= more


def starts(columns: Sequence[TableColumn], n_fixed: int) -> list[int]:
    """By column, how far the table is scrolled where it stands first behind what is fixed."""
    begins = list(accumulate((column.width for column in columns), initial=0))
    return [begin - begins[n_fixed] for begin in begins[:-1]]


def scrolled_to(
    columns: Sequence[TableColumn], n_fixed: int, column: int, x: int, room: int
) -> int:
    """How far to scroll so that a column can be seen, and a whole one comes first.

    Args:
        columns: All columns.
        n_fixed: How many of them stay where they are.
        column: The one to be seen.
        x: How far it is scrolled now.
        room: Cells that all of them have.
    """
    begins, width = starts(columns, n_fixed), columns[column].width
    room -= sum(one.width for one in columns[:n_fixed])
    if column < n_fixed or begins[column] < x:
        return max(0, begins[column])
    least = begins[column] + width - room
    if least <= x:
        return x
    return min(next((begin for begin in begins if begin >= least), begins[column]), begins[column])


def column_at(columns: Sequence[TableColumn], n_fixed: int, left: int, x: int) -> int | None:
    """The column that stands at a cell of the screen; None behind the last one.

    Args:
        columns: All columns.
        n_fixed: How many of them stay where they are.
        left: Cells by which the others are scrolled.
        x: The cell.
    """
    ends = list(accumulate(column.width for column in columns))
    at = x if x < sum(column.width for column in columns[:n_fixed]) else x + left
    return next((i for i, end in enumerate(ends) if at < end), None)
