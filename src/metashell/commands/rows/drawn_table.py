"""Drawing a table for people.

A terminal shows what matters at any width. Numbers, flags and times are never cut. Names lose their
middle, and sentences take more lines. The columns of the lowest priority are left out before that,
and a line below the table names them. A column that the answer is about or that the user named
stays. A pipe gets every column of the table, and only long lists are cut.

Whole columns are worked on, some ten thousand rows at a time.

Which columns of a table fit a terminal, and how wide each is there.

A column that is needed never goes: its cells take more lines, or it comes on a page of its own
below the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.cell_text import newest_day
from metashell.commands.rows.columns import IDENTIFYING, Column, Shrink
from metashell.commands.rows.drawn_column import (
    CHUNK_ROWS,
    LEAST_NAME,
    MOST_WRAPPED,
    ROOMY,
    DrawnColumn,
    is_narrow,
    widest,
)
from metashell.commands.shared.colour import PLAIN, has_colour
from metashell.commands.shared.columns import display_width
from metashell.commands.shared.wrapped import wrapped
from metashell.dataclass import dataclass
from metashell.fs.escape import Coloured, escape

GAP: Final = "  "
_MOST_OF_USUAL: Final = 2
"""Where not all fits, no column is wider for the sake of a few names that are longer than that."""

Page = list[DrawnColumn]


def fit(columns: Sequence[DrawnColumn], width: int) -> list[Page]:
    """The columns that a terminal shows: side by side, and on further pages what must not go."""
    most = max(LEAST_NAME, width // 2)
    chosen = [
        replace(c, least=min(c.least, max(most, display_width(c.header))))
        if c.column.shrink is Shrink.MIDDLE and not c.is_rigid
        else c
        for c in columns
        if not c.says_nothing
    ] or list(columns)
    if whole(chosen) > width:
        chosen = [replace(c, width=min(c.width, _capped(c))) for c in chosen]
    if whole(chosen) > width:
        # Where there is little room nothing gives way to columns that say nothing.
        chosen = [c for c in chosen if not c.is_empty or c.is_needed] or chosen
    needed = [c for c in chosen if c.is_needed]
    if _least(needed) <= width:
        return [_narrowed(_most_important(chosen, width), width)]
    needed = [replace(c, wraps=True) for c in needed]
    tight = [replace(c, least=c.tight, width=c.below_header) for c in needed]
    if _least(tight) <= width:
        is_wrapped = len(columns[0].texts) <= MOST_WRAPPED
        return [_wrapping(tight, width) if is_wrapped else _narrowed(tight, width)]
    return [_narrowed(page, width) for page in _pages(needed, width)]


def whole(columns: Sequence[DrawnColumn]) -> int:
    """Width of a table in which nothing is cut."""
    return sum(column.width for column in columns) + len(GAP) * (len(columns) - 1)


def _least(columns: Sequence[DrawnColumn]) -> int:
    return sum(column.least for column in columns) + len(GAP) * (len(columns) - 1)


def _capped(column: DrawnColumn) -> int:
    """How wide a column is at most where not all fits: not all rows pay for a few long names."""
    return max(column.least, _MOST_OF_USUAL * column.usual, ROOMY)


def _most_important(columns: Sequence[DrawnColumn], width: int) -> Page:
    """The columns that have room, by priority; a narrow one may stand for a wide one."""
    by_priority = lambda i: (not columns[i].is_needed, -columns[i].column.priority, i)  # noqa: E731
    chosen: set[int] = set()
    used = -len(GAP)
    for i in sorted(range(len(columns)), key=by_priority):
        need = columns[i].least + len(GAP)
        if not chosen or used + need <= width:
            chosen.add(i)
            used += need
    return [column for i, column in enumerate(columns) if i in chosen]


def _pages(columns: Sequence[DrawnColumn], width: int) -> list[Page]:
    """Pages of columns; each begins with those that tell which row it is."""
    keys = [c for c in columns if c.column.priority >= IDENTIFYING] or list(columns[:1])
    widest = max(columns, key=lambda c: c.least)
    while len(keys) > 1 and _least([*keys, widest]) > width:
        keys.pop()
    pages = [keys]
    ids = set(map(id, keys))
    for column in columns:
        if id(column) in ids:
            continue
        if len(pages[-1]) > len(keys) and _least([*pages[-1], column]) > width:
            pages.append(keys)
        pages[-1] = [*pages[-1], column]
    return pages


def _narrowed(columns: Page, width: int) -> Page:
    """Columns with the widths that have room; the widest gives way first."""
    widths = [column.width for column in columns]
    spare = width - len(GAP) * (len(columns) - 1)
    while sum(widths) > spare:
        candidates = [i for i, column in enumerate(columns) if widths[i] > column.least]
        if not candidates:
            break
        candidates.sort(key=lambda i: -widths[i])
        next_widest = widths[candidates[1]] if len(candidates) > 1 else 0
        at = candidates[0]
        floor = max(columns[at].least, min(next_widest, widths[at] - 1))
        widths[at] = max(floor, widths[at] - (sum(widths) - spare))
    return [replace(column, width=w) for column, w in zip(columns, widths, strict=True)]


def _wrapping(columns: Page, width: int) -> Page:
    """Columns with the widths at which their rows take about the fewest lines."""
    widths = [column.width for column in columns]
    spare = width - len(GAP) * (len(columns) - 1)
    lengths = [pc.utf8_length(column.texts).to_numpy() for column in columns]
    heights = np.ones(len(lengths[0]), dtype=np.int64)
    while (over := sum(widths) - spare) > 0:
        steps = []
        for i, column in enumerate(columns):
            for narrower in range(column.least, widths[i]):
                saved = min(over, widths[i] - narrower)
                lines = np.maximum(heights, -(-lengths[i] // narrower)).sum() - heights.sum()
                steps.append((lines / saved, -saved, -narrower, i))
        _, _, narrower, at = min(steps)
        widths[at] = -narrower
        heights = np.maximum(heights, -(-lengths[at] // widths[at]))
    return [replace(column, width=w) for column, w in zip(columns, widths, strict=True)]


_CUT: Final = "…"
_LONGEST: Final = 8
"""So many characters for each column of a terminal are looked at: accents take no room at all."""
_LEAST_NOTE: Final = 20
_MOST_LINES: Final = 50
"""So many lines of a cell are written; a value can be a megabyte."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table as it is drawn."""

    columns: tuple[DrawnColumn, ...]
    """All that may be shown, in order."""
    day: str | None = None
    """The date of times that have none, such as ``2026-11-22``; None where there are none."""
    has_runs: bool = False
    """Whether rows that differ in the number of a partition alone are one line."""

    @classmethod
    def of(
        cls,
        table: pa.Table,
        declared: Mapping[str, Column] | None = None,
        befores: Mapping[str, pa.ChunkedArray] | None = None,
        *,
        short: bool,
        whole_lists: bool = False,
        named: Collection[str] = (),
    ) -> Table:
        """Rows with the text of each cell.

        Args:
            table: The rows; types as of `metashell.commands.rows.cell_text`.
            declared: Columns by name. The others were named by the user, such as those of SQL.
            befores: By column of times, the end of the checkpoint that hides a time.
            short: Whether times are short, runs of partitions are one line, and of a list that has
                the worst first only that stands.
            whole_lists: Whether such lists are whole all the same.
            named: Columns that the user named.
        """
        declared, befores = declared or {}, befores or {}
        day = None
        if short:
            arrays = [*table.columns, *befores.values()]
            day = newest_day(pa.table(arrays, [str(i) for i in range(len(arrays))]))
        drawn = [
            DrawnColumn.of(
                declared.get(name) or Column(name, ""),
                table.column(name),
                day,
                befores.get(name),
                short=short and not whole_lists,
                is_named=name in named or name not in declared,
            )
            for name in table.column_names
        ]
        has_times = any(column.is_short for column in drawn)
        return cls(tuple(drawn), day if has_times else None, has_runs=short)

    @classmethod
    def of_columns(
        cls,
        columns: Sequence[tuple[Column, pa.Array, str]],
        *,
        short: bool,
    ) -> Table:
        """The table from (declaration, cells, header), for a text that has headers of its own."""
        cells = pa.table([values for _, values, _ in columns], [c.name for c, _, _ in columns])
        day = newest_day(cells) if short else None
        drawn = [
            DrawnColumn.of(column, values, day, short=short, header=header)
            for column, values, header in columns
        ]
        return cls(tuple(drawn), day if any(c.is_short for c in drawn) else None)


