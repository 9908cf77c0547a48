"""The columns of a columnar decode: one a field, strings and arrays as spans.

A column of fixed-size values holds them; one of strings, bytes or arrays holds where each value
lies in the arena, and gathers the bytes only when asked. So a field that nobody reads costs its
cursor arithmetic and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, ItemsView, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from struct import Struct
from typing import TypeAlias

import numpy as np

from metashell.dataclass import dataclass
from metashell.schema.arena import I64, AnyArray, Arena, Bools, gather_ragged, ranges
from metashell.schema.model import FieldSpec
from metashell.schema.scalar import decode_utf8


@lru_cache(maxsize=64)
def _int32s(count: int) -> Struct:
    return Struct(f">{count}i")


@dataclass(slots=True)
class FixedColumn:
    """One value of fixed size a row; never null.

    ``values``: native dtype[n]; uuids are ``V16[n]``, their sixteen bytes in order.
    """

    values: AnyArray

    def take(self, rows: AnyArray) -> FixedColumn:
        return FixedColumn(self.values[rows])


@dataclass(slots=True)
class SpanColumn:
    """A string, bytes value, or array of fixed-size elements a row, still in the arena.

    ``starts``: int64[n], or int32[n] where a fold keeps it, position of the first byte; ``counts``:
    int32[n] or int64[n], bytes or elements, -1 for null; ``dtype``: of one element as it lies in
    the arena (``u1`` for strings and bytes).
    """

    arena: Arena
    dtype: str
    starts: AnyArray
    counts: AnyArray

    def take(self, rows: AnyArray) -> SpanColumn:
        return SpanColumn(self.arena, self.dtype, self.starts[rows], self.counts[rows])

    def gather(self) -> tuple[AnyArray, I64]:
        """The elements of all rows, and where each row's begin: list_offsets, int64[n + 1]."""
        if is_constant(self.counts) and len(self.counts) and self.counts[0] <= 0:
            nothing = np.empty(0, dtype=np.dtype(self.dtype).newbyteorder("="))
            return nothing, constant(np.int64(0), len(self.counts) + 1)
        return gather_ragged(self.arena, self.dtype, self.starts, self.counts)

    def find(self, raw: bytes) -> I64:
        """Rows whose bytes are these: int64[k]. Compares those of that length, all at once."""
        candidates = np.flatnonzero(self.counts == len(raw))
        data, _ = self.take(candidates).gather()
        same = data.reshape(len(candidates), len(raw)) == np.frombuffer(raw, dtype=np.uint8)
        found: I64 = candidates[same.all(axis=1)]
        return found

    def valid(self) -> Bools:
        """bool[n]: not null."""
        if is_constant(self.counts) and len(self.counts):
            return constant(np.bool_(self.counts[0] >= 0), len(self.counts))
        return self.counts >= 0

    def value(self, row: int) -> AnyArray | None:
        """The elements of one row, or None."""
        count = int(self.counts[row])
        if count < 0:
            return None
        start = int(self.starts[row])
        size = count * np.dtype(self.dtype).itemsize
        values = self.arena.u1[start : start + size].view(self.dtype)
        return values.astype(values.dtype.newbyteorder("="), copy=False)

    def int32s(self, row: int) -> list[int]:
        """The numbers of one row of an int32 array column; none where it is null.

        Cost: a microsecond; `value` takes several.
        """
        count = int(self.counts[row])
        if count <= 0:
            return []
        return list(_int32s(count).unpack_from(self.arena.u1.data, int(self.starts[row])))

    def raw(self, row: int) -> bytes | None:
        """The bytes of one row, or None."""
        value = self.value(row)
        return None if value is None else value.tobytes()

    def raws(self) -> list[bytes | None]:
        """The bytes of every row, as Python objects: for keys and names, not for whole logs."""
        values, list_offsets = self.gather()
        item = np.dtype(self.dtype).itemsize
        data = values.tobytes()
        bounds = (list_offsets * item).tolist()
        nulls = self.counts < 0
        pieces: list[bytes | None] = [data[a:b] for a, b in pairwise(bounds)]
        for row in np.flatnonzero(nulls).tolist():
            pieces[row] = None
        return pieces

    def text(self, row: int) -> str | None:
        """One row as text, or None."""
        raw = self.raw(row)
        return None if raw is None else decode_utf8(raw)

    def strings(self) -> list[str | None]:
        """Every row as text; bytes that are not UTF-8 become U+FFFD, as in Kafka."""
        if not (self.counts < 0).any():
            return list(self.texts())
        return [None if b is None else decode_utf8(b) for b in self.raws()]

    def texts(self) -> list[str]:
        """Every row as text, like `strings`, but null is empty text."""
        values, list_offsets = self.gather()
        data = values.tobytes()
        bounds = list_offsets.tolist()
        if data.isascii():
            whole = data.decode("ascii")
            return [whole[a:b] for a, b in pairwise(bounds)]
        return [decode_utf8(data[a:b]) for a, b in pairwise(bounds)]


