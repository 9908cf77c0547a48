"""Decodes records by the kernel: plans become its tables, its output becomes columns.

Verdicts and columns are equal to those of `metashell.schema.columnar`. That module decodes whatever
is too unusual for the kernel: structs with more tags than a number has bits, structs nested very
deep, and blocks in which arrays in arrays have so many elements that the order of vector steps
decides.
"""

from __future__ import annotations

from collections.abc import Collection
from ctypes import CDLL
from dataclasses import field
from functools import lru_cache
from typing import Any, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.kernel import decode as kernel
from metashell.kernel.decode import KeyedSpans
from metashell.schema import columnar
from metashell.schema.arena import I64, AnyArray, Arena, Bools, list_offsets_of
from metashell.schema.columns import (
    Columns,
    DecodedColumn,
    FixedColumn,
    SpanColumn,
    StructArrayColumn,
    StructColumn,
)
from metashell.schema.model import FieldPlan, MessageSpec, StructPlan, message_plan

_MOST_DEPTH: Final = 32
"""Structs in structs: each takes a call on the stack."""

_NO_LIMIT: Final = 1 << 62
_NO_SLOT: Final = -1


def decode(
    library: CDLL,
    arena: Arena,
    spec: MessageSpec,
    version: int,
    starts: I64,
    stops: I64,
    fields: Collection[str] | None,
    trailing: bool,
) -> Columns | None:
    """Decode like `metashell.schema.columnar.decode`; None where the kernel can't."""
    program = _program(spec, version, None if fields is None else frozenset(fields))
    if program is None:
        return None
    messages = kernel.Messages(
        data=arena.content,
        starts=np.ascontiguousarray(starts),
        stops=np.ascontiguousarray(stops),
        may_trail=trailing,
    )
    columns = _Run(library, arena, _limits()).columns(program, messages, len(starts))
    # Numpy goes on with the other fields of a record at fault, which takes steps of all records.
    if columns is None or (program.has_nested and not columns.ok.all()):
        return None
    return columns


def _limits() -> kernel.Limits:
    """The sizes beyond which a message is refused, or left to numpy."""
    return kernel.Limits(columnar.MAX_STRUCTS, columnar.MAX_NESTED_STEPS, columnar.BLOCK_ROWS)


def check_keyed(
    library: CDLL,
    key: tuple[MessageSpec, int],
    value: tuple[MessageSpec, int],
    spans: KeyedSpans,
    rows: I64,
) -> AnyArray | None:
    """Check keyed records of one type; see `metashell.kernel.decode.check`.

    Args:
        library: The kernel's.
        key: The definition of their keys, and its version.
        value: The definition of their values, and the version that is checked.
        spans: Where they lie.
        rows: int64[n]: the records.

    Returns:
        uint8[n]: verdicts; None where the kernel does not do.
    """
    programs = [_program(*message, frozenset()) for message in (key, value)]
    tables = [(p.fields, p.layouts) for p in programs if p is not None and not p.has_nested]
    if len(tables) < len(programs):
        return None
    # Imported late: decoding a metadata log does not use it.
    from metashell.kernel.decode import check

    rows = np.ascontiguousarray(rows)
    return check(library, spans, rows, tables[0], tables[1], value[1], _limits())


@dataclass(slots=True)
class _Program:
    """A struct's fields as the kernel's tables, and the arrays that it fills."""

    plan: StructPlan
    wanted: frozenset[str] | None
    fields: AnyArray
    layouts: AnyArray
    dtypes: list[np.dtype[Any]]
    """The dtype of each slot's array."""
    slots: dict[int, int]
    """First slot of each field plan, by the identity of the plan."""
    elements: dict[int, _Program]
    """How the elements of each wanted array of structs are decoded, by the identity of its plan."""
    has_nested: bool
    """Whether elements of arrays have arrays of structs."""


@lru_cache(maxsize=256)
def _program(spec: MessageSpec, version: int, wanted: frozenset[str] | None) -> _Program | None:
    try:
        return _Compiler().program(message_plan(spec, version), wanted)
    except _TooUnusualError:
        return None


class _TooUnusualError(Exception):
    """The kernel does not do."""


