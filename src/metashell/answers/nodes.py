"""Every node that the metadata knows: brokers, controllers and voters, and which are ghosts.

A ghost is a registration that nobody stands behind: a broker that is fenced for long and has no
replicas, or a controller that is no voter. It still counts where a feature is upgraded. How long
a broker is fenced is measured against the last record of the image, of a live quorum against now.

Source: org.apache.kafka.metadata.{BrokerRegistration, ControllerRegistration}, KIP-853, KIP-919.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from metashell.answers.releases import release_of
from metashell.answers.row_times import when
from metashell.answers.tally import tally_replicas
from metashell.dataclass import dataclass
from metashell.image.features import METADATA_VERSION, metadata_version_name
from metashell.image.image import Image
from metashell.image.quorum_members import QuorumMember, voters_in_log
from metashell.schema.columns import Columns, SpanColumn
from metashell.schema.uuids import uuid_text
from metashell.security.settings import PROTOCOLS

BROKER: Final = "broker"
CONTROLLER: Final = "controller"

HOUR_MS: Final = 3_600_000
_NO_ROW: Final = -1


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a node listens."""

    listener: str
    host: str
    port: int
    protocol: str | None
    """The security protocol; None where nothing says."""

    @property
    def text(self) -> str:
        """Such as ``PLAINTEXT://host:9092``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener}://{host}:{self.port}"


@dataclass(slots=True, kw_only=True)
class NodeRow:
    """One registration, or a voter without one; None for what is not known."""

    id: int
    role: str
    """`BROKER` or `CONTROLLER`; a combined node is there twice."""
    registered: bool = True
    fenced: bool | None = None
    in_controlled_shutdown: bool | None = None
    epoch: int | None = None
    incarnation: str | None = None
    endpoints: Sequence[Endpoint | str] = ()
    rack: str | None = None
    directories: Sequence[str] | None = None
    cordoned: Sequence[str] | None = None
    features: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """(lowest, highest) level by name."""
    voter: bool | None = None
    zk_migration: bool | None = None
    """Whether the broker is in ZooKeeper mode, or the controller is ready to migrate."""
    replicas: int | None = None
    fenced_ms: int | None = None
    """How long it has been fenced."""
    fenced_longer: bool = False
    """Whether `fenced_ms` is only the least: it was fenced before the checkpoint."""
    ghost: str | None = None
    """Why nobody stands behind the registration."""
    rows: tuple[int, int, int] = (_NO_ROW, _NO_ROW, _NO_ROW)
    """Rows of the records that registered it, last changed it and fenced it."""

    def range_of(self, feature: str) -> tuple[int, int]:
        """(lowest, highest) level of a feature; (0, 0) where the node does not have it."""
        return self.features.get(feature, (0, 0))

    @property
    def release(self) -> str | None:
        """The Kafka release that its software seems to be."""
        return release_of(self.range_of(METADATA_VERSION)[1])


def nodes_of(
    image: Image,
    voters: Sequence[QuorumMember] | None = None,
    ghost_after_ms: int = HOUR_MS,
    *,
    count: bool = True,
    now_ms: int | None = None,
) -> list[NodeRow]:
    """All nodes: brokers by id, then controllers by id.

    Args:
        image: The cluster.
        voters: The voters, where they are known better than by the log.
        ghost_after_ms: How long a broker without replicas is fenced until it is a ghost.
        count: Whether replicas are counted, which folds all partitions; no ghost without it.
        now_ms: The time to measure from, ms since the epoch; None for the image's last record.
    """
    if now_ms is None:
        now_ms = image.provenance.timestamp_ms
    known = voters_in_log(image.quorum) if voters is None else list(voters)
    return [*_brokers(image, ghost_after_ms, count, now_ms), *_controllers(image, known)]


def is_static(image: Image) -> bool:
    """Whether the voters come from the nodes' own files: the log has no VotersRecord."""
    return image.quorum.voters is None