@dataclass(slots=True)
class StructArrayColumn:
    """An array of structs a row.

    ``counts``: int64[n], elements, -1 for null; ``list_offsets``: int64[n + 1] into ``items``, the
    elements of all rows one after the other.
    """

    counts: I64
    list_offsets: I64
    items: Columns

    def take(self, rows: AnyArray) -> StructArrayColumn:
        starts = self.list_offsets[:-1][rows]
        counts = self.counts[rows]
        index, list_offsets = ranges(starts, np.maximum(counts, 0))
        return StructArrayColumn(counts, list_offsets, self.items.take(index))


@dataclass(slots=True)
class StructColumn:
    """A struct a row. ``present``: bool[n], False for null."""

    present: Bools
    items: Columns

    def take(self, rows: AnyArray) -> StructColumn:
        return StructColumn(self.present[rows], self.items.take(rows))


DecodedColumn: TypeAlias = FixedColumn | SpanColumn | StructArrayColumn | StructColumn


@dataclass(slots=True)
class Columns:
    """The columns of n structs. ``ok``: bool[n], False where a row's bytes do not decode."""

    specs: tuple[FieldSpec, ...]
    n: int
    ok: Bools
    fields: Mapping[str, DecodedColumn]

    def fixed(self, name: str) -> AnyArray:
        """Values of a fixed-size field: dtype[n]."""
        column = self.fields[name]
        assert isinstance(column, FixedColumn)
        return column.values

    def span(self, name: str) -> SpanColumn:
        """A string, bytes or array-of-fixed field."""
        column = self.fields[name]
        assert isinstance(column, SpanColumn)
        return column

    def structs(self, name: str) -> StructArrayColumn:
        """An array-of-struct field."""
        column = self.fields[name]
        assert isinstance(column, StructArrayColumn)
        return column

    def forget(self, names: Collection[str]) -> None:
        """Drop fields that can be decoded again, and are hardly asked for again."""
        if isinstance(self.fields, LateFields):
            self.fields.forget(names)

    def decoded(self) -> Columns:
        """The fields that are decoded."""
        if isinstance(self.fields, LateFields):
            return Columns(self.specs, self.n, self.ok, self.fields.known)
        return self

    def take(self, rows: AnyArray) -> Columns:
        """The rows given, in that order."""
        ok = self.ok[rows]
        return Columns(self.specs, len(ok), ok, self._map(lambda column: column.take(rows)))

    def head(self, n: int) -> Columns:
        """The first n rows, nothing copied."""
        return Columns(self.specs, n, self.ok[:n], self._map(lambda column: _head(column, n)))

    def on(self, arena: Arena) -> Columns:
        """The rows in an arena that begins with the same bytes, nothing copied."""
        return Columns(self.specs, self.n, self.ok, self._map(lambda column: _on(column, arena)))

    def _map(self, change: Callable[[DecodedColumn], DecodedColumn]) -> Mapping[str, DecodedColumn]:
        """The fields, each changed when it is decoded."""
        if isinstance(self.fields, LateFields):
            return self.fields.map(change)
        return {name: change(column) for name, column in self.fields.items()}


