"""Which row groups of an entry's file may have records of a topic."""

from __future__ import annotations

import io
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metashell.sources.cache.groups import GroupEntry
from metashell.sources.cache.manifest import GroupFile


def entry_of(*topics: int | None) -> GroupEntry:
    """An entry of records about topics, two a row group."""
    ids = [None if topic is None else topic.to_bytes(16, "big") for topic in topics]
    table = pa.table({"row": range(len(ids)), "topic_id": pa.array(ids, pa.binary(16))})
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=2)
    bounds = (*range(0, len(ids), 2), len(ids))
    about = GroupFile(file="f", size=0, crc=0, rows=len(ids), bounds=bounds)
    return GroupEntry("topics", about, cast("Any", file.getvalue()))


@pytest.mark.parametrize(
    ("topic", "row_groups"),
    [(0, []), (1, [0]), (2, [0]), (3, [1, 2]), (4, [2]), (5, []), (9, [3]), (10, [])],
)
def test_row_groups_of_a_topic(topic: int, row_groups: list[int]) -> None:
    """Those between whose least and greatest topic it lies, both included."""
    entry = entry_of(1, 2, 3, 3, 3, 4, 6, 9, None, None)

    assert row_groups == entry.with_topic(topic.to_bytes(16, "big"))
