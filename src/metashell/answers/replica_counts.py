"""Rows of replicas on disks: counted by topic, broker, directory or state, and those unused."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.replica_states import ReplicaState

STRAY_STATES: Final = (ReplicaState.BECOMES_STRAY, ReplicaState.STRAY)


def is_in(rows: pa.Table, *states: ReplicaState) -> pa.ChunkedArray:
    """Which rows are in one of some states."""
    return pc.is_in(rows["state"], pa.array([state.text for state in states]))


def counted(rows: pa.Table, by: str) -> pa.Table:
    """Directories and bytes of the rows with each value of a column, the most bytes first."""
    stray, missing = is_in(rows, *STRAY_STATES), is_in(rows, ReplicaState.MISSING)
    n_bytes = pc.fill_null(rows["bytes"], 0)
    sums = {
        "directories": pc.invert(missing).cast(pa.int64()),
        "bytes": n_bytes,
        "stray": stray.cast(pa.int64()),
        "stray_bytes": pc.if_else(stray, n_bytes, 0),
        "missing": missing.cast(pa.int64()),
    }
    wide = pa.table({by: rows[by], **sums, "last_time": rows["last_time"]})
    found = wide.group_by(by).aggregate([*((name, "sum") for name in sums), ("last_time", "max")])
    return found.rename_columns(wide.column_names).sort_by(
        [("bytes", "descending"), (by, "ascending")]
    )


def unused(rows: pa.Table, age_ms: int, now_ms: int) -> pa.Table:
    """The rows of logs without a record of a time.

    Args:
        rows: The rows.
        age_ms: How long ago that time is.
        now_ms: Until when that is counted, ms since the epoch; -1 for the last record of all rows.
    """
    times = rows["last_time"].cast(pa.int64())
    newest = now_ms if now_ms >= 0 else pc.max(times).as_py() or 0
    is_old = pc.fill_null(pc.less(times, newest - age_ms), True)
    # A log that could not be read has no end.
    is_read = pc.or_(pc.is_valid(rows["log_end_offset"]), pc.equal(rows["segments"], 0))
    return rows.filter(pc.and_(is_old, pc.fill_null(is_read, False)))
