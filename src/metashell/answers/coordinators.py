"""The coordinator of a group, transactional id or share partition: its partition, and its state.

The partition of a key is ``abs(String.hashCode(key)) % partitions``, and the coordinator is the
broker that leads it, whether or not the id exists. So the image alone answers, at any offset.

Source: GroupCoordinatorService.partitionFor, TransactionStateManager.partitionFor,
SharePartitionKey.asCoordinatorKey, org.apache.kafka.common.utils.Utils.abs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from metashell.answers.assume import NO_ASSUMPTIONS, Assumptions
from metashell.answers.causes import Causes
from metashell.answers.config_defaults import BROKER, default_of
from metashell.answers.coordinator_tables import CoordinatorKind
from metashell.answers.election import NOBODY, elect
from metashell.answers.health import Health
from metashell.answers.nodes import BROKER as BROKER_ROLE
from metashell.answers.nodes import Endpoint, nodes_of
from metashell.answers.partitions import partitions_table
from metashell.answers.topic_settings import positive_int, unclean_election
from metashell.dataclass import dataclass
from metashell.image.coordinators.placement import partition_of
from metashell.image.image import Image
from metashell.schema.arena import I32, I64, Bools
from metashell.schema.arrow import one_piece

NOT_CREATED: Final = "not-created"
"""The state of a partition whose topic does not exist yet."""
OFFLINE: Final = "offline"

_NO_ROW: Final = -1
_LED: Final = ("offline",)
"""The state that tells since when the leader leads."""
_OF_PARTITIONS: Final = {
    "leader": pa.int32(),
    "next_leader": pa.int32(),
    "healthy": pa.bool_(),
    "state": pa.list_(pa.string()),
    "replicas": pa.list_(pa.int32()),
    "isr": pa.list_(pa.int32()),
    "why": pa.string(),
    "endpoints": pa.list_(pa.string()),
    "leader_epoch": pa.int32(),
    "since_offset": pa.int64(),
    "since_time": pa.timestamp("ms", tz="UTC"),
}
"""The columns about a partition that exists."""


@dataclass(frozen=True, slots=True)
class CoordinatorKey:
    """A key to find the coordinator of."""

    kind: CoordinatorKind
    id: str
    """The name that the user gave."""
    key: str
    """The text that is hashed."""


@dataclass(frozen=True, slots=True)
class PartitionCount:
    """How many partitions a coordinators' topic has."""

    count: int
    is_assumed: bool
    """Whether the topic does not exist, so that a broker's configuration decides."""
    is_default: bool = False
    """Whether that is Kafka's own default."""


def partition_count(
    image: Image, kind: CoordinatorKind, assumptions: Assumptions = NO_ASSUMPTIONS
) -> PartitionCount:
    """How many partitions the topic has; what is assumed of it where it does not exist."""
    topic = image.topics.find_name(kind.topic)
    count = 0 if topic is None else len(image.partitions_of(topic).ids_of(topic))
    if count:
        return PartitionCount(count, is_assumed=False)
    assumed = positive_int(assumptions.get(kind.partitions_key) or "")
    if assumed is not None:
        return PartitionCount(assumed, is_assumed=True)
    default = positive_int(default_of(BROKER, kind.partitions_key) or "")
    assert default is not None, kind.partitions_key
    return PartitionCount(default, is_assumed=True, is_default=True)


def coordinators_table(
    image: Image, keys: Sequence[CoordinatorKey], assumptions: Assumptions = NO_ASSUMPTIONS
) -> pa.Table:
    """A row for each key, in their order.

    Args:
        image: The cluster. Only the partitions of the coordinators' topics are folded.
        keys: The keys to look up; one at least.
        assumptions: The configs that the brokers' own files are assumed to set.

    Returns:
        Columns as ``metashell.commands.coordinator`` names them.
    """
    kinds = list(dict.fromkeys(key.kind for key in keys))
    order = sorted(range(len(keys)), key=lambda i: kinds.index(keys[i].kind))
    tables = [
        _of_kind(image, kind, [key for key in keys if key.kind is kind], assumptions)
        for kind in kinds
    ]
    back = pa.array(sorted(range(len(keys)), key=order.__getitem__), pa.int64())
    return pa.concat_tables(tables).take(back)


