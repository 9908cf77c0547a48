"""Rows that come one after the other, on their way to the output.

For programs they are written as they come: what is held is one chunk. A table for people and sorted
rows need all of them first, and then only the columns asked for are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.columns import CellKind, Column
from metashell.commands.rows.output import PieceWriter, Shape, write_rows
from metashell.commands.rows.query import RowMapping
from metashell.schema.dump import null, to_json

_IN_PIECES: Final = ("jsonl", "csv", "tsv")
"""Forms that make sense before their end."""
_CHUNK_MAPPINGS: Final = 4096
"""Mappings that are made a table together."""


class RowWriter:
    """Writes rows.

    Args:
        context: Where to.
        columns: All columns that the rows have.
        shape: The columns and the form asked for.
        empty: Makes a table without rows, where the kinds of the columns do not tell its types.
    """

    def __init__(
        self,
        context: Context,
        columns: Sequence[Column],
        shape: Shape,
        *,
        empty: Callable[[], pa.Table] | None = None,
    ) -> None:
        self._context, self._shape = context, shape
        self.looked_at = shape.looked_at()
        """Names of the columns that are written or sorted by."""
        self._columns = [column for column in columns if column.name in self.looked_at]
        self._holds = shape.is_whole or bool(shape.sort)
        self._held: list[pa.Table] = []
        self._empty = empty or (lambda: table_of_values(self._columns, {}))
        self._writer = PieceWriter(context, shape)
        self._n_rows = 0

    @property
    def streams(self) -> bool:
        """Whether rows are written as they come."""
        return not self._holds and not self._shape.count

    def add(self, rows: pa.Table | Iterable[RowMapping]) -> None:
        """Write some rows, or keep them where the form needs all."""
        if isinstance(rows, pa.Table):
            self._add(rows)
            return
        for chunk in chunks(rows):
            if self._is_full:
                return
            if self._shape.count:
                stop_if_cancelled(self._context)
                self._n_rows += len(chunk)
            else:
                self._add(table_of_mappings(self._columns, chunk))

    def close(
        self, lead: Callable[[pa.Table], str] = lambda _: "", *, is_told: bool = False
    ) -> int:
        """Write what must stand at the end.

        Args:
            lead: Makes of all rows a sentence for people; empty for none.
            is_told: Whether an error says why there are no rows: a table is then not drawn.

        Returns:
            The number of rows.
        """
        shape, context = self._shape, self._context
        if shape.count:
            n_rows = self._n_rows
            context.write(f"{n_rows if shape.limit is None else min(n_rows, shape.limit)}\n")
        elif self._holds:
            whole = self._whole()
            self._held.clear()
            if len(whole) or not (is_told and shape.form == "table"):
                write_rows(context, whole, shape, lead(whole))
        else:
            self._writer.close(self._empty())
        return self._n_rows

    @property
    def _is_full(self) -> bool:
        """Whether there are as many rows as are wanted; sorted ones are chosen at the end."""
        limit = self._shape.limit
        return limit is not None and not self._shape.sort and self._n_rows >= limit

    def _add(self, table: pa.Table) -> None:
        stop_if_cancelled(self._context)
        if self._is_full or not len(table):
            return
        if self._shape.limit is not None and not self._shape.sort:
            table = table.slice(0, self._shape.limit - self._n_rows)
        self._n_rows += len(table)
        if self._shape.count:
            return
        table = table.select([column.name for column in self._columns])
        if self._holds:
            self._held.append(table)
        else:
            self._writer.write(table)

    def _whole(self) -> pa.Table:
        if not self._held:
            return self._empty()
        return self._held[0] if len(self._held) == 1 else pa.concat_tables(self._held)


def chunks(rows: Iterable[RowMapping]) -> Iterator[list[RowMapping]]:
    """Mappings, some thousand at a time."""
    rest = iter(rows)
    while chunk := list(islice(rest, _CHUNK_MAPPINGS)):
        yield chunk


def table_of_mappings(columns: Iterable[Column], rows: Sequence[RowMapping]) -> pa.Table:
    """Rows as a table with these columns."""
    columns = list(columns)
    return table_of_values(columns, {c.name: [row.get(c.name) for row in rows] for c in columns})


def table_of_values(columns: Iterable[Column], values: Mapping[str, Sequence[Any]]) -> pa.Table:
    """A table with these columns, of the values of each."""
    return pa.table({c.name: cells(c.kind, values.get(c.name, ())) for c in columns})


def fits_a_stream(shape: Shape) -> bool:
    """Whether rows can be written before the last one is known, each for itself."""
    return shape.form in _IN_PIECES and not shape.sort and not shape.count


def cells(kind: CellKind, values: Sequence[Any]) -> pa.Array:
    """A column of values; see `CellKind`."""
    return _MAKERS[kind](values)


def _plain(kind: pa.DataType) -> Callable[[Sequence[Any]], pa.Array]:
    return lambda values: pa.array(values, kind)


def _texts(values: Sequence[str | None]) -> pa.Array:
    try:
        return pa.array(values, pa.string())
    except (UnicodeEncodeError, pa.ArrowException):
        # A name may hold a lone surrogate, which no encoding can write.
        return pa.array([None if v is None else _sound(v) for v in values], pa.string())


def _sound(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _text_lists(values: Sequence[Sequence[str] | None]) -> pa.Array:
    sound = [None if v is None else [_sound(text) for text in v] for v in values]
    return pa.array(sound, pa.list_(pa.string()))


def _times(values: Sequence[int | None]) -> pa.Array:
    return pa.array(values, pa.int64()).cast(pa.timestamp("ms", tz="UTC"))


def _json(values: Sequence[Any]) -> pa.Array:
    return _json_texts([None if v is None else _json_text(v) for v in values])


def _json_texts(values: Sequence[str | None]) -> pa.Array:
    return pa.ExtensionArray.from_storage(pa.json_(), _texts(values))


def _json_text(value: object) -> str:
    # A column of numbers has null for values that JSON lacks, and so has this.
    return to_json(value, stand_in=null)


_MAKERS: Final[Mapping[CellKind, Callable[[Sequence[Any]], pa.Array]]] = {
    CellKind.TEXT: _texts,
    CellKind.INTEGER: _plain(pa.int64()),
    CellKind.NUMBER: _plain(pa.float64()),
    CellKind.FLAG: _plain(pa.bool_()),
    CellKind.TIME: _times,
    CellKind.INTEGERS: _plain(pa.list_(pa.int32())),
    CellKind.TEXTS: _text_lists,
    CellKind.JSON: _json,
    CellKind.JSON_TEXT: _json_texts,
}
