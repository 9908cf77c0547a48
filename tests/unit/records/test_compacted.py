"""Where the records of a log begin of which compaction removed none."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftgen.batch import encode_raw_batch
from metashell.log.chain import COMPACTED
from metashell.log.read import load
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog
from support.keyed_logs import commit, encode, types_of

HEADER_BYTES = 61


def batch(offset: int, span: int = 1) -> bytes:
    """A batch with one record, of as many offsets as it had before compaction."""
    record = encode(types_of(CoordinatorLog.GROUPS), commit("g", "t", offset), offset)
    return encode_raw_batch(
        record[HEADER_BYTES:], count=1, base_offset=offset, last_offset_delta=span - 1,
        leader_epoch=1, timestamp=1_790_000_000_000,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("batches", "first"),
    [
        ([batch(0), batch(1), batch(2)], 0),
        ([batch(0), batch(1, span=3), batch(4)], 2),
        ([batch(0), batch(4), batch(5)], 1),
        ([batch(0, span=2), batch(2), batch(9)], 2),
        ([batch(0), batch(1, span=2)], 2),
    ],
    ids=["none", "within a batch", "between two", "both", "at the end"],
)
def test_complete_from(batches: list[bytes], first: int, tmp_path: Path) -> None:
    """Behind the last gap, within a batch or between two, nothing is missing."""
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(b"".join(batches))
    records = KeyedRecords(load([str(path)], kind=COMPACTED), types_of(CoordinatorLog.GROUPS))
    assert first == records.complete_from
