"""Sources that stand in for a live quorum: a fixture's files, and what a leader said of them.

The recorded answers of ``wire/discover.json`` are from the same quorum as real-44-admin.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import metashell
import metashell.quorum
from metashell.quorum.description import LiveStatus, QuorumDescription, Replica
from metashell.schema.model import parse_message
from metashell.schema.scalar import decode_message
from metashell.sources.live import LiveSource
from metashell.sources.source import Source
from support.fixtures import fixture, fixture_dir

_HEADER_BYTES = 5
"""Of a flexible response: correlation id and no tags."""


class StandInLive:
    """What a live source asks, said by a test."""

    generation = 1
    notes = ()

    def __init__(self, status: LiveStatus, cluster_id: str | None) -> None:
        self.now, self.cluster_id = status, cluster_id

    def status(self) -> LiveStatus:
        """What the test said last."""
        return self.now

    def wait(self, generation: int, timeout_s: float) -> bool:
        """Nothing new ever comes."""
        return False

    def close(self) -> None:
        """There is nothing to end."""

    def source(self) -> Source:
        """Nobody asks for the next state."""
        raise NotImplementedError


def live_over(path: Path, status: LiveStatus) -> Source:
    """A directory's log as if it had been fetched from a quorum of that status."""
    files = metashell.open(path)
    return LiveSource(files.log, files.settings, StandInLive(status, files.cluster_id))


def described(name: str, version: int = 2) -> Source:
    """A fixture's log with the recorded answer of its leader."""
    return live_over(fixture(name).input, status_of(recorded(version)))


def status_of(description: QuorumDescription | None, **changed: Any) -> LiveStatus:
    """A status in which all is well."""
    fields: dict[str, Any] = {
        "leader_id": 1,
        "leader_address": "127.0.0.1:43001",
        "epoch": 1,
        "high_watermark": 726,
        "end_offset": 726,
        "last_word_s": 0.1,
        "description": description,
    }
    return LiveStatus(**{**fields, **changed})


def recorded(version: int) -> QuorumDescription:
    """What the leader of wire/discover.json answered to DescribeQuorum of a version."""
    exchanges = json.loads((fixture_dir("wire") / "discover.json").read_text())["exchanges"]
    call = f"DescribeQuorum v{version}"
    (answer,) = (
        e["response"] for e in exchanges if e["call"] == call and e["to"] == "controller 1"
    )
    messages = Path(metashell.quorum.__file__).parent / "messages"
    definition = messages / "DescribeQuorumResponse.json"
    spec = parse_message(definition.read_text(), where=definition.name)
    fields: Any = decode_message(spec, version, bytes.fromhex(answer)[_HEADER_BYTES:])
    (partition,) = fields["topics"][0]["partitions"]
    return QuorumDescription(
        leader_id=partition["leader_id"],
        leader_epoch=partition["leader_epoch"],
        high_watermark=partition["high_watermark"],
        voters=tuple(map(_replica, partition["current_voters"])),
        observers=tuple(map(_replica, partition["observers"])),
        endpoints={
            node["node_id"]: tuple(
                f"{at['name']}://{at['host']}:{at['port']}" for at in node["listeners"]
            )
            for node in fields["nodes"]
        },
        received_ms=1_795_250_896_820,
    )


def _replica(fields: Any) -> Replica:
    def known(name: str) -> int | None:
        return fields[name] if fields[name] >= 0 else None

    directory = fields["replica_directory_id"]
    return Replica(
        id=fields["replica_id"],
        directory_id=directory if any(directory) else None,
        log_end_offset=known("log_end_offset"),
        last_fetch_ms=known("last_fetch_timestamp"),
        last_caught_up_ms=known("last_caught_up_timestamp"),
    )
