"""Which cells of a table stand out, by the words that their column declares.

Terminals, and whoever else shows the rows, ask here, so a word has one colour everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.rows.columns import NOT_ZERO, Column

_ZERO: Final = ("", "-", "0", "no")
_BETWEEN: Final = "\n"
"""Stands between words in the metadata of a field; no such word has a line end."""


class CellColour(StrEnum):
    """How a cell stands out."""

    RED = "red"
    YELLOW = "yellow"


_WORST_FIRST: Final = "worst-first"
Words = Mapping[CellColour, Sequence[str]]
"""The words that have each colour, or `NOT_ZERO`."""


def words_of(column: Column) -> Words:
    """The words that a column declares for each colour."""
    return {CellColour.RED: column.red, CellColour.YELLOW: column.yellow}


def coloured_cells(texts: pa.Array, words: Words) -> Iterator[tuple[CellColour, pa.Array]]:
    """(colour, bool[rows]) of each colour that a column has words for.

    Args:
        texts: string[rows], as `metashell.commands.rows.cell_text.shown_texts` gives them. In a
            list the first element decides.
        words: The result of `words_of`.
    """
    for colour, wanted in words.items():
        if tuple(wanted) == NOT_ZERO:
            yield colour, pc.invert(pc.is_in(texts, pa.array(_ZERO)))
        elif wanted:
            yield colour, pc.is_in(_deciding(texts), pa.array(wanted))


def severities(texts: pa.Array, words: Words) -> pa.Array | None:
    """int32[rows]: a place for each cell, the worst first: in the order of the words that a column
    has, red ones before yellow ones, and others behind them; None for a column without words.

    Args:
        texts: string[rows], see `coloured_cells`.
        words: The result of `words_of`, see `coloured_cells`.
    """
    worst_first = [word for wanted in words.values() for word in wanted]
    if not worst_first or NOT_ZERO in map(tuple, words.values()):
        return None
    found = pc.index_in(_deciding(texts), pa.array(worst_first))
    return pc.fill_null(found, len(worst_first))


def _deciding(texts: pa.Array) -> pa.Array:
    return pc.list_element(pc.split_pattern(texts, ","), 0)


def with_colours(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """The rows with colours and order in their fields: `colours_of`, `shows_the_worst`."""
    declared = {column.name: column for column in columns}
    fields = [
        field.with_metadata(known)
        if field.name in declared and (known := _known(declared[field.name]))
        else field
        for field in table.schema
    ]
    return pa.table(table.columns, pa.schema(fields))


def _known(column: Column) -> dict[str, str]:
    known = {c.value: _BETWEEN.join(words) for c, words in words_of(column).items() if words}
    return known | ({_WORST_FIRST: "yes"} if column.worst_first else {})


def shows_the_worst(field: pa.Field) -> bool:
    """Whether the first of a list is enough where there is little room: it is the worst."""
    return _WORST_FIRST.encode() in (field.metadata or {})


def without_colours(table: pa.Table) -> pa.Table:
    """The rows without that metadata, as a file has them."""
    fields = [field.remove_metadata() for field in table.schema]
    return pa.table(table.columns, pa.schema(fields))


def colours_of(field: pa.Field) -> Words:
    """The words that a field of `with_colours` knows; none of any other field."""
    known = field.metadata or {}
    return {
        colour: tuple(known[name].decode().split(_BETWEEN))
        for colour in CellColour
        if known.get(name := colour.value.encode())
    }
