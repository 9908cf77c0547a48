"""Parts whose records write a key whole, or remove it: most of the image.

Which record makes a key, which removes it, and which fields are the key is all that tells these
parts apart, and stands in their declarations (`metashell.parts`).

The things of a part, by row: keys, names, values and facts, as its declaration has them.

Source: the XDelta classes of org.apache.kafka.image.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.fold import group_keys, survivors
from metashell.parts.spec import NodeNames, PartSpec, Put, hook
from metashell.parts.view import BoundField, FactKey, PartView, check_key, view_of
from metashell.records.records import Records
from metashell.redact import Redaction
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.columns import Columns, FixedColumn, SpanColumn, StructArrayColumn
from metashell.schema.rows import value_of, values_of

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.parts.forms import Fact

FactRows = Mapping["FactKey", "tuple[Fact, ...]"]
"""The things of one kind: their facts by key."""

_READ_ONE_BY_ONE: Final = 32
"""Rows whose values are read singly; of more, all are."""


class PartRows:
    """The rows of a part of an image. Keys are made for all at once, values one by one."""

    def __init__(self, image: Image, spec: PartSpec) -> None:
        self._image, self.spec = image, spec
        self.view: PartView = view_of(spec, image.records.registry)
        self._n_read = 0

    @property
    def part(self) -> Part:
        """The part. Cost: folds it."""
        return self._image.part(self.spec.name)

    @cached_property
    def _key_columns(self) -> Sequence[list[Any]]:
        return [self._facts(field) for field in self.view.key]

    @cached_property
    def keys(self) -> Sequence[FactKey]:
        """The key of each."""
        columns = self._key_columns
        return list(zip(*columns, strict=True)) if columns else [()] * len(self.part)

    def names(self) -> Sequence[NodeNames | None]:
        """Names of each one's leaf below the part's directory."""
        columns = dict(zip((f.column for f in self.view.key), self._key_columns, strict=True))
        levels = [
            list(map(name, *(columns[column] for column in level.of)))
            for level, name in zip(self.spec.levels, self.view.levels, strict=True)
        ]
        names = list(zip(*levels, strict=True))
        if not self.view.may_be_nowhere:
            return names
        return [None if None in each else each for each in names]

    # Values.

    def value(self, row: int, redaction: Redaction) -> Any:
        """A leaf's value."""
        key = tuple([column[row] for column in self._key_columns])
        return self.view.value(key, [read(row) for read in self._read()], redaction)

    def _read(self) -> Sequence[Callable[[int], Any]]:
        """The functions that read each field of a row."""
        self._n_read += 1
        return self._one_by_one if self._n_read <= _READ_ONE_BY_ONE else self._all_at_once

    @cached_property
    def _one_by_one(self) -> Sequence[Callable[[int], Any]]:
        columns = self.part.columns.fields

        def reader(field: BoundField) -> Callable[[int], Any]:
            return lambda row: value_of(field.spec, columns[field.column], row)

        return [reader(field) for field in self.view.fields]

    @cached_property
    def _all_at_once(self) -> Sequence[Callable[[int], Any]]:
        columns = self.part.columns.fields
        return [
            values_of(field.spec, columns[field.column]).__getitem__ for field in self.view.fields
        ]

    # Tables and digests.

    def hidden(self, column: str, redaction: Redaction) -> list[bool] | None:
        """Whether a table must not show a column, for each row; None where it shows all."""
        view = self.view
        if redaction.show_secrets or not view.may_hide:
            return None
        if column in view.secret_columns:
            return [True] * len(self.part)
        if view.hides_always or column not in {field.column for field in view.own_fields}:
            return None
        return [column in view.hidden(key, redaction) for key in self.keys]

    def facts(self, redaction: Redaction, rows: I64 | None = None) -> FactRows:
        """The facts of each, or of some rows, by key; without what has no leaf."""
        view, spec = self.view, self.spec
        if spec.absent is not None and not len(self.part):
            return {(): (spec.absent,)}
        columns = [self._facts(field) for field in view.own_fields]
        facts = view.row_facts(self.keys, columns, redaction)
        keys: Sequence[FactKey] = self.keys
        if rows is not None:
            at = rows.tolist()
            keys, facts = [keys[i] for i in at], [facts[i] for i in at]
        found = dict(zip(keys, facts, strict=True))
        if not view.may_be_nowhere:
            return found
        return {key: each for key, each in found.items() if view.names_of(key) is not None}

    def _facts(self, field: BoundField) -> list[Any]:
        return field.facts(values_of(field.spec, self.part.columns.fields[field.column]))


@dataclass(slots=True)
class Part:
    """The things of one kind: k of them, in the order of their creation."""

    columns: Columns
    """The record that last wrote each."""
    created: I64
    """int64[k]: row of the record that made each."""
    changed: I64
    """int64[k]: row of the record that last wrote each."""

    def __len__(self) -> int:
        return self.columns.n

    def take(self, order: AnyArray) -> Part:
        """The things given, in that order."""
        return Part(self.columns.take(order), self.created[order], self.changed[order])


def fold_keyed(records: Records, spec: PartSpec) -> Part:
    """Fold a part by what its declaration says that its records do.

    Raises:
        SchemaError: A record lacks a column of the key.
    """
    check_key(spec, records.registry)
    put, remove, key = spec.put, spec.remove, [field.column for field in spec.key]
    if remove is None:
        rows, columns = records.columns(put.message)
        part = fold_nullable(rows, columns, key, removing(put, columns))
    else:
        part = fold_part(
            records,
            put.message,
            remove.message,
            key,
            is_sound=hook(spec.is_sound) if spec.is_sound else None,
            unknown_removal=remove.unknown,
        )
    if spec.sorted_by:
        part = part.take(np.argsort(part.columns.fixed(spec.sorted_by), kind="stable"))
    return part


