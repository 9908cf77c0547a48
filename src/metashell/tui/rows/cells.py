"""The rows behind a `RowTable`: which are shown, in what order, how wide.

They are found again by what they are about. No widget here.

Everything works on whole columns, or on the few rows that are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.text import Text

from metashell.commands.rows.cell_colours import (
    CellColour,
    Words,
    coloured_cells,
    colours_of,
    severities,
    shows_the_worst,
)
from metashell.commands.rows.cell_text import (
    is_json,
    is_list,
    is_number,
    newest_day,
    short_times,
    shown_texts,
)
from metashell.commands.rows.columns import BEFORES
from metashell.commands.rows.output import sort_rows
from metashell.commands.shared.columns import display_width
from metashell.tui.rows.signs import is_drawn
from metashell.tui.text import cell

if TYPE_CHECKING:
    from metashell.tui.remembered import Remembered

_SAMPLE_ROWS: Final = 500
"""Rows at each of some places whose texts decide how wide a column is."""
_SAMPLES: Final = 4
_BLOCK: Final = 64
"""Rows that are formatted together."""
_KEPT_BLOCKS: Final = 32
_LONGEST: Final = 500
"""Characters of a cell that are ever drawn, in a tooltip say."""
_CHUNK: Final = 1 << 16
"""Rows that are searched before it is asked whether anybody still wants them."""
_IN_NUMBERS: Final = frozenset("0123456789-,")
_IN_TIMES: Final = _IN_NUMBERS | frozenset("T:.Z+")
_BEFORE: Final = "before "
_MARK, _NO_MARK = "• ", "  "
_CELL_MARK: Final = "•"
"""Directly before the text of a cell that changed."""
SIGN: Final = "sign"
"""The style's name of cells that are there to be looked at, such as bars."""
_COLOURS: Final = ("", CellColour.YELLOW.value, CellColour.RED.value)
"""The worst last."""