class LateFields(Mapping[str, DecodedColumn]):
    """Fields of n rows that are decoded when they are first asked for (late materialization).

    The first field is decoded alone: most questions want one. The second one brings all others with
    it, as more than one mostly means several.

    Args:
        names: The names of all fields.
        decode: Decodes the fields of the names given, for all rows.
        known: The fields that are decoded already.
    """

    def __init__(
        self,
        names: Sequence[str],
        decode: Callable[[Collection[str]], Mapping[str, DecodedColumn]],
        known: Mapping[str, DecodedColumn],
    ) -> None:
        self._names, self._decode, self.known = names, decode, dict(known)
        """The fields that are decoded."""
        self._left = [name for name in names if name not in known]
        self._is_first = True

    def __getitem__(self, name: str) -> DecodedColumn:
        column = self.known.get(name)
        if column is None:
            if name not in self._names:
                raise KeyError(name)
            others = () if self._is_first else self._left
            self._is_first = False
            column = self._preload({name, *others})[name]
        return column

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def items(self) -> ItemsView[str, DecodedColumn]:
        """All fields, decoded together."""
        self._preload(self._names)
        return super().items()

    def forget(self, names: Collection[str]) -> None:
        """Drop fields."""
        for name in names:
            self.known.pop(name, None)

    def map(self, change: Callable[[DecodedColumn], DecodedColumn]) -> LateFields:
        """The fields, each changed when it is decoded; what is decoded for it is not kept here."""

        def decode(names: Collection[str]) -> dict[str, DecodedColumn]:
            return {name: change(column) for name, column in self._read(names).items()}

        known = {name: change(column) for name, column in self.known.items()}
        return LateFields(self._names, decode, known)

    def _preload(self, names: Collection[str]) -> dict[str, DecodedColumn]:
        read = self._read(names)
        self.known.update(read)
        self._left = [name for name in self._left if name not in read]
        return read

    def _read(self, names: Collection[str]) -> dict[str, DecodedColumn]:
        """Fields; what is decoded for them is not kept."""
        known = {name: self.known[name] for name in names if name in self.known}
        missing = [name for name in names if name not in known]
        return {**known, **self._decode(missing)} if missing else known


def _head(column: DecodedColumn, n: int) -> DecodedColumn:
    match column:
        case FixedColumn():
            return FixedColumn(column.values[:n])
        case SpanColumn():
            return SpanColumn(column.arena, column.dtype, column.starts[:n], column.counts[:n])
        case StructColumn():
            return StructColumn(column.present[:n], column.items.head(n))
        case StructArrayColumn():
            n_items = int(column.list_offsets[n])
            return StructArrayColumn(
                column.counts[:n], column.list_offsets[: n + 1], column.items.head(n_items)
            )


def _on(column: DecodedColumn, arena: Arena) -> DecodedColumn:
    match column:
        case FixedColumn():
            return column
        case SpanColumn():
            return SpanColumn(arena, column.dtype, column.starts, column.counts)
        case StructColumn():
            return StructColumn(column.present, column.items.on(arena))
        case StructArrayColumn():
            return StructArrayColumn(column.counts, column.list_offsets, column.items.on(arena))


def constant(value: np.generic, n: int) -> AnyArray:
    """One value n times, in the memory of one: a column that no record has costs nothing."""
    return np.broadcast_to(value, (n,))


def is_constant(values: AnyArray) -> bool:
    """Whether an array was made by `constant`."""
    return values.strides == (0,)


class _ArrayBuilder:
    """Puts blocks into one array, made when the first comes that is not one value throughout."""

    __slots__ = ("_array", "_at", "_constant", "_dtype", "_n")

    def __init__(self, n: int, dtype: type[np.generic] | None = None) -> None:
        self._n = n
        self._dtype = dtype
        self._at = 0
        self._array: AnyArray | None = None
        self._constant: AnyArray | None = None

    def add(self, block: AnyArray) -> None:
        if self._array is None and is_constant(block) and self._goes_on(block):
            self._constant = block
            self._at += len(block)
            return
        if self._array is None:
            self._array = np.empty(self._n, dtype=self._dtype or block.dtype)
            if self._constant is not None:
                self._array[: self._at] = self._constant[0]
        self._array[self._at : self._at + len(block)] = block
        self._at += len(block)

    def _goes_on(self, block: AnyArray) -> bool:
        return self._constant is None or self._constant[:1].tobytes() == block[:1].tobytes()

    def finish(self) -> AnyArray:
        if self._array is not None:
            return self._array
        assert self._constant is not None
        return constant(self._constant[0], self._n)


