"""Makes up sound clusters from a seed and writes their metadata log.

Sound means: replicas are registered brokers, the ISR is within the replicas, the leader within the
ISR, every directory belongs to its replica's broker, and nothing is below min.insync.replicas. The
changes keep it so; an integrity check finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from kraftgen import files, small_records
from kraftgen.vectors import (
    U8,
    BatchWriter,
    Partitions,
    Values,
    partition_change_values,
    partition_values,
    topic_values,
)
from metashell.schema.uuids import uuid_text

EPOCH: Final = 7
"""Leader epoch of all batches."""

TIMESTAMP: Final = 1_790_000_000_000
"""When the checkpoint was written, in ms since the epoch."""

_ROWS_PER_CHUNK: Final = 1 << 16
_NO_OP_EVERY: Final = 100
_WORDS: Final = (
    b"orders", b"payments", b"clicks", b"audit", b"metrics", b"sessions", b"inventory", b"users",
    b"shipments", b"billing", b"alerts", b"search", b"catalog", b"carts", b"refunds", b"logs",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """How large a cluster is, and how its log is cut."""

    topics: int = 100
    partitions: int = 10
    """Of each topic."""
    brokers: int = 100
    controllers: int = 3
    replication: int = 3
    changes: int = 0
    """PartitionChangeRecords after the checkpoint."""
    seed: int = 1
    batch_records: int = 1024
    """Records in a batch of the checkpoint."""
    changes_batch: int = 46
    """Records in a batch of changes, on average."""
    metadata_version: int = 33

    def __post_init__(self) -> None:
        if not 1 <= self.replication <= min(8, self.brokers):
            raise ValueError("replication must be within 1..8 and the number of brokers")
        if self.partitions < 1 or self.topics < 0 or self.controllers < 1:
            raise ValueError("there must be a partition in each topic, and a controller")
        if self.changes and not self.topics:
            raise ValueError("without topics there is nothing to change")
        if min(self.changes, self.batch_records - 1, self.changes_batch - 1) < 0:
            raise ValueError("changes and records in a batch can't be negative or none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written where."""

    log_dir: Path
    checkpoint: Path
    segment: Path | None
    end_offset: int
    """The offset after the last record."""
    checkpoint_records: int
    """Without control records."""
    change_batches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """The topics' columns."""

    names: list[bytes]
    ids: U8
    """uint8[n, 16]"""


def write_cluster(directory: Path, spec: ClusterSpec) -> Written:
    """Write the log dir of a controller: ``meta.properties`` and ``__cluster_metadata-0``.

    Args:
        directory: Made if it is missing; must hold no metadata log.
        spec: What to write.
    """
    rng = np.random.default_rng(spec.seed)
    log_dir = directory / files.LOG_DIR_NAME
    log_dir.mkdir(parents=True)
    nodes = small_records.make_nodes(rng, spec.brokers, spec.controllers)
    topics = _make_topics(rng, spec.topics)
    partitions = _make_partitions(rng, spec, topics, nodes)
    before = [
        *small_records.features(spec.metadata_version),
        *small_records.registrations(nodes),
    ]
    after = small_records.rest(rng, topics.names, nodes, min_isr=2 if spec.replication > 2 else 1)
    n_records = len(before) + spec.topics * (1 + spec.partitions) + len(after)
    end_offset = n_records + 10_000
    checkpoint = log_dir / files.checkpoint_name(end_offset, EPOCH)
    with checkpoint.open("xb") as f:
        chunks = _topic_chunks(spec, topics, partitions)
        parts = chain([Values.from_bytes(before)], chunks, [Values.from_bytes(after)])
        _write_checkpoint(f, spec, nodes, parts)
    segment, n_batches = None, 0
    if spec.changes:
        segment = log_dir / files.segment_name(end_offset)
        with segment.open("xb") as f:
            n_batches, end_offset = _write_changes(f, rng, spec, partitions, end_offset)
        files.write_indexes(segment)
    _write_small_files(directory, rng, nodes, log_start=n_records + 10_000)
    return Written(
        log_dir=log_dir,
        checkpoint=checkpoint,
        segment=segment,
        end_offset=end_offset,
        checkpoint_records=n_records,
        change_batches=n_batches,
    )