def _brokers(image: Image, ghost_after_ms: int, count: bool, now_ms: int) -> list[NodeRow]:
    brokers = image.brokers
    record, ids = brokers.registration, brokers.ids.tolist()
    replicas = replica_counts(image).tolist() if count else [None] * len(ids)
    endpoints, features = _endpoints(record), _features(record)
    found = []
    for row, node_id in enumerate(ids):
        rows = (brokers.created, brokers.changed, brokers.fenced_since)
        node = NodeRow(
            id=node_id,
            role=BROKER,
            fenced=bool(brokers.fenced[row]),
            in_controlled_shutdown=bool(brokers.in_controlled_shutdown[row]),
            epoch=int(record.fixed("broker_epoch")[row]),
            incarnation=uuid_text(record.fixed("incarnation_id")[row].tobytes()),
            endpoints=endpoints[row],
            rack=record.span("rack").text(row),
            directories=_ids(brokers.log_dirs, row),
            cordoned=_ids(brokers.cordoned_log_dirs, row),
            features=features[row],
            zk_migration=bool(record.fixed("is_migrating_zk_broker")[row]),
            replicas=replicas[row],
            rows=(int(rows[0][row]), int(rows[1][row]), int(rows[2][row])),
        )
        _judge_broker(image, node, ghost_after_ms, now_ms)
        found.append(node)
    return found


def _judge_broker(image: Image, node: NodeRow, ghost_after_ms: int, now_ms: int) -> None:
    """Tell how long a broker has been fenced, and whether it is a ghost."""
    row = node.rows[2]
    if not node.fenced or row < 0:
        return
    at = np.array([row], dtype=np.int64)
    records = image.records
    _, known = records.offsets(at)
    began: int | None = int(records.frames_at(at).timestamps(at)[0])
    if not known[0]:
        began, node.fenced_longer = records.checkpoint_time_ms, True
    if now_ms >= 0 and began is not None and began >= 0:
        node.fenced_ms = max(now_ms - began, 0)
    enough = ghost_after_ms <= 0 or (node.fenced_ms or 0) >= ghost_after_ms
    if node.replicas == 0 and enough:
        node.ghost = f"{fenced_text(node)}, no replicas"


def fenced_text(node: NodeRow) -> str:
    """How long a broker has been fenced, such as ``fenced for 3 d``."""
    if not node.fenced_ms:
        return "fenced"
    return f"fenced for {'at least ' if node.fenced_longer else ''}{age_text(node.fenced_ms)}"


def _controllers(image: Image, voters: list[QuorumMember]) -> list[NodeRow]:
    part = image.part("controllers")
    record = part.columns
    endpoints, features = _endpoints(record), _features(record)
    by_id = {voter.id: voter for voter in voters}
    found = []
    for row, node_id in enumerate(record.fixed("controller_id").tolist()):
        node = NodeRow(
            id=node_id,
            role=CONTROLLER,
            incarnation=uuid_text(record.fixed("incarnation_id")[row].tobytes()),
            endpoints=endpoints[row],
            features=features[row],
            voter=node_id in by_id if voters else None,
            zk_migration=bool(record.fixed("zk_migration_ready")[row]),
            rows=(int(part.created[row]), int(part.changed[row]), _NO_ROW),
        )
        if node.voter is False:
            node.ghost = "controller is no voter"
        found.append(node)
    registered = {node.id for node in found}
    for node_id, voter in by_id.items():
        if node_id not in registered:
            found.append(
                NodeRow(
                    id=node_id,
                    role=CONTROLLER,
                    registered=False,
                    voter=True,
                    endpoints=voter.endpoints or (),
                )
            )
    for node in found:
        directory = by_id[node.id].directory_id if node.id in by_id else None
        node.directories = None if directory is None else [directory]
    return sorted(found, key=lambda node: node.id)


def _items(record: Columns, name: str) -> tuple[Columns, list[int]]:
    column = record.structs(name)
    return column.items, column.list_offsets.tolist()


def _endpoints(record: Columns) -> list[list[Endpoint]]:
    items, bounds = _items(record, "end_points")
    every = [
        Endpoint(listener, host, port, PROTOCOLS[code] if 0 <= code < len(PROTOCOLS) else str(code))
        for listener, host, port, code in zip(
            items.span("name").texts(),
            items.span("host").texts(),
            items.fixed("port").tolist(),
            items.fixed("security_protocol").tolist(),
            strict=True,
        )
    ]
    return [every[a:b] for a, b in pairwise(bounds)]


