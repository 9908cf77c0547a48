"""The columns of a table: how wide they are, which are in sight, and their order. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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
_LEAST_SEEN: Final = 6
"""Cells from which on a text that the edge cuts is shown."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """The room that a column wants, in cells without the blanks beside its texts."""

    needed: int
    """All of its texts and its header."""
    tight: int
    """Its header, and of its texts what tells a row from others."""
    least: int
    """That of its texts, and a part of its header. Numbers and words stay whole."""
    is_text: bool
    """Whether a part of its texts tells something."""


def fitted(columns: Sequence[TableColumn], room: int) -> list[int]:
    """The widths at which all columns have room, if there are such: the widest gives way first.

    Texts give way before headers do.
    """
    widths = [column.needed + BLANKS for column in columns]
    for least in ([c.tight for c in columns], [c.least for c in columns]):
        level = max(widths, default=0)
        while sum(widths) > room and level:
            level -= 1
            pairs = zip(widths, least, strict=True)
            widths = [max(min(width, level), kept + BLANKS) for width, kept in pairs]
    return widths


def in_sight(
    columns: Sequence[TableColumn], room: int, n_fixed: int, scrolled: int
) -> list[tuple[int, int]]:
    """(column, width) of each that has room, from the left; cells left over go to texts.

    Args:
        columns: All columns.
        room: Cells of a line.
        n_fixed: How many of the first columns stay in sight.
        scrolled: How many of the others are passed over.
    """
    widths, seen, left = fitted(columns, room), list[tuple[int, int]](), room
    for i in (*range(n_fixed), *range(n_fixed + scrolled, len(columns))):
        width = min(widths[i], left)
        if width < widths[i] and seen and not (columns[i].is_text and left >= _LEAST_SEEN):
            break
        seen.append((i, width))
        left -= width
    for at, (i, width) in enumerate(seen):
        more = min(max(columns[i].needed + BLANKS - width, 0), left)
        seen[at] = i, width + more
        left -= more
    return seen
