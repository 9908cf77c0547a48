"""A quorum on loopback that serves the metadata log of a directory, for examples in documents.

The leader that the node's quorum-state names listens. Of the others, which the log names as voters,
it says that they follow, the last of them an offset behind.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Final

import metashell
from metashell.image.quorum_members import voters_in_log
from metashell.quorum.protocol import TOPIC, Api
from metashell.schema.uuids import parse_uuid
from metashell.sources.source import Source
from support.fake_quorum import Batch, Controller, FakeQuorum, Fields, Habits
from support.fake_server import FakeQuorumServer
from support.fixtures import METADATA_DIRECTORY

BROKER: Final = 101
_FETCHED_MS: Final = 1_795_351_420_000


def serve_directory(directory: Path) -> FakeQuorumServer:
    """A server, not started yet, with what a node's log directory holds."""
    source = metashell.open(directory)
    assert source.cluster_id is not None
    quorum = FakeQuorum(1, cluster_id=source.cluster_id)
    leader = _Leader(quorum, source, _leader_id(directory))
    quorum.controllers = {leader.id: leader}
    quorum.history = list(leader.log)
    return FakeQuorumServer(quorum=quorum)


class _Leader(Controller):
    """The controller that has the directory."""

    def __init__(self, quorum: FakeQuorum, source: Source, node_id: int) -> None:
        super().__init__(quorum, node_id, Habits())
        checkpoint, last = source.log.checkpoint, source.image.provenance
        assert checkpoint is not None
        assert checkpoint.epoch is not None
        buffer = memoryview(source.log.loaded.buffer)
        snapshot, *segments = source.log.loaded.files
        data = bytes(buffer[snapshot.start : snapshot.start + snapshot.size])
        batches = [_batch(buffer, pos) for file in segments for pos in file.chain.positions]
        self.start = checkpoint.end_offset
        self.snapshots = {(checkpoint.end_offset, checkpoint.epoch): data}
        self.log = [batch for batch in batches if batch.last >= self.start]
        self.epoch, self.leader_id, self.high_watermark = last.epoch, self.id, last.offset + 1
        self._voters = voters_in_log(source.image.quorum)

    def answer(self, api: Api, version: int, body: Fields) -> Fields:
        """As any controller, but for who is in the quorum."""
        if api is not Api.DESCRIBE_QUORUM:
            return super().answer(api, version, body)
        last = max(voter.id for voter in self._voters)
        part = {
            "partition_index": 0,
            "leader_id": self.id,
            "leader_epoch": self.epoch,
            "high_watermark": self.high_watermark,
            "current_voters": [
                self._replica(v.id, parse_uuid(v.directory_id or ""), v.id == last)
                for v in self._voters
            ],
            "observers": [self._replica(BROKER, BROKER.to_bytes(16, "big"), 0)],
        }
        return {"topics": [{"topic_name": TOPIC, "partitions": [part]}]}

    def _replica(self, node_id: int, directory_id: bytes | None, behind: int) -> Fields:
        return {
            "replica_id": node_id,
            "replica_directory_id": directory_id,
            "log_end_offset": self.end - behind,
            "last_fetch_timestamp": _FETCHED_MS - behind,
            "last_caught_up_timestamp": _FETCHED_MS - behind,
        }


def _leader_id(directory: Path) -> int:
    state = json.loads((directory / METADATA_DIRECTORY / "quorum-state").read_text("utf-8"))
    return int(state["leaderId"])


def _batch(buffer: memoryview, pos: int) -> Batch:
    base, length, epoch = struct.unpack_from(">qii", buffer, pos)
    (last_delta,) = struct.unpack_from(">i", buffer, pos + 23)
    return Batch(base, base + last_delta, epoch, bytes(buffer[pos : pos + 12 + length]))
