"""Writes the files of a node's metadata log directory.

Owns the names and layouts of files around the batches: segments and their indexes, checkpoints,
``quorum-state``, ``leader-epoch-checkpoint``, ``partition.metadata``, ``meta.properties``.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from kraftgen.batch import HEADER, control_record, encode_batch
from metashell.schema.encode import encode_message
from metashell.schema.model import MessageSpec, load_registry
from metashell.schema.uuids import uuid_text

LOG_DIR_NAME: Final = "__cluster_metadata-0"

INDEX_BYTES: Final = 10 * 1024 * 1024
"""What Kafka preallocates for each index of the active segment, trailing zeros."""

_INDEX_INTERVAL_BYTES: Final = 4096


def segment_name(base_offset: int) -> str:
    """Name a segment by its first offset."""
    return f"{base_offset:020d}.log"


def checkpoint_name(end_offset: int, epoch: int) -> str:
    """Name a checkpoint by the offset after its last record and by that record's epoch."""
    return f"{end_offset:020d}-{epoch:010d}.checkpoint"


def checkpoint_head(
    *,
    epoch: int = 1,
    timestamp: int = 1_790_000_000_000,
    last_contained_timestamp: int | None = None,
    kraft_version: int | None = None,
    voters: Sequence[Mapping[str, object]] = (),
) -> bytes:
    """Write the control batch that opens a checkpoint.

    Args:
        epoch: The leader epoch of the checkpoint's batches.
        timestamp: When the checkpoint was written, in ms since the epoch.
        last_contained_timestamp: Time of the last record in it; None for `timestamp`.
        kraft_version: None, as with static voters, writes the header record alone.
        voters: Values of VotersRecord's voters.
    """
    last = timestamp if last_contained_timestamp is None else last_contained_timestamp
    messages: list[tuple[str, dict[str, object]]] = [
        ("SnapshotHeaderRecord", {"last_contained_log_timestamp": last})
    ]
    if kraft_version is not None:
        messages.append(("KRaftVersionRecord", {"k_raft_version": kraft_version}))
        messages.append(("VotersRecord", {"voters": list(voters)}))
    return control_batch(messages, epoch=epoch, timestamp=timestamp)


def checkpoint_foot(
    *, base_offset: int, epoch: int = 1, timestamp: int = 1_790_000_000_000
) -> bytes:
    """Write the control batch that closes a checkpoint."""
    return control_batch(
        [("SnapshotFooterRecord", {})], base_offset=base_offset, epoch=epoch, timestamp=timestamp
    )


def control_batch(
    messages: Iterable[tuple[str, Mapping[str, object]]],
    *,
    base_offset: int = 0,
    epoch: int = 1,
    timestamp: int = 1_790_000_000_000,
) -> bytes:
    """Write a control batch of (message name, fields), in the version that ``version`` names."""
    by_name = load_registry().by_name
    records = []
    for name, fields in messages:
        spec: MessageSpec = by_name[name]
        assert spec.control_type is not None
        version = fields.get("version", 0)
        assert isinstance(version, int)
        records.append(control_record(spec.control_type, encode_message(spec, version, fields)))
    return encode_batch(
        records, base_offset=base_offset, leader_epoch=epoch, timestamp=timestamp, control=True
    )


def checkpoint_bytes(
    values: Sequence[bytes],
    *,
    epoch: int = 1,
    timestamp: int = 1_790_000_000_000,
    batch_records: int = 1024,
    kraft_version: int | None = None,
    voters: Sequence[Mapping[str, object]] = (),
) -> bytes:
    """Write a whole checkpoint from records' values; offsets count from 0 inside it."""
    parts = [
        checkpoint_head(
            epoch=epoch, timestamp=timestamp, kraft_version=kraft_version, voters=voters
        )
    ]
    offset = 1 if kraft_version is None else 3
    for i in range(0, len(values), batch_records):
        chunk = values[i : i + batch_records]
        parts.append(
            encode_batch(chunk, base_offset=offset, leader_epoch=epoch, timestamp=timestamp)
        )
        offset += len(chunk)
    parts.append(checkpoint_foot(base_offset=offset, epoch=epoch, timestamp=timestamp))
    return b"".join(parts)


def write_indexes(segment: Path, *, active: bool = True) -> None:
    """Write the ``.index`` and ``.timeindex`` of a segment, sparse ones if it is the active one."""
    offsets, times = bytearray(), bytearray()
    base_offset = int(segment.stem)
    with segment.open("rb") as f:
        pos = indexed = 0
        while len(header := f.read(HEADER.size)) == HEADER.size:
            fields = HEADER.unpack(header)
            last_offset = fields[0] + fields[6]
            if pos - indexed > _INDEX_INTERVAL_BYTES:
                offsets += struct.pack(">ii", last_offset - base_offset, pos)
                times += struct.pack(">qi", fields[8], last_offset - base_offset)
                indexed = pos
            pos += fields[1] + 12
            f.seek(pos)
    # The size of a whole number of entries: 12 bytes do not divide 10 MiB.
    for suffix, entries, entry_bytes in ((".index", offsets, 8), (".timeindex", times, 12)):
        path = segment.with_suffix(suffix)
        path.write_bytes(entries)
        if active:
            os.truncate(path, max(len(entries), INDEX_BYTES // entry_bytes * entry_bytes))


def write_partition_metadata(directory: Path) -> None:
    """Write ``partition.metadata`` with the metadata topic's id."""
    (directory / "partition.metadata").write_text(
        "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ", newline="\n"
    )


def write_leader_epochs(directory: Path, starts: Sequence[tuple[int, int]]) -> None:
    """Write ``leader-epoch-checkpoint`` from (epoch, start offset)."""
    lines = ["0", str(len(starts)), *(f"{epoch} {offset}" for epoch, offset in starts)]
    (directory / "leader-epoch-checkpoint").write_text("\n".join(lines) + "\n", newline="\n")


def write_quorum_state(
    directory: Path,
    *,
    data_version: int = 1,
    leader_id: int,
    leader_epoch: int,
    voted_id: int = -1,
    voted_directory_id: bytes = bytes(16),
    voter_ids: Sequence[int] = (),
) -> None:
    """Write ``quorum-state`` in data version 0 (static voters) or 1."""
    state: dict[str, object]
    if data_version == 0:
        state = {
            "clusterId": "",
            "leaderId": leader_id,
            "leaderEpoch": leader_epoch,
            "votedId": voted_id,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": i} for i in voter_ids],
            "data_version": 0,
        }
    else:
        state = {
            "leaderId": leader_id,
            "leaderEpoch": leader_epoch,
            "votedId": voted_id,
            "votedDirectoryId": uuid_text(voted_directory_id),
            "data_version": 1,
        }
    (directory / "quorum-state").write_text(json.dumps(state, separators=(",", ":")))


def write_meta_properties(
    directory: Path,
    *,
    cluster_id: str,
    node_id: int,
    directory_id: bytes | None = None,
    version: int = 1,
) -> None:
    """Write ``meta.properties`` of a log dir, in version 0 (``broker.id``) or 1."""
    lines = ["#", f"{'broker' if version == 0 else 'node'}.id={node_id}", f"version={version}"]
    if directory_id is not None:
        lines.append(f"directory.id={uuid_text(directory_id)}")
    lines.append(f"cluster.id={cluster_id}")
    (directory / "meta.properties").write_text("\n".join(lines) + "\n", newline="\n")
