"""The log of any topic's partition, looked at from its end: where it ends, and who wrote there.

Nothing of the records is read, only headers of batches and the files beside the segments. A running
broker writes to these logs and deletes of them: what vanishes is listed again.

``.snapshot`` files beside the segments of a log: the state of its producers at an offset.

A broker writes one when it begins a segment, and when it stops; on a start it reads the newest and
the log behind it. An int16 version and a CRC-32C stand before the entries.

Source: org.apache.kafka.storage.internals.log.ProducerStateManager; ProducerSnapshot, version 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from struct import Struct
from typing import Final, TypeVar

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import DecodeError, SourceError
from metashell.log.batch_headers import (
    HeaderWalk,
    MarkedHeaders,
    is_batch_at,
)
from metashell.log.crc import crc32c
from metashell.log.extent import rest_of
from metashell.log.fault import Fault, FaultCode, FaultKind
from metashell.log.layout import HEAD, HEADER_BYTES
from metashell.log.names import SegmentName, list_names
from metashell.log.read import OpenFile, opened, whole_size
from metashell.places.bounded_file import read_if_present
from metashell.places.place import FileRef, Place, child_of, file_in, names_in
from metashell.places.vanished import VanishedError
from metashell.schema.arena import I64, AnyArray

SNAPSHOT_LIMIT_BYTES: Final = 256 << 20
"""Bytes of such a file at most that are read: millions of producers."""

_HEAD: Final = Struct(">hIi")
_CRC_END: Final = 6
_VERSION: Final = 1
_ENTRY: Final = np.dtype(
    [
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("last_sequence", ">i4"),
        ("last_offset", ">i8"),
        ("offset_delta", ">i4"),
        ("last_timestamp", ">i8"),
        ("coordinator_epoch", ">i4"),
        ("current_txn_first_offset", ">i8"),
    ]
)
NO_PRODUCERS: Final[AnyArray] = np.empty(0, _ENTRY)
"""The entries where there is no snapshot."""
_NAME: Final = re.compile(r"(\d{20})\.snapshot", re.ASCII)
_MAX_OFFSET: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True, order=True)
class SnapshotName:
    """A file with the state of a log's producers before an offset."""

    end_offset: int
    name: str


def snapshot_names(names: Iterable[str]) -> list[SnapshotName]:
    """The snapshots among the names of a log's directory, by offset."""
    matches = (_NAME.fullmatch(name) for name in names)
    found = [SnapshotName(int(match[1]), match[0]) for match in matches if match is not None]
    return sorted(each for each in found if each.end_offset <= _MAX_OFFSET)


def parse_producer_snapshot(data: bytes) -> AnyArray:
    """The entries of a snapshot's content, one a producer.

    Returns:
        A structured array with the fields ``producer_id``, ``producer_epoch``, ``last_sequence``
        (-1 for none), ``last_offset`` (of a record with data, -1 for none), ``last_timestamp`` (ms
        since the epoch), ``coordinator_epoch`` (of the last marker, -1 for none) and
        ``current_txn_first_offset`` (-1 where no transaction is open).

    Raises:
        DecodeError: It is cut, of an unknown version, or its CRC is wrong.
    """
    if len(data) < _HEAD.size:
        raise DecodeError(f"cut off: {len(data)} bytes")
    version, crc, count = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise DecodeError(f"unknown version {version}")
    actual = crc32c(memoryview(data)[_CRC_END:])
    if crc != actual:
        raise DecodeError(f"CRC mismatch: stored {crc:08x}, computed {actual:08x}")
    if count < 0 or count * _ENTRY.itemsize > len(data) - _HEAD.size:
        raise DecodeError(f"cut off: {count} entries do not fit in {len(data)} bytes")
    return np.frombuffer(data, _ENTRY, count, _HEAD.size)


