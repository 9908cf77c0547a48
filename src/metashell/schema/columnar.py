"""The columnar decoder: records to columns, all rows of a block at a time.

A plan moves a vector of cursors through the fields: ``pos[i]`` is where row *i* stands. Reading a
fixed-size field is one gather and one addition; a string is a varint and two additions. There is no
loop over rows. Rows are taken in blocks small enough that a block's cursors and temporaries stay in
the cache.

Invariant of a cursor: it never moves back, and a row that went wrong stands beyond its end from
then on (`_check` stops it at ``end + 1``, so gathers stay inside the arena). So a row is sound when
its cursor finishes exactly at its end, and only the cursors are ever tested. *Why* a row is unsound
is for the scalar decoder to say, which reads it again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np

from metashell.schema.arena import I64, SLACK, AnyArray, Arena, list_offsets_of
from metashell.schema.columns import (
    Columns,
    ColumnsBuilder,
    DecodedColumn,
    FixedColumn,
    SpanColumn,
    StructArrayColumn,
    StructColumn,
    concat_columns,
    constant,
)
from metashell.schema.model import FieldPlan, MessageSpec, StructPlan, message_plan
from metashell.schema.varint import read_uvarint

BLOCK_ROWS: Final = 32_768
"""Rows decoded together: a cursor of int64 then takes 256 KB, a few fit the second-level cache."""

MAX_STRUCTS: Final = 16_384
"""Elements that an array of structs may have. Elements are found one after the other across all
rows, so one lying count would otherwise cost a vector step for each byte of its record."""

MAX_NESTED_STEPS: Final = 32_768
"""Vector steps a block may take to find elements of arrays in elements of arrays. They multiply: a
file of a few kilobytes, compressed, could otherwise keep us busy for an hour."""

_NO_LIMIT: Final = 1 << 62

MAX_STRING_BYTES: Final = 32_767
"""The longest string that Kafka reads, whatever its length field could say."""

MAX_TAG_STEPS: Final = 16
"""Tagged fields of a row that are found in vector steps; a row with more is walked on its own."""


def decode(
    arena: Arena,
    spec: MessageSpec,
    version: int,
    starts: I64,
    stops: I64,
    fields: Collection[str] | None = None,
    *,
    trailing: bool = False,
) -> Columns:
    """Decode the same message version at many places.

    Args:
        arena: The bytes.
        spec: The message.
        version: Its version, for all rows.
        starts: int64[n], where each message's first field begins.
        stops: int64[n], where each message ends.
        fields: Names of the columns wanted (snake_case), None for all. Every row is walked to its
            end whatever is wanted, so `Columns.ok` says the same.
        trailing: Whether bytes may stand behind a message, as a coordinator lets them.

    Returns:
        Columns of n rows; where ``ok`` is False the row's values mean nothing.

    Cost: about 30 ns for each fixed-size field of a row and 60 ns for each string or array.
    """
    plan = message_plan(spec, version)
    blocks = ColumnsBuilder(len(starts))
    for first in range(0, max(len(starts), 1), BLOCK_ROWS):
        pos = starts[first : first + BLOCK_ROWS]
        end = stops[first : first + BLOCK_ROWS]
        columns, final = _BlockDecoder(arena).struct(plan, pos, end, fields)
        columns.ok &= final <= end if trailing else final == end
        blocks.add(columns)
    return blocks.finish()


def default_columns(
    arena: Arena, spec: MessageSpec, n: int, fields: Collection[str] | None = None
) -> Columns:
    """Columns of n messages in which every field holds its default; see `decode`."""
    plan = message_plan(spec, spec.versions.high)
    every = (*plan.fields, *plan.tags.values(), *plan.absent)
    out = {
        field.name: default_column(arena, field, n)
        for field in every
        if fields is None or field.name in fields
    }
    return Columns(plan.specs, n, np.ones(n, dtype=np.bool_), out)


def default_column(arena: Arena, field: FieldPlan, n: int) -> DecodedColumn:
    """The column of a field that none of n rows has; only spans need the arena."""
    return _BlockDecoder(arena).default(field, n)


def prefix_distance(spec: MessageSpec, version: int, field: str) -> int | None:
    """How far behind the first byte of a message a fixed-size field lies, where that is fixed.

    This is how rows are chosen by key before they are decoded.

    Returns:
        Bytes, or None where a field of variable size stands before it.
    """
    distance = 0
    for plan in message_plan(spec, version).fields:
        if plan.size == 0 or plan.spec.is_array:
            return None
        if plan.name == field:
            return distance
        distance += plan.size
    return None


class _BlockDecoder:
    """Decodes one block of rows; holds only the arena, and what finding elements has cost."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self._depth = 0
        self._steps = MAX_NESTED_STEPS

    def struct(
        self, plan: StructPlan, pos: I64, end: I64, wanted: Collection[str] | None
    ) -> tuple[Columns, I64]:
        """Decode one struct a row; returns its columns and the cursors behind it."""
        n = len(pos)
        out: dict[str, DecodedColumn] = {}
        ahead = 0
        for field in plan.fields:
            keep = wanted is None or field.name in wanted
            if field.size and not field.spec.is_array:
                # Runs of fixed-size fields share one cursor; `ahead` is how far they have come.
                if keep:
                    out[field.name] = FixedColumn(self._fixed(field, pos + ahead if ahead else pos))
                ahead += field.size
                if ahead > SLACK // 4:
                    pos, ahead = _check(pos + ahead, end), 0
                continue
            if ahead:
                pos, ahead = _check(pos + ahead, end), 0
            column, pos = self.variable(field, plan.flexible, pos, end, keep)
            if keep:
                out[field.name] = column
        if ahead:
            pos = _check(pos + ahead, end)
        if plan.has_tags:
            pos = self._tags(plan, pos, end, wanted, out)
        for field in plan.absent:
            if wanted is None or field.name in wanted:
                out[field.name] = self.default(field, n)
        return Columns(plan.specs, n, np.ones(n, dtype=np.bool_), out), pos

    def variable(
        self, field: FieldPlan, flexible: bool, pos: I64, end: I64, keep: bool = True
    ) -> tuple[DecodedColumn, I64]:
        """Decode a field whose size is in the bytes."""
        if field.struct is not None:
            if field.spec.is_array:
                return self._struct_array(field, flexible, pos, end, keep)
            return self._one_struct(field, pos, end)
        count, pos = self._count(field, flexible, pos, end)
        item = max(field.size, 1)
        if field.spec.type == "string" and count.size and int(count.max()) > MAX_STRING_BYTES:
            pos = np.where(count > MAX_STRING_BYTES, end + 1, pos)
        column = SpanColumn(self.arena, field.dtype, pos, count)
        length = np.maximum(count, 0)
        return column, _check(pos + (length * item if item > 1 else length), end)

    def _fixed(self, field: FieldPlan, pos: I64) -> AnyArray:
        values = self.arena.gather(field.dtype, pos)
        return values != 0 if field.spec.type == "bool" else values

    def _count(self, field: FieldPlan, flexible: bool, pos: I64, end: I64) -> tuple[I64, I64]:
        """Read a length or count: -1 for null; where null is not allowed a cursor goes wrong."""
        if flexible:
            raw, pos = read_uvarint(self.arena, pos, end)
            count = raw - 1
        elif field.spec.type == "string" and not field.spec.is_array:
            count, pos = self.arena.gather(">i2", pos).astype(np.int64), pos + 2
        else:
            count, pos = self.arena.gather(">i4", pos).astype(np.int64), pos + 4
        if field.nullable:
            np.maximum(count, -1, out=count)
        elif count.size and int(count.min()) < 0:
            null = count < 0
            pos = np.where(null, end + 1, pos)
            count[null] = 0
        return count, pos

    def _one_struct(
        self, field: FieldPlan, pos: I64, end: I64, *, tagged: bool = False
    ) -> tuple[DecodedColumn, I64]:
        """A nullable struct has a marker in front: a byte, or as a tagged field a varint."""
        assert field.struct is not None
        if not field.nullable:
            items, pos = self.struct(field.struct, pos, end, None)
            return StructColumn(np.ones(len(pos), dtype=np.bool_), items), pos
        if tagged:
            marker, after_marker = read_uvarint(self.arena, pos, end)
            present, after_marker = marker > 0, _check(after_marker, end)
        else:
            present, after_marker = self.arena.gather("i1", pos) >= 0, _check(pos + 1, end)
        rows = np.flatnonzero(present)
        items, following = self.struct(field.struct, after_marker[rows], end[rows], None)
        pos = after_marker.copy()
        pos[rows] = following
        found = StructColumn(present[rows], items)
        column = self._filled_struct(field, found, rows, len(present))
        column.present = present
        return column, pos

    def _struct_array(
        self, field: FieldPlan, flexible: bool, pos: I64, end: I64, keep: bool
    ) -> tuple[DecodedColumn, I64]:
        """Find where every element begins, then decode all of them together."""
        plan = field.struct
        assert plan is not None
        counts, pos = self._count(field, flexible, pos, end)
        # Every element takes a byte at least; a count beyond that, or beyond our limit, is a lie.
        lie = (counts > end - pos) | (counts > MAX_STRUCTS)
        if lie.any():
            pos = np.where(lie, end + 1, pos)
            counts[lie] = 0
        sizes = np.maximum(counts, 0)
        list_offsets = list_offsets_of(sizes)
        starts = np.empty(int(list_offsets[-1]), dtype=np.int64)
        pos = pos.copy()
        ends = np.repeat(end, sizes)
        self._depth += 1
        for i in range(int(sizes.max()) if sizes.size else 0):
            rows = np.flatnonzero(sizes > i)
            if self._depth > 1:
                if not self._steps:
                    pos[rows] = end[rows] + 1
                    unknown = np.arange(len(starts)) - np.repeat(list_offsets[:-1], sizes) >= i
                    starts[unknown] = ends[unknown] + 1
                    break
                self._steps -= 1
            starts[list_offsets[rows] + i] = pos[rows]
            _, pos[rows] = self.struct(plan, pos[rows], end[rows], ())
        self._depth -= 1
        # All starts are known now: the elements are decoded at once, side by side.
        steps, self._steps = self._steps, _NO_LIMIT
        items, _ = self.struct(plan, starts, ends, None if keep else ())
        self._steps = steps
        return StructArrayColumn(counts, list_offsets, items), pos

    def _tags(
        self,
        plan: StructPlan,
        pos: I64,
        end: I64,
        wanted: Collection[str] | None,
        out: dict[str, DecodedColumn],
    ) -> I64:
        """Find the tagged fields of all rows, then decode each tag where it is."""
        n = len(pos)
        found, pos = self._find_tags(plan, pos, end)
        for tag, field in plan.tags.items():
            keep = wanted is None or field.name in wanted
            if tag not in found:
                if keep:
                    out[field.name] = self.default(field, n)
                continue
            tag_start, tag_stop = found[tag]
            rows = np.flatnonzero(tag_start >= 0)
            start, stop = tag_start[rows], tag_stop[rows]
            column, final = self._tagged(field, plan.flexible, start, stop)
            wrong = rows[final != stop]
            if wrong.size:
                pos[wrong] = end[wrong] + 1
            if keep:
                out[field.name] = self._filled(field, column, rows, n)
        return pos

    def _tagged(
        self, field: FieldPlan, flexible: bool, start: I64, stop: I64
    ) -> tuple[DecodedColumn, I64]:
        """Decode the content of a tag."""
        if field.size and not field.spec.is_array:
            return FixedColumn(self._fixed(field, start)), start + field.size
        if field.struct is not None and not field.spec.is_array:
            return self._one_struct(field, start, stop, tagged=True)
        return self.variable(field, flexible, start, stop)

    def _find_tags(
        self, plan: StructPlan, pos: I64, end: I64
    ) -> tuple[dict[int, tuple[I64, I64]], I64]:
        """Where each known tag's content lies: tag -> (start: int64[n], -1 absent; stop)."""
        n = len(pos)
        n_tags, pos = read_uvarint(self.arena, pos, end)
        pos = _check(pos, end)
        found: dict[int, tuple[I64, I64]] = {}
        lie = n_tags * 2 > end - pos
        if lie.any():
            pos = np.where(lie, end + 1, pos)
            n_tags[lie] = 0
        many = np.flatnonzero(n_tags > MAX_TAG_STEPS)
        for row in many.tolist():
            self._walk_tags(plan, row, int(n_tags[row]), pos, end, found)
            n_tags[row] = 0
        step = 0
        least = int(n_tags.min()) if n else 0
        while True:
            # While every row has another tag, no rows have to be picked out.
            every = step < least
            rows = np.arange(0) if every else np.flatnonzero(n_tags > step)
            if not every and not rows.size:
                return found, pos
            limit = end if every else end[rows]
            tag, size, at = self._tag_head(pos if every else pos[rows], limit)
            stop = _check(at + size, limit)
            if every:
                pos = stop.copy()
            else:
                pos[rows] = stop
            for key, field in plan.tags.items():
                hits = np.flatnonzero(tag == key)
                if hits.size == n and key not in found:
                    found[key] = at, stop
                elif hits.size:
                    start_of, stop_of = _tag_slot(found, key, n)
                    these = hits if every else rows[hits]
                    self._check_repeated(plan, field, these, start_of, stop_of, pos, end)
                    start_of[these], stop_of[these] = at[hits], stop[hits]
            for key in plan.wrong_tags:
                hits = np.flatnonzero(tag == key)
                wrong = hits if every else rows[hits]
                pos[wrong] = end[wrong] + 1
            step += 1

    def _tag_head(self, pos: I64, end: I64) -> tuple[AnyArray, AnyArray, I64]:
        """Read tag and size: two unsigned varints, nearly always a byte each."""
        word = self.arena.le16[pos]
        if not (word & np.uint16(0x8080)).any():
            return (word & np.uint16(0xFF)).astype(np.uint8), word >> np.uint16(8), pos + 2
        tag, at = read_uvarint(self.arena, pos, end)
        size, at = read_uvarint(self.arena, _check(at, end), end)
        return tag, size, _check(at, end)

    def _check_repeated(
        self,
        plan: StructPlan,
        field: FieldPlan,
        rows: I64,
        start_of: I64,
        stop_of: I64,
        pos: I64,
        end: I64,
    ) -> None:
        """The last of a tag's occurrences counts, but the earlier ones have to decode too."""
        again = rows[start_of[rows] >= 0]
        if again.size:
            _, final = self._tagged(field, plan.flexible, start_of[again], stop_of[again])
            wrong = again[final != stop_of[again]]
            pos[wrong] = end[wrong] + 1

    def _walk_tags(
        self,
        plan: StructPlan,
        row: int,
        n_tags: int,
        pos: I64,
        end: I64,
        found: dict[int, tuple[I64, I64]],
    ) -> None:
        """Find the tags of one row that has very many, in plain Python."""
        at, limit = int(pos[row]), int(end[row])
        data = self.arena.u1[at : limit + 16].tobytes()
        base = at
        for _ in range(n_tags):
            tag, at = _uvarint_at(data, at - base, limit - base)
            size, at = _uvarint_at(data, at, limit - base)
            at, stop = at + base, at + base + size
            if stop > limit:
                at = limit + 1
                break
            if tag in plan.wrong_tags:
                at = limit + 1
                break
            if tag in plan.tags:
                start_of, stop_of = _tag_slot(found, tag, len(pos))
                one = np.array([row])
                self._check_repeated(plan, plan.tags[tag], one, start_of, stop_of, pos, end)
                if pos[row] > limit:
                    return
                start_of[row], stop_of[row] = at, stop
            at = stop
        pos[row] = at

    def default(self, field: FieldPlan, n: int) -> DecodedColumn:
        """The column of a field that none of n rows has."""
        return self._filled(field, None, np.empty(0, dtype=np.int64), n)

    def _filled(
        self, field: FieldPlan, column: DecodedColumn | None, rows: I64, n: int
    ) -> DecodedColumn:
        """Spread a column over n rows; the others take the field's default."""
        if column is not None and len(rows) == n:
            return column
        if field.size and not field.spec.is_array:
            if isinstance(column, FixedColumn):
                values = np.full(n, default_scalar(field))
                values[rows] = column.values
                return FixedColumn(values)
            return FixedColumn(constant(default_scalar(field), n))
        null = -1 if field.default is None else 0
        if field.struct is None:
            if isinstance(column, SpanColumn):
                starts = np.zeros(n, dtype=np.int64)
                counts = np.full(n, null, dtype=np.int64)
                starts[rows], counts[rows] = column.starts, column.counts
                return SpanColumn(self.arena, field.dtype, starts, counts)
            nowhere = constant(np.int64(0), n)
            return SpanColumn(self.arena, field.dtype, nowhere, constant(np.int64(null), n))
        if not field.spec.is_array:
            return self._filled_struct(field, column, rows, n)
        counts = np.full(n, null, dtype=np.int64)
        nowhere = np.empty(0, dtype=np.int64)
        items, _ = self.struct(field.struct, nowhere, nowhere, None)
        if isinstance(column, StructArrayColumn):
            counts[rows], items = column.counts, column.items
        return StructArrayColumn(counts, list_offsets_of(counts), items)

    def _filled_struct(
        self, field: FieldPlan, column: DecodedColumn | None, rows: I64, n: int
    ) -> StructColumn:
        """Absent structs are null, or have every field at its default."""
        assert field.struct is not None
        plan = field.struct
        present = np.full(n, field.default is not None, dtype=np.bool_)
        every = (*plan.fields, *plan.tags.values(), *plan.absent)
        items = Columns(
            plan.specs, n, np.ones(n, dtype=np.bool_), {f.name: self.default(f, n) for f in every}
        )
        if isinstance(column, StructColumn):
            present[rows] = column.present
            order = np.arange(n, dtype=np.int64)
            order[rows] = n + np.arange(len(rows))
            items = concat_columns([items, column.items]).take(order)
        return StructColumn(present, items)


def default_scalar(field: FieldPlan) -> np.generic:
    """The value of a fixed-size field where it is absent."""
    if isinstance(field.default, bytes):
        return np.void(field.default)
    if field.spec.type == "bool":
        return np.bool_(field.default)
    scalar: np.generic = np.dtype(field.dtype).newbyteorder("=").type(field.default)
    return scalar


def _check(pos: I64, end: I64) -> I64:
    """Hold cursors that ran past their end just behind it."""
    over = pos > end
    if over.any():
        pos = np.where(over, end + 1, pos)
    return pos


def _tag_slot(found: dict[int, tuple[I64, I64]], tag: int, n: int) -> tuple[I64, I64]:
    if tag not in found:
        found[tag] = (np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.int64))
    return found[tag]


def _uvarint_at(data: bytes, pos: int, limit: int) -> tuple[int, int]:
    value = 0
    for i in range(5):
        if pos + i >= limit:
            break
        value |= (data[pos + i] & 0x7F) << (7 * i)
        if data[pos + i] < 0x80:
            return (value, pos + i + 1) if value <= 0x7FFFFFFF else (0, limit + 1)
    return 0, limit + 1
