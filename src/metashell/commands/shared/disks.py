"""Bytes on a node's disks, beside what its metadata says."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from metashell.commands.framework.targets import stop_if_cancelled
from metashell.commands.rows.columns import DISK_BYTES

if TYPE_CHECKING:
    from metashell.commands.rows.query import RowsQuery


def with_disk_bytes(query: RowsQuery, table: pa.Table, by: str) -> pa.Table:
    """Rows with their bytes on disks, if these are looked at.

    Args:
        query: Has the source.
        table: The rows.
        by: The column that tells the topic or the broker.
    """
    name = DISK_BYTES.name
    if query.columns is not None and name not in query.columns:
        return table
    if not query.source.has_logs:
        return table.append_column(name, pa.nulls(len(table), pa.int64()))
    from metashell.sources.replicas import disk_bytes

    found = disk_bytes(query.source, by, partial(stop_if_cancelled, query.context))
    values = map(found.get, table[by].to_pylist())
    return table.append_column(name, pa.array(values, pa.int64()))