class TableRows:
    """Rows in some order, formatted when they are drawn.

    Args:
        table: All rows.
        names: The columns shown, in order.
        order: int64[n]: the rows shown; None for all as they are.
        marked: bool[rows]: those with a mark in front; None for a table without marks.
        changed: bool[rows] by the names of columns: cells with a mark of their own.
        whole: Whether times have their date, that of the newest day too.
    """

    def __init__(
        self,
        table: pa.Table,
        names: Sequence[str],
        order: pa.Array | None,
        marked: pa.Array | None,
        changed: Mapping[str, pa.Array] = MappingProxyType({}),
        *,
        whole: bool = False,
    ) -> None:
        shown = table.select(list(names))
        self.names = tuple(names)
        """The columns shown, in order."""
        self._shown = shown
        self._words = [colours_of(field) for field in shown.schema]
        self._styles = [SIGN if is_drawn(name) else "" for name in names]
        self._unseen = [
            (table.column(field.name), words)
            for field in table.schema
            if field.name not in names and (words := colours_of(field))
        ]
        """Columns that are not shown and yet say how bad a row is."""
        self._is_worst = [not whole and shows_the_worst(field) for field in shown.schema]
        self._before = _befores(table, names)
        self._day = None if whole else newest_day(_with_befores(shown, self._before))
        self._order = order
        self._marked = marked
        # Before the first column stands the mark of the row.
        self._changed = {i: changed[name] for i, name in enumerate(names) if i and name in changed}
        self.to_the_right = [is_number(field.type) for field in shown.schema]
        """By column, whether its cells stand to the right."""
        self._widths: list[int] = []
        self._blocks: dict[int, list[list[Text]]] = {}

    def __len__(self) -> int:
        return self._shown.num_rows if self._order is None else len(self._order)

    @property
    def widths(self) -> list[int]:
        """Cells of the widest text of each column."""
        if not self._widths:
            self._widths = [
                content_width(column, partial(self._texts, is_worst=is_worst))
                for column, is_worst in zip(self._shown.columns, self._is_worst, strict=True)
            ]
            if self._marked is not None and self._widths:
                self._widths[0] += len(_MARK)
            for i, column in self._before.items():
                width = len(_BEFORE) + content_width(column, self._texts)
                self._widths[i] = max(self._widths[i], width)
            for i in self._changed:
                self._widths[i] += len(_CELL_MARK)
        return self._widths

    def row(self, index: int) -> Sequence[Text]:
        """The cells of a row.

        Raises:
            IndexError: There is no such row.
        """
        if not 0 <= index < len(self):
            raise IndexError(index)
        number, at = divmod(index, _BLOCK)
        block = self._blocks.get(number)
        if block is None:
            if len(self._blocks) >= _KEPT_BLOCKS:
                self._blocks.clear()
            block = self._blocks[number] = self._make(number * _BLOCK)
        return block[at]

    def _make(self, start: int) -> list[list[Text]]:
        these = None if self._order is None else self._order.slice(start, _BLOCK)

        def block(of: Any) -> Any:
            return of.slice(start, _BLOCK) if these is None else of.take(these)

        rows = block(self._shown)
        marked = None if self._marked is None else block(self._marked)
        texts = [
            self._texts(column, is_worst=is_worst)
            for column, is_worst in zip(rows.columns, self._is_worst, strict=True)
        ]
        for i, column in self._before.items():
            ends = block(column)
            told = pc.binary_join_element_wise(_BEFORE, self._texts(ends), "")
            is_hidden = pc.and_(rows.column(i).is_null(), ends.is_valid())
            texts[i] = pc.if_else(is_hidden.combine_chunks(), told, texts[i])
        levels = [_levels(column, words) for column, words in zip(texts, self._words, strict=True)]
        unseen = [_levels(self._texts(block(of)), words) for of, words in self._unseen]
        # The first cell, which names the row, is as bad as what is not shown of it.
        levels[:1] = [np.maximum.reduce([*levels[:1], *unseen])]
        columns: list[Iterable[Text]] = [
            _cells(column, level, usual, to_the_right=right)
            for column, level, usual, right in zip(
                texts, levels, self._styles, self.to_the_right, strict=True
            )
        ]
        for i, changed in self._changed.items():
            columns[i] = [
                _marked(text, _CELL_MARK) if is_changed else text
                for text, is_changed in zip(columns[i], block(changed).to_pylist(), strict=True)
            ]
        made = [list(cells) for cells in zip(*columns, strict=True)]
        if marked is not None:
            for cells, is_marked in zip(made, marked.to_pylist(), strict=True):
                cells[0] = _marked(cells[0], _MARK if is_marked else _NO_MARK)
        return made

    def _texts(self, column: pa.ChunkedArray, *, is_worst: bool = False) -> pa.Array:
        """string[n]: cells as a person reads them; of the newest day only the time of day."""
        if is_worst and is_list(column.type):
            first = pc.list_slice(column.combine_chunks(), 0, 1)
            return shown_texts(pc.binary_join(first, ""))
        if self._day is not None and pa.types.is_timestamp(column.type):
            return short_times(column, self._day)[0]
        return shown_texts(column)

    def day_of(self, at: int) -> str | None:
        """The date that the times of a column leave out; None where it is no column of times."""
        is_time = pa.types.is_timestamp(self._shown.schema.field(at).type)
        return self._day if is_time else None


def columns_of(table: pa.Table, first: Sequence[str], remembered: Remembered) -> tuple[str, ...]:
    """Names of the columns that are shown of a table.

    Args:
        table: The rows.
        first: The columns shown unless the user chose others, or no row has a text in them; all
            if empty.
        remembered: The user's choices.
    """
    chosen = remembered.columns(table.column_names)
    filled = (name for name in first if name == first[0] or not _is_empty(table.column(name)))
    return chosen or tuple(filled) or tuple(table.column_names)


def _is_empty(column: pa.ChunkedArray) -> bool:
    """Whether no row has a text or a list; a number that is not there says something."""
    if is_list(column.type):
        return not pc.max(pc.list_value_length(column)).as_py()
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return is_text and not pc.max(pc.binary_length(column)).as_py()


