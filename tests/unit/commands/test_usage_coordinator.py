"""``stats`` and ``du`` of a coordinator's log: counts are those of Kafka's classes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from metashell.answers.usage.coordinator import CoordinatorUsage
from metashell.read_settings import READ_DEFAULTS
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog, load_record_types
from metashell.sources.coordinator import CoordinatorSource, open_coordinator
from support.coordinators import (
    IDS,
    NODE,
    RECORDS,
    RecordedSegment,
    differing_segments,
    recorded_segments,
)
from support.fixtures import fixture_dir
from support.shell import run_on

D1 = fixture_dir(NODE) / "broker102" / "d1"
OFFSETS, TRANSACTIONS = D1 / "__consumer_offsets-0", D1 / "__transaction_state-1"


def opened(path: Path) -> CoordinatorSource:
    """Open a partition's directory."""
    source = open_coordinator(str(path), READ_DEFAULTS, None, is_file=False)
    assert source is not None
    return source


def rows(source: CoordinatorSource, line: str) -> list[dict[str, Any]]:
    """Run a command and read its rows."""
    return [json.loads(row) for row in run_on(source, f"{line} -o jsonl").out.splitlines()]


def superseded_by_dict(records: KeyedRecords) -> set[int]:
    """Rows that compaction drops, by a dict and a walk over all records."""
    frames = records.frames
    n = len(frames)
    transactional = (frames.batches.header["attributes"] & 0x10 != 0)[frames.batch].tolist()
    producers, control = frames.producer_ids(slice(None)).tolist(), frames.is_control.tolist()
    ends = dict(zip(records.markers.rows.tolist(), records.markers.is_commit.tolist(), strict=True))
    pending: dict[int, list[int]] = {}
    applies, dropped = [True] * n, set()
    for row in range(n):
        if row in ends:
            for of in pending.pop(producers[row], []):
                applies[of] = ends[row]
                if not ends[row]:
                    dropped.add(of)
        elif transactional[row] and not control[row] and producers[row] >= 0:
            pending.setdefault(producers[row], []).append(row)
            applies[row] = False
    keys = frames.keys(range(n))
    newest = {k: i for i, k in enumerate(keys) if applies[i] and not control[i]}
    for row, key in enumerate(keys):
        if key is not None and not control[row] and newest.get(key, -1) > row:
            dropped.add(row)
    return dropped


@pytest.mark.parametrize("segment", differing_segments(), ids=IDS)
def test_what_compaction_drops_is_found_by_columns(segment: RecordedSegment) -> None:
    """As a dict of keys finds it, also with transactions that were aborted or are open."""
    records = KeyedRecords(segment.load(), load_record_types(CoordinatorLog(segment.topic)))
    expected = superseded_by_dict(records)
    usage = CoordinatorUsage(records, ("type", "hour"), 3)
    assert len(expected) == usage.totals["superseded_records"]
    frames = records.frames
    sizes = [
        len(key or b"") + len(value or b"")
        for key, value in zip(frames.keys(range(len(frames))), frames.values(range(len(frames))),
                              strict=True)
    ]  # fmt: skip
    assert sum(sizes) == usage.n_bytes
    assert sum(sizes[row] for row in expected) == usage.totals["superseded_bytes"]
    assert len(frames) == usage.n_records
    for by in ("type", "hour"):
        found, others = usage.rows(by)
        assert 0 == others.rows
        assert usage.n_bytes == sum(row.bytes for row in found)
        n_superseded = [row.marks["superseded_records"] for row in usage.by_records(by)]
        assert len(expected) == sum(n_superseded)


def test_records_are_counted_by_type() -> None:
    """As Kafka's classes tell the types."""
    source = opened(OFFSETS)
    segments = [s for s in recorded_segments() if s.path.parent == OFFSETS]
    kafka = Counter(record["keyType"] for s in segments for record in s.records)
    assert sorted(kafka.values()) == sorted(row["records"] for row in rows(source, "du"))


def test_records_are_counted_by_group_and_topic() -> None:
    """A row for each id; records about none have null."""
    source = opened(OFFSETS)
    groups = {row["group"]: row for row in rows(source, "du --by group")}
    log = [json.loads(line) for line in run_on(source, "log --json").out.splitlines()]
    expected: Counter[str] = Counter()
    for record in log:
        data = record["key"]["data"]
        expected[data.get("group", data.get("groupId"))] += 1
    assert dict(expected) == {name: row["records"] for name, row in groups.items()}
    topics = {row["topic"]: row["records"] for row in rows(source, "du --by topic")}
    of_topics = Counter(record["key"]["data"].get("topic") for record in log)
    assert dict(of_topics) == topics
    assert [139, 139] == [groups[name]["superseded"] for name in ("n-roll-1", "n-roll-5")]


def test_damage_is_told_and_the_rest_counted() -> None:
    """The exit status is 1 where a batch could not be read."""
    broken = fixture_dir(RECORDS) / "broken-crc"
    (segment,) = broken.glob("*.log")
    records = KeyedRecords(
        next(s for s in recorded_segments() if s.path == segment).load(),
        load_record_types(CoordinatorLog.GROUPS),
    )
    usage = CoordinatorUsage(records, ("type",))
    assert 1 == len(usage.files)
    assert usage.files[0].faults