@dataclass(slots=True)
class _Compiler:
    """Makes the tables of one struct and all structs below it."""

    fields: list[tuple[Any, ...]] = field(default_factory=list)
    layouts: list[tuple[int, ...]] = field(default_factory=list)
    dtypes: list[np.dtype[Any]] = field(default_factory=list)
    slots: dict[int, int] = field(default_factory=dict)
    elements: dict[int, _Program] = field(default_factory=dict)
    has_nested: bool = False

    def program(self, plan: StructPlan, wanted: frozenset[str] | None, depth: int = 0) -> _Program:
        self.layouts.append(())
        self._struct(0, plan, wanted, keep=True, in_array=False, depth=depth)
        return _Program(
            plan,
            wanted,
            np.array(self.fields, dtype=kernel.FIELD),
            np.array(self.layouts, dtype=kernel.LAYOUT),
            self.dtypes,
            self.slots,
            self.elements,
            self.has_nested,
        )

    def _struct(
        self,
        index: int,
        plan: StructPlan,
        wanted: Collection[str] | None,
        *,
        keep: bool,
        in_array: bool,
        depth: int,
    ) -> None:
        """Put a struct's fields into the table, then those of the structs in it."""
        tags = sorted([*plan.tags, *plan.wrong_tags])
        if len(tags) > kernel.MOST_TAGS or depth > _MOST_DEPTH:
            raise _TooUnusualError
        first = len(self.fields)
        children: list[tuple[int, FieldPlan, bool]] = []

        def add(one: FieldPlan, tag: int | None) -> None:
            kept = keep and (wanted is None or one.name in wanted)
            child = -1
            if one.struct is not None:
                child = len(self.layouts)
                self.layouts.append(())
                children.append((child, one, kept))
            self.fields.append(self._field(index, one, tag, child, kept))

        for one in plan.fields:
            add(one, None)
            self._join_skipped(first)
        end = len(self.fields)
        eager = 0
        for bit, tag in enumerate(tags):
            if tag in plan.tags:
                add(plan.tags[tag], tag)
                eager |= (index > 0 or _is_one_struct(plan.tags[tag])) << bit
            else:
                self.fields.append((kernel.WRONG, 0, 0, 0, 0, tag, -1, -1, 0, bytes(16)))
        bounds = (first, end, end, end + len(tags))
        self.layouts[index] = (*bounds, plan.flexible, plan.has_tags, eager)
        for child, one, kept in children:
            assert one.struct is not None
            is_array = one.spec.is_array
            self.has_nested |= is_array and in_array
            self._struct(
                child,
                one.struct,
                None,
                keep=kept and not is_array,
                in_array=in_array or is_array,
                depth=depth + 1,
            )
            if kept and is_array:
                self.elements[id(one)] = _Compiler().program(one.struct, None, depth + 1)

    def _join_skipped(self, first: int) -> None:
        """Make one field of the last two, if both are of fixed size and neither is wanted."""
        if len(self.fields) - first < 2:
            return
        (kind, size, *before), (last_kind, last_size, *rest) = self.fields[-2:]
        is_skipped = kind == last_kind == kernel.FIXED and before[5] == rest[5] == _NO_SLOT
        if is_skipped and size + last_size < 256:
            self.fields[-2:] = [(kind, size + last_size, *before)]

    def _field(
        self, index: int, plan: FieldPlan, tag: int | None, child: int, kept: bool
    ) -> tuple[Any, ...]:
        is_array = plan.spec.is_array
        if plan.struct is not None:
            kind = kernel.STRUCTS if is_array else kernel.STRUCT
        else:
            kind = kernel.FIXED if plan.size and not is_array else kernel.SPAN
        slot = _NO_SLOT
        if kept:
            slot = self.slots[id(plan)] = len(self.dtypes)
            self.dtypes += _dtypes(kind, plan)
        if_absent = -(plan.default is None)
        if kind == kernel.STRUCT:
            if_absent = plan.default is not None
        # A field of a message that is not tagged is always there.
        may_be_absent = kind == kernel.FIXED and slot >= 0 and (index > 0 or tag is not None)
        value = _raw_default(plan) if may_be_absent else b""
        is_string = plan.spec.type == "string" and not is_array
        how = (kind, max(plan.size, 1), plan.nullable, plan.spec.type == "bool", is_string)
        where = (-1 if tag is None else tag, child, slot)
        return *how, *where, if_absent, value.ljust(16, b"\0")


def _is_one_struct(plan: FieldPlan) -> bool:
    """Whether a field is a struct, and no array."""
    return plan.struct is not None and not plan.spec.is_array


def _dtypes(kind: int, plan: FieldPlan) -> list[np.dtype[Any]]:
    """The dtypes of the arrays of a field's slots."""
    if kind == kernel.FIXED:
        return [_native(plan)]
    if kind == kernel.STRUCT:
        return [np.dtype(np.bool_)]
    return [np.dtype(np.int64), np.dtype(np.int32 if kind == kernel.SPAN else np.int64)]


def _native(plan: FieldPlan) -> np.dtype[Any]:
    return np.dtype(np.bool_ if plan.spec.type == "bool" else plan.dtype).newbyteorder("=")


