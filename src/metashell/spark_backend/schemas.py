"""The tables of the data source `kraft`, and how their columns are Spark's.

The columns are those of the local engine's Arrow tables, asked of an empty log, behind three that
say where a row comes from. Types that Spark lacks become the next wider one: unsigned numbers
signed ones of twice the width, times in milliseconds times in microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from metashell.errors import UsageError
from metashell.image.arrow import table_names
from metashell.parts.known import coordinator_parts
from metashell.schema.model import Registry, load_registry
from metashell.spelling import did_you_mean, near_names
from metashell.sql.tables import with_sql_times

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from metashell.sources.coordinator_tables import CoordinatorTables
    from metashell.spark_backend.options import Options

RECORDS: Final = "records"
NODES: Final = "nodes"
FILES: Final = "files"
FAULTS: Final = "faults"

ORIGIN: Final = pa.schema(
    [("cluster_id", pa.string()), ("node_id", pa.int32()), ("directory", pa.string())]
)
"""The first columns of every table."""

TIME: Final = pa.timestamp("us", tz="UTC")
_MS: Final = pa.timestamp("ms", tz="UTC")

NODES_SCHEMA: Final = pa.schema(
    [
        ("path", pa.string()),
        ("kind", pa.string()),
        ("text", pa.string()),
        ("value", pa.string()),
        ("created_offset", pa.int64()),
        ("created_time", _MS),
        ("changed_offset", pa.int64()),
        ("changed_time", _MS),
    ]
)

_WIDER: Final = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.large_string(): pa.string(),
    pa.large_binary(): pa.binary(),
}


@cache
def registry_of(schemas: tuple[Path, ...]) -> Registry:
    """The message definitions, the user's included; read once a process."""
    return load_registry(schemas)


@cache
def coordinator_tables(schemas: tuple[Path, ...]) -> CoordinatorTables:
    """The tables of coordinators' logs; definitions are read once a process."""
    from metashell.sources.coordinator_tables import CoordinatorTables

    return CoordinatorTables(schemas)


def is_of_coordinators(options: Options) -> bool:
    """Whether a table is made of coordinators' logs."""
    return options.table in coordinator_parts() or (
        options.table not in registry_of(options.settings.schemas).by_name
        and options.table in coordinator_tables(options.settings.schemas).messages
    )


def check_table(options: Options) -> None:
    """See that the table is there and that the options mean something for it.

    Raises:
        UsageError: They do not.
    """
    table = options.table
    messages = registry_of(options.settings.schemas).by_name
    fixed = (RECORDS, NODES, FILES, FAULTS)
    more = coordinator_tables(options.settings.schemas)
    if table not in {*fixed, *table_names(), *messages, *more.names}:
        every = [*fixed, *table_names(), *messages, *more.names]
        meant = did_you_mean(near_names(table, every, 1))
        listed = ", ".join([*fixed, *table_names(), *more.states])
        hint = f" ({meant})" if meant else ""
        raise UsageError(
            f"{table}: not a table of the data source kraft{hint}; there are {listed},"
            f" and one for each record type: {', '.join([*messages, *more.messages])}"
        )
    if options.at is not None and not is_state(table) and table != FAULTS:
        raise UsageError(f"at: the table {table} is not a state; filter by its offset or time")
    if options.settings.strict and not is_state(table) and table != FAULTS:
        raise UsageError(f"strict: the table {table} is not a state; it holds everything readable")
    if options.settings.strict and table in coordinator_parts():
        raise UsageError(f"strict: not for the table {table}")
    if options.raw and table != RECORDS:
        raise UsageError(f"raw: only the table {RECORDS} has raw bytes, not {table}")


def is_state(table: str) -> bool:
    """Whether a table shows a state, that of the end of the log or of option `at`."""
    return table in table_names() or table == NODES or table in coordinator_parts()


def spark_type(kind: pa.DataType) -> pa.DataType:
    """The type that a column of an Arrow type has in Spark."""
    if kind in _WIDER:
        return _WIDER[kind]
    if pa.types.is_timestamp(kind):
        return TIME
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_dictionary(kind):
        return spark_type(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(pa.field("element", spark_type(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, spark_type(f.type)) for f in kind])
    return kind


def with_origin(own: pa.Schema) -> pa.Schema:
    """The columns of a table behind those of `ORIGIN`, as Spark has them.

    A record's own field that is called as one of those, or as one before it but for its case,
    gets a name by which it can be asked for.
    """
    fields, taken = list(ORIGIN), {name.lower() for name in ORIGIN.names}
    for column in own:
        name = column.name
        while name.lower() in taken:
            name = f"record_{name}"
        taken.add(name.lower())
        fields.append(pa.field(name, spark_type(column.type)))
    return pa.schema(fields)


def to_struct(schema: pa.Schema) -> StructType:
    """The columns as Spark's type."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def chosen(schema: pa.Schema, asked: StructType, table: str) -> pa.Schema:
    """The columns that a user's schema asks for: all, where the user gave none.

    Raises:
        UsageError: One is not there, or has another type.
    """
    types = {column.name: column.dataType.simpleString() for column in to_struct(schema)}
    for column in asked:
        has, wants = types.get(column.name), column.dataType.simpleString()
        if has is None:
            raise UsageError(
                f"{column.name}: no column of the table {table}; there are"
                f" {', '.join(schema.names)}"
            )
        if has != wants:
            raise UsageError(f"{column.name}: of type {has} in the table {table}, not {wants}")
    return pa.schema([schema.field(column.name) for column in asked])


def conform(own: pa.RecordBatch, wanted: pa.Schema, origin: Sequence[object]) -> pa.RecordBatch:
    """A batch of a table with its origin in front, exactly as Spark expects it.

    A time that microseconds can't count is null, as it is in SQL.

    Args:
        own: The table's own columns; those that it lacks are null.
        wanted: The columns wanted, with Spark's types.
        origin: Values of the columns of `ORIGIN`.
    """
    n, own = own.num_rows, with_sql_times(own, lambda _: None)
    names = with_origin(own.schema).names[len(ORIGIN) :]
    columns: dict[str, pa.Array] = dict(zip(names, own.columns, strict=True))
    for field, value in zip(ORIGIN, origin, strict=True):
        columns[field.name] = pa.repeat(pa.scalar(value, type=field.type), n)
    return filled(n, columns, wanted)


def filled(n: int, columns: Mapping[str, pa.Array], wanted: pa.Schema) -> pa.RecordBatch:
    """A batch of n rows of some columns, with nulls in the others."""
    arrays = []
    for field in wanted:
        array = columns.get(field.name)
        arrays.append(pa.nulls(n, type=field.type) if array is None else array.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)