def write_table(
    context: Context, table: Table, *, notes: Sequence[str] = (), explains: bool = False
) -> None:
    """Write a table; on a terminal as much as fits, and below it what is missing.

    Args:
        context: Where to.
        table: The table.
        notes: More remarks for the lines below the table.
        explains: Whether a terminal is told below what a dash in a column means.
    """
    if not context.out.is_terminal:
        _write_page(context, [column.in_pipe() for column in table.columns])
        return
    width = max(context.out.width, 1)
    pages = fit(table.columns, width)
    if table.has_runs:
        pages = _with_runs(table.columns, pages, width)
    for i, page in enumerate(pages):
        if i:
            context.out.write("\n")
        _write_page(context, page)
    shown = {column.column.name for page in pages for column in page}
    width = max(width, _LEAST_NOTE)
    for line in _notes(table, shown, notes, width):
        context.out.write(f"{line}\n")
    for column in table.columns if explains else ():
        if column.has_dash and column.column.help and column.column.name in shown:
            note = f"- in {column.column.name}: {column.column.help}"
            context.out.write("\n".join(wrapped(note, width, "  ")) + "\n")


def _write_page(context: Context, page: Sequence[DrawnColumn]) -> None:
    is_terminal, colour = context.out.is_terminal, has_colour(context)
    n_rows = len(page[0].texts) if page else 0
    wraps = is_terminal and n_rows <= MOST_WRAPPED
    if wraps:
        page = [_filled(column) for column in page]
    heads = [replace(c, texts=pa.array([c.header]), wraps=is_terminal) for c in page]
    _write_lines(context, heads, wraps=is_terminal)
    for start in range(0, n_rows, CHUNK_ROWS):
        stop_if_cancelled(context)
        _write_lines(context, [c.part(start) for c in page], wraps=wraps, colour=colour)


