"""The records of a coordinator's log by type, as Arrow tables.

In front of the fields of key and value stands where a record is. Fields keep their own names, but
one that is called as a column before it has ``record_`` in front.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.dataclass import dataclass
from metashell.errors import SchemaError
from metashell.image.arrow import Makers, fitting_batch, hide_fields, place_columns
from metashell.image.coordinators.surviving import surviving_of
from metashell.log.layout import TRANSACTIONAL
from metashell.log.read import SLACK, anonymous
from metashell.parts.spec import PartSpec, Put
from metashell.records.keyed_records import KeyedColumns, KeyedRecords
from metashell.redact import Redaction
from metashell.schema.arena import I64, Arena
from metashell.schema.arrow import number_array, string_array, to_arrow
from metashell.schema.columnar import default_columns
from metashell.schema.columns import Columns, SpanColumn
from metashell.schema.coordinators import RecordType

TIME: Final = pa.timestamp("ms", tz="UTC")
_TYPES: Final = {
    "time": TIME,
    "texts": pa.list_(pa.string()),
    "integers": pa.list_(pa.int32()),
}
"""Types of declared columns that Arrow calls otherwise."""
_BATCH_ROWS: Final = 1 << 16
_PARTITION: Final = pa.field("coordinator_partition", pa.int32())
"""The partition of the coordinators' topic."""
PLACE: Final = pa.schema(
    [
        _PARTITION,
        ("file", pa.string()),
        ("pos", pa.int64()),
        ("offset", pa.int64()),
        ("epoch", pa.int32()),
        ("timestamp", TIME),
        ("transaction_producer_id", pa.int64()),
        ("is_tombstone", pa.bool_()),
    ]
)
"""Columns in front: ``pos`` is that of the batch. ``transaction_producer_id`` is null for a record
outside a transaction."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A column of a type's table: a field of the key or the value."""

    column: str
    name: str
    of_key: bool


def _fields(record_type: RecordType) -> tuple[_Field, ...]:
    taken, found = set(PLACE.names), []
    for of_key, spec in ((True, record_type.key), (False, record_type.value)):
        for field in spec.fields:
            column = field.column_name
            while column in taken:
                column = f"record_{column}"
            taken.add(column)
            found.append(_Field(column, field.column_name, of_key))
    return tuple(found)


def record_schema(record_type: RecordType) -> pa.Schema:
    """The columns of a type's table: those of `PLACE`, of the key, of the value."""
    arena = Arena(anonymous(SLACK), 0)
    halves = {
        True: _arrays(default_columns(arena, record_type.key, 0)),
        False: _arrays(default_columns(arena, record_type.value, 0)),
    }
    fields = _fields(record_type)
    return pa.schema([*PLACE, *((f.column, halves[f.of_key][f.name].type) for f in fields)])


def record_batches(
    records: KeyedRecords,
    partition: int,
    name: str,
    columns: Sequence[str],
    redaction: Redaction,
    only: I64 | None = None,
) -> Iterator[pa.RecordBatch]:
    """Every record of a type that decodes, in log order; those of aborted transactions too.

    Args:
        records: The log.
        partition: Which partition of the coordinators' topic it is of.
        name: The type, such as ``OffsetCommit``.
        columns: The wanted columns of `record_schema`, in their order.
        redaction: Says what may be shown.
        only: int64: rows of some that decode, ascending; None for all.

    Yields:
        Some ten thousand rows at a time. The fields of a tombstone's value are null.
    """
    record_type = records.types.by_name[name]
    wanted = [field for field in _fields(record_type) if field.column in columns]
    names = [{f.name for f in wanted if f.of_key is of_key} for of_key in (True, False)]
    place = [field.name for field in PLACE if field.name in columns]
    rows = records.rows(name) if only is None else only
    whole = record_schema(record_type)
    schema = pa.schema([whole.field(column) for column in columns])
    for first in range(0, len(rows), _BATCH_ROWS):
        found = records.decode(name, rows[first : first + _BATCH_ROWS], *names)
        if not len(found):
            continue
        key, value = (
            hide_fields(spec.name, _arrays(half), redaction)
            for spec, half in ((record_type.key, found.key), (record_type.value, found.value))
        )
        makers = _place(records, partition, found)
        arrays = {column: makers[column]() for column in place}
        arrays.update((f.column, key[f.name]) for f in wanted if f.of_key)
        values = {f.column: value[f.name] for f in wanted if not f.of_key}
        if values and found.is_tombstone.any():
            kept = pa.array(~found.is_tombstone)
            values = {c: _null_unless(kept, array) for c, array in values.items()}
        arrays.update(values)
        yield fitting_batch([arrays[name] for name in schema.names], schema)


