"""Metadata directories with files that do not fit together, for the findings about files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from kraftgen.batch import Damage, Record, encode_batch
from kraftgen.files import (
    LOG_DIR_NAME,
    checkpoint_bytes,
    checkpoint_name,
    control_batch,
    segment_name,
    write_indexes,
    write_leader_epochs,
    write_meta_properties,
    write_quorum_state,
)
from support.logs import make_directory, topic_batch, topic_record
from support.small_cluster import config, level, voters_batch


def _batches(parent: Path) -> Sequence[str]:
    """Batches whose headers are wrong in one way each, a segment for each."""
    bad: Sequence[tuple[Damage, int]] = (
        (Damage(magic=9), 0),
        (Damage(batch_length=3), 10),
        (Damage(last_offset_delta=-2), 20),
    )
    segments = [
        (
            at,
            topic_batch(at, 2) + encode_batch([topic_record(at + 2)], base_offset=at + 2, damage=d),
        )
        for d, at in bad
    ]
    apart = [Record(value=topic_record(i), offset_delta=i * 3) for i in range(2)]
    late = Record(value=topic_record(43), timestamp_delta=-50)
    segments += [
        (30, topic_batch(30, 2) + topic_batch(31, 2)),
        (40, encode_batch(apart, base_offset=40) + encode_batch([late], base_offset=43)),
        (50, topic_batch(50, 2) + topic_batch(48, 2)),
        (60, topic_batch(60, 2) + bytes(90)),
    ]
    return [make_directory(parent, *segments).name]


def _names(parent: Path) -> Sequence[str]:
    """Names, indexes and checkpoints that do not fit the segments."""
    directory = make_directory(
        parent, (0, topic_batch(0, 3)), (2, topic_batch(2, 2)), (9, topic_batch(12, 2))
    )
    (directory / segment_name(9)).rename(directory / segment_name(10))
    for name in (checkpoint_name(12, 1), "3.log", f"{20:020d}.index", f"{30:020d}.checkpoint.part"):
        (directory / name).write_bytes(b"")
    (directory / "notes.txt").write_bytes(b"")
    (directory / f"{0:020d}.log.cleaned").write_bytes(b"")
    values = [topic_record(1), config(2, "t1", "retention.ms", "1")]
    (directory / checkpoint_name(3, 1)).write_bytes(checkpoint_bytes(values))
    (directory / checkpoint_name(4, 1)).write_bytes(checkpoint_bytes(values)[90:])
    (directory / checkpoint_name(20, 7)).write_bytes(checkpoint_bytes(values))
    return [directory.name]


def _indexes(parent: Path) -> Sequence[str]:
    """Indexes with entries that lead nowhere, and one that is cut."""
    directory = make_directory(parent, *((at, topic_batch(at, 5)) for at in (0, 5, 10)))
    for at in (0, 5, 10):
        write_indexes(directory / segment_name(at), active=False)
    (directory / f"{0:020d}.index").write_bytes(b"\0\0\0\1\0\0\0\7")
    (directory / f"{0:020d}.timeindex").write_bytes(bytes(7) + b"\7\0\0\0\2")
    (directory / f"{5:020d}.index").write_bytes(b"\0\0\0")
    return [directory.name]


def _identity(parent: Path) -> Sequence[str]:
    """Files beside the log, each of which says something else than the log."""
    leader = control_batch([("LeaderChangeMessage", {"leader_id": 1, "voters": [{"voter_id": 1}]})])
    rest = topic_batch(1, 2, leader_epoch=3) + topic_batch(3, 2, leader_epoch=3)
    directory = make_directory(parent, (0, leader + rest))
    write_leader_epochs(directory, [(1, 0), (3, 2), (9, 40)])
    write_quorum_state(directory, data_version=0, leader_id=5, leader_epoch=3, voter_ids=(1, 7))
    (directory / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAg")
    write_meta_properties(parent, cluster_id="c", node_id=4)
    return [LOG_DIR_NAME]


def _voted(parent: Path) -> Sequence[str]:
    """A vote for another directory than the voter's, in an epoch with another leader."""
    values = [level("metadata.version", 27)]
    leader = control_batch(
        [("LeaderChangeMessage", {"leader_id": 1, "voters": [{"voter_id": 1}]})], base_offset=2
    )
    directory = make_directory(
        parent,
        (0, voters_batch([1, 2], dynamic=True) + leader + encode_batch(values, base_offset=3)),
    )
    write_leader_epochs(directory, [(1, 0)])
    write_quorum_state(
        directory, leader_id=2, leader_epoch=1, voted_id=2, voted_directory_id=bytes(15) + b"\x63"
    )
    write_meta_properties(parent, cluster_id="c", node_id=2, directory_id=bytes(15) + b"\x62")
    return [LOG_DIR_NAME]


def _gone(parent: Path) -> Sequence[str]:
    """A segment is gone, and a checkpoint is another state than its log."""
    segments = [(at, topic_batch(at, 2)) for at in (0, 2, 6)]
    directory = make_directory(parent, *segments)
    write_indexes(directory / segment_name(2), active=False)
    os.unlink(directory / segment_name(2))
    (directory / checkpoint_name(2, 1)).write_bytes(checkpoint_bytes([topic_record(8)]))
    return [directory.name]


FILES: Final[Mapping[str, Callable[[Path], Sequence[str]]]] = {
    "files-batches": _batches,
    "files-names": _names,
    "files-indexes": _indexes,
    "files-identity": _identity,
    "files-voted": _voted,
    "files-gone": _gone,
}
"""What lays each down in an empty directory, and names it."""
