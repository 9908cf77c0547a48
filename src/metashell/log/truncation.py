"""Whether the files of a log still hold what was read of them, or the log was truncated since.

A follower truncates its log after an election and may append before anybody looks again, so neither
sizes nor times tell. The head of a batch does: it has the offset, the leader epoch and the CRC.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, Self

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.layout import HEAD
from metashell.log.names import Listing, SegmentName, parse_name
from metashell.log.read import Loaded, LogFile, opened
from metashell.places.place import FileRef
from metashell.places.vanished import VanishedError
from metashell.schema.arena import I64, U1

_BATCH: Final = np.dtype([("position", "<i8"), ("head", "u1", (HEAD.size,))])
_KEPT: Final = 4096
"""Batches of a file that are remembered. Kafka truncates what is not committed, which is little."""
_EPOCHS_SINCE: Final = 2
"""The first format whose batches have a leader epoch."""


@dataclass(frozen=True, slots=True)
class ReadUpTo:
    """How far a file was read, and the last batches that were read of it."""

    end: int
    """The position behind the last sound batch."""
    last_offset: int
    """The last offset up to there."""
    epoch: int
    """Its leader epoch; -1 where it has none."""
    positions: I64
    """Where the last batches begin in the file, ascending."""
    heads: U1
    """uint8[n, 27]: the first bytes of each."""

    @classmethod
    def nothing(cls, last_offset: int) -> Self:
        """Nothing is read of a file that begins behind an offset."""
        return cls(0, last_offset, -1, np.empty(0, np.int64), np.empty((0, HEAD.size), np.uint8))

    @classmethod
    def of(cls, loaded: Loaded, file: LogFile) -> Self:
        """The part that was read, of a file that has sound batches."""
        chain = file.chain
        positions = np.frombuffer(chain.positions, dtype=np.int64)[-_KEPT:]
        buffer = np.frombuffer(loaded.buffer, dtype=np.uint8)
        heads = buffer[positions[:, None] + np.arange(HEAD.size)]
        begin = positions - file.start
        end = int(begin[-1]) + _length(heads[-1].tobytes())
        return cls(end, chain.last_offset, chain.last_epoch, begin, heads)

    @classmethod
    def from_bytes(cls, data: bytes) -> ReadUpTo:
        """The part that `to_bytes` wrote, of a file that has batches.

        Raises:
            ValueError: It is none.
        """
        batches = np.frombuffer(data, _BATCH)
        if not len(batches):
            raise ValueError("no batch is there")
        read = cls(0, -1, -1, batches["position"].astype(np.int64), batches["head"])
        return read.first(len(batches), -1)

    def to_bytes(self) -> bytes:
        """The batches: all else follows from them."""
        batches = np.empty(len(self.positions), _BATCH)
        batches["position"], batches["head"] = self.positions, self.heads
        return batches.tobytes()

    def before(self, earlier: ReadUpTo | None) -> ReadUpTo:
        """This part with the batches that were read of the file before, as far as they are kept."""
        if earlier is None or len(self.positions) >= _KEPT:
            return self
        positions = np.concatenate([earlier.positions, self.positions])[-_KEPT:]
        heads = np.concatenate([earlier.heads, self.heads])[-_KEPT:]
        return ReadUpTo(self.end, self.last_offset, self.epoch, positions, heads)

    def first(self, n: int, before: int) -> ReadUpTo:
        """The part up to its first `n` batches; `before` is the last offset before the file."""
        if not n:
            return ReadUpTo.nothing(before)
        head = self.heads[n - 1].tobytes()
        base, _, epoch, magic, _, _, last_delta = HEAD.unpack(head)
        is_old = magic < _EPOCHS_SINCE
        return ReadUpTo(
            int(self.positions[n - 1]) + _length(head),
            base if is_old else base + last_delta,
            -1 if is_old else epoch,
            self.positions[:n],
            self.heads[:n],
        )

    def n_standing(self, file: FileRef) -> int:
        """How many of the batches are still where they were. Cost: a few reads, one as a rule.

        Raises:
            SourceError: The file can't be read.
            VanishedError: It is gone.
        """
        with opened(file) as source:
            found = memoryview(bytearray(HEAD.size))

            def stands(i: int) -> bool:
                n = source.read_into(found, int(self.positions[i]))
                head = self.heads[i].tobytes()
                whole = int(self.positions[i]) + _length(head) <= source.size
                return whole and n == len(found) and bytes(found) == head

            low, high = 0, len(self.positions)
            if high and stands(high - 1):
                return high
            # Up to where a log was truncated all is as it was.
            while low < high:
                middle = (low + high) // 2
                low, high = (middle + 1, high) if stands(middle) else (low, middle)
            return low


@dataclass(frozen=True, slots=True)
class Truncation:
    """The part of a log that was read and is gone."""

    last_offset: int
    """The last offset that was read."""
    epoch: int
    """Its leader epoch."""
    kept_offset: int
    """The last offset that is still there; -1 for none."""
    kept_epoch: int
    """Its leader epoch; -1 where nothing that was read tells it."""

    def __str__(self) -> str:
        kept = (
            "its beginning" if self.kept_offset < 0 else _point(self.kept_offset, self.kept_epoch)
        )
        return f"the log was truncated from {_point(self.last_offset, self.epoch)}, to {kept}"


def _point(offset: int, epoch: int) -> str:
    return f"offset {offset}" if epoch < 0 else f"offset {offset}, epoch {epoch}"


def _length(head: bytes) -> int:
    """Bytes of a batch."""
    return 12 + int(HEAD.unpack(head)[1])


def forget_truncated(
    ends: dict[str, ReadUpTo],
    listing: Listing,
    path_of: Callable[[str], FileRef],
    changed: Collection[str],
    *,
    compacts: bool = False,
) -> Truncation | None:
    """Forget what is gone of what was read.

    Args:
        ends: How far files were read, by name; brought up to date.
        listing: The files that are there now.
        path_of: Where a file is read from.
        changed: Names of the files that may be others now.
        compacts: Whether batches of a segment that is not the last may go with compaction.

    Returns:
        The part that is gone; None where nothing is, or where that is unknown at the moment.
    """
    segments = {segment.name for segment in listing.segments}
    if not segments:
        return None
    newest = listing.segments[-1].base_offset
    last = max(ends.values(), key=lambda end: end.last_offset, default=None)
    for name in sorted(ends.keys() & set(changed)):
        segment, end = parse_name(name), ends[name]
        if not isinstance(segment, SegmentName):
            continue
        if (compacts or name not in segments) and newest > end.last_offset:
            continue  # A node deletes what a checkpoint stands for.
        try:
            n = end.n_standing(path_of(name)) if name in segments else 0
        except VanishedError:
            n = 0
        except SourceError:
            continue  # Whoever reads it says so.
        if n == len(end.positions):
            continue
        ends[name] = end.first(n, segment.base_offset - 1)
        for later in [other for other in ends if other > name]:
            del ends[later]
        kept = max(ends.values(), key=lambda end: (end.last_offset, end.epoch))
        assert last is not None
        return Truncation(last.last_offset, last.epoch, kept.last_offset, kept.epoch)
    return None


def truncation_of(
    loaded: Loaded, listing: Listing, path_of: Callable[[str], FileRef], changed: Collection[str]
) -> Truncation | None:
    """The part of a read log, read here or elsewhere, that is gone; see `forget_truncated`."""
    ends: dict[str, ReadUpTo] = {}
    for file in loaded.files:
        # A checkpoint numbers its records for itself.
        if isinstance(parse_name(file.name), SegmentName):
            read = ReadUpTo.of(loaded, file) if file.chain.positions else file.read
            if read is not None:
                ends[file.name] = read
    return forget_truncated(ends, listing, path_of, changed)
