"""Drawing a table for people.

A terminal shows what matters at any width. Numbers, flags and times are never cut. Names lose their
middle, and sentences take more lines. The columns of the lowest priority are left out before that,
and a line below the table names them. A pipe gets every column whole.

Whole columns are worked on, some ten thousand rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.cell_colours import CellColour, coloured_cells, words_of
from metashell.commands.rows.cell_text import is_list, is_number, shown_texts
from metashell.commands.rows.columns import AT_OR_BEFORE, Column, Shrink
from metashell.commands.rows.short_times import newest_day, short_times
from metashell.commands.shared.colour import PLAIN, RED, YELLOW, has_colour
from metashell.commands.shared.columns import display_width
from metashell.dataclass import dataclass
from metashell.fs.escape import Coloured, escape

if TYPE_CHECKING:
    from metashell.commands.framework.command import Context

_CHUNK_ROWS: Final = 1 << 15
_GAP: Final = "  "
_CUT: Final = "…"
_LONGEST: Final = 8
"""So many characters for each column of a terminal are looked at: accents take no room at all."""
_LEAST_NOTE: Final = 20
_LEAST_TEXT: Final = 20
"""Lists and sentences are not made narrower: columns are left out before."""
_NEEDED: Final = 8
"""Columns of this priority are shown even if they are empty."""
_LEAST_NAME: Final = 20
_MOST_OF_NAMES: Final = 32
_USUAL: Final = 0.9
"""The share of names that a column has room for, as far as `_MOST_OF_NAMES` goes."""
_ROOMY: Final = 40
_MOST_OF_USUAL: Final = 2
"""Where not all fits, no column is wider for the sake of a few names that are longer than that."""
_MOST_WRAPPED: Final = 1000
"""In longer tables each row is a line."""
_NOTHING: Final = ("", "-")
_SEQUENCES: Final = {CellColour.RED: RED, CellColour.YELLOW: YELLOW}


@dataclass(frozen=True, slots=True)
class Table:
    """A table as it is drawn."""

    columns: tuple[DrawnColumn, ...]
    """All that may be shown, in order."""
    day: str | None = None
    """The date of times that have none, such as ``2026-11-22``; None where there are none."""

    @classmethod
    def of(
        cls,
        table: pa.Table,
        declared: Mapping[str, Column] | None = None,
        befores: Mapping[str, pa.ChunkedArray] | None = None,
        *,
        short: bool,
        whole_lists: bool = False,
        ranked: bool = True,
    ) -> Table:
        """Rows with the text of each cell.

        Args:
            table: The rows; types as of `metashell.commands.rows.cell_text`.
            declared: Columns by name; those that are missing are plain ones.
            befores: By column of times, the end of the checkpoint that hides a time.
            short: Whether times are short, and of a list that has the worst first only that stands.
            whole_lists: Whether such lists are whole all the same.
            ranked: Whether priorities count; else the first column is the most important one.
        """
        declared, befores = declared or {}, befores or {}
        day = None
        if short:
            arrays = [*table.columns, *befores.values()]
            day = newest_day(pa.table(arrays, [str(i) for i in range(len(arrays))]))
        drawn = []
        for name in table.column_names:
            column = declared.get(name) or Column(name, "")
            if not ranked:
                column = replace(column, priority=0)
            is_short = short and not whole_lists
            before = befores.get(name)
            drawn.append(DrawnColumn.of(column, table.column(name), day, before, short=is_short))
        has_times = any(column.is_short for column in drawn)
        return cls(tuple(drawn), day if has_times else None)

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


@dataclass(frozen=True, slots=True)
class DrawnColumn:
    """A column of a table for people."""

    header: str
    texts: pa.Array
    """string[rows], escaped, without null."""
    column: Column
    to_the_right: bool
    shrink: Shrink
    """How its cells are cut."""
    is_rigid: bool
    """Whether cells are whole or not there."""
    width: int
    """The width of the header or of the widest cell."""
    least: int
    """How far its width can be cut."""
    usual: int
    """Width of names but for the few longest ones; of other cells that of the column."""
    is_empty: bool
    """Whether no row has anything in it."""
    is_short: bool = False
    """Whether it has times without a date."""

    @classmethod
    def of(
        cls,
        column: Column,
        values: pa.ChunkedArray | pa.Array,
        day: str | None = None,
        before: pa.ChunkedArray | None = None,
        *,
        short: bool = False,
        header: str | None = None,
    ) -> DrawnColumn:
        """A column, as wide as its widest cell.

        Args:
            column: Its declaration.
            values: Its cells.
            day: The date of which times show only the time of day.
            before: For a column of times, the end of the checkpoint that hides a time.
            short: Whether of a list that has the worst first only that stands.
            header: The text above it; else its name.
        """
        kind = values.type
        is_time = pa.types.is_timestamp(kind)
        if is_time and day is not None:
            texts, is_short = short_times(values, day)
        elif short and column.worst_first and is_list(kind):
            texts, is_short = shown_texts(_first_of(values)), False
        else:
            texts, is_short = shown_texts(values), False
        if before is not None and before.null_count < len(before):
            ends, is_end_short = (
                (shown_texts(before), False) if day is None else short_times(before, day)
            )
            is_hidden = pc.and_(values.is_null(), before.is_valid())
            ends = pc.binary_join_element_wise(AT_OR_BEFORE, ends, "")
            texts = pc.if_else(is_hidden.combine_chunks(), ends, texts)
            is_short = is_short or is_end_short
        header = escape(column.name.upper()) if header is None else header
        nothing = pc.is_in(texts, pa.array(_NOTHING, pa.string()))
        is_empty = bool(len(texts)) and bool(pc.all(nothing, min_count=0).as_py())
        width = max(display_width(header), _widest(texts))
        rigid = is_number(kind) or is_time or pa.types.is_boolean(kind)
        to_the_right = is_number(kind) or is_short
        shrink = Shrink.END if is_list(kind) else column.shrink
        usual = _usual(texts) if shrink is Shrink.MIDDLE and not rigid else width
        least = width if rigid else _least(header, width, shrink, usual)
        return cls(
            header=header,
            texts=texts,
            column=column,
            to_the_right=to_the_right,
            shrink=shrink,
            is_rigid=rigid,
            width=width,
            least=least,
            usual=usual,
            is_empty=is_empty,
            is_short=is_short,
        )

    def part(self, start: int) -> DrawnColumn:
        """A chunk of its rows."""
        return replace(self, texts=self.texts.slice(start, _CHUNK_ROWS))

    def colours(self) -> Iterator[tuple[str, pa.Array]]:
        """(sequence, bool[rows]) of the colours that it declares."""
        for colour, where in coloured_cells(self.texts, words_of(self.column)):
            yield _SEQUENCES[colour], where


def _first_of(lists: pa.ChunkedArray | pa.Array) -> pa.Array:
    array = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    first = pc.list_slice(array, 0, 1)
    return pc.binary_join(first, "")


def _usual(names: pa.Array) -> int:
    """How long names are, but for the few longest ones."""
    if not len(names):
        return 0
    lengths = pc.utf8_length(names)
    return int(pc.quantile(lengths, q=_USUAL, interpolation="higher")[0].as_py())


def _least(header: str, width: int, shrink: Shrink, usual: int) -> int:
    """How narrow a column of text can be: most names of the rows shown have room."""
    is_name = shrink is Shrink.MIDDLE
    least = min(max(usual, _LEAST_NAME), _MOST_OF_NAMES) if is_name else _LEAST_TEXT
    return min(width, max(least, display_width(header)))


def write_table(context: Context, table: Table, *, notes: Sequence[str] = ()) -> None:
    """Write a table; on a terminal as much as fits, and below it what is missing.

    Args:
        context: Where to.
        table: The table.
        notes: More remarks for the line below the table.
    """
    columns: Sequence[DrawnColumn] = table.columns
    is_terminal = context.out.is_terminal
    width = max(context.out.width, 1)
    n_rows = len(columns[0].texts) if columns else 0
    if is_terminal:
        columns = fit(columns, width)
    wraps = is_terminal and n_rows <= _MOST_WRAPPED
    colour = has_colour(context)
    _write_lines(context, [replace(c, texts=pa.array([c.header])) for c in columns])
    for start in range(0, n_rows, _CHUNK_ROWS):
        stop_if_cancelled(context)
        _write_lines(context, [c.part(start) for c in columns], wraps=wraps, colour=colour)
    if is_terminal:
        _write_note(context, [*notes, *_notes(table, columns)], width)


def _notes(table: Table, shown: Sequence[DrawnColumn]) -> Iterator[str]:
    if table.day is not None and any(column.is_short for column in shown):
        yield f"times of {table.day} UTC"
    names = {column.column.name for column in shown}
    left_out = [c.column.name for c in table.columns if c.column.name not in names]
    if left_out:
        # The option that shows the columns precedes their names, which may not all fit.
        yield f"more columns (--columns, -o json): {', '.join(map(escape, left_out))}"


def _write_note(context: Context, notes: Sequence[str], width: int) -> None:
    if notes:
        text = pa.array([f"{_CUT} {'; '.join(notes)}"])
        (line,) = _cut(text, max(width, _LEAST_NOTE), Shrink.END)
        context.out.write(f"{line.as_py().rstrip()}\n")


# Widths.


def fit(columns: Sequence[DrawnColumn], width: int) -> list[DrawnColumn]:
    """The columns that fit a terminal, texts narrower where that is needed."""
    most = max(_LEAST_NAME, width // 2)
    chosen = [
        replace(c, least=min(c.least, max(most, display_width(c.header))))
        if c.shrink is Shrink.MIDDLE and not c.is_rigid
        else c
        for c in columns
    ]
    if whole(chosen) > width:
        chosen = [replace(c, width=min(c.width, _capped(c))) for c in chosen]
    if whole(chosen) > width:
        # Where there is little room nothing gives way to columns that say nothing.
        chosen = [c for c in chosen if not c.is_empty or c.column.priority >= _NEEDED] or chosen
    chosen = _most_important(chosen, width)
    widths = [column.width for column in chosen]
    spare = width - len(_GAP) * (len(chosen) - 1)
    while sum(widths) > spare:
        # The widest gives way first, down to the next widest.
        candidates = [i for i, column in enumerate(chosen) if widths[i] > column.least]
        if not candidates:
            break
        candidates.sort(key=lambda i: -widths[i])
        next_widest = widths[candidates[1]] if len(candidates) > 1 else 0
        at = candidates[0]
        floor = max(chosen[at].least, min(next_widest, widths[at] - 1))
        widths[at] = max(floor, widths[at] - (sum(widths) - spare))
    return [replace(column, width=w) for column, w in zip(chosen, widths, strict=True)]


def _capped(column: DrawnColumn) -> int:
    """How wide a column is at most where not all fits: not all rows pay for a few long names."""
    return max(column.least, _MOST_OF_USUAL * column.usual, _ROOMY)


def _most_important(columns: Sequence[DrawnColumn], width: int) -> list[DrawnColumn]:
    """The columns that have room, by priority; a narrow one may stand for a wide one."""
    order = sorted(range(len(columns)), key=lambda i: (-columns[i].column.priority, i))
    chosen: set[int] = set()
    used = -len(_GAP)
    for i in order:
        need = columns[i].least + len(_GAP)
        if not chosen or used + need <= width:
            chosen.add(i)
            used += need
    return [column for i, column in enumerate(columns) if i in chosen]


def whole(columns: Sequence[DrawnColumn]) -> int:
    """Width of a table in which nothing is cut."""
    return sum(column.width for column in columns) + len(_GAP) * (len(columns) - 1)


def _widest(texts: pa.Array) -> int:
    if not len(texts):
        return 0
    if _is_narrow(texts):
        return int(pc.max(pc.utf8_length(texts)).as_py())
    return max(map(display_width, texts.to_pylist()))


def _is_narrow(texts: pa.Array) -> bool:
    """Whether each character takes one column: it is ASCII."""
    return bool(pc.all(pc.string_is_ascii(texts), min_count=0).as_py())


# Lines.


def _write_lines(
    context: Context, columns: Sequence[DrawnColumn], *, wraps: bool = False, colour: bool = False
) -> None:
    if wraps and any(_is_wrapped(column) for column in columns):
        columns = _wrapped(columns)
    padded = [_coloured(column, colour=colour) for column in columns[:-1]]
    padded += [_coloured(column, colour=colour, is_last=True) for column in columns[-1:]]
    lines = pc.ascii_rtrim_whitespace(pc.binary_join_element_wise(*padded, _GAP))
    text = "\n".join(lines.to_pylist()) + "\n"
    context.out.write(Coloured(text) if colour else text)


def _coloured(column: DrawnColumn, *, colour: bool, is_last: bool = False) -> pa.Array:
    # Behind the last column nothing stands: spaces up to its width, which may be large, are spared.
    pads = not is_last or column.to_the_right
    cells = _cut(column.texts, column.width, column.shrink)
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
    return column.shrink is Shrink.WRAP and _widest(column.texts) > column.width


def _wrapped(columns: Sequence[DrawnColumn]) -> list[DrawnColumn]:
    """The rows on more lines, where sentences need them; the other cells are empty there."""
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
    return wrap(text, width, break_on_hyphens=False) if text.isascii() and text else [text]


def _padded(texts: pa.Array, width: int, *, to_the_right: bool) -> pa.Array:
    """Cells as wide as their column, from texts that are no wider."""
    if _is_narrow(texts):
        return (pc.utf8_lpad if to_the_right else pc.utf8_rpad)(texts, width)
    out = []
    for text in texts.to_pylist():
        space = " " * (width - display_width(text))
        out.append(space + text if to_the_right else text + space)
    return pa.array(out, pa.string())


def _cut(texts: pa.Array, width: int, shrink: Shrink) -> pa.Array:
    """Cells that are no wider than their column."""
    if _is_narrow(texts):
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
