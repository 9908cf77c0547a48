"""Builds the records of partitions by the million: numpy matrices instead of a call per field.

Owns the byte layouts of TopicRecord 0, PartitionRecord 2 and PartitionChangeRecord 2 and of the
frames around values. The generic encoder gives the same bytes; a test holds the two together.

Values of one kind are rows of a matrix, left-aligned, with a length each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from kraftgen.batch import encode_raw_batch

U8 = NDArray[np.uint8]
I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Values:
    """Records' values as left-aligned rows."""

    rows: U8
    """uint8[n, width]"""
    lengths: I64
    """int64[n]"""

    @classmethod
    def empty(cls, count: int, width: int) -> Values:
        """Make room for `count` values of up to `width` bytes."""
        return cls(np.zeros((count, width), np.uint8), np.zeros(count, np.int64))

    @classmethod
    def from_bytes(cls, values: Sequence[bytes]) -> Values:
        """Make rows of values that are bytes already."""
        width = max(map(len, values))
        flat = np.frombuffer(b"".join(v.ljust(width, b"\0") for v in values), np.uint8)
        return cls(flat.reshape(len(values), width), np.array([len(v) for v in values], np.int64))

    def put(self, index: I64, *parts: U8 | bytes) -> None:
        """Fill the rows of `index` with parts side by side: matrices, or bytes for all rows."""
        pos = 0
        for part in parts:
            width = len(part) if isinstance(part, bytes) else part.shape[1]
            cells = np.frombuffer(part, np.uint8) if isinstance(part, bytes) else part
            self.rows[index, pos : pos + width] = cells
            pos += width
        self.lengths[index] = pos


def int32_bytes(values: NDArray[np.signedinteger]) -> U8:
    """Give the big-endian bytes of int32 values: [n] or [n, k] becomes uint8[n, 4 * k]."""
    columns = values if values.ndim == 2 else values[:, None]
    return np.ascontiguousarray(columns, dtype=">i4").view(np.uint8)


def topic_values(out: Values, index: I64, names: Sequence[bytes], topic_ids: U8) -> None:
    """Put TopicRecords into the rows of `index`. Names are up to 126 bytes long."""
    lengths = np.array([len(n) for n in names])
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        cells = np.frombuffer(b"".join(names[i] for i in rows.tolist()), np.uint8).reshape(
            -1, length
        )
        head = bytes([1, 2, 0, length + 1])
        out.put(index[rows], head, cells, topic_ids[rows], b"\x00")


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitions:
    """Partitions as columns; all with the same number of replicas, up to eight."""

    topic_ids: U8
    """uint8[n, 16]"""
    partition_ids: NDArray[np.int32]
    replicas: NDArray[np.int32]
    """int32[n, k]"""
    directories: U8
    """uint8[n, 16 * k]"""
    isr: U8
    """uint8[n]: bit i stands for the replica in column i."""
    leaders: NDArray[np.int64]
    """int64[n]: the leader's column."""
    leader_epochs: NDArray[np.int32]
    partition_epochs: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.partition_ids)

    def slice(self, start: int, stop: int) -> Partitions:
        """Give a run of the partitions, without copying."""
        return Partitions(
            **{name: getattr(self, name)[start:stop] for name in self.__dataclass_fields__}
        )


def partition_values(out: Values, index: I64, partitions: Partitions) -> None:
    """Put PartitionRecords into the rows of `index`."""
    n_replicas = partitions.replicas.shape[1]
    count = bytes([n_replicas + 1])
    for n_isr, rows, isr in _by_isr_size(partitions.isr, partitions.replicas):
        replicas = partitions.replicas[rows]
        out.put(
            index[rows],
            b"\x01\x03\x02",
            int32_bytes(partitions.partition_ids[rows]),
            partitions.topic_ids[rows],
            count,
            int32_bytes(replicas),
            bytes([n_isr + 1]),
            int32_bytes(isr),
            b"\x01\x01",
            int32_bytes(replicas[np.arange(len(rows)), partitions.leaders[rows]]),
            int32_bytes(partitions.leader_epochs[rows]),
            int32_bytes(partitions.partition_epochs[rows]),
            count,
            partitions.directories[rows],
            b"\x00",
        )


def partition_change_values(
    topic_ids: U8,
    partition_ids: NDArray[np.int32],
    replicas: NDArray[np.int32],
    isr: U8,
    leaders: NDArray[np.int64],
) -> Values:
    """Make PartitionChangeRecords.

    Args:
        topic_ids: uint8[n, 16].
        partition_ids: int32[n].
        replicas: int32[n, k], of the partition.
        isr: uint8[n]: bits of the new ISR, as in `Partitions`; 0 for no change.
        leaders: int64[n]: column of the new leader; -1 for no change.
    """
    out = Values.empty(len(isr), 23 + 1 + 3 + 4 * replicas.shape[1] + 6)
    for n_isr, rows, new_isr in _by_isr_size(isr, replicas):
        for has_leader in (False, True):
            those = np.flatnonzero((leaders[rows] >= 0) == has_leader)
            picked = rows[those]
            parts: list[U8 | bytes] = [
                b"\x01\x05\x02",
                int32_bytes(partition_ids[picked]),
                topic_ids[picked],
                bytes([(n_isr > 0) + has_leader]),
            ]
            if n_isr:
                parts += [bytes([0, 1 + 4 * n_isr, n_isr + 1]), int32_bytes(new_isr[those])]
            if has_leader:
                parts += [b"\x01\x04", int32_bytes(replicas[picked, leaders[picked]])]
            out.put(picked, *parts)
    return out


