"""How wide the columns of a table are, and where they stand. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from textual_fastdatatable.column import Column

BLANKS: Final = 2
"""Cells beside the text of a cell."""


def squeeze(columns: Sequence[Column], room: int, which: Sequence[int], least: int) -> bool:
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
    missing = sum(column.render_width for column in columns) - room
    widths = {i: columns[i].render_width - BLANKS for i in which}
    if missing > sum(max(width - least, 0) for width in widths.values()):
        return False
    for _ in range(missing):
        widest = max(widths, key=lambda i: widths[i])
        widths[widest] -= 1
    widths.pop(len(columns) - 1, None)
    for i, width in widths.items():
        columns[i].max_content_width = width
    return True


def widen(columns: Sequence[Column], room: int) -> None:
    """Give the cells that no column takes to those that are cut, the first ones first.

    Args:
        columns: All columns.
        room: Cells that there are.
    """
    left = room - sum(column.render_width for column in columns)
    for column in columns:
        if left > 0 and column.max_content_width is not None:
            more = min(max(column.content_width - column.max_content_width, 0), left)
            column.max_content_width += more
            left -= more


def starts(columns: Sequence[Column], n_fixed: int) -> list[int]:
    """By column, how far the table is scrolled where it stands first behind what is fixed."""
    begins = list(accumulate((column.render_width for column in columns), initial=0))
    return [begin - begins[n_fixed] for begin in begins[:-1]]


def scrolled_to(columns: Sequence[Column], n_fixed: int, column: int, x: int, room: int) -> int:
    """How far to scroll so that a column can be seen, and a whole one comes first.

    Args:
        columns: All columns.
        n_fixed: How many of them stay where they are.
        column: The one to be seen.
        x: How far it is scrolled now.
        room: Cells that all of them have.
    """
    begins, width = starts(columns, n_fixed), columns[column].render_width
    room -= sum(one.render_width for one in columns[:n_fixed])
    if column < n_fixed or begins[column] < x:
        return max(0, begins[column])
    least = begins[column] + width - room
    if least <= x:
        return x
    return min(next((begin for begin in begins if begin >= least), begins[column]), begins[column])
