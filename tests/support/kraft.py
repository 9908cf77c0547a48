"""Tables of the data source `kraft` without a session: what Spark does with it, step by step."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

ORIGIN = ("cluster_id", "node_id", "directory")


def read(
    table: str, *paths: str | Path, filters: Sequence[Filter] = (), **options: str | int | bool
) -> pa.Table:
    """A table of directories; options and tasks are pickled as on their way to executors."""
    tasks, read_task, schema = plan(table, *paths, filters=filters, **options)
    batches = []
    for task in tasks:
        for batch in read_task(task):
            assert batch.schema.equals(schema), batch.schema
            batches.append(batch)
    return pa.Table.from_batches(batches, schema=schema)


def plan(
    table: str, *paths: str | Path, filters: Sequence[Filter] = (), **options: str | int | bool
) -> tuple[list[Any], Any, pa.Schema]:
    """The tasks of a query, what reads one, and the schema that Spark expects."""
    made = source(table, *paths, **options)
    struct = made.schema()
    reader = pickle.loads(pickle.dumps(made)).reader(struct)
    kept = list(reader.pushFilters(list(filters)))
    assert kept == list(filters)
    copy = pickle.loads(pickle.dumps(reader))
    tasks = [pickle.loads(pickle.dumps(task)) for task in reader.partitions()]
    return tasks, copy.read, copy.schema


def source(table: str, *paths: str | Path, **options: str | int | bool) -> Any:
    """The data source as Spark makes it."""
    import json

    from pyspark.sql.datasource import CaseInsensitiveDict

    from metashell.spark_backend import KRaftDataSource

    given = {name: str(value) for name, value in options.items()}
    if len(paths) == 1:
        given["path"] = str(paths[0])
    elif paths:
        given["paths"] = json.dumps([str(path) for path in paths])
    return KRaftDataSource(CaseInsensitiveDict({"table": table, **given}))


def as_spark(table: pa.Table) -> pa.Table:
    """A table of the local engine with Spark's types."""
    from metashell.spark_backend.schemas import spark_type

    fields = [pa.field(field.name, spark_type(field.type)) for field in table.schema]
    return table.cast(pa.schema(fields))


def rows(table: pa.Table, *, without: Sequence[str] = ORIGIN) -> list[str]:
    """The rows of a table in an order of their own, to compare."""
    kept = [name for name in table.column_names if name not in without]
    return sorted(repr(row) for row in table.select(kept).to_pylist())
