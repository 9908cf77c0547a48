"""The state of share partitions by columns is that of a replay with a dict of offsets."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftgen.batch import Record, encode_batch
from kraftgen.files import segment_name
from metashell.image.coordinators.share_state import ShareState, fold_share
from metashell.log.chain import COMPACTED
from metashell.log.read import load
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog, load_record_types
from metashell.schema.encode import encode_message

_TYPES: Final = load_record_types(CoordinatorLog.SHARE)
_OFFSET: Final = st.integers(0, 20)
_BATCH: Final = st.tuples(_OFFSET, _OFFSET, st.sampled_from([0, 2, 4]), st.integers(1, 3))
_KEPT: Final = -1
_EVENT: Final = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["ShareSnapshot", "ShareUpdate", "ShareUpdate", "ShareUpdate", ""]),
        "key": st.integers(0, 2),
        "epoch": st.integers(-1, 2),
        "start": st.integers(-1, 15),
        "complete": st.integers(-1, 3),
        "batches": st.lists(_BATCH, max_size=4),
    }
)


@pytest.fixture(scope="module", name="path")
def fixture_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a segment's path, which examples write again and again."""
    return tmp_path_factory.mktemp("share") / segment_name(0)


@dataclass
class Partition:
    """What a broker has of a share partition."""

    epoch: int
    start: int
    complete: int
    created: int
    written: list[tuple[int, int, int, int]] | None
    """The batches of one record alone, as they are."""
    offsets: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Else of each offset the delivery count and the state."""


def _lay(partition: Partition, batches: list[tuple[int, int, int, int]]) -> None:
    for first, last, state, count in batches:
        for offset in range(first, last + 1):
            before = partition.offsets.get(offset, (-1, -1))
            partition.offsets[offset] = max(before, (count, state))


def replay(events: list[dict[str, Any]]) -> dict[int, Partition]:
    """What ShareCoordinatorShard does, one record after the other."""
    there: dict[int, Partition] = {}
    for row, event in enumerate(events):
        key, batches = event["key"], event["batches"]
        if event["kind"] == "":
            there.pop(key, None)
        elif event["kind"] == "ShareSnapshot" or key not in there:
            created = there[key].created if key in there else row
            there[key] = Partition(
                event["epoch"], event["start"], event["complete"], created, batches
            )
        else:
            found = there[key]
            if found.written is not None:
                _lay(found, found.written)
                found.written = None
            _lay(found, batches)
            found.complete = event["complete"]
            found.epoch = found.epoch if event["epoch"] == _KEPT else event["epoch"]
            found.start = found.start if event["start"] == _KEPT else event["start"]
            kept = {o: s for o, s in found.offsets.items() if o >= found.start}
            found.offsets = kept
    return there


def _segment(path: Path, events: list[dict[str, Any]]) -> KeyedRecords:
    records = []
    for event in events:
        record_type = _TYPES.by_name[event["kind"] or "ShareSnapshot"]
        key = {"group_id": "g", "topic_id": UUID(int=1).bytes, "partition": event["key"]}
        value: dict[str, Any] = {
            "snapshot_epoch": 0,
            "state_epoch": 0,
            "leader_epoch": event["epoch"],
            "start_offset": event["start"],
            "delivery_complete_count": event["complete"],
            "create_timestamp": 0,
            "write_timestamp": 0,
            "state_batches": [
                dict(
                    zip(
                        ("first_offset", "last_offset", "delivery_state", "delivery_count"),
                        batch,
                        strict=True,
                    )
                )
                for batch in event["batches"]
            ],
        }
        names = {each.column_name for each in record_type.value.fields}
        body = encode_message(record_type.value, 0, {n: v for n, v in value.items() if n in names})
        records.append(
            Record(
                key=struct.pack(">h", record_type.number) + encode_message(record_type.key, 0, key),
                value=struct.pack(">h", 0) + body if event["kind"] else None,
            )
        )
    path.write_bytes(encode_batch(records) if records else b"")
    return KeyedRecords(load([str(path)], kind=COMPACTED), _TYPES)


def _runs(offsets: dict[int, tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    found: list[tuple[int, int, int, int]] = []
    for offset in sorted(offsets):
        count, state = offsets[offset]
        if found and found[-1][1:] == (offset - 1, state, count):
            found[-1] = (found[-1][0], offset, state, count)
        else:
            found.append((offset, offset, state, count))
    return found


def batches_of(state: ShareState, i: int) -> list[tuple[int, int, int, int]]:
    """The batches of a partition: first and last offset, state and count."""
    at = slice(int(state.batches.list_offsets[i]), int(state.batches.list_offsets[i + 1]))
    columns = (state.batches.first, state.batches.last, state.batches.state, state.batches.count)
    return list(zip(*(column[at].tolist() for column in columns), strict=True))


@settings(max_examples=300)
@given(events=st.lists(_EVENT, max_size=30))
def test_columns_are_the_replay(path: Path, events: list[dict[str, Any]]) -> None:
    """Whatever is written, laid over, dropped and deleted, in whatever order."""
    state = fold_share(_segment(path, events))
    expected = sorted(replay(events).items(), key=lambda each: each[1].created)
    assert [key for key, _ in expected] == state.partition.tolist()
    for i, (_, partition) in enumerate(expected):
        assert [partition.epoch, partition.start, partition.complete, partition.created] == [
            state.leader_epoch[i],
            state.start_offset[i],
            state.complete[i],
            state.created[i],
        ]
        written = partition.written
        assert batches_of(state, i) == (_runs(partition.offsets) if written is None else written)


def test_long_histories(path: Path) -> None:
    """A million offsets in pieces of one are laid over each other at once."""
    batches = [(i, i, 2 * (i % 2), 1) for i in range(5_000)]
    first = {"kind": "ShareSnapshot", "key": 0, "epoch": 0, "start": 0, "complete": 0}
    cover = [(0, 1_000_000, 0, 1), (10, 4_000, 0, 2)]
    events = [{**first, "batches": batches}, {**first, "kind": "ShareUpdate", "batches": cover}]
    state = fold_share(_segment(path, events))
    found = batches_of(state, 0)
    assert (10, 4_000, 0, 2) in found
    assert found[-1] == (5_000, 1_000_000, 0, 1)