def _features(record: Columns) -> list[dict[str, tuple[int, int]]]:
    items, bounds = _items(record, "features")
    lowest = items.fixed("min_supported_version").tolist()
    highest = items.fixed("max_supported_version").tolist()
    every = list(zip(items.span("name").texts(), zip(lowest, highest, strict=True), strict=True))
    return [dict(every[a:b]) for a, b in pairwise(bounds)]


def _ids(column: SpanColumn, row: int) -> list[str] | None:
    values = column.value(row)
    return None if values is None else [uuid_text(value.tobytes()) for value in values]


def replica_counts(image: Image) -> np.ndarray:
    """int64[k]: how many replicas each registered broker has, its own in `image.brokers.ids`."""
    holding, counts = tally_replicas(image)
    known = dict(zip(holding.tolist(), counts.tolist(), strict=True))
    return np.array([known.get(i, 0) for i in image.brokers.ids.tolist()], dtype=np.int64)


def age_text(ms: int) -> str:
    """How long, in its largest unit."""
    for unit, size in (("d", 24 * HOUR_MS), ("h", HOUR_MS), ("min", 60_000)):
        if ms >= size:
            return f"{ms // size} {unit}"
    return f"{ms // 1000} s"


def range_text(feature: str, lowest: int, highest: int) -> str:
    """A range of levels, such as ``7-30 (3.3-IV3 to 4.3-IV0)``."""
    if feature != METADATA_VERSION:
        return f"{lowest}-{highest}"
    names = f"{metadata_version_name(lowest)} to {metadata_version_name(highest)}"
    return f"{lowest}-{highest} ({names})"


def nodes_table(image: Image, nodes: Sequence[NodeRow]) -> pa.Table:
    """The nodes as columns."""
    texts, flags = pa.string(), pa.bool_()
    lists = pa.list_(pa.string())
    columns = {
        "id": pa.array([n.id for n in nodes], type=pa.int32()),
        "role": pa.array([n.role for n in nodes], type=texts),
        "registered": pa.array([n.registered for n in nodes], type=flags),
        "fenced": pa.array([n.fenced for n in nodes], type=flags),
        "in_controlled_shutdown": pa.array([n.in_controlled_shutdown for n in nodes], type=flags),
        "voter": pa.array([n.voter for n in nodes], type=flags),
        "release": pa.array([n.release for n in nodes], type=texts),
        "replicas": pa.array([n.replicas for n in nodes], type=pa.int64()),
        "ghost": pa.array([n.ghost for n in nodes], type=texts),
        "rack": pa.array([n.rack for n in nodes], type=texts),
        "endpoints": pa.array([_endpoint_texts(n) for n in nodes], type=lists),
        "security_protocols": pa.array([_protocols(n) for n in nodes], type=lists),
        "epoch": pa.array([n.epoch for n in nodes], type=pa.int64()),
        "incarnation": pa.array([n.incarnation for n in nodes], type=texts),
        "directories": pa.array([n.directories for n in nodes], type=lists),
        "cordoned": pa.array([n.cordoned for n in nodes], type=lists),
        "features": pa.array([_feature_texts(n) for n in nodes], type=lists),
        "zk_migration": pa.array([n.zk_migration for n in nodes], type=flags),
    }
    rows = np.array([n.rows for n in nodes], dtype=np.int64).reshape(-1, 3)
    for i, prefix in enumerate(("registered", "changed", "fenced")):
        columns |= when(image, prefix, rows[:, i])
    return pa.table(columns)


def _endpoint_texts(node: NodeRow) -> list[str]:
    return [e if isinstance(e, str) else e.text for e in node.endpoints]


def _protocols(node: NodeRow) -> list[str | None]:
    return [None if isinstance(e, str) else e.protocol for e in node.endpoints]


def _feature_texts(node: NodeRow) -> list[str] | None:
    if not node.registered:
        return None
    ranges = sorted(node.features.items())
    return [f"{name}={lowest}-{highest}" for name, (lowest, highest) in ranges]