class ColumnsBuilder:
    """Puts the columns of blocks together, each copied once and while it is still in the cache.

    Args:
        n: Rows of all blocks.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._first: Columns | None = None
        self._ok = _ArrayBuilder(n)
        self._arrays: dict[str, tuple[_ArrayBuilder, ...]] = {}
        self._nested: dict[str, list[DecodedColumn]] = {}

    def add(self, block: Columns) -> None:
        """Add the next rows."""
        if self._first is None:
            self._first = block
            if block.n == self._n:
                return
        self._ok.add(block.ok)
        for name, column in block.fields.items():
            if isinstance(column, FixedColumn):
                arrays: tuple[AnyArray, ...] = (column.values,)
            elif isinstance(column, SpanColumn):
                arrays = (column.starts, column.counts)
            else:
                self._nested.setdefault(name, []).append(column)
                continue
            if name not in self._arrays:
                # Positions and values as they are; counts, the second array, fit in 31 bits.
                dtypes = (None, np.int32)[: len(arrays)]
                self._arrays[name] = tuple(_ArrayBuilder(self._n, dtype) for dtype in dtypes)
            for builder, array in zip(self._arrays[name], arrays, strict=True):
                builder.add(array)

    def finish(self) -> Columns:
        """The columns of all rows."""
        first = self._first
        assert first is not None
        if first.n == self._n:
            return first
        fields: dict[str, DecodedColumn] = {}
        for name, column in first.fields.items():
            if name in self._nested:
                fields[name] = _concat(self._nested[name])
                continue
            arrays = [builder.finish() for builder in self._arrays[name]]
            if isinstance(column, SpanColumn):
                fields[name] = SpanColumn(column.arena, column.dtype, arrays[0], arrays[1])
            else:
                fields[name] = FixedColumn(arrays[0])
        return Columns(first.specs, self._n, self._ok.finish(), fields)


def concat_columns(parts: Sequence[Columns]) -> Columns:
    """Put columns of the same fields one after the other."""
    if len(parts) == 1:
        return parts[0]
    fields = {name: _concat([part.fields[name] for part in parts]) for name in parts[0].fields}
    ok = np.concatenate([part.ok for part in parts])
    return Columns(parts[0].specs, len(ok), ok, fields)


def merge_columns(parts: Sequence[tuple[I64, Columns]]) -> tuple[I64, Columns]:
    """Put columns of the same fields together whose rows have places of their own.

    Args:
        parts: One at least: (int64[n], ascending: the places of n rows, no two the same; columns).

    Returns:
        (all places, ascending; their columns).
    """
    if len(parts) == 1:
        return parts[0]
    together = np.concatenate([places for places, _ in parts])
    order = np.argsort(together, kind="stable")
    return together[order], concat_columns([columns for _, columns in parts]).take(order)


def _concat(columns: Sequence[DecodedColumn]) -> DecodedColumn:
    first = columns[0]
    if isinstance(first, FixedColumn):
        return FixedColumn(
            np.concatenate([c.values for c in columns if isinstance(c, FixedColumn)])
        )
    if isinstance(first, SpanColumn):
        spans = [c for c in columns if isinstance(c, SpanColumn)]
        return SpanColumn(
            first.arena,
            first.dtype,
            np.concatenate([c.starts for c in spans]),
            np.concatenate([c.counts for c in spans]),
        )
    if isinstance(first, StructColumn):
        structs = [c for c in columns if isinstance(c, StructColumn)]
        return StructColumn(
            np.concatenate([c.present for c in structs]),
            concat_columns([c.items for c in structs]),
        )
    arrays = [c for c in columns if isinstance(c, StructArrayColumn)]
    shifts = np.cumsum([0, *(int(c.list_offsets[-1]) for c in arrays)])
    list_offsets = np.concatenate(
        [
            arrays[0].list_offsets[:1],
            *(c.list_offsets[1:] + s for c, s in zip(arrays, shifts, strict=False)),
        ]
    )
    return StructArrayColumn(
        np.concatenate([c.counts for c in arrays]),
        list_offsets,
        concat_columns([c.items for c in arrays]),
    )
