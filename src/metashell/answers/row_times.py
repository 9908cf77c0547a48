"""When rows of the image came to be, as columns of an answer."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from metashell.image.image import Image
from metashell.schema.arena import I64


def when(image: Image, prefix: str, rows: I64) -> dict[str, pa.Array]:
    """The columns ``<prefix>_offset`` (int64) and ``<prefix>_time`` (timestamp[ms, UTC]).

    Args:
        image: The rows are of its records.
        prefix: Such as ``changed``.
        rows: int64[n]; -1 for a record that is not known.

    Both are null for such a row, and for what a checkpoint says: it happened at or before its last
    offset. An image folded from older files knows more.
    """
    rows = np.asarray(rows, dtype=np.int64)
    if not len(rows):
        offsets, times = pa.array([], pa.int64()), pa.array([], pa.timestamp("ms", tz="UTC"))
        return {f"{prefix}_offset": offsets, f"{prefix}_time": times}
    absent = rows < 0
    if absent.all():
        nothing = {"offset": pa.int64(), "time": pa.timestamp("ms", tz="UTC")}
        return {f"{prefix}_{name}": pa.nulls(len(rows), kind) for name, kind in nothing.items()}
    records = image.records
    # Any row will do in place of one that is not known.
    asked = np.where(absent, rows[~absent][0], rows)
    offset, known = records.offsets(asked)
    unknown = absent | ~known
    timestamps = records.frames_at(asked).timestamps(asked)
    return {
        f"{prefix}_offset": pa.array(offset, mask=unknown),
        f"{prefix}_time": pa.array(timestamps, mask=unknown).cast(pa.timestamp("ms", tz="UTC")),
    }


def before(image: Image, rows: I64) -> pa.Array:
    """timestamp[ms, UTC][n]: when a checkpoint ended that hides the times of rows; null for others.

    Its records happened then or before.

    Args:
        image: The rows are of its records.
        rows: int64[n]; -1 for a record that is not known.
    """
    rows = np.asarray(rows, dtype=np.int64)
    kind = pa.timestamp("ms", tz="UTC")
    ms = image.records.checkpoint_time_ms
    present = np.flatnonzero(rows >= 0)
    if ms is None or ms <= 0 or not len(present):
        return pa.nulls(len(rows), kind)
    hidden = np.zeros(len(rows), dtype=np.bool_)
    hidden[present] = ~image.records.offsets(rows[present])[1]
    return pa.array(np.full(len(rows), ms), mask=~hidden).cast(kind)
