"""Replicas of a compacted log: which reaches furthest, and where two can't be of one log.

Followers append what they fetch byte for byte, but each replica is cleaned by itself: batches lack
records, or are gone, in one and not in the other. A batch keeps its first and last offset and its
leader epoch. Its bytes are compared where nothing was taken from it, nor its delete horizon set.
``leader-epoch-checkpoint`` tells of epochs that wrote nothing yet.

Source: org.apache.kafka.common.record.internal.MemoryRecords.filterTo, LeaderEpochFileCache,
Partition.makeLeader.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import numpy as np

from metashell.checks.agreement import (
    BASE,
    CRC,
    EPOCH,
    LAST,
    Epochs,
    columns_of,
    first_epoch_conflict,
)
from metashell.dataclass import dataclass
from metashell.log.frames import HEADER
from metashell.log.layout import DELETE_HORIZON
from metashell.log.read import Loaded
from metashell.schema.arena import I64, Arena, Bools

_WHOLE: Final = 4
"""Column of batches behind those of `metashell.checks.agreement`: 1 where nothing was cleaned."""
_COLUMNS: Final = 5
_OLD_FORMATS: Final = 2


Reach: TypeAlias = tuple[int, int]
"""The rank of a replica: the newest leader epoch it knows, then the offset behind its last."""


def reach_of(written: int, epochs: Iterable[int], end: int) -> Reach:
    """How far a replica reaches.

    Args:
        written: The epoch of its last batch; -1 without any.
        epochs: The epochs of its ``leader-epoch-checkpoint``.
        end: The offset behind its last one.
    """
    return max((written, *epochs)), end


@dataclass(frozen=True, slots=True)
class ReplicaFacts:
    """The facts about a replica's log without its records."""

    batches: I64
    """int64[n, 5]: as of `metashell.checks.agreement.batches_of`, and whether a batch is whole.
    Without messages of older formats, which have no epoch."""
    epoch_starts: tuple[tuple[int, int], ...]
    """(epoch, first offset) of its ``leader-epoch-checkpoint``."""
    end: int
    """The offset behind its last one."""

    @classmethod
    def of(
        cls, loaded: Loaded, epoch_starts: Sequence[tuple[int, int]], log_start: int
    ) -> ReplicaFacts:
        """From the files of a replica.

        Args:
            loaded: Its segments.
            epoch_starts: (epoch, first offset) of its ``leader-epoch-checkpoint``.
            log_start: The base offset of its last segment, which is the end of an empty log.
        """
        end = max((file.chain.last_offset + 1 for file in loaded.files), default=0)
        return cls(_batches_of(loaded), tuple(epoch_starts), max(end, log_start))

    @property
    def reach(self) -> Reach:
        """How far it reaches."""
        written = int(self.batches[-1, EPOCH]) if len(self.batches) else -1
        return reach_of(written, (epoch for epoch, _ in self.epoch_starts), self.end)

    @property
    def epochs(self) -> Epochs:
        """The leader epochs along it."""
        return Epochs.of(self.batches, self.epoch_starts, (), self.end - 1)


def first_divergence(one: ReplicaFacts, other: ReplicaFacts) -> int | None:
    """The first offset at which two replicas can't be of one log; None where they can."""
    found = [
        offset
        for offset in (
            first_epoch_conflict(one.epochs, other.epochs),
            _first_older(one, other.epoch_starts),
            _first_older(other, one.epoch_starts),
            _first_other_batch(one.batches, other.batches),
        )
        if offset is not None
    ]
    return min(found, default=None)


def _batches_of(loaded: Loaded) -> I64:
    positions = np.concatenate(
        [np.empty(0, dtype=np.int64)]
        + [np.frombuffer(file.chain.positions, dtype=np.int64) for file in loaded.files]
    )
    arena = Arena(loaded.buffer, loaded.size)
    header = arena.gather(f"V{HEADER.itemsize}", positions).view(HEADER)
    header = header[header["magic"] >= _OLD_FORMATS]
    out = columns_of(header, _COLUMNS)
    is_whole = header["count"].astype(np.int64) == header["last_delta"].astype(np.int64) + 1
    out[:, _WHOLE] = is_whole & (header["attributes"] & DELETE_HORIZON == 0)
    return out


def _first_older(one: ReplicaFacts, epoch_starts: Sequence[tuple[int, int]]) -> int | None:
    """The first offset that is of an older epoch than another replica's epochs begin there."""
    batches = one.batches
    for epoch, start in epoch_starts:
        older = np.flatnonzero((batches[:, LAST] >= start) & (batches[:, EPOCH] < epoch))
        if older.size:
            return max(start, int(batches[older[0], BASE]))
    return None


def _first_other_batch(one: I64, other: I64) -> int | None:
    """The first offset at which two logs have different batches."""
    _, a, b = np.intersect1d(one[:, BASE], other[:, BASE], assume_unique=True, return_indices=True)
    x, y = one[a], other[b]
    differs: Bools = (x[:, LAST] != y[:, LAST]) | (x[:, EPOCH] != y[:, EPOCH])
    is_whole = (x[:, _WHOLE] != 0) & (y[:, _WHOLE] != 0)
    differs |= is_whole & (x[:, CRC] != y[:, CRC])
    found = x[differs, BASE][:1].tolist()
    for mine, theirs in ((one, other), (other, one)):
        alone = mine[~np.isin(mine[:, BASE], theirs[:, BASE])]
        at = np.searchsorted(theirs[:, LAST], alone[:, BASE])
        alone, at = alone[at < len(theirs)], at[at < len(theirs)]
        crossing = np.flatnonzero(theirs[at, BASE] <= alone[:, LAST])
        if crossing.size:
            first = crossing[0]
            found.append(max(int(alone[first, BASE]), int(theirs[at[first], BASE])))
    return min(found, default=None)
