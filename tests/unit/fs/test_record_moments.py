"""What rows of coordinators' nodes mean, asked one by one and many at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from metashell.fs.node import Directory, Node
from metashell.fs.nodes.partitioned import PartitionsDirectory, PartitionsReader
from metashell.fs.record_moments import ROW_BITS, RecordHeads, RecordMoments
from metashell.fs.touch_times import ask_children
from metashell.log.time_spec import TimeSpec
from metashell.parts.known import coordinator_roots
from metashell.records.keyed_records import KeyedRecords
from metashell.redact import Redaction
from metashell.schema.coordinators import CoordinatorLog
from support.fixtures import fixture_dir
from support.keyed_logs import START_MS, Put, commit, records_of
from support.node_sources import D1, opened


def _all_times(records: dict[int, KeyedRecords]) -> list[int]:
    rows = [
        number << ROW_BITS | row for number, each in records.items() for row in range(each.n_rows)
    ]
    return [-1, *rows, -1]


def test_moments_are_the_same_one_by_one(tmp_path: Path) -> None:
    """However often and in whatever order rows are asked for."""
    records = {
        number: records_of(
            tmp_path / f"{number}.log",
            CoordinatorLog.GROUPS,
            [commit(f"g{i}", "t", i, at_ms=START_MS + i * number) for i in range(20)],
        )
        for number in (0, 7)
    }
    heads = {number: RecordHeads(each) for number, each in records.items()}
    fresh = {number: RecordHeads(each) for number, each in records.items()}
    times = _all_times(records)
    at_once = RecordMoments(fresh.__getitem__).of(times)
    assert at_once[2] is not None
    assert (at_once[2].offset, at_once[2].timestamp_ms) == (1, START_MS)
    one_by_one = RecordMoments(heads.__getitem__)
    for time, moment in zip(reversed(times), reversed(at_once), strict=True):
        assert one_by_one.of([time]) == [moment]
    rows = np.array(times)
    for time_spec in (TimeSpec(offset=3), TimeSpec(timestamp_ms=START_MS + 35)):
        since, before = one_by_one.since(time_spec, rows), one_by_one.before(time_spec, rows)
        for i, time in enumerate(times):
            row = np.array([time])
            assert one_by_one.since(time_spec, row)[0] == since[i]
            assert one_by_one.before(time_spec, row)[0] == before[i]
        assert (since ^ before).tolist() == [time >= 0 for time in times]


def _share(group: str, partition: int, at_ms: int) -> Put:
    key = {"group_id": group, "topic_id": bytes(15) + b"\x01", "partition": partition}
    return Put(name="ShareSnapshot", key=key, value={"start_offset": 1}, at_ms=at_ms)


def _share_directory(tmp_path: Path) -> PartitionsDirectory:
    """A group in two partitions: the last change is in the first of them."""
    records = {}
    for number, at_ms in ((0, START_MS + 9000), (1, START_MS)):
        entries = [_share("g", number, at_ms)]
        if number:
            entries.append(_share("other", 0, at_ms + 1))
        records[number] = records_of(tmp_path / f"{number}.log", CoordinatorLog.SHARE, entries)
    reader = PartitionsReader(
        topic=CoordinatorLog.SHARE.value,
        partitions=[0, 1],
        read=lambda number: (records[number], ()),
        partition_of=lambda _: None,
        topics=dict,
        redaction=Redaction(),
        is_shards=True,
    )
    return PartitionsDirectory(reader, coordinator_roots()["share"])


def test_last_change_of_a_shards_group(tmp_path: Path) -> None:
    """Of several partitions the newest record counts by its time."""
    share = _share_directory(tmp_path)
    times = [times for name in ("g", "other") if (times := _child(share, name).times())]
    assert [each.changed for each in times] == [0, 1 << ROW_BITS | 1]
    share.names()
    assert share.child_times(["g", "no such", "other"])[1].tolist() == [0, -1, 1 << ROW_BITS | 1]


def _child(directory: Directory, name: str) -> Node:
    child = directory.child(name)
    assert child is not None
    return child


def _directories() -> Iterator[tuple[str, PartitionsDirectory]]:
    source = opened(D1, fixture_dir("node-44") / "broker102" / "d2")
    yield from source.coordinator_directories.items()


@pytest.mark.parametrize("name", ["groups", "transactions", "share"])
def test_children_are_told_at_once(name: str) -> None:
    """Times of all children are those that each tells, and none is known of others."""
    directory = dict(_directories())[name]
    names = [*directory.names(), "no such name"]
    assert names[:-1]
    created, changed = directory.child_times(names)
    expected_created, expected_changed = ask_children(directory, names)
    assert changed.tolist() == expected_changed.tolist()
    assert created.tolist() == expected_created.tolist()
    assert (changed[:-1] >= 0).any()
