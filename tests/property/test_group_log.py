"""Groups of a whole log, read off few of its commits, are those of all of them."""

from __future__ import annotations

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kraftgen.batch import Record, encode_batch
from metashell.answers.groups import groups_table
from metashell.answers.offsets import offsets_table
from metashell.image.coordinators.group_log import GroupLog
from metashell.lazy import lazy
from metashell.log.partition import CoordinatorPartition
from metashell.log.read import MemoryFile, load
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.arena import I64
from metashell.schema.coordinators import CoordinatorLog, load_record_types
from metashell.schema.encode import encode_control_key, encode_message

TYPES = load_record_types(CoordinatorLog.GROUPS)
GROUPS = ("a", "b", "a/b", "")
WHAT = ("commit", "drop", "old", "classic", "no-classic", "consumer", "no-consumer", "epoch")
EVENTS = st.lists(
    st.tuples(st.sampled_from(WHAT), st.sampled_from(GROUPS), st.integers(0, 2), st.booleans()),
    max_size=40,
)


def _record(what: str, group: str, partition: int, number: int) -> Record:
    """A record about a group."""
    name, key, version, value = {
        "commit": ("OffsetCommit", {"topic": "t", "partition": partition}, 3, {"offset": number}),
        "drop": ("OffsetCommit", {"topic": "t", "partition": partition}, 3, None),
        "old": ("LegacyOffsetCommit", {"topic": "t", "partition": partition}, 0, {"offset": 5}),
        "classic": ("GroupMetadata", {}, 3, {"protocol_type": "consumer", "generation": number}),
        "no-classic": ("GroupMetadata", {}, 3, None),
        "consumer": ("ConsumerGroupMetadata", {}, 0, {"epoch": number}),
        "no-consumer": ("ConsumerGroupMetadata", {}, 0, None),
        "epoch": ("ConsumerGroupTargetAssignmentMetadata", {}, 0, {"assignment_epoch": -1}),
    }[what]
    spec = TYPES.by_name[name]
    low = spec.key.versions.low
    group_field = spec.key.fields[0].column_name
    key_bytes = encode_message(spec.key, low, {group_field: group, **key})  # type: ignore[dict-item]
    value_bytes = None
    if value is not None:
        value_bytes = struct.pack(">h", version) + encode_message(spec.value, version, value)
    return Record(key=struct.pack(">h", spec.number) + key_bytes, value=value_bytes)


def _records(events: list[tuple[str, str, int, bool]]) -> KeyedRecords:
    """A log of the events; some commits are of a transaction, which ends behind the next."""
    data = b""
    offset = 0
    for number, (what, group, partition, in_transaction) in enumerate(events):
        producer = 7 if in_transaction and what in ("commit", "drop") else -1
        for record in (_record(what, group, partition, number),):
            data += encode_batch(
                [record], base_offset=offset, transactional=producer >= 0, producer_id=producer
            )
            offset += 1
        if number % 5 == 4:
            marker = Record(key=encode_control_key(number % 2), value=bytes(6))
            data += encode_batch(
                [marker], base_offset=offset, control=True, transactional=True, producer_id=7
            )
            offset += 1
    file = MemoryFile("00000000000000000000.log", memoryview(data))
    kind = CoordinatorPartition(CoordinatorLog.GROUPS, 0).kind
    return KeyedRecords(load([file], None, kind), TYPES)


class _OfAllCommits(GroupLog):
    """Groups of a log, of which every commit is looked at."""

    @lazy
    def _telling_commits(self) -> I64:
        return np.arange(len(self.commits.rows))


@given(EVENTS)
def test_few_commits_tell_what_all_do(events: list[tuple[str, str, int, bool]]) -> None:
    """Groups, the records that made them, refused records and offsets."""
    records = _records(events)
    log, whole = GroupLog(records, 0), _OfAllCommits(records, 0)
    assert groups_table(whole) == groups_table(log)
    assert offsets_table(whole) == offsets_table(log)
    assert whole.refusals() == log.refusals()
    made = (each.events.row[each.state.made].tolist() for each in (whole, log))
    assert sorted(next(made)) == sorted(next(made))


@given(EVENTS)
def test_every_record_has_the_number_of_its_group(
    events: list[tuple[str, str, int, bool]],
) -> None:
    """Equal for equal groups, for commits too that tell nothing."""
    log = GroupLog(_records(events), 0)
    frames = log.records.frames
    rows = np.flatnonzero(~frames.is_control)
    numbers = log.groups_of_rows(rows).tolist()
    names = [group for _, group, _, _ in events]
    assert len(names) == len(numbers)
    assert len(set(names)) == len(set(numbers)) == len(set(zip(names, numbers, strict=True)))


def test_values_of_commits_are_read_where_they_are_wanted() -> None:
    """In the order asked for, of both types of commits."""
    log = GroupLog(_records([("old", "a", 0, False), ("commit", "a", 1, False)]), 0)
    values = log.commits.values(np.array([1, 0, 1]))
    assert [1, 5, 1] == values.offset.tolist()
    assert [-1, -1, -1] == values.leader_epoch.tolist()
    assert [-1, -1, -1] == values.expire_ms.tolist()
    assert ["", "", ""] == values.metadata.texts()
