"""Whether copies of one log hold the same: by their batches, and by their leader epochs.

A follower appends what it fetches byte for byte, so copies hold the same batches at the same
offsets up to where one leaves the other. Two batches at one offset are told apart by their base and
last offset, leader epoch and CRC. Where the batches are gone, or replaced by a checkpoint, what is
left is the epochs: they never fall along a log, so what is known around an offset bounds them.

Source: Kafka's DefaultRecordBatch (neither base offset nor epoch is covered by the CRC),
LeaderEpochFileCache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.log.frames import Frames
from metashell.log.names import Listing, SegmentName, parse_name
from metashell.log.read import Loaded
from metashell.node_files.node_files import NodeFiles
from metashell.places.bounded_file import AnyPlace
from metashell.schema.arena import I64, AnyArray

if TYPE_CHECKING:
    from metashell.records.records import Records

BLOCK_OFFSETS: Final = 1024
"""Offsets that are compared by one digest; a block begins at a multiple of it."""
_DIGEST_BYTES: Final = 8
NOT_WHOLE: Final = "-"
"""Stands for the digest of a block of which a copy lacks batches."""

BASE, LAST, EPOCH, CRC = range(4)
"""Columns of batches."""


def batches_of(loaded: Loaded, frames: Frames, before: int | None = None) -> I64:
    """The batches of the segments among files read, those before a checkpoint's end included.

    Args:
        loaded: The files.
        frames: Their records.
        before: The row at which the state ends; None for the end.

    Returns:
        int64[n, 4]: first offset, last offset, leader epoch and CRC of each, in order.
    """
    batches = frames.batches
    is_segment = np.array(
        [isinstance(parse_name(file.name), SegmentName) for file in loaded.files], dtype=np.bool_
    )
    counts = is_segment[batches.file] if len(loaded.files) else np.zeros(0, dtype=np.bool_)
    if before is not None:
        counts &= batches.first_row[:-1] < before
    return columns_of(batches.header[counts])


def columns_of(header: AnyArray, n_columns: int = 4) -> I64:
    """int64[n, n_columns]: headers as the columns of batches; columns behind these are not set."""
    out = np.empty((len(header), n_columns), dtype=np.int64)
    out[:, BASE] = header["base_offset"]
    out[:, LAST] = out[:, BASE] + header["last_delta"]
    out[:, EPOCH] = header["epoch"]
    out[:, CRC] = header["crc"]
    return out


def block_digests(batches: I64, first: int, last: int) -> list[str]:
    """A digest of each block of a range of offsets, or `NOT_WHOLE`.

    Args:
        batches: The result of `batches_of`.
        first: The first offset.
        last: The last; the blocks in between begin at multiples of `BLOCK_OFFSETS`.
    """
    starts = block_starts(first, last)
    ends = [*starts[1:], last + 1]
    begin = np.searchsorted(batches[:, LAST], starts)
    stop = np.searchsorted(batches[:, BASE], ends)
    follows = batches[1:, BASE] == batches[:-1, LAST] + 1
    n_following = np.concatenate(([0], np.cumsum(follows)))
    found = []
    for a, b, start, end in zip(begin.tolist(), stop.tolist(), starts, ends, strict=True):
        is_whole = (
            a < b
            and batches[a, BASE] <= start
            and batches[b - 1, LAST] >= end - 1
            and n_following[b - 1] - n_following[a] == b - 1 - a
        )
        rows = np.ascontiguousarray(batches[a:b], dtype="<i8").tobytes() if is_whole else b""
        digest = hashlib.blake2b(rows, digest_size=_DIGEST_BYTES).hexdigest()
        found.append(digest if is_whole else NOT_WHOLE)
    return found


def block_starts(first: int, last: int) -> list[int]:
    """Where the blocks of a range of offsets begin."""
    following = (first // BLOCK_OFFSETS + 1) * BLOCK_OFFSETS
    return [first, *range(following, last + 1, BLOCK_OFFSETS)]


def between(batches: I64, first: int, last: int) -> I64:
    """The batches that hold an offset of a range."""
    begin = int(np.searchsorted(batches[:, LAST], first))
    stop = int(np.searchsorted(batches[:, BASE], last, side="right"))
    return batches[begin:stop]


def batch_at(batches: I64, offset: int) -> tuple[int, ...] | None:
    """The batch that holds an offset; None where it is not there."""
    found = between(batches, offset, offset)
    return tuple(found[0].tolist()) if len(found) else None


def first_conflict(copies: Sequence[I64]) -> int | None:
    """The first offset at which two copies hold different batches; None where none do."""
    if not sum(map(len, copies)):
        return None
    # Each copy is in order, which this sort is quick at. Equal batches lie side by side then,
    # except where another batch of that base lies between, and that is a conflict already.
    order = np.argsort(_column(copies, BASE), kind="stable")
    is_new = np.zeros(len(order), dtype=np.bool_)
    is_new[0] = True
    for column in range(4):
        values = _column(copies, column)[order]
        is_new[1:] |= values[1:] != values[:-1]
    order = order[is_new]
    base = _column(copies, BASE)[order]
    # Batches of one copy never overlap, so what does is of two.
    reach = np.maximum.accumulate(_column(copies, LAST)[order])
    found = np.flatnonzero(base[1:] <= reach[:-1])
    return int(base[found[0] + 1]) if found.size else None


def _column(copies: Sequence[I64], number: int) -> I64:
    return np.concatenate([batches[:, number] for batches in copies])


@dataclass(frozen=True, slots=True)
class Epochs:
    """The leader epochs along a log, as far as they are known: ranges of offsets, in order.

    The batches tell them, ``leader-epoch-checkpoint`` where batches are gone, and the names of
    checkpoints the one of the offset before their end.
    """

    ranges: tuple[tuple[int, int, int], ...]
    """(first offset, last offset, epoch) of each."""

    @classmethod
    def of(
        cls,
        batches: I64,
        entries: Sequence[tuple[int, int]],
        points: Sequence[tuple[int, int]],
        end: int,
    ) -> Epochs:
        """Put together what is known.

        Args:
            batches: The batches of the log.
            entries: (epoch, first offset) of ``leader-epoch-checkpoint``.
            points: (epoch, offset).
            end: The last offset of the log; what is said of later ones does not count.
        """
        starts = np.flatnonzero(
            np.append(True, batches[1:, EPOCH] != batches[:-1, EPOCH])[: len(batches)]
        )
        found = [
            (int(batches[a, BASE]), int(batches[b - 1, LAST]), int(batches[a, EPOCH]))
            for a, b in pairwise([*starts.tolist(), len(batches)])
        ]
        # Only where there are no batches: those are the log.
        first = found[0][0] if found else end + 1
        for (epoch, start), (_, limit) in pairwise([*entries, (0, end + 1)]):
            last = min(limit, first) - 1
            if start <= last:
                found.append((start, last, epoch))
        known = list(found)
        for epoch, offset in points:
            if offset <= end and not any(a <= offset <= b for a, b, _ in known):
                found.append((offset, offset, epoch))
        return cls(tuple(sorted(found)))

    def at(self, offset: int) -> int | None:
        """The epoch of an offset; None where it is not known."""
        return next((epoch for a, b, epoch in self.ranges if a <= offset <= b), None)

    def bounds(self, offset: int) -> tuple[int, int | None]:
        """The least and the largest epoch that an offset can have; None for no bound."""
        least = max((epoch for a, _, epoch in self.ranges if a <= offset), default=-1)
        return least, next((epoch for _, b, epoch in self.ranges if b >= offset), None)


def first_epoch_conflict(a: Epochs, b: Epochs) -> int | None:
    """The first offset whose epochs can't be of one log; None where all can."""
    found = [offset for x, y in ((a, b), (b, a)) if (offset := _first_above(x, y)) is not None]
    return min(found, default=None)