_LISTING_TRIES: Final = 5
_NEVER: Final = (1 << 63) - 1
"""An offset behind every log."""
_MAX_RELATIVE: Final = (1 << 32) - 1
_SHORT_BYTES: Final = 32 << 10
_BLOCK_BATCHES: Final = 1 << 16
"""Headers of so many batches are kept together, or of somewhat more."""
_FEW_BATCHES: Final = 64
_T = TypeVar("_T")


@dataclass(slots=True)
class ProducerHistory:
    """The data from which a broker makes the state of a partition's producers."""

    snapshot: AnyArray
    """Entries of the newest sound ``.snapshot`` file; none where there is no sound snapshot."""
    snapshot_offset: int
    """Up to which offset they are; the log's start where there is no snapshot."""
    behind: MarkedHeaders
    """Headers of the batches behind it that have a producer."""
    end_offset: int
    """One behind the last offset of the log."""
    last_timestamp_ms: int
    """The highest timestamp behind the snapshot, -1 for none."""
    faults: list[Fault] = field(default_factory=list)


@dataclass(slots=True)
class BatchHeaders:
    """Headers of some batches of a segment, in log order."""

    file: str
    """The segment's name."""
    pos: I64
    """int64[n]: where each begins in it."""
    header: AnyArray
    """`metashell.log.frames.HEADER`; messages of older formats read like batches."""
    last_offset: int
    """The last offset of the segment up to here."""
    size: int
    """The bytes of the segment."""
    faults: Sequence[Fault] = ()
    """The faults behind them."""


@dataclass(frozen=True, slots=True)
class LogEnd:
    """Where a log ends."""

    start_offset: int
    """Base offset of its first segment. Deletions of earlier segments are reported elsewhere."""
    end_offset: int
    """One behind the last offset: the log end offset."""
    last_epoch: int
    """Leader epoch of the last batch; -1 for none."""
    last_timestamp_ms: int
    """The highest timestamp of the last batches, ms since the epoch; -1 for none."""


