"""Transactions in the metadata log: which records belong to one that was aborted or is still open.

Source: KIP-868, org.apache.kafka.image.loader.MetadataBatchLoader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from metashell.records.records import Records
    from metashell.schema.arena import AnyArray, Bools

_BEGIN, _END, _ABORT = 23, 24, 25
MARKERS: Final = {
    _BEGIN: "BeginTransactionRecord",
    _END: "EndTransactionRecord",
    _ABORT: "AbortTransactionRecord",
}
"""Messages that begin, end and abort a transaction, by their api keys. Source: KIP-868."""


def is_marker(keys: AnyArray) -> Bools:
    """Which api keys are those of `MARKERS`: bool[n]."""
    marks: Bools = (keys >= _BEGIN) & (keys <= _ABORT)
    return marks


def applied_rows(records: Records) -> tuple[Bools, int | None]:
    """Which records are replayed and belong to no aborted or unfinished transaction.

    Returns:
        (bool[n], the row of the record that began a transaction which is still open, or None).
    """
    applied = records.counted.copy()
    keys = records.frames.api_key.narrow
    markers = np.flatnonzero(is_marker(keys) & applied)
    if markers.size:
        # One that can't be read is no marker.
        markers = np.sort(
            np.concatenate(
                [
                    records.decode(name, markers[keys[markers] == key], ())[0]
                    for key, name in MARKERS.items()
                ]
            )
        )
    begun = -1
    for row in markers.tolist():
        key = int(keys[row])
        if key == _BEGIN:
            if begun < 0:
                begun = row
            else:
                records.fault(row, "a transaction begins inside an open one")
        elif begun < 0:
            what = "ends" if key == _END else "is aborted"
            records.fault(row, f"a transaction {what} that never began")
        else:
            if key == _ABORT:
                applied[begun:row] = False
            begun = -1
    if begun < 0:
        return applied, None
    applied[begun:] = False
    return applied, begun