def there(table: pa.Table, names: Sequence[str]) -> tuple[str, ...]:
    """The columns, of those named, that a table has."""
    return tuple(name for name in names if name in table.column_names)


def _befores(table: pa.Table, names: Sequence[str]) -> dict[int, pa.ChunkedArray]:
    """By the place of a column of times the times that its hidden ones are before."""
    return {
        i: table.column(BEFORES[name])
        for i, name in enumerate(names)
        if BEFORES.get(name) in table.column_names
    }


def _with_befores(shown: pa.Table, befores: Mapping[int, pa.ChunkedArray]) -> pa.Table:
    """The columns shown, with the times that hidden ones are before."""
    for i, column in befores.items():
        shown = shown.append_column(f"before {i}", column)
    return shown


def _levels(texts: pa.Array, words: Words) -> Any:
    """int8[rows]: the place of each cell's own colour in `_COLOURS`."""
    levels = np.zeros(len(texts), dtype=np.int8)
    for colour, where in coloured_cells(texts, words):
        levels[where.to_numpy(zero_copy_only=False)] = _COLOURS.index(colour.value)
    return levels


def _cells(texts: pa.Array, levels: Any, usual: str, *, to_the_right: bool) -> Iterator[Text]:
    """The cells of a column in some rows; a style is the name of a colour, or the usual one."""
    for text, level in zip(texts.to_pylist(), levels, strict=True):
        yield cell(text[:_LONGEST], _COLOURS[level] or usual, to_the_right=to_the_right)


def _marked(cell: Text, mark: str) -> Text:
    """A cell with a mark in front."""
    return Text.assemble(
        (mark, "bold"),
        cell.plain,
        style=cell.style,
        justify=cell.justify,
        no_wrap=True,
        overflow="ellipsis",
    )


