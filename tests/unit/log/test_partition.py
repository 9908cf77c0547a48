"""Partitions of coordinators' topics: which files are read, and what is told of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from unittest.mock import patch

import pytest

from kraftgen.batch import Record, encode_batch
from metashell.errors import SourceError
from metashell.log import partition as module
from metashell.log.fault import FaultKind
from metashell.log.partition import (
    CoordinatorPartition,
    partition_at,
    partition_of,
    read_partition,
    read_segment,
)
from metashell.log.read import load
from metashell.places.vanished import VanishedError
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog, load_record_types
from support.coordinators import NODE
from support.fixtures import fixture_dir

BROKER = fixture_dir(NODE) / "broker101"
DIRECTORIES = sorted(
    path for path in fixture_dir(NODE).glob("broker*/d*/__*") if partition_of(path.name) is not None
)


def write(directory: Path, *base_offsets: int, records: int = 2) -> Path:
    """Write a directory of segments with a batch each."""
    directory.mkdir(exist_ok=True)
    for base in base_offsets:
        batch = [Record(key=b"\x00\x00", value=None) for _ in range(records)]
        (directory / f"{base:020d}.log").write_bytes(encode_batch(batch, base_offset=base))
    return directory


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("__consumer_offsets-3", "__consumer_offsets-3"),
        ("__transaction_state-49", "__transaction_state-49"),
        ("__share_group_state-0", "__share_group_state-0"),
        ("__consumer_offsets-3.0123456789abcdef0123456789abcdef-future", "__consumer_offsets-3"),
        ("__cluster_metadata-0", None),
        ("orders-3", None),
        ("__consumer_offsets", None),
        ("", None),
    ],
)
def test_names(name: str, expected: str | None) -> None:
    """A directory's name says which partition it is, whatever is done with it."""
    found = partition_of(name)
    assert expected == (None if found is None else str(found))
    if name:
        assert found == partition_at(f"/data/{name}")
        assert found == partition_at(f"/data/{name}/{0:020d}.log", is_file=True)


@pytest.mark.parametrize("path", DIRECTORIES, ids=lambda p: f"{p.parts[-3]}-{p.name}")
def test_real_directories(path: Path) -> None:
    """Every coordinator's log of a real cluster is read whole, in offset order, without faults."""
    log = read_partition(str(path))
    records = KeyedRecords(log.loaded, load_record_types(log.partition.log))
    offsets = records.frames.offset[:].tolist()

    assert path.name == str(log.partition)
    assert [] == log.faults == log.notes == records.faults()
    assert sorted(p.name for p in path.glob("*.log")) == [s.name for s in log.segments]
    assert sorted(offsets) == offsets
    assert offsets[-1] <= log.last_offset
    assert records.refusal is None


def test_segment() -> None:
    """One segment alone is read as it is in its directory."""
    directory = BROKER / "d1" / "__consumer_offsets-3"
    whole = read_partition(str(directory))
    alone = read_segment(str(directory / whole.segments[0].name))

    assert (CoordinatorPartition(CoordinatorLog.GROUPS, 3), True) == (
        alone.partition,
        alone.is_file,
    )
    assert len(whole.loaded.files[0].chain.positions) == len(alone.loaded.files[0].chain.positions)
    assert (0, alone.path_of("x")) == (alone.first_offset, str(alone.place))


def test_gaps_are_for_compacted_logs(tmp_path: Path) -> None:
    """Missing offsets are a fault where no compaction removes any."""
    compacted = read_partition(str(write(tmp_path / "__consumer_offsets-0", 5, 20)))
    share = read_partition(str(write(tmp_path / "__share_group_state-0", 5, 20)))

    assert [] == compacted.faults
    assert [(FaultKind.GAP, "offsets 7 to 19 are missing", 7)] == [
        (f.kind, f.reason, f.offset) for f in share.faults
    ]
    assert (5, 21) == (share.first_offset, share.last_offset)


def test_other_name(tmp_path: Path) -> None:
    """A copy under any name is read where it is said which partition it is."""
    directory = write(tmp_path / "backup", 0)
    known = CoordinatorPartition(CoordinatorLog.TRANSACTIONS, 7)

    assert known == read_partition(str(directory), known).partition
    with pytest.raises(SourceError, match="not the log of a coordinator's partition"):
        read_partition(str(directory))
    with pytest.raises(SourceError, match="not the log of a coordinator's partition"):
        read_segment(str(directory / f"{0:020d}.log"))


def test_refused(tmp_path: Path) -> None:
    """A directory without segments, and a file without batches, are errors that say so."""
    empty = write(tmp_path / "__consumer_offsets-0")
    with pytest.raises(SourceError, match="no segment of __consumer_offsets-0 there"):
        read_partition(str(empty))
    for content, reason in ((b"", "it is empty"), (b"x" * 99, "no record batch")):
        (empty / f"{0:020d}.log").write_bytes(content)
        with pytest.raises(SourceError, match=f"not a segment of __consumer_offsets-0: {reason}"):
            read_segment(str(empty / f"{0:020d}.log"))
    with pytest.raises(SourceError, match="no such segment"):
        read_segment(str(empty / f"{9:020d}.log"))


def test_empty_newest_segment(tmp_path: Path) -> None:
    """A segment without a batch is what a broker makes when it rolls."""
    directory = write(tmp_path / "__consumer_offsets-0", 0)
    (directory / f"{2:020d}.log").write_bytes(b"")
    assert (1, []) == (
        read_partition(str(directory)).last_offset,
        read_partition(str(directory)).faults,
    )


def test_vanished_segment(tmp_path: Path) -> None:
    """A segment that goes between listing and opening is not missed."""
    directory = write(tmp_path / "__consumer_offsets-0", 0, 2)
    calls = []

    def deletes(*args: object) -> object:
        calls.append(args)
        if len(calls) == 1:
            (directory / f"{0:020d}.log").unlink()
        return load(*args)  # type: ignore[arg-type]

    with patch.object(module, "load", deletes):
        assert 2 == read_partition(str(directory)).first_offset
    assert 2 == len(calls)

    with (
        patch.object(module, "load", side_effect=VanishedError("gone")),
        pytest.raises(SourceError, match="keep vanishing"),
    ):
        read_partition(str(directory))


def test_damage_is_told(tmp_path: Path) -> None:
    """A torn tail is a fault and a note, and what is before it counts."""
    directory = tmp_path / "__consumer_offsets-3"
    shutil.copytree(BROKER / "d1" / directory.name, directory)
    newest = max(directory.glob("*.log"))
    newest.write_bytes(newest.read_bytes()[:-1])
    log = read_partition(str(directory))

    assert [FaultKind.TORN] == [fault.kind for fault in log.faults]
    assert ["shown up to the last whole batch"] == [note.split("; ")[-1] for note in log.notes]
