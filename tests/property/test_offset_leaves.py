"""Committed offsets that are listed from columns are those asked one by one, whatever they hold."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftgen.batch import Record, control_record, encode_batch
from metashell.fs import leaf_table
from metashell.fs.nodes.partitioned import PartitionsDirectory
from metashell.log.chain import COMPACTED
from metashell.log.read import MemoryFile, load
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog
from support.group_trees import check_grids, directory_of, nodes_below
from support.keyed_logs import types_of

LOG = CoordinatorLog.GROUPS
NAMES = (b"a", b"b", b"", b"a/b", b"A", b"\xc3\xa9", b"\xf0\x9f\x98\x80", b"\xff", b"\xfe")
"""The last two have one text."""
TIMES = (-1, 0, 1_790_000_000_000, 253_402_300_799_999, 253_402_300_800_000, 2**63 - 1, -(2**63))
TOPIC_ID = bytes(range(16))
NO_ID = bytes(16)
TYPES = (0, 1)
"""Of the commits of old and of new."""


@dataclass(frozen=True)
class _Commit:
    type: int
    group: bytes
    topic: bytes
    partition: int
    version: int | None
    metadata: bytes
    time: int
    topic_id: bytes | None
    producer: int


COMMITS = st.builds(
    _Commit,
    type=st.sampled_from(TYPES),
    group=st.sampled_from(NAMES),
    topic=st.sampled_from(NAMES),
    partition=st.sampled_from((0, 1, 2, 9, 10, -1, 2**31 - 1)),
    version=st.sampled_from((None, 0, 1, 2, 3, 4)),
    metadata=st.sampled_from((b"", b"m", b"x\ny", b"\xff\xc3", b"\xe2\x80\xa8", b'"\\')),
    time=st.sampled_from(TIMES),
    topic_id=st.sampled_from((None, NO_ID, TOPIC_ID)),
    producer=st.sampled_from((-1, -1, -1, 7, 8)),
)
ENDS = st.tuples(st.sampled_from((7, 8)), st.booleans())


def _text(raw: bytes) -> bytes:
    return struct.pack(">h", len(raw)) + raw


def _record(commit: _Commit, offset: int) -> Record:
    """A record of a commit, written by hand: names need be no UTF-8."""
    key = struct.pack(">h", commit.type) + _text(commit.group) + _text(commit.topic)
    key += struct.pack(">i", commit.partition)
    if commit.version is None:
        return Record(key=key, value=None)
    version = 0 if commit.type == 0 else commit.version
    value = struct.pack(">hq", version, offset)
    if version >= 3:
        value += struct.pack(">i", offset - 1)
    if version < 4:
        value += _text(commit.metadata) + struct.pack(">q", commit.time)
        return Record(key=key, value=value + (struct.pack(">q", 5) if version == 1 else b""))
    value += bytes([len(commit.metadata) + 1]) + commit.metadata + struct.pack(">q", commit.time)
    tags = b"\0" if commit.topic_id is None else b"\1\0\x10" + commit.topic_id
    return Record(key=key, value=value + tags)


def _records(events: list[_Commit | tuple[int, bool]]) -> KeyedRecords:
    """A log of commits, and of ends of the transactions of some."""
    data = b""
    for offset, event in enumerate(events):
        if isinstance(event, _Commit):
            record, producer, is_control = _record(event, offset), event.producer, False
        else:
            producer, commits = event
            record, is_control = control_record(int(commits), struct.pack(">hi", 0, 0)), True
        data += encode_batch(
            [record],
            base_offset=offset,
            producer_id=producer,
            control=is_control,
            transactional=producer >= 0,
        )
    file = MemoryFile("00000000000000000000.log", memoryview(data))
    return KeyedRecords(load([file], None, COMPACTED), types_of(LOG))


def _tree(groups: PartitionsDirectory) -> dict[tuple[str, ...], str | None]:
    """The text of each leaf."""
    return {
        names: None if node.is_dir else node.text()  # type: ignore[union-attr]
        for names, node in nodes_below(groups)
    }


@given(st.lists(st.one_of(COMMITS, COMMITS, COMMITS, ENDS), max_size=60))
def test_grids_are_their_nodes(events: list[_Commit | tuple[int, bool]]) -> None:
    """Names, times and texts; a group by itself is the same as among all."""
    records = _records(events)
    check_grids(directory_of(records))
    every = _tree(directory_of(records))
    for name in {names[0] for names in every if "\ufffd" not in names[0]}:
        alone = directory_of(records)
        assert alone.child(name) is not None
        found = _tree(directory_of(records.about(name)))
        assert found == {names: text for names, text in every.items() if names[0] == name}


def test_many_groups_whose_names_are_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than are looked at one by one, with texts that are made in several pieces."""
    monkeypatch.setattr(leaf_table, "_TOGETHER", 3)
    commit = _Commit(1, b"", b"t", 0, 3, b"", 0, None, -1)
    names = [b"\xff", b"\xfe", *(b"g%d" % i for i in range(40)), b"\xfd"]
    commits = [replace(commit, group=name) for name in names]
    commits += [replace(commit, group=b"h", partition=i) for i in range(20)]
    groups = directory_of(_records(commits))
    check_grids(groups)
    assert len(groups.names()) == 42