def _notes(table: Table, shown: Collection[str], notes: Sequence[str], width: int) -> Iterator[str]:
    """The lines below a table."""
    parts = list(notes)
    if table.day is not None and any(c.is_short and c.column.name in shown for c in table.columns):
        parts.append(f"times of {table.day} UTC")
    left_out = [
        c.column.name for c in table.columns if c.column.name not in shown and not c.says_nothing
    ]
    if left_out:
        # The option that shows the columns precedes their names.
        parts.append(f"more columns (--columns, -o json): {', '.join(map(escape, left_out))}")
    if parts:
        yield from wrapped(f"{_CUT} {'; '.join(parts)}", width, "  ")


def _with_runs(columns: Sequence[DrawnColumn], pages: list[Page], width: int) -> list[Page]:
    """The pages with one line for each run of rows."""
    fewer = [column for column in columns if not column.column.yields]
    if len(fewer) < len(columns):
        without = _joined(fewer, fit(fewer, width))
        if 2 * len(without[0].texts) <= len(columns[0].texts):
            return fit(without, width)
    return fit(_joined(columns, pages), width)


def _joined(columns: Sequence[DrawnColumn], pages: Sequence[Page]) -> Sequence[DrawnColumn]:
    """Join rows that follow each other in the number of `Column.runs`, all else shown being equal.

    The number becomes the first and the last of the run, such as ``0-7``.
    """
    shown = {column.column.name for page in pages for column in page}
    at = next((i for i, c in enumerate(columns) if c.column.runs and c.column.name in shown), None)
    if at is None or len(columns[at].texts) < 2 or len(shown) < 2:
        return columns
    numbers = columns[at].texts.cast(pa.int64()).to_numpy(zero_copy_only=False)
    follows = np.diff(numbers) == 1
    for i, column in enumerate(columns):
        if i != at and column.column.name in shown:
            texts = column.texts
            is_equal = pc.equal(texts.slice(1), texts.slice(0, len(texts) - 1))
            follows &= is_equal.to_numpy(zero_copy_only=False)
    firsts = np.flatnonzero(np.append(True, ~follows))
    lasts = np.append(firsts[1:], len(numbers)) - 1
    taken = [replace(c, texts=c.texts.take(pa.array(firsts))) for c in columns]
    ends = columns[at].texts.take(pa.array(lasts))
    runs = pc.binary_join_element_wise(taken[at].texts, ends, "-")
    texts = pc.if_else(pa.array(lasts > firsts), runs, taken[at].texts)
    width = max(taken[at].width, widest(texts))
    taken[at] = replace(taken[at], texts=texts, width=width, least=width, tight=width)
    return taken


# Lines.


def _write_lines(
    context: Context, columns: Sequence[DrawnColumn], *, wraps: bool = False, colour: bool = False
) -> None:
    if wraps and any(_is_wrapped(column) for column in columns):
        columns = _wrapped(columns)
    padded = [_coloured(column, colour=colour) for column in columns[:-1]]
    padded += [_coloured(column, colour=colour, is_last=True) for column in columns[-1:]]
    lines = pc.ascii_rtrim_whitespace(pc.binary_join_element_wise(*padded, GAP))
    text = "\n".join(lines.to_pylist()) + "\n"
    context.out.write(Coloured(text) if colour else text)


