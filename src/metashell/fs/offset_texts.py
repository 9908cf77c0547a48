"""The texts of committed offsets, many at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from metashell.fs.coordinator_paths import plain_fields
from metashell.fs.field_texts import lines_one_by_one, record_lines
from metashell.image.coordinators.commits import COMMITS
from metashell.schema.arena import I64

if TYPE_CHECKING:
    from metashell.fs.offset_leaves import OffsetLeaves


def offset_lines(leaves: OffsetLeaves, wanted: I64, *, as_json: bool) -> pa.LargeStringArray:
    """The line of each of some leaves; see `metashell.fs.leaf_table.LeafTable.lines`."""
    records = leaves.records
    rows, number = leaves.single_rows(wanted), np.full(len(wanted), -1, dtype=np.int64)
    number[rows >= 0] = records.frames.key_type[rows[rows >= 0]]
    pieces, places = [], []
    for name in COMMITS:
        record_type = records.types.by_name[name]
        at = np.flatnonzero(number == record_type.number)
        fields = plain_fields(record_type)
        if not at.size or fields is None:
            continue
        at = at[np.argsort(rows[at], kind="stable")]
        value = records.decode(name, rows[at], ()).value
        pieces.append(record_lines(record_type, fields, value, as_json=as_json))
        places.append(at)
    is_told = np.zeros(len(wanted), dtype=np.bool_)
    for at in places:
        is_told[at] = True
    others = np.flatnonzero(~is_told)
    values = map(leaves.value, wanted[others].tolist())
    pieces.append(lines_one_by_one(values, as_json=as_json))
    order = np.empty(len(wanted), dtype=np.int64)
    order[np.concatenate([*places, others])] = np.arange(len(wanted))
    return pa.concat_arrays(pieces).take(pa.array(order))
