"""Texts in columns: names as ``ls`` shows them on a terminal, and tables of cells. Pure.

Two spaces stand between columns. Wide characters count as the terminal draws them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

_GAP = 2
_LEAST_COLUMN = 4


def layout(names: Sequence[str], width: int) -> list[str]:
    """Arrange names as lines of at most `width` columns of the terminal.

    Names run down the columns, of which there are as many as fit the width, at most one for every
    four characters of it. A name wider than that has a line of its own.
    """
    sizes = [display_width(name) for name in names]
    per_column, widths = _choose(sizes, width)
    if len(widths) <= 1:
        return list(names)
    lines = []
    for row in range(per_column):
        cells = []
        for column, column_width in enumerate(widths):
            i = row + column * per_column
            if i >= len(names):
                break
            last = column == len(widths) - 1
            cells.append(names[i] if last else names[i] + " " * (column_width - sizes[i]))
        lines.append("".join(cells))
    return lines


def table_lines(
    header: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = ()
) -> Iterator[str]:
    """Lines of a table: columns to the right, those of `left` and the last to the left."""
    last = len(header) - 1
    columns = list(zip(header, *rows, strict=True))
    widths = [max(map(display_width, column)) for column in columns]
    for row in (header, *rows):
        cells = []
        for i, (cell, width) in enumerate(zip(row, widths, strict=True)):
            space = "" if i == last else " " * (width - display_width(cell))
            cells.append(cell + space if i in left else space + cell)
        yield (" " * _GAP).join(cells).rstrip()


def display_width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth

    width = wcswidth(text)
    return width if width >= 0 else len(text)


def _choose(sizes: Sequence[int], width: int) -> tuple[int, list[int]]:
    """The most columns that fit: how many names each holds, and how wide each is."""
    count = len(sizes)
    if count == 0:
        return 0, []
    least = min(sizes) + _GAP
    most = 1 + max(0, width - max(sizes) - _GAP) // least
    for columns in range(min(width // _LEAST_COLUMN, most, count), 1, -1):
        per_column = -(-count // columns)
        if (columns - 1) * per_column >= count:
            continue
        widths: list[int] = []
        total = 0
        for start in range(0, count, per_column):
            widest = max(sizes[start : start + per_column]) + _GAP
            widths.append(widest)
            total += widest
            if total > width:
                break
        if total <= width:
            return per_column, widths
    return count, [max(sizes) + _GAP]