def _raw_default(plan: FieldPlan) -> bytes:
    value: Any = plan.default
    return bytes(value) if isinstance(value, bytes) else np.array(value, _native(plan)).tobytes()


class _Run:
    """One decode; holds what all its calls have in common."""

    def __init__(self, library: CDLL, arena: Arena, limits: kernel.Limits) -> None:
        self._library, self.arena, self._limits = library, arena, limits

    def columns(self, program: _Program, messages: kernel.Messages, n: int) -> Columns | None:
        """Decode n rows, and the elements of arrays in them."""
        arrays: list[AnyArray] = [np.empty(n, dtype=dtype) for dtype in program.dtypes]
        found = kernel.decode(
            self._library, program.fields, program.layouts, arrays, messages, self._limits
        )
        if found is None:
            return None
        ok, met = found
        unseen = _finish_tags(program, arrays, met)
        if messages.counts is not None:
            ok = np.ones(n, dtype=np.bool_)
        stops = messages.stops
        if messages.counts is not None and program.elements:
            stops = np.repeat(stops, np.maximum(messages.counts, 0))
        reader = _Reader(self, program, arrays, unseen, stops)
        return reader.struct(program.plan, n, ok, program.wanted)

    def elements(
        self, program: _Program, starts: I64, stops: I64, counts: I64, list_offsets: I64
    ) -> Columns:
        """Decode the elements of sound rows' arrays."""
        messages = kernel.Messages(
            data=self.arena.content,
            starts=starts,
            stops=np.ascontiguousarray(stops),
            counts=counts,
            first_row=list_offsets,
        )
        limits = kernel.Limits(self._limits.structs, _NO_LIMIT, self._limits.block)
        items = _Run(self._library, self.arena, limits).columns(
            program, messages, int(list_offsets[-1])
        )
        assert items is not None
        return items


@dataclass(slots=True)
class _Reader:
    """Makes columns of the arrays that the kernel filled."""

    run: _Run
    program: _Program
    arrays: list[AnyArray]
    unseen: frozenset[int]
    """Plans, by identity, of tags that no row has."""
    stops: I64
    """int64[n]: where each row ends at the latest."""

    def struct(
        self, plan: StructPlan, n: int, ok: Bools, wanted: Collection[str] | None
    ) -> Columns:
        out: dict[str, DecodedColumn] = {}
        for one in (*plan.fields, *plan.tags.values()):
            if wanted is None or one.name in wanted:
                out[one.name] = self._column(one, n)
        for one in plan.absent:
            if wanted is None or one.name in wanted:
                out[one.name] = columnar.default_column(self.run.arena, one, n)
        return Columns(plan.specs, n, ok, out)

    def _column(self, plan: FieldPlan, n: int) -> DecodedColumn:
        if id(plan) in self.unseen:
            return columnar.default_column(self.run.arena, plan, n)
        slot = self.program.slots[id(plan)]
        values = self.arrays[slot]
        if plan.struct is None:
            if plan.size and not plan.spec.is_array:
                return FixedColumn(values)
            return SpanColumn(self.run.arena, plan.dtype, values, self.arrays[slot + 1])
        if not plan.spec.is_array:
            every = np.ones(n, dtype=np.bool_)
            return StructColumn(values, self.struct(plan.struct, n, every, None))
        counts = self.arrays[slot + 1]
        list_offsets = list_offsets_of(counts)
        program = self.program.elements[id(plan)]
        items = self.run.elements(program, values, self.stops, counts, list_offsets)
        return StructArrayColumn(counts, list_offsets, items)


def _finish_tags(
    program: _Program, arrays: list[AnyArray], met: list[kernel.DecodedRows]
) -> frozenset[int]:
    """Fill in what calls left out that did not meet a tag; returns the plans of tags never met."""
    plan, unseen = program.plan, set()
    tags = sorted([*plan.tags, *plan.wrong_tags])
    for bit, tag in enumerate(tags):
        one = plan.tags.get(tag)
        if one is None or id(one) not in program.slots:
            continue
        if _is_one_struct(one):
            continue
        if not any(call.tags >> bit & 1 for call in met):
            unseen.add(id(one))
            continue
        slot = program.slots[id(one)]
        for call in met:
            if call.tags >> bit & 1:
                continue
            rows = slice(call.begin, call.end)
            if one.struct is None and one.size and not one.spec.is_array:
                arrays[slot][rows] = columnar.default_scalar(one)
            else:
                arrays[slot][rows] = 0
                arrays[slot + 1][rows] = -1 if one.default is None else 0
    return frozenset(unseen)