def _coloured(column: DrawnColumn, *, colour: bool, is_last: bool = False) -> pa.Array:
    # Behind the last column nothing stands: spaces up to its width, which may be large, are spared.
    pads = not is_last or column.to_the_right
    cells = column.texts
    if not column.overflows:
        cells = _cut(cells, column.width, column.column.shrink)
    if pads:
        cells = _padded(cells, column.width, to_the_right=column.to_the_right)
    if is_last:
        cells = pc.ascii_rtrim_whitespace(cells)
    if colour:
        for sequence, where in column.colours():
            if pc.any(where, min_count=0).as_py():
                marked = pc.binary_join_element_wise(sequence, cells, PLAIN, "")
                cells = pc.if_else(where, marked, cells)
    return cells


def _is_wrapped(column: DrawnColumn) -> bool:
    return column.wraps and widest(column.texts) > column.width


def _filled(column: DrawnColumn) -> DrawnColumn:
    """The column as wide as its widest line."""
    if not _is_wrapped(column):
        return column
    lines = [line for text in column.texts.to_pylist() for line in _lines(text, column.width)]
    most = max(display_width(line) for line in (*lines, *wrapped(column.header, column.width)))
    return replace(column, width=min(column.width, most))


def _wrapped(columns: Sequence[DrawnColumn]) -> list[DrawnColumn]:
    """The rows on more lines, where cells need them; the other cells are empty there."""
    lines_of = {
        i: [_lines(text, column.width) for text in column.texts.to_pylist()]
        for i, column in enumerate(columns)
        if _is_wrapped(column)
    }
    heights = [max(map(len, row)) for row in zip(*lines_of.values(), strict=True)]
    out = []
    for i, column in enumerate(columns):
        lines = lines_of.get(i) or [[text] for text in column.texts.to_pylist()]
        filled = [
            line
            for row, height in zip(lines, heights, strict=True)
            for line in (*row, *[""] * (height - len(row)))
        ]
        out.append(replace(column, texts=pa.array(filled, pa.string())))
    return out


def _lines(text: str, width: int) -> list[str]:
    lines = wrapped(text[: _LONGEST * _MOST_LINES * width], width)
    return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], _CUT]


def _padded(texts: pa.Array, width: int, *, to_the_right: bool) -> pa.Array:
    """Cells as wide as their column, from texts that are no wider."""
    if is_narrow(texts):
        return (pc.utf8_lpad if to_the_right else pc.utf8_rpad)(texts, width)
    out = []
    for text in texts.to_pylist():
        space = " " * (width - display_width(text))
        out.append(space + text if to_the_right else text + space)
    return pa.array(out, pa.string())


def _cut(texts: pa.Array, width: int, shrink: Shrink) -> pa.Array:
    """Cells that are no wider than their column."""
    if is_narrow(texts):
        return _cut_narrow(texts, width, shrink)
    return pa.array([_cut_wide(text, width, shrink) for text in texts.to_pylist()], pa.string())


def _kept(width: int, shrink: Shrink) -> tuple[int, int]:
    """How much of a text's beginning and of its end is kept beside the ellipsis."""
    tail = (width - 1) // 2 if shrink is Shrink.MIDDLE else 0
    return width - 1 - tail, tail


def _cut_narrow(texts: pa.Array, width: int, shrink: Shrink) -> pa.Array:
    too_long = pc.greater(pc.utf8_length(texts), width)
    if not pc.any(too_long, min_count=0).as_py():
        return texts
    head, tail = _kept(width, shrink)
    first = pc.utf8_slice_codeunits(texts, 0, head)
    last = pc.utf8_slice_codeunits(texts, -tail) if tail else ""
    return pc.if_else(too_long, pc.binary_join_element_wise(first, _CUT, last, ""), texts)


def _cut_wide(text: str, width: int, shrink: Shrink) -> str:
    if len(text) <= _LONGEST * width and display_width(text) <= width:
        return text
    from wcwidth import wcwidth

    head, tail = _kept(width, shrink)
    end = _beginning(text[::-1], tail, width)[::-1]
    # An accent at its beginning would stand on the ellipsis.
    while end and wcwidth(end[0]) == 0:
        end = end[1:]
    return f"{_beginning(text, head, width)}{_CUT}{end}"


def _beginning(text: str, room: int, width: int) -> str:
    """The first characters of a text that have room."""
    from wcwidth import wcwidth

    used = 0
    for n, character in enumerate(text[: _LONGEST * width]):
        used += max(wcwidth(character), 0)
        if used > room:
            return text[:n]
    return text[: _LONGEST * width]