class LogTail:
    """A partition's log, of which only the end is read.

    Args:
        place: Its directory.
        name: The name that Kafka writes, such as ``orders-3``.
        names: The names in its directory where they were listed; else they are when needed.
    """

    def __init__(self, place: Place, name: str, names: Iterable[str] = ()) -> None:
        self.place, self.name = place, name
        self._take(names)

    def end(self) -> LogEnd:
        """Where it ends. Cost: reads behind the last entry of the newest segment's index.

        Raises:
            SourceError: It can't be read, or has no segment.
        """
        return self._listed(self._end)

    def producers(self) -> ProducerHistory:
        """The newest sound snapshot of producers, and the batches behind it. Cost: reads that.

        Raises:
            SourceError: It can't be read, or has no segment.
        """
        return self._listed(self._producers)

    def batches(
        self, segment: SegmentName, from_offset: int = 0, most: int = _BLOCK_BATCHES
    ) -> Iterator[BatchHeaders]:
        """Headers of a segment's batches that end at an offset or behind it, block by block.

        Args:
            segment: The segment.
            from_offset: The offset.
            most: So many batches are in a block, or somewhat more.

        Raises:
            VanishedError: It is gone.
            SourceError: It can't be read.
        """
        name, before = segment.name, segment.base_offset - 1
        walk = HeaderWalk(from_offset=from_offset, last_offset=before, keeps_all=True)
        with opened(file_in(self.place, name)) as source:
            begin, end = -1, self._start(source, segment, from_offset)
            while end > begin:
                n, begin = walk.n_batches, end
                end = walk.segment(source, name, begin, most=most)
                if walk.faults or walk.n_batches - n < most:
                    begin = end
                    if not walk.faults:
                        walk.faults.extend(_rest(source, name, end, walk.last_offset + 1))
                last_offset, faults = walk.last_offset, tuple(walk.faults)
                yield BatchHeaders(name, *walk.take(), last_offset, source.size, faults)

    def bytes_behind_snapshot(self, sizes: Mapping[str, int]) -> int:
        """Bytes that `producers` walks over at most, if the newest snapshot is sound.

        Args:
            sizes: The sizes of its files, by name.
        """
        bases = [segment.base_offset for segment in self.segments]
        offset = self._snapshots[-1].end_offset if self._snapshots else bases[0]
        first = max(int(np.searchsorted(bases, offset, side="right")) - 1, 0)
        n_bytes = sum(sizes.get(segment.name, 0) for segment in self.segments[first:])
        if n_bytes > _SHORT_BYTES:
            n_bytes -= self._position(self.segments[first], offset)
        return n_bytes

    def batch_times(self, offsets: Sequence[int]) -> list[int | None]:
        """Timestamps of the batches that hold offsets, or of the next ones behind a gap.

        Args:
            offsets: Which ones.

        Returns:
            For each the batch's highest timestamp in ms since the epoch; None behind the end of the
            log, before its start, and for a batch without one.

        Raises:
            SourceError: It can't be read, or has no segment.
        """
        return self._listed(lambda: [self._batch_time(offset) for offset in offsets])

    def _take(self, names: Iterable[str]) -> None:
        logs = [name for name in names if name.endswith((".log", ".snapshot"))]
        self.segments: Sequence[SegmentName] = list_names(logs).segments
        """Its segments as they were listed; none before that."""
        self._snapshots: Sequence[SnapshotName] = snapshot_names(logs)

    def _listed(self, read: Callable[[], _T]) -> _T:
        for attempt in range(_LISTING_TRIES):
            if attempt or not self.segments:
                self._take(names_in(self.place))
            if not self.segments:
                raise SourceError(f"{self.place}: no segment of {self.name} there")
            # Never an endless chase after a broker that deletes faster than we read.
            with suppress(VanishedError):
                return read()
        raise SourceError(f"{self.place}: its files keep vanishing while they are opened")

    def _end(self) -> LogEnd:
        segments = self.segments
        first, last = segments[0].base_offset, segments[-1]
        walk = HeaderWalk(from_offset=_NEVER)
        self._walk(walk, last, _NEVER)
        end = walk.last_offset + 1 if walk.last_offset >= 0 else last.base_offset
        epoch, time = walk.last_epoch, walk.last_timestamp_ms
        if not walk.n_batches and len(segments) > 1:
            before = HeaderWalk(from_offset=_NEVER)
            self._walk(before, segments[-2], _NEVER)
            epoch, time = before.last_epoch, before.last_timestamp_ms
        return LogEnd(first, end, epoch, time)

    def _walk(self, walk: HeaderWalk, segment: SegmentName, from_offset: int) -> None:
        """Walk over a segment, from shortly before an offset on."""
        walk.last_offset = max(walk.last_offset, segment.base_offset - 1)
        with opened(file_in(self.place, segment.name)) as source:
            end = walk.segment(source, segment.name, self._start(source, segment, from_offset))
            if end < source.size and segment is not self.segments[-1] and not walk.faults:
                walk.stopped(segment.name, end)

    def _start(self, source: OpenFile, segment: SegmentName, offset: int) -> int:
        """The position of a batch of a segment shortly before an offset, or of its first one."""
        # A short segment is read faster than its index.
        start = self._position(segment, offset) if source.size > _SHORT_BYTES else 0
        return start if start and is_batch_at(source, start, segment.base_offset) else 0

    def _position(self, segment: SegmentName, offset: int) -> int:
        """Where in a segment to begin to look for an offset."""
        relative = offset - segment.base_offset
        if relative <= 0:
            return 0
        index = segment.name.removesuffix(".log") + ".index"
        return position_before(file_in(self.place, index), min(relative, _MAX_RELATIVE))

    def _producers(self) -> ProducerHistory:
        segments, snapshots = self.segments, self._snapshots
        faults: list[Fault] = []
        for snapshot in reversed(snapshots):
            entries = self._read(snapshot, faults)
            if entries is None:
                continue
            walk = self._walk_from(snapshot.end_offset)
            end = walk.last_offset + 1
            if end >= snapshot.end_offset or snapshot is snapshots[0]:
                return _history(entries, snapshot.end_offset, walk, [*faults, *walk.faults])
            # The log was cut since: a broker drops such a snapshot.
        walk = self._walk_from(segments[0].base_offset)
        begin = segments[0].base_offset
        return _history(NO_PRODUCERS, begin, walk, [*faults, *walk.faults])

    def _read(self, snapshot: SnapshotName, faults: list[Fault]) -> AnyArray | None:
        """The entries of a snapshot; None where it is gone or at fault, as a broker then goes on
        with the one before.
        """
        place = child_of(self.place, snapshot.name)
        try:
            data = read_if_present(place, limit_bytes=SNAPSHOT_LIMIT_BYTES)
            return None if data is None else parse_producer_snapshot(data)
        except DecodeError as error:
            kind, reason = FaultKind.DAMAGED, f"{error}; a broker goes on with an older one"
        except SourceError as error:
            kind, reason = FaultKind.UNREADABLE, f"{error.message}; an older one is read"
        faults.append(Fault(kind, reason, snapshot.name, 0, snapshot.end_offset))
        return None

    def _walk_from(self, offset: int) -> HeaderWalk:
        """Walk from an offset to the end of the log."""
        segments = self.segments
        bases = [segment.base_offset for segment in segments]
        first = max(int(np.searchsorted(bases, offset, side="right")) - 1, 0)
        walk = HeaderWalk(from_offset=offset)
        for segment in segments[first:]:
            self._walk(walk, segment, offset)
        return walk

    def _batch_time(self, offset: int) -> int | None:
        segments = self.segments
        bases = [segment.base_offset for segment in segments]
        at = int(np.searchsorted(bases, offset, side="right")) - 1
        for segment in segments[at : at + 2] if at >= 0 else ():
            for found in self.batches(segment, offset, most=_FEW_BATCHES):
                if len(found.pos):
                    time = int(found.header[0]["max_timestamp"])
                    return time if time >= 0 else None
        return None