def _of_kind(
    image: Image, kind: CoordinatorKind, keys: Sequence[CoordinatorKey], assumptions: Assumptions
) -> pa.Table:
    """The rows of keys of one kind."""
    count = partition_count(image, kind, assumptions)
    topic = None if count.is_assumed else image.topics.find_name(kind.topic)
    numbers = [partition_of(key.key, count.count) for key in keys]
    rows = np.full(len(keys), _NO_ROW, dtype=np.int64)
    if topic is not None:
        image = image.narrowed(topic)
        for i, number in enumerate(numbers):
            row = image.partitions.index(topic, number)
            rows[i] = _NO_ROW if row is None else row
    known = np.unique(rows[rows >= 0])
    index = pa.array(np.searchsorted(known, rows), pa.int64(), mask=rows < 0)
    n = len(keys)
    columns: dict[str, pa.Array] = {
        "kind": _strings([kind.word] * n),
        "id": _strings([key.id for key in keys]),
        "key": _strings([key.key for key in keys]),
        "topic": _strings([kind.topic] * n),
        "partition": pa.array(numbers, pa.int64()),
        "partitions": pa.array([count.count] * n, pa.int64()),
        "assumed": pa.array([count.is_assumed] * n, pa.bool_()),
    }
    health = None if topic is None else Health(image, assumptions)
    found = {} if health is None else _partitions(health, known)
    for name, arrow_type in _OF_PARTITIONS.items():
        columns[name] = found[name].take(index) if found else pa.nulls(n, arrow_type)
    missing = NOT_CREATED if count.is_assumed else OFFLINE
    columns["state"] = _filled(columns["state"], [missing])
    columns["healthy"] = _filled(columns["healthy"], None if count.is_assumed else False)
    columns["why"] = _filled(columns["why"], _WHY_MISSING[missing], where=rows < 0)
    return pa.table(columns)


_WHY_MISSING: Final = {
    NOT_CREATED: "the topic does not exist: a broker creates it when a client first asks for it",
    OFFLINE: "the metadata does not have this partition",
}


def _filled(column: pa.Array, value: object, where: Bools | None = None) -> pa.Array:
    """A column with a value where it has none, and only there where `where` says so."""
    is_there = column.is_valid().to_pylist()
    chosen = [True] * len(column) if where is None else where.tolist()
    values = zip(column.to_pylist(), is_there, chosen, strict=True)
    return pa.array([v if there or not fill else value for v, there, fill in values], column.type)


def _strings(texts: Sequence[str]) -> pa.Array:
    # A word of the command line may hold bytes that are no text.
    return pa.array([t.encode("utf-8", "backslashreplace").decode() for t in texts], pa.string())


def _partitions(health: Health, rows: I64) -> Mapping[str, pa.Array]:
    """The columns about partitions, by name.

    Args:
        health: The image's health.
        rows: int64[n]: which ones, ascending.
    """
    table = partitions_table(health, rows, _LED, _OF_PARTITIONS).combine_chunks()
    columns = {name: one_piece(table.column(name)) for name in table.column_names}
    leaders = health.image.partitions.leader[rows]
    unclean = unclean_election(health.image, health.assumptions, rows).values != 0
    following = np.full(len(rows), NOBODY, dtype=np.int32)
    for leader in np.unique(leaders).tolist():
        at = leaders == leader
        down = frozenset() if leader == NOBODY else frozenset({leader})
        following[at] = elect(health.image, rows[at], unclean[at], down).leader
    ill = health.offline[rows] | health.under_replicated[rows] | health.under_min_isr[rows]
    columns["next_leader"] = pa.array(following, mask=following == NOBODY)
    columns["endpoints"] = _endpoints(health.image, leaders)
    columns["healthy"] = pa.array(~ill)
    columns["why"] = pa.array(_reasons(health, rows, columns["why"].to_pylist()), pa.string())
    return columns


def _endpoints(image: Image, leaders: I32) -> pa.Array:
    """list<string>[n]: where each leader listens; null without one."""
    nodes = {node.id: node for node in nodes_of(image, count=False) if node.role == BROKER_ROLE}
    texts: list[list[str] | None] = []
    for leader in leaders.tolist():
        node = nodes.get(leader)
        endpoints = () if node is None else node.endpoints
        shown = [one.text if isinstance(one, Endpoint) else one for one in endpoints]
        texts.append(None if node is None else shown)
    return pa.array(texts, pa.list_(pa.string()))


def _reasons(health: Health, rows: I64, waits: Sequence[str | None]) -> list[str | None]:
    """Why each partition is not healthy; None where it is.

    Args:
        health: The image's health.
        rows: int64[n]: the partitions.
        waits: For each partition without a leader, the brokers that it waits for.
    """
    causes = Causes(health)
    lists = {name: health.image.partitions.list_column(name).take(rows) for name in _REPLICAS}
    found: list[str | None] = []
    for i, row in enumerate(rows.tolist()):
        reasons: list[str] = []
        offline, under = bool(health.offline[row]), bool(health.under_replicated[row])
        if offline:
            reasons.append(waits[i] or "no broker leads it")
        elif under:
            replicas, adding, isr = (lists[name].int32s(i) for name in _REPLICAS)
            out = [str(one) for one in replicas if one not in {*adding, *isr}]
            reasons.append(f"out of the ISR: {', '.join(out)}" if out else "replicas are missing")
        if offline or under:
            problem = "offline-partitions" if offline else "under-replicated"
            reasons.append(causes.text_of_all(np.array([row], dtype=np.int64), problem))
        if health.under_min_isr[row] and not offline:
            least = int(health.min_isr.values[row])
            reasons.append(f"the ISR is below min.insync.replicas={least}: it cannot write")
        found.append("; ".join(filter(None, reasons)) or None)
    return found


_REPLICAS: Final = ("replicas", "adding_replicas", "isr")
