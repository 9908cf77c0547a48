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


Words = Mapping[CellColour, Sequence[str]]
"""The words that have each colour, or `NOT_ZERO`."""


def words_of(column: Column) -> Words:
    """What a column declares."""
    return {CellColour.RED: column.red, CellColour.YELLOW: column.yellow}


def coloured_cells(texts: pa.Array, words: Words) -> Iterator[tuple[CellColour, pa.Array]]:
    """(colour, bool[rows]) of each colour that a column has words for.

    Args:
        texts: string[rows], as `metashell.commands.rows.cell_text.shown_texts` gives them. Of a
            list the first element decides.
        words: As of `words_of`.
    """
    for colour, wanted in words.items():
        if tuple(wanted) == NOT_ZERO:
            yield colour, pc.invert(pc.is_in(texts, pa.array(_ZERO)))
        elif wanted:
            first = pc.list_element(pc.split_pattern(texts, ","), 0)
            yield colour, pc.is_in(first, pa.array(wanted))


def with_colours(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """The same rows, whose fields know the words that have a colour: see `colours_of`."""
    declared = {column.name: words_of(column) for column in columns}
    fields = [
        field.with_metadata(
            {colour: _BETWEEN.join(words) for colour, words in declared[field.name].items()}
        )
        if field.name in declared and any(declared[field.name].values())
        else field
        for field in table.schema
    ]
    return pa.table(table.columns, pa.schema(fields))


def without_colours(table: pa.Table) -> pa.Table:
    """The same rows as a file has them."""
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
