"""Clusters of a few records, for what is asked of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import metashell
from kraftgen.batch import encode_batch
from kraftgen.files import control_batch
from metashell.sources.source import Source
from support.logs import make_directory, record

TIME = 1_790_000_000_000
"""When the first record was written, ms since the epoch."""


def endpoint(name: str, host: str, port: int, protocol: int = 0) -> dict[str, object]:
    """An endpoint of a registration."""
    return {"name": name, "host": host, "port": port, "security_protocol": protocol}


def supported(name: str, lowest: int, highest: int) -> dict[str, object]:
    """A feature of a registration."""
    return {"name": name, "min_supported_version": lowest, "max_supported_version": highest}


def broker(node: int, highest: int = 33, *, fenced: bool = False, **fields: object) -> bytes:
    """Register a broker."""
    known: dict[str, object] = {
        "broker_epoch": node,
        "features": [supported("metadata.version", 7, highest)],
        "end_points": [endpoint("PLAINTEXT", f"b{node}", 9092)],
        "incarnation_id": bytes([node % 256]) * 16,
    }
    return record("RegisterBrokerRecord", broker_id=node, fenced=fenced, **{**known, **fields})


def controller(node: int, highest: int = 33, **fields: object) -> bytes:
    """Register a controller."""
    known: dict[str, object] = {
        "features": [supported("metadata.version", 7, highest)],
        "end_points": [endpoint("CONTROLLER", f"c{node}", 9093)],
        "incarnation_id": bytes([node % 256]) * 16,
    }
    return record("RegisterControllerRecord", controller_id=node, **{**known, **fields})


def level(name: str, value: int) -> bytes:
    """Finalize a feature."""
    return record("FeatureLevelRecord", name=name, feature_level=value)


def config(resource_type: int, name: str, key: str, value: str | None) -> bytes:
    """Set a config."""
    return record(
        "ConfigRecord", resource_type=resource_type, resource_name=name, name=key, value=value
    )


def voters_batch(ids: Sequence[int], *, dynamic: bool) -> bytes:
    """What says who votes: a VotersRecord, or the leader's message of a static quorum."""
    if not dynamic:
        message: dict[str, object] = {
            "leader_id": ids[0] if ids else 1,
            "voters": [{"voter_id": node} for node in ids],
            "granting_voters": [],
        }
        return control_batch([("LeaderChangeMessage", message)], timestamp=TIME)
    voters = [
        {
            "voter_id": node,
            "voter_directory_id": bytes([node % 256]) * 16,
            "endpoints": [{"name": "CONTROLLER", "host": f"c{node}", "port": 9093}],
            "k_raft_version_feature": {"min_supported_version": 0, "max_supported_version": 1},
        }
        for node in ids
    ]
    return control_batch(
        [("KRaftVersionRecord", {"k_raft_version": 1}), ("VotersRecord", {"voters": voters})],
        timestamp=TIME,
    )


@contextmanager
def cluster(
    *values: bytes,
    voters: Sequence[int] | None = None,
    dynamic: bool = True,
    apart_ms: int = 0,
) -> Iterator[Source]:
    """Open a log of records, one an offset, each so long after the one before it.

    Args:
        values: The records.
        voters: Who votes; None where nothing says so.
        dynamic: Whether a VotersRecord says it.
        apart_ms: Time between two records.
    """
    batches, offset = [], 0
    if voters is not None:
        batches.append(voters_batch(voters, dynamic=dynamic))
        offset = 2 if dynamic else 1
    for i, value in enumerate(values):
        at = TIME + i * apart_ms
        batches.append(encode_batch([value], base_offset=offset + i, timestamp=at))
    with tempfile.TemporaryDirectory() as parent:
        yield metashell.open(make_directory(Path(parent), (0, b"".join(batches))))