def removing(put: Put, columns: Columns) -> Bools:
    """Which of the putting records remove their key: bool[n]."""
    if put.removing_column is None:
        return np.zeros(columns.n, dtype=np.bool_)
    if put.removing_value is None:
        return ~columns.span(put.removing_column).valid()
    found: Bools = columns.fixed(put.removing_column) == put.removing_value
    return found


def fold_part(
    records: Records,
    writes: str,
    removes: str,
    key: Sequence[str],
    *,
    is_sound: Callable[[Records, I64, Columns], Bools] | None = None,
    unknown_removal: str | None = None,
) -> Part:
    """Fold a part with one record type that writes and one that removes.

    Args:
        records: The records.
        writes: Name of the message that writes a key.
        removes: Name of the message that removes it; it has the key's fields under the same names.
        key: Column names of the key.
        is_sound: Tells which writing records apply, having reported the others.
        unknown_removal: The fault where a removed key did not exist; None where that is fine.
    """
    rows, columns = records.columns(writes)
    if is_sound is not None:
        applies = is_sound(records, rows, columns)
        if not applies.all():
            keep = np.flatnonzero(applies)
            rows, columns = rows[keep], columns.take(keep)
    removed_rows, removed = records.columns(removes)
    n = len(rows)
    all_rows = np.concatenate([rows, removed_rows])
    parts = [join_parts([key_part(columns, name), key_part(removed, name)]) for name in key]
    groups = group_keys(parts, len(all_rows))
    is_removal = np.zeros(len(all_rows), dtype=np.bool_)
    is_removal[n:] = True
    if unknown_removal is not None:
        for row in unknown_removals(groups, all_rows, is_removal).tolist():
            records.fault(row, unknown_removal)
    alive = survivors(groups, all_rows, is_removal)
    return Part(columns.take(alive.last), all_rows[alive.created], all_rows[alive.last])


def fold_nullable(rows: I64, columns: Columns, key: Sequence[str], removes: Bools) -> Part:
    """Fold a part whose one record type removes its key by a null or zero value."""
    parts = [key_part(columns, name) for name in key]
    alive = survivors(group_keys(parts, len(rows)), rows, removes)
    return Part(columns.take(alive.last), rows[alive.created], rows[alive.last])


def key_part(columns: Columns, name: str) -> AnyArray | SpanColumn:
    """A column as a part of a key."""
    column = columns.fields[name]
    if isinstance(column, StructArrayColumn):
        return pair_sets(column)
    assert isinstance(column, FixedColumn | SpanColumn)
    return column.values if isinstance(column, FixedColumn) else column


def join_parts(parts: Sequence[AnyArray | SpanColumn]) -> AnyArray | SpanColumn:
    """The column of several messages, one after the other."""
    spans = [part for part in parts if isinstance(part, SpanColumn)]
    if spans:
        return join_spans(*spans)
    return np.concatenate([part for part in parts if not isinstance(part, SpanColumn)])


def join_spans(*columns: SpanColumn) -> SpanColumn:
    """String columns of the same arena, one after the other; there is one at least."""
    starts = np.concatenate([column.starts for column in columns])
    counts = np.concatenate([column.counts for column in columns])
    return SpanColumn(columns[0].arena, columns[0].dtype, starts, counts)


def unknown_removals(groups: I64, rows: I64, is_removal: Bools) -> I64:
    """int64[k]: rows of removals before which no event of the same group wrote the key.

    Args:
        groups: int64[n], from `group_keys`.
        rows: int64[n], replay order.
        is_removal: bool[n]: the events that remove their key; the others write it.
    """
    order = np.lexsort((rows, groups))
    same = np.zeros(len(order), dtype=np.bool_)
    same[1:] = groups[order][1:] == groups[order][:-1]
    wrote = np.zeros(len(order), dtype=np.bool_)
    wrote[1:] = ~is_removal[order][:-1]
    return rows[order[np.flatnonzero(is_removal[order] & ~(same & wrote))]]


def pair_sets(entity: StructArrayColumn) -> I64:
    """int64[n]: equal for lists of the same set of pairs, the last of a type counting.

    An entity of client quotas is a set of (type, name) pairs, in any order. A null name means the
    default of its type. Source: org.apache.kafka.image.{ClientQuotasDelta, ClientQuotaDelta}.

    Pairs are numbered exactly; a set is the sum of random numbers drawn for its pairs, so that no
    input can make two sets meet but by a chance of one in 2**64.
    """
    items = entity.items
    pairs = group_keys([items.span(spec.column_name) for spec in items.specs], items.n)
    n_pairs = int(pairs.max()) + 1 if len(pairs) else 0
    drawn = np.frombuffer(os.urandom(8 * n_pairs), dtype=np.uint64)
    terms = drawn[pairs]
    terms[_overruled(entity)] = 0
    totals = np.zeros(len(pairs) + 1, dtype=np.uint64)
    np.cumsum(terms, out=totals[1:])
    sums = totals[entity.list_offsets[1:]] - totals[entity.list_offsets[:-1]]
    return sums.view(np.int64)


def _overruled(entity: StructArrayColumn) -> I64:
    """Indexes of pairs before another of the same type: as in a map, the last counts."""
    several = np.flatnonzero(entity.counts > 1)
    if not several.size:
        return several
    types = group_keys([entity.items.span(entity.items.specs[0].column_name)], entity.items.n)
    row = np.repeat(np.arange(len(entity.counts)), np.maximum(entity.counts, 0))
    order = np.lexsort((np.arange(len(types)), types, row))
    same = (row[order][1:] == row[order][:-1]) & (types[order][1:] == types[order][:-1])
    overruled: I64 = order[:-1][same]
    return overruled
