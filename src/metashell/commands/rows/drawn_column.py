"""A column of a table for people: its texts, and how wide it must be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.rows.cell_colours import CellColour, coloured_cells, words_of
from metashell.commands.rows.cell_text import is_list, is_number, short_times, shown_texts
from metashell.commands.rows.columns import AT_OR_BEFORE, NEEDED, Column, Shrink
from metashell.commands.shared.colour import RED, YELLOW
from metashell.commands.shared.columns import display_width
from metashell.commands.shared.wrapped import pieces
from metashell.dataclass import dataclass
from metashell.fs.escape import escape

CHUNK_ROWS: Final = 1 << 15
MOST_WRAPPED: Final = 1000
"""In longer tables each row is a line."""
LEAST_NAME: Final = 20
ROOMY: Final = 40
_LEAST_TEXT: Final = 20
"""Lists and sentences are not made narrower while a column can be left out instead."""
_MOST_OF_NAMES: Final = 32
_USUAL: Final = 0.9
"""The share of names that a column has room for, as far as `_MOST_OF_NAMES` goes."""
_MOST_IN_PIPE: Final = 160
_NOTHING: Final = ("", "-")
_SEQUENCES: Final = {CellColour.RED: RED, CellColour.YELLOW: YELLOW}


@dataclass(frozen=True, slots=True)
class DrawnColumn:
    """A column of a table for people."""

    header: str
    texts: pa.Array
    """string[rows], escaped, without null."""
    column: Column
    to_the_right: bool
    is_rigid: bool
    """Whether cells are whole or not there."""
    wraps: bool
    """Whether a cell takes more lines where it is wider than the column; else it is cut."""
    width: int
    """The width of the header or of the widest cell."""
    least: int
    """How far its width can be cut while other columns can be left out."""
    tight: int
    """How far its width can be cut where its header and its cells take more lines."""
    below_header: int
    """The width where the header alone takes more lines."""
    usual: int
    """Width of names but for the few longest ones; of other cells that of the column."""
    is_empty: bool
    """Whether no row has anything in it."""
    says_nothing: bool
    """Whether each row has what the column declares as usual, and the user did not name it."""
    is_needed: bool
    """Whether it is never left out."""
    is_short: bool = False
    """Whether it has times without a date."""
    overflows: bool = False
    """Whether a cell that is wider than the column stays whole, in one line."""

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
        is_named: bool = False,
    ) -> DrawnColumn:
        """A column, as wide as its widest cell.

        Args:
            column: Its declaration.
            values: Its cells.
            day: The date of which times show only the time of day.
            before: For a column of times, the end of the checkpoint that hides a time.
            short: Whether of a list that has the worst first only that stands.
            header: The text above it; else its name.
            is_named: Whether the user named it.
        """
        kind = values.type
        if short and column.worst_first and is_list(kind):
            texts, is_short = shown_texts(_first_of(values)), False
        else:
            texts, is_short = _texts_of(values, day, before)
        header = escape(column.name.upper()) if header is None else header
        width = max(display_width(header), widest(texts))
        rigid = is_number(kind) or pa.types.is_timestamp(kind) or pa.types.is_boolean(kind)
        if is_list(kind) and column.shrink is Shrink.MIDDLE:
            column = replace(column, shrink=Shrink.WRAP if is_named else Shrink.END)
        usual = _usual(texts) if column.shrink is Shrink.MIDDLE and not rigid else width
        longest = widest(texts) if rigid else _longest(texts, column)
        least = width if rigid else min(width, _least(header, column.shrink, usual, longest))
        head = max(map(display_width, pieces(header)))
        return cls(
            header=header,
            texts=texts,
            column=column,
            to_the_right=is_number(kind) or is_short,
            is_rigid=rigid,
            wraps=is_named or column.shrink is Shrink.WRAP,
            width=width,
            least=least,
            tight=min(least, max(head, longest if rigid else min(longest, LEAST_NAME))),
            below_header=max(head, widest(texts)),
            usual=usual,
            is_empty=_are_all(texts, _NOTHING),
            says_nothing=bool(column.usual) and not is_named and _are_all(texts, column.usual),
            is_needed=is_named or column.priority >= NEEDED,
            is_short=is_short,
        )

    @property
    def has_dash(self) -> bool:
        """Whether a cell says that there is nothing."""
        return bool(pc.any(pc.equal(self.texts, "-"), min_count=0).as_py())

    def in_pipe(self) -> DrawnColumn:
        """The column where no terminal has a width: few long cells do not widen all rows.

        Lists are cut, unless the answer is about them or the user named the column.
        """
        if self.width <= _MOST_IN_PIPE:
            return self
        is_cut = self.column.shrink is Shrink.END and not self.is_needed
        width = max(_MOST_IN_PIPE, display_width(self.header))
        return replace(self, width=width, overflows=not is_cut)

    def part(self, start: int) -> DrawnColumn:
        """A chunk of its rows."""
        return replace(self, texts=self.texts.slice(start, CHUNK_ROWS))

    def colours(self) -> Iterator[tuple[str, pa.Array]]:
        """(sequence, bool[rows]) of the colours that it declares."""
        for colour, where in coloured_cells(self.texts, words_of(self.column)):
            yield _SEQUENCES[colour], where


def widest(texts: pa.Array) -> int:
    """The width of the widest text."""
    if not len(texts):
        return 0
    if is_narrow(texts):
        return int(pc.max(pc.utf8_length(texts)).as_py())
    return max(map(display_width, texts.to_pylist()))


def is_narrow(texts: pa.Array) -> bool:
    """Whether each character takes one column: it is ASCII."""
    return bool(pc.all(pc.string_is_ascii(texts), min_count=0).as_py())


def _are_all(texts: pa.Array, words: tuple[str, ...]) -> bool:
    is_in = pc.is_in(texts, pa.array(words, pa.string()))
    return bool(len(texts)) and bool(pc.all(is_in, min_count=0).as_py())


def _texts_of(
    values: pa.ChunkedArray | pa.Array, day: str | None, before: pa.ChunkedArray | None
) -> tuple[pa.Array, bool]:
    """The texts of cells, and whether one is a time without its date."""
    if day is not None and pa.types.is_timestamp(values.type):
        texts, is_short = short_times(values, day)
    else:
        texts, is_short = shown_texts(values), False
    if before is None or before.null_count == len(before):
        return texts, is_short
    ends, is_end_short = (shown_texts(before), False) if day is None else short_times(before, day)
    is_hidden = pc.and_(values.is_null(), before.is_valid())
    ends = pc.binary_join_element_wise(AT_OR_BEFORE, ends, "")
    return pc.if_else(is_hidden.combine_chunks(), ends, texts), is_short or is_end_short


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


def _longest(texts: pa.Array, column: Column) -> int:
    """The width of the longest word of sentences, of the longest piece of names and lists."""
    if len(texts) > MOST_WRAPPED:
        return LEAST_NAME
    words = (word for text in texts.to_pylist() for word in text.replace(",", ", ").split(" "))
    # A word that has a colour stays in one piece.
    is_whole = column.shrink is Shrink.WRAP or column.red or column.yellow
    parts = words if is_whole else (piece for word in words for piece in pieces(word))
    return max(map(display_width, parts), default=0)


def _least(header: str, shrink: Shrink, usual: int, longest: int) -> int:
    """How narrow a column of text is: most names of the rows shown have room."""
    least = {
        Shrink.MIDDLE: min(max(usual, LEAST_NAME), _MOST_OF_NAMES),
        Shrink.WRAP: min(max(longest, _LEAST_TEXT), ROOMY),
        Shrink.END: _LEAST_TEXT,
    }[shrink]
    return max(least, display_width(header))