def _by_isr_size(
    isr: U8, replicas: NDArray[np.int32]
) -> Iterator[tuple[int, I64, NDArray[np.int32]]]:
    """Yield (size, rows with an ISR of that size, their ISR: int32[m, size])."""
    n_replicas = replicas.shape[1]
    masks = np.arange(1 << n_replicas)
    members = (masks[:, None] >> np.arange(n_replicas)) & 1
    # The columns that are members come first, in their order.
    columns = np.argsort(1 - members, axis=1, kind="stable")
    sizes = members.sum(axis=1)[isr]
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        picked = columns[isr[rows], :size]
        yield int(size), rows, np.take_along_axis(replicas[rows], picked, axis=1)


_MAX_VARINT: Final = 1 << 20
"""Lengths and deltas stay below, so that three bytes hold their zigzag form."""


def frame_records(values: Values, offset_deltas: I64) -> tuple[U8, I64]:
    """Put the frames of records without key, headers and timestamp delta around values.

    Returns:
        (bytes of all records one after another, int64[n] bytes of each).
    """
    n, width = values.rows.shape
    delta_cells, delta_mask = _varint_cells(offset_deltas)
    length_cells, length_mask = _varint_cells(values.lengths)
    sizes = values.lengths + 4 + delta_mask.sum(axis=1) + length_mask.sum(axis=1)
    size_cells, size_mask = _varint_cells(sizes)
    cells = np.zeros((n, width + 13), np.uint8)
    mask = np.ones((n, width + 13), bool)
    # Size; attributes and timestamp delta, both 0; offset delta; no key (-1); length; value; no
    # headers (0).
    for at, part, present in (
        (0, size_cells, size_mask),
        (5, delta_cells, delta_mask),
        (9, length_cells, length_mask),
    ):
        cells[:, at : at + 3] = part
        mask[:, at : at + 3] = present
    cells[:, 8] = 1
    cells[:, 12 : 12 + width] = values.rows
    mask[:, 12 : 12 + width] = np.arange(width) < values.lengths[:, None]
    return cells[mask], sizes + size_mask.sum(axis=1)


def _varint_cells(values: I64) -> tuple[U8, NDArray[np.bool_]]:
    """Encode numbers that are not negative as zigzag varints: uint8[n, 3] and which cells count."""
    if len(values) and int(values.max()) >= _MAX_VARINT:
        raise ValueError(f"{int(values.max())} is over what a record of the generator may hold")
    zigzag = values << 1
    groups = np.stack([zigzag & 0x7F, zigzag >> 7 & 0x7F, zigzag >> 14], axis=1)
    mask = np.stack([np.ones(len(values), bool), zigzag >= 1 << 7, zigzag >= 1 << 14], axis=1)
    groups[:, :2] |= mask[:, 1:].astype(np.int64) << 7
    return groups.astype(np.uint8), mask


class BatchWriter:
    """Cuts a stream of values into batches and writes them to a file.

    Args:
        file: Where the batches go.
        batch_sizes: How many records each batch takes; the last one repeats.
        base_offset: Offset of the first record.
        leader_epoch: Of every batch.
        timestamp: Of the first batch, in ms since the epoch.
        batch_interval_ms: How much later each batch is than the one before.
    """

    def __init__(
        self,
        file: BinaryIO,
        batch_sizes: Sequence[int],
        *,
        base_offset: int,
        leader_epoch: int,
        timestamp: int,
        batch_interval_ms: int = 0,
    ) -> None:
        self._file = file
        self._sizes = iter(batch_sizes)
        self._size = next(self._sizes)
        self._leader_epoch = leader_epoch
        self._interval_ms = batch_interval_ms
        self._parts: list[bytes] = []
        self._n_pending = 0
        self.next_offset = base_offset
        """Offset after the last record of the batches written."""
        self.timestamp = timestamp
        """Of the next batch."""
        self.n_batches = 0

    def append(self, values: Values) -> None:
        """Add values, writing each batch that is full."""
        n = len(values.lengths)
        cuts = self._cuts(n)
        deltas = np.arange(n)
        if len(cuts):
            firsts = np.concatenate([[0], cuts])
            deltas -= np.repeat(firsts, np.diff(np.concatenate([firsts, [n]])))
        deltas[: cuts[0] if len(cuts) else n] += self._n_pending
        flat, sizes = frame_records(values, deltas)
        data = flat.tobytes()
        stops = np.concatenate([[0], np.cumsum(sizes)])
        start = 0
        for cut in cuts:
            self._parts.append(data[int(stops[start]) : int(stops[cut])])
            self._n_pending += int(cut) - start
            start = int(cut)
            self.flush()
        self._parts.append(data[int(stops[start]) :])
        self._n_pending += n - start

    def _cuts(self, n: int) -> I64:
        """Say after which of the next `n` records a batch ends, moving on in the batch sizes."""
        cuts = []
        at = self._size - self._n_pending
        while at <= n:
            cuts.append(at)
            self._size = next(self._sizes, self._size)
            at += self._size
        return np.array(cuts, np.int64)

    def flush(self) -> None:
        """Write what is pending as one batch."""
        if not self._n_pending:
            return
        self._file.write(
            encode_raw_batch(
                b"".join(self._parts),
                count=self._n_pending,
                base_offset=self.next_offset,
                last_offset_delta=self._n_pending - 1,
                leader_epoch=self._leader_epoch,
                timestamp=self.timestamp,
            )
        )
        self.next_offset += self._n_pending
        self.timestamp += self._interval_ms
        self.n_batches += 1
        self._parts, self._n_pending = [], 0