def _rest(source: OpenFile, name: str, end: int, offset: int) -> Iterator[Fault]:
    """The fault of a segment whose batches do not go up to its end; zeros are none."""
    head = bytearray(HEAD.size)
    source.read_into(memoryview(head), end)
    if any(head):
        left = source.size - end
        wanted = HEADER_BYTES if left < HEADER_BYTES else 12 + HEAD.unpack(head)[1]
        reason = f"batch cut off: {left} bytes of {wanted}"
        yield Fault(FaultKind.TORN, reason, name, end, offset, FaultCode.CUT_OFF)
    if whole_size(source) > source.size:
        yield rest_of(name, whole_size(source), source.size, offset)


def _history(
    entries: AnyArray, offset: int, walk: HeaderWalk, faults: list[Fault]
) -> ProducerHistory:
    end = walk.last_offset + 1
    return ProducerHistory(entries, offset, walk.headers, end, walk.last_timestamp_ms, faults)


_INDEX_ENTRY: Final = Struct(">II")


def position_before(file: FileRef, relative_offset: int) -> int:
    """Where to begin to look for an offset in a segment; 0 where the index does not tell.

    Args:
        file: The segment's index.
        relative_offset: The offset, less the segment's base offset.

    Cost: a few reads of eight bytes.
    """
    try:
        with opened(file) as source:
            low, high, found = 0, source.size // _INDEX_ENTRY.size, 0
            buffer = memoryview(bytearray(_INDEX_ENTRY.size))
            while low < high:
                middle = (low + high) // 2
                if source.read_into(buffer, middle * _INDEX_ENTRY.size) < _INDEX_ENTRY.size:
                    return 0
                offset, position = _INDEX_ENTRY.unpack(buffer)
                # The first entry alone can be of offset 0; others that are were never written.
                if offset > relative_offset or (middle and not offset):
                    high = middle
                else:
                    low, found = middle + 1, position
            return found
    except (SourceError, VanishedError):
        return 0