@cache
def _declared(part: PartSpec) -> Mapping[str, tuple[pa.DataType, bool]]:
    """The type of each column that a part declares, and whether a negative number is none.

    Raises:
        SchemaError: There is no such type.
    """
    found: dict[str, tuple[pa.DataType, bool]] = {}
    for column in part.table_columns.split():
        name, _, kind = column.partition(":")
        plain = kind.rstrip("?")
        try:
            found[name] = _TYPES.get(plain) or pa.type_for_alias(plain), plain != kind
        except ValueError as error:
            raise SchemaError(
                f"part {part.name}: its column {column!r} has no type",
                hint=f"write NAME:TYPE with an Arrow type, such as int64, or {' or '.join(_TYPES)}",
            ) from error
    return found


def part_schema(part: PartSpec, *, with_joined: bool = False) -> pa.Schema:
    """The columns that a part declares; `PartSpec.asked_for` only with those that are joined."""
    left_out = () if with_joined else part.asked_for
    return pa.schema([(n, kind) for n, (kind, _) in _declared(part).items() if n not in left_out])


def part_table(part: PartSpec, state: object = None, /, **values: Any) -> pa.Table:
    """Rows with the columns of `part_schema`.

    Args:
        part: The part.
        state: Has what is not among `values`, as attributes.
        values: Numbers, texts or Arrow values by column, or one value for all rows.
    """
    schema, made = part_schema(part), []
    for field in schema:
        value = values[field.name] if field.name in values else getattr(state, field.name)
        if isinstance(value, np.ndarray):
            may_lack = _declared(part)[field.name][1]
            value = number_array(value, value >= 0 if may_lack else None, field.type)
        elif isinstance(value, SpanColumn):
            value = string_array(value)
        elif not isinstance(value, pa.Array):
            value = pa.scalar(value, field.type)
        made.append(value)
    n = next(len(each) for each in made if isinstance(each, pa.Array))
    arrays = [pa.repeat(each, n) if isinstance(each, pa.Scalar) else each for each in made]
    return pa.table(arrays, schema=schema)


def sorted_rows(part: PartSpec, rows: pa.Table) -> pa.Table:
    """Rows in the order of `PartSpec.rows_by`."""
    return rows.sort_by([(column, "ascending") for column in part.rows_by])


def surviving_schema(record_type: RecordType) -> pa.Schema:
    """The columns of `surviving_table`."""
    whole = record_schema(record_type)
    return whole.remove(whole.get_field_index("is_tombstone"))


def surviving_table(
    records: KeyedRecords, partition: int, put: Put, redaction: Redaction
) -> pa.Table:
    """The newest record of each key, without tombstones; other arguments as `record_batches`."""
    schema = surviving_schema(records.types.by_name[put.message])
    alive = surviving_of(records, put)
    rows = alive.rows.row if alive.waits is None else alive.rows.row[~alive.waits]
    found = record_batches(records, partition, put.message, schema.names, redaction, np.sort(rows))
    return pa.Table.from_batches(found, schema)


def _null_unless(kept: pa.BooleanArray, array: pa.Array) -> pa.Array:
    at = pa.array(np.arange(len(array)))
    return array.take(pc.if_else(kept, at, pa.scalar(None, at.type)))


def _arrays(columns: Columns) -> dict[str, pa.Array]:
    return {
        spec.column_name: to_arrow(spec, columns.fields[spec.column_name])
        for spec in columns.specs
        if spec.column_name in columns.fields
    }


def _place(records: KeyedRecords, partition: int, found: KeyedColumns) -> Makers:
    """The functions that make the columns of `PLACE`."""
    frames, rows = records.frames, found.rows

    def producers() -> pa.Array:
        attributes = frames.batches.header["attributes"][frames.batch[rows]]
        return pa.array(frames.producer_ids(rows), mask=attributes & TRANSACTIONAL == 0)

    return {
        "coordinator_partition": lambda: pa.array(np.full(len(rows), partition, dtype=np.int32)),
        **place_columns(frames, records.loaded.files, rows, with_nulls=True),
        "transaction_producer_id": producers,
        "is_tombstone": lambda: pa.array(found.is_tombstone),
    }
