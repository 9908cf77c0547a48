"""Keys of commits: which are the same, whatever bytes they have."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kraftgen.batch import Record, encode_batch
from kraftgen.files import segment_name
from metashell.image.coordinators.commits import number_commits
from metashell.image.coordinators.group_log import GroupLog
from metashell.log.chain import COMPACTED
from metashell.log.read import load
from metashell.places.place import MemoryFile
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog
from metashell.schema.encode import encode_message
from support.implementations import IMPLEMENTATIONS, implemented_by
from support.keyed_logs import Put, records_of, types_of

_TYPES = types_of(CoordinatorLog.GROUPS)
_NAMES = st.sampled_from(["", "a", "ab", "b"])
_KEY = st.tuples(_NAMES, _NAMES, st.sampled_from([0, 1, 256]))
_FORM = st.tuples(st.sampled_from(["OffsetCommit", "LegacyOffsetCommit"]), st.binary(max_size=2))


def _record(key: tuple[str, str, int], form: tuple[str, bytes]) -> Record:
    """A tombstone of a key, as a commit of a type, with some bytes behind the key."""
    spec, trailing = _TYPES.by_name[form[0]], form[1]
    fields = dict(zip(("group", "topic", "partition"), key, strict=True))
    body = encode_message(spec.key, spec.key.versions.low, fields)
    return Record(key=struct.pack(">h", spec.number) + body + trailing, value=None)


@given(st.lists(st.tuples(_KEY, st.one_of(st.just(("OffsetCommit", b"")), _FORM)), max_size=12))
def test_keys_are_the_same_where_their_fields_are(
    drawn: list[tuple[tuple[str, str, int], tuple[str, bytes]]],
) -> None:
    """Their numbers are; the first commit of each is the first of the log."""
    keys = [key for key, _ in drawn]
    data = encode_batch([_record(*each) for each in drawn]) if drawn else b""
    for implementation in IMPLEMENTATIONS:
        with implemented_by(implementation):
            file = MemoryFile(segment_name(0), memoryview(data))
            records = KeyedRecords(load([file], kind=COMPACTED), _TYPES)
            found = number_commits(GroupLog(records, 0).commits)
        decoded = list(
            zip(
                found.keys.group.texts(),
                found.keys.topic.texts(),
                found.keys.partition.tolist(),
                strict=True,
            )
        )
        assert keys == [decoded[number] for number in found.numbers.tolist()]
        assert [keys.index(key) for key in decoded] == found.firsts.tolist()
        assert len(set(keys)) == len(decoded)


def test_fields_that_a_type_lacks(tmp_path: Path) -> None:
    """An old commit has no leader epoch and does not expire: both are -1."""
    key = {"group": "g", "topic": "t", "partition": 0}
    value = {"offset": 7, "commit_timestamp": 1, "leader_epoch": 3}
    puts = [
        Put(name="LegacyOffsetCommit", key=key, value=value),
        Put(name="OffsetCommit", key=key, value=value, version=3),
    ]
    records = records_of(tmp_path / segment_name(0), CoordinatorLog.GROUPS, puts)
    found = GroupLog(records, 0).commits.values(np.arange(2))

    assert [7, 7] == found.offset.tolist()
    assert [-1, 3] == found.leader_epoch.tolist()
    assert [-1, -1] == found.expire_ms.tolist()