def content_width(
    column: pa.ChunkedArray, texts_of: Callable[[pa.ChunkedArray], pa.Array] = shown_texts
) -> int:
    """How wide the cells of a column are: numbers exactly, others as a sample of them says."""
    n = len(column)
    if not n:
        return 0
    if pa.types.is_integer(column.type):
        ends = pc.min_max(column).as_py()
        return max(len(str(end)) for end in ends.values()) if ends["min"] is not None else 1
    step = max(n // _SAMPLES, _SAMPLE_ROWS)
    starts = [*range(0, n, step), max(n - _SAMPLE_ROWS, 0)]
    pieces = [c for start in starts for c in column.slice(start, _SAMPLE_ROWS).chunks]
    texts = texts_of(pa.chunked_array(pieces, column.type))
    longest: int = pc.max(pc.utf8_length(texts)).as_py()
    if not pc.all(pc.string_is_ascii(texts)).as_py():
        longest = max(display_width(text[:_LONGEST]) for text in texts.to_pylist())
    return min(longest, _LONGEST)


def values_of(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column; as texts where one is none of Python's, such as a time of no year."""
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):
        return list(shown_texts(column).to_pylist())


def row_at(table: pa.Table, at: int) -> dict[str, Any]:
    """The values of a row by the names of the columns; as those of `values_of`."""
    row = table.slice(at, 1)
    return {name: values_of(row.column(i))[0] for i, name in enumerate(row.column_names)}


def rows_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    """All rows of a table, as `row_at` has them."""
    columns = {name: values_of(table.column(name)) for name in table.column_names}
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def order_of(
    table: pa.Table,
    sort: tuple[str, bool] | None,
    text: str,
    cancelled: Callable[[], bool] = lambda: False,
) -> pa.Array | None:
    """The shown rows, in order; None for all rows in their own order.

    Words that have colours are sorted by their severity.

    Args:
        table: The rows.
        sort: (column, whether descending); None for the order given.
        text: The text that a cell of each row must contain; its case is ignored.
        cancelled: Asked between pieces.

    Returns:
        int64[n].

    Raises:
        KeyboardInterrupt: It was cancelled.
    """
    if sort is None and not text:
        return None
    if text:
        pieces = []
        for start in range(0, len(table), _CHUNK):
            if cancelled():
                raise KeyboardInterrupt
            found = np.flatnonzero(_matching(table.slice(start, _CHUNK), text))
            pieces.append(found.astype(np.int64) + start)
        at = pa.array(np.concatenate(pieces) if pieces else np.zeros(0, np.int64))
    else:
        at = pa.array(np.arange(len(table), dtype=np.int64))
    if sort is not None:
        name, descends = sort
        rows = pa.table({"at": at, "by": table.column(name).take(at)})
        severity = _severities(rows["by"], colours_of(table.schema.field(name)))
        if severity is not None:
            rows = rows.append_column("severity", severity)
        by = [(key, descends) for key in ("severity", "by") if key in rows.column_names]
        at = sort_rows(rows, by).column("at").combine_chunks()
    return at


def _severities(column: pa.ChunkedArray, words: Words) -> pa.Array | None:
    if not words or is_number(column.type):
        return None
    found = severities(shown_texts(column), words)
    # Unknown values come last in both directions.
    return None if found is None else pc.if_else(column.is_valid(), found, None)


def _matching(table: pa.Table, text: str) -> Any:
    """bool[rows]: whether a text is in one of the cells."""
    keep = np.zeros(len(table), dtype=np.bool_)
    for column in table.columns:
        if not _can_hold(column.type, text):
            continue
        keep |= _hits(column.combine_chunks(), text).to_numpy(zero_copy_only=False)
    return keep


def _hits(column: pa.Array, text: str) -> pa.Array:
    """bool[rows]: whether a text is in a cell; each value is made a text once."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        found = _hits(column.dictionary, text).take(column.indices)
        is_null = _hits(pa.nulls(1, kind.value_type), text)[0]
        return pc.fill_null(found, is_null)
    if is_list(kind):
        if "," in text or "-".startswith(text):
            return pc.match_substring(shown_texts(column), text, ignore_case=True)
        # A text without a comma lies within one element.
        values = _hits(column.flatten(), text)
        parents = pc.list_parent_indices(column).filter(values)
        keep = np.zeros(len(column), dtype=np.bool_)
        keep[parents.to_numpy()] = True
        return pa.array(keep)
    if is_json(kind) or pa.types.is_boolean(kind):
        return pc.match_substring(shown_texts(column), text, ignore_case=True)
    encoded = column.dictionary_encode(null_encoding="encode")
    found = pc.match_substring(shown_texts(encoded.dictionary), text, ignore_case=True)
    return found.take(encoded.indices)


def _can_hold(kind: pa.DataType, text: str) -> bool:
    """Whether a cell of a type can contain a text at all: lists of numbers are many, and slow."""
    inner = kind.value_type if is_list(kind) else kind
    if pa.types.is_integer(inner):
        return _IN_NUMBERS.issuperset(text)
    return not pa.types.is_timestamp(inner) or _IN_TIMES.issuperset(text.upper())


def place_of(table: pa.Table, row: Mapping[str, Any] | None) -> int | None:
    """The row of a table that is about the same as a row of another one; None where none is.

    The first column decides, and the next ones where several rows have the same there.
    """
    found = None
    if row is None:
        return None
    for name in table.column_names:
        column = table.column(name)
        if name not in row or is_list(column.type) or is_json(column.type):
            continue
        hits = _equal(column, row[name])
        both = hits if found is None or hits is None else pc.and_(found, hits)
        n = 0 if both is None else pc.sum(both).as_py() or 0
        if not n:
            # A row stays the same row if other columns changed, too.
            if found is None:
                return None
            continue
        found = both
        if n == 1:
            break
    return None if found is None else pc.index(found, pa.scalar(True)).as_py()


def _equal(column: pa.ChunkedArray, value: object) -> pa.ChunkedArray | None:
    if value is None:
        return pc.is_null(column)
    try:
        wanted = pa.scalar(value, column.type)
    except (pa.ArrowException, TypeError, ValueError):
        return None
    return pc.fill_null(pc.equal(column, wanted), False)
