"""Rows that come one after the other, on their way to the output.

For programs they are written as they come: what is held is one chunk. A table for people and sorted
rows need all of them first, and then only the columns asked for are kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from metashell.commands.rows_of import Field, Kind, Record
from metashell.commands.rows_output import WRITERS, Shape, write_rows
from metashell.commands.targets import stop_if_cancelled

if TYPE_CHECKING:
    from metashell.commands.base import Context

_NAMED_ONCE: Final = ("csv", "tsv")
"""Forms that begin with the names of the columns."""
_IN_PIECES: Final = ("jsonl", "csv", "tsv")
"""Forms that make sense before their end."""


class RowWriter:
    """Writes rows.

    Args:
        context: Where to.
        fields: All columns that the rows have.
        shape: What is asked for.
    """

    def __init__(self, context: Context, fields: Sequence[Field], shape: Shape) -> None:
        self._context, self._shape = context, shape
        needed = set() if shape.count else {*shape.columns, *(name for name, _ in shape.sort)}
        self._fields = [field for field in fields if field.name in needed]
        self._holds = shape.form == "table" or bool(shape.sort)
        self._held: list[pa.Table] = []
        self._n_rows = 0

    @property
    def needed(self) -> tuple[str, ...]:
        """Names of the columns that are looked at."""
        return tuple(field.name for field in self._fields)

    @property
    def n_rows(self) -> int:
        """How many rows there were so far."""
        return self._n_rows

    def add(self, records: Sequence[Record]) -> None:
        """Write some rows, or keep them where the form needs all."""
        columns = {name: [record.get(name) for record in records] for name in self.needed}
        self.add_columns(len(records), columns)

    def add_columns(self, n_rows: int, columns: Mapping[str, Sequence[Any]]) -> None:
        """The same, given as the values of each column that is `needed`."""
        stop_if_cancelled(self._context)
        if not n_rows:
            return
        is_first = not self._n_rows
        self._n_rows += n_rows
        if self._shape.count:
            return
        table = self._table(columns)
        if self._holds:
            self._held.append(table)
            return
        for text in self._pieces(table, is_first=is_first):
            self._context.out.write(text)

    def close(self) -> int:
        """Write what must stand at the end.

        Returns:
            The number of rows.
        """
        shape, out = self._shape, self._context.out
        if shape.count:
            out.write(f"{self._n_rows}\n")
        elif self._holds:
            whole = pa.concat_tables(self._held) if self._held else self._table({})
            self._held.clear()
            write_rows(self._context, whole, shape)
        elif not self._n_rows:
            for text in WRITERS[shape.form](self._table({}).select(list(shape.columns))):
                out.write(text)
        elif shape.form == "json":
            out.write("\n]\n")
        return self._n_rows

    def _table(self, columns: Mapping[str, Sequence[Any]]) -> pa.Table:
        return pa.table(
            {field.name: cells(field.kind, columns.get(field.name, ())) for field in self._fields}
        )

    def _pieces(self, table: pa.Table, *, is_first: bool) -> Iterator[str]:
        form, table = self._shape.form, table.select(list(self._shape.columns))
        if form == "json":
            # The objects of JSON lines, in which no line ends.
            between = "[\n" if is_first else ",\n"
            for text in WRITERS["jsonl"](table):
                yield between + text.rstrip("\n").replace("\n", ",\n")
                between = ",\n"
            return
        pieces = WRITERS[form](table)
        if form in _NAMED_ONCE and not is_first:
            next(pieces)
        yield from pieces


def fits_a_stream(shape: Shape) -> bool:
    """Whether rows can be written before the last one is known, each for itself."""
    return shape.form in _IN_PIECES and not shape.sort and not shape.count


def cells(kind: Kind, values: Sequence[Any]) -> pa.Array:
    """A column of values; see `Kind`."""
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
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False)


def _finite(value: object) -> object:
    """A value with null for the numbers that JSON has not."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(part) for part in value]
    return value


_MAKERS: Final[Mapping[Kind, Callable[[Sequence[Any]], pa.Array]]] = {
    Kind.TEXT: _texts,
    Kind.INTEGER: _plain(pa.int64()),
    Kind.NUMBER: _plain(pa.float64()),
    Kind.FLAG: _plain(pa.bool_()),
    Kind.TIME: _times,
    Kind.INTEGERS: _plain(pa.list_(pa.int32())),
    Kind.TEXTS: _text_lists,
    Kind.JSON: _json,
    Kind.JSON_TEXT: _json_texts,
}