def _write_small_files(
    directory: Path, rng: np.random.Generator, nodes: small_records.Nodes, *, log_start: int
) -> None:
    log_dir = directory / files.LOG_DIR_NAME
    leader = nodes.controllers[0]
    files.write_meta_properties(
        directory,
        cluster_id=uuid_text(small_records.make_uuids(rng, 1)[0].tobytes()),
        node_id=leader.id,
        directory_id=leader.directories[0],
    )
    files.write_partition_metadata(log_dir)
    files.write_leader_epochs(log_dir, [(EPOCH, log_start)])
    files.write_quorum_state(log_dir, leader_id=leader.id, leader_epoch=EPOCH)


def _make_topics(rng: np.random.Generator, count: int) -> Topics:
    words = rng.integers(0, len(_WORDS), (count, 2))
    numbers = rng.permutation(count)
    names = [
        b"%b.%b-%06d" % (_WORDS[a], _WORDS[b], number)
        for (a, b), number in zip(words.tolist(), numbers.tolist(), strict=True)
    ]
    return Topics(names=names, ids=small_records.make_uuids(rng, count))


def _make_partitions(
    rng: np.random.Generator, spec: ClusterSpec, topics: Topics, nodes: small_records.Nodes
) -> Partitions:
    n, k = spec.topics * spec.partitions, spec.replication
    broker_ids = np.array([b.id for b in nodes.brokers], np.int32)
    directories = np.frombuffer(
        b"".join(d for b in nodes.brokers for d in b.directories), np.uint8
    ).reshape(spec.brokers, -1, 16)
    # Steps of up to brokers // k keep the k replicas apart.
    first = rng.integers(0, spec.brokers, n)
    step = rng.integers(1, spec.brokers // k + 1, n)
    columns = (first[:, None] + step[:, None] * np.arange(k)) % spec.brokers
    picked = rng.integers(0, directories.shape[1], (n, k))
    full = (1 << k) - 1
    leader_epochs = rng.geometric(0.3, n).astype(np.int32) - 1
    isr = np.full(n, full, np.uint8)
    leaders = np.where(rng.random(n) < 0.9, 0, rng.integers(0, k, n))
    if k > 2:
        lagging = np.flatnonzero(rng.random(n) < 0.02)
        missing = (leaders[lagging] + rng.integers(1, k, len(lagging))) % k
        isr[lagging] ^= (1 << missing).astype(np.uint8)
    return Partitions(
        topic_ids=np.repeat(topics.ids, spec.partitions, axis=0),
        partition_ids=np.tile(np.arange(spec.partitions, dtype=np.int32), spec.topics),
        replicas=broker_ids[columns],
        directories=directories[columns, picked].reshape(n, 16 * k),
        isr=isr,
        leaders=leaders,
        leader_epochs=leader_epochs,
        partition_epochs=leader_epochs + rng.geometric(0.2, n).astype(np.int32),
    )


def _write_checkpoint(
    file: BinaryIO, spec: ClusterSpec, nodes: small_records.Nodes, parts: Iterable[Values]
) -> None:
    voters = [c.as_voter() for c in nodes.controllers]
    file.write(
        files.checkpoint_head(epoch=EPOCH, timestamp=TIMESTAMP, kraft_version=1, voters=voters)
    )
    writer = BatchWriter(
        file, [spec.batch_records], base_offset=3, leader_epoch=EPOCH, timestamp=TIMESTAMP
    )
    for values in parts:
        writer.append(values)
    writer.flush()
    file.write(
        files.checkpoint_foot(base_offset=writer.next_offset, epoch=EPOCH, timestamp=TIMESTAMP)
    )


def _topic_chunks(spec: ClusterSpec, topics: Topics, partitions: Partitions) -> Iterator[Values]:
    """Yield each TopicRecord with its PartitionRecords after it, as Kafka's image writer does."""
    per_topic = spec.partitions
    topics_per_chunk = max(1, _ROWS_PER_CHUNK // (1 + per_topic))
    width = max(32 + max(map(len, topics.names), default=0), 64 + 24 * spec.replication)
    for start in range(0, spec.topics, topics_per_chunk):
        stop = min(start + topics_per_chunk, spec.topics)
        values = Values.empty((stop - start) * (1 + per_topic), width)
        index = np.arange(len(values.lengths)).reshape(-1, 1 + per_topic)
        topic_values(values, index[:, 0], topics.names[start:stop], topics.ids[start:stop])
        run = partitions.slice(start * per_topic, stop * per_topic)
        partition_values(values, index[:, 1:].ravel(), run)
        yield values


def _write_changes(
    file: BinaryIO,
    rng: np.random.Generator,
    spec: ClusterSpec,
    partitions: Partitions,
    base_offset: int,
) -> tuple[int, int]:
    """Write the changes, a NoOpRecord now and then; returns (batches, end offset)."""
    which, isr, leaders = make_changes(rng, partitions, spec.changes)
    low, high = (spec.changes_batch + 1) // 2, spec.changes_batch * 3 // 2 + 1
    sizes = rng.integers(low, high, spec.changes // low + 1).tolist()
    writer = BatchWriter(
        file,
        sizes,
        base_offset=base_offset,
        leader_epoch=EPOCH,
        timestamp=TIMESTAMP + 1000,
        batch_interval_ms=25,
    )
    no_op = Values.from_bytes([small_records.no_op()])
    per_chunk = spec.changes_batch * _NO_OP_EVERY * 10
    for start in range(0, spec.changes, per_chunk):
        rows = slice(start, start + per_chunk)
        part = which[rows]
        writer.append(
            partition_change_values(
                partitions.topic_ids[part],
                partitions.partition_ids[part],
                partitions.replicas[part],
                isr[rows],
                leaders[rows],
            )
        )
        writer.flush()
        writer.append(no_op)
        writer.flush()
    return writer.n_batches, writer.next_offset


def make_changes(
    rng: np.random.Generator, partitions: Partitions, count: int
) -> tuple[NDArray[np.int64], U8, NDArray[np.int64]]:
    """Make up changes, each sound on the state that those before it left.

    Returns:
        (int64[count] the partition's row, uint8[count] bits of the new ISR or 0, int64[count]
        column of the new leader or -1), in the order in which they happen.
    """
    which = rng.integers(0, len(partitions), count)
    new_isr, new_leaders = np.zeros(count, np.uint8), np.full(count, -1)
    isr, leaders = partitions.isr.copy(), partitions.leaders.copy()
    # The n-th changes of all partitions happen side by side: a partition's own stay in order.
    by_partition = np.argsort(which, kind="stable")
    sorted_which = which[by_partition]
    firsts = np.flatnonzero(np.diff(sorted_which, prepend=-1))
    ranks = np.arange(count) - np.repeat(firsts, np.diff(np.append(firsts, count)))
    for rank in range(int(ranks.max(initial=-1)) + 1):
        rows = by_partition[ranks == rank]
        part = which[rows]
        new_isr[rows], new_leaders[rows] = _change_once(
            rng, isr[part], leaders[part], partitions.replicas.shape[1]
        )
        isr[part] = np.where(new_isr[rows] > 0, new_isr[rows], isr[part])
        leaders[part] = np.where(new_leaders[rows] >= 0, new_leaders[rows], leaders[part])
    return which, new_isr, new_leaders


def _change_once(
    rng: np.random.Generator, isr: U8, leaders: NDArray[np.int64], n_replicas: int
) -> tuple[U8, NDArray[np.int64]]:
    """Shrink a full ISR, mostly by its leader; fill one that is not full; else move the leader."""
    n = len(isr)
    full = (1 << n_replicas) - 1
    action = rng.random(n)
    shrinks = (isr == full) & (action < 0.9) & (n_replicas > 1)
    fills = (isr != full) & (action < 0.9)
    dropped = np.where(rng.random(n) < 0.85, leaders, rng.integers(0, n_replicas, n))
    new_isr = np.where(shrinks, full & ~(1 << dropped), np.where(fills, full, 0)).astype(np.uint8)
    after = np.where(new_isr > 0, new_isr, isr)
    # Whoever leads goes on only where nobody else is in sync.
    others: NDArray[np.int64] = after & (after ^ (1 << leaders))
    elected = _pick_member(rng, np.where(others > 0, others, after), n_replicas)
    moves = (new_isr == 0) | (after >> leaders & 1 == 0)
    returns = fills & (rng.random(n) < 0.6)
    return new_isr, np.where(moves, elected, np.where(returns, 0, -1))


def _pick_member(
    rng: np.random.Generator, members: NDArray[np.int64], n_replicas: int
) -> NDArray[np.int64]:
    """Pick one of the bits set in each."""
    weights = (members[:, None] >> np.arange(n_replicas) & 1) * rng.random(
        (len(members), n_replicas)
    )
    picked: NDArray[np.int64] = weights.argmax(axis=1)
    return picked
