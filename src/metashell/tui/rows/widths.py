"""How wide the columns of a table are where there is too little room. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from textual_fastdatatable.column import Column

_BLANKS: Final = 2
"""Cells beside the text of a cell."""


def squeeze(columns: Sequence[Column], room: int, which: Sequence[int], least: int) -> None:
    """Narrow some columns, the widest first, if all columns fit then; else leave them.

    Args:
        columns: All columns.
        room: Cells that there are.
        which: Places of those that may be narrowed.
        least: What each of these keeps, without the blanks around it.
    """
    missing = sum(column.render_width for column in columns) - room
    widths = {i: columns[i].render_width - _BLANKS for i in which}
    if not 0 < missing <= sum(max(width - least, 0) for width in widths.values()):
        return
    for _ in range(missing):
        widest = max(widths, key=lambda i: widths[i])
        widths[widest] -= 1
    for i, width in widths.items():
        columns[i].max_content_width = width
