"""Records whose fields are decoded when they are first asked for (late materialization).

A fold compares the keys of all records and looks at few of their lists. The kernel walks over a
record sooner than the columns that nobody reads would be written, so what is not asked for is never
made. Without the kernel each walk takes many passes, and all fields are decoded in one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from metashell.log.frames import Frames
from metashell.schema.arena import I64, AnyArray
from metashell.schema.columnar import default_columns
from metashell.schema.columns import Columns, DecodedColumn, LateFields, merge_columns
from metashell.schema.decoding import decode, is_quick
from metashell.schema.model import FIXED_SIZES, MessageSpec

LEAST_ROWS: Final = 1 << 16
"""Fewer records are decoded whole."""


_COMPARED: Final = frozenset({"replicas", "directories", "name"})
"""The fields that folds always look at: two lists of partitions, and names of topics."""


def early_fields(spec: MessageSpec, n: int, expected: Collection[str] = ()) -> Sequence[str] | None:
    """The fields that are decoded at once of n records; None for all.

    They are those of a fixed size, what each fold looks at, and those expected.
    """
    if n < LEAST_ROWS or not is_quick():
        return None
    return [
        field.column_name
        for field in spec.fields
        if (field.type in FIXED_SIZES and not field.is_array)
        or field.column_name in _COMPARED
        or field.column_name in expected
    ]


def with_late_fields(columns: Columns, frames: Frames, spec: MessageSpec, rows: I64) -> Columns:
    """Columns with the fields that are not decoded yet.

    Args:
        columns: Some fields of n records.
        frames: Where the records are.
        spec: Their message.
        rows: int64[n], all of records that decode.
    """
    names = [field.column_name for field in spec.fields]
    fields = LateFields(names, partial(_decode, frames, spec, rows), columns.fields)
    return Columns(columns.specs, columns.n, columns.ok, fields)


def _decode(
    frames: Frames, spec: MessageSpec, rows: I64, fields: Collection[str]
) -> Mapping[str, DecodedColumn]:
    if not len(rows):
        return default_columns(frames.arena, spec, 0, fields).fields
    parts = [
        (these, decode(frames.arena, spec, version, frames.body[these], frames.stop[these], fields))
        for version, these in rows_by_version(frames, rows)
    ]
    return merge_columns(parts)[1].fields


def rows_by_version(frames: Frames, rows: I64) -> Iterator[tuple[int, I64]]:
    """Each message version among the rows, and the rows that have it."""
    versions = frames.version[rows]
    for version in _distinct(versions):
        # Nearly always all of them, and a comparison tells sooner than picking them out.
        same = versions == version
        yield version, rows if same.all() else rows[same]


def _distinct(versions: AnyArray) -> Sequence[int]:
    """Distinct values, ascending. Sorting millions of equal numbers is what np.unique would do."""
    if not len(versions):
        return ()
    low, high = int(versions.min()), int(versions.max())
    if low == high:
        return (low,)
    if low >= -64 and high < 65_536:
        return [int(v) + low for v in np.flatnonzero(np.bincount(versions - low))]
    return [int(v) for v in np.unique(versions)]