def _first_above(a: Epochs, b: Epochs) -> int | None:
    """The first offset that has a later epoch in `a` than it can have in `b`."""
    if not a.ranges or not b.ranges:
        return None
    lasts = np.array([last for _, last, _ in b.ranges], dtype=np.int64)
    epochs = np.array([epoch for _, _, epoch in b.ranges], dtype=np.int64)
    starts = np.array([first for first, _, _ in a.ranges], dtype=np.int64)
    own = np.array([epoch for _, _, epoch in a.ranges], dtype=np.int64)
    at = np.searchsorted(lasts, starts)
    bounded = at < len(lasts)
    above = bounded & (own > epochs[np.minimum(at, len(lasts) - 1)])
    found = starts[above]
    return int(found[0]) if found.size else None


@dataclass(frozen=True, slots=True)
class LogFacts:
    """Batches and epochs of a log, up to an offset."""

    batches: I64
    """int64[n, 4]; see `batches_of`."""
    epochs: Epochs
    end: int
    """The last offset; -1 where there is none."""

    @classmethod
    def of(
        cls,
        records: Records,
        listing: Listing,
        directory: AnyPlace | None,
        *,
        offset: int = -1,
        until: int | None = None,
        whole: bool = False,
    ) -> LogFacts:
        """Gather what is known.

        Args:
            records: The records read.
            listing: The names in the directory.
            directory: Where ``leader-epoch-checkpoint`` is looked for; None for nowhere.
            offset: The last offset of the state, which may come from a checkpoint.
            until: Leave out batches that begin behind that offset.
            whole: Take the batches behind the state's end too, as far as they were read.
        """
        before = None if whole else records.before
        batches = batches_of(records.loaded, records.frames, before)
        if until is not None:
            batches = batches[batches[:, 0] <= until]
        end = max(offset, int(batches[-1, LAST]) if len(batches) else -1)
        entries: list[tuple[int, int]] = []
        with suppress(MetashellError):
            entries = list(NodeFiles(directory).epochs().items())
        points = [(c.epoch, c.end_offset - 1) for c in listing.checkpoints if not c.is_bootstrap]
        return cls(batches, Epochs.of(batches, entries, points, end), end)

    def epoch_at(self, offset: int) -> int | None:
        """The leader epoch of an offset; None where it is not known."""
        batch = batch_at(self.batches, offset)
        return self.epochs.at(offset) if batch is None else batch[EPOCH]

    def first_conflict(self, other: LogFacts) -> int | None:
        """The first offset at which both can't be of one log; None where all that is here can."""
        found = (
            first_conflict([self.batches, other.batches]),
            first_epoch_conflict(self.epochs, other.epochs),
        )
        return min((offset for offset in found if offset is not None), default=None)
