"""The topics that records name by id, as a column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from metashell.records.filter import TopicNames
from metashell.records.records import Records
from metashell.schema.arena import I64
from metashell.schema.columns import FixedColumn


def topic_column(records: Records, rows: I64, names: TopicNames) -> pa.Array:
    """The name of each record's topic.

    Args:
        records: The records.
        rows: int64[n]: which of them, in ascending order.
        names: Names by topic id.

    Returns:
        string[n]; null for a record that names no topic by id, for one that can't be decoded, and
        where no file says the name.
    """
    known: list[str | None] = []
    which = np.full(len(rows), -1, dtype=np.int64)
    keys = records.frames.api_key[rows]
    for key in np.unique(keys).tolist():
        spec = records.registry.metadata.get(key)
        if spec is None or all(field.column_name != "topic_id" for field in spec.fields):
            continue
        decoded, columns = records.decode(spec.name, rows[keys == key], ("topic_id",))
        column = columns.fields.get("topic_id")
        if not isinstance(column, FixedColumn) or column.values.dtype != np.dtype("V16"):
            continue
        ids = pa.py_buffer(np.ascontiguousarray(column.values).tobytes())
        coded = pa.Array.from_buffers(pa.binary(16), columns.n, [None, ids]).dictionary_encode()
        found: list[bytes] = coded.dictionary.to_pylist()
        names.look_up(found)
        which[np.searchsorted(rows, decoded)] = coded.indices.to_numpy() + len(known)
        known.extend(map(names.names.get, found))
    return pa.array(known, pa.string()).take(pa.array(which, mask=which < 0))
