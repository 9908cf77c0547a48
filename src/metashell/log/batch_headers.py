"""Headers of batches alone: what the end of any topic's log says without its payload.

A walk hops from header to header and reads a few bytes at each, so gigabytes cost little and their
records are never seen. The CRC of a batch is over all its bytes, so it is checked for markers only;
of other batches length, format and offsets must make sense.

Source: org.apache.kafka.common.record.internal.DefaultRecordBatch, EndTransactionMarker.
"""

from __future__ import annotations

from array import array
from dataclasses import field
from struct import Struct
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.chain import COMPACTED, hop
from metashell.log.control import ControlType, first_control_type
from metashell.log.crc import crc32c
from metashell.log.fault import Fault, FaultKind
from metashell.log.frames import HEADER, as_batches
from metashell.log.layout import (
    CONTROL,
    HEAD,
    HEADER_BYTES,
    MAGIC_POS,
    MIN_LENGTH,
    OLD_HEAD,
    OLD_OVERHEAD,
)
from metashell.log.read import OpenFile
from metashell.schema.arena import I32, I64, SLACK, AnyArray, Arena

_MAX_TIMESTAMP: Final = Struct(">q")
_MAX_TIMESTAMP_POS: Final = 35
_PRODUCER_POS: Final = 43
_NEGATIVE: Final = 0x80
_MARKER_MOST: Final = 4096
"""Bytes of a marker's batch at most: it has one record, of some 17 bytes."""
_FAR: Final = 32 << 10
"""A batch of so many bytes is hopped over by a read of its own."""
_MANY, _SMALL = 256, 4 << 10
"""So many batches of so few bytes on the average are many small ones,"""
_MANY_BYTES: Final = 4 << 20
"""of which so many bytes are looked at together."""
_NEAR_BYTES, _FAR_BYTES = 128 << 10, _MARKER_MOST
_MAX_OFFSET: Final = (1 << 63) - 1
_NO_MARKER: Final = -1


@dataclass(slots=True)
class MarkedHeaders:
    """Headers of batches with a producer, in log order."""

    header: AnyArray
    """`metashell.log.frames.HEADER`."""
    marker: I32
    """int32: of a marker its `ControlType`, -1 for batches of data."""
    coordinator_epoch: I32
    """int32: of a marker the epoch of the coordinator that wrote it, else -1."""

    def __len__(self) -> int:
        return len(self.header)


@dataclass(slots=True)
class HeaderWalk:
    """A walk over the batches of a log, segment by segment, and what it found.

    Batches of `headers` are those that lie at `from_offset` or behind it and have a producer.
    """

    from_offset: int = 0
    last_offset: int = -1
    """The last offset of the last batch that was walked over; -1 for none."""
    last_epoch: int = -1
    """Its leader epoch; -1 for none, as of older formats."""
    last_timestamp_ms: int = -1
    """The highest timestamp of all batches walked over, ms since the epoch; -1 for none."""
    n_batches: int = 0
    keeps_all: bool = False
    """Whether batches without a producer are kept too, for `take`; markers are then not read."""
    faults: list[Fault] = field(default_factory=list)
    _positions: array[int] = field(default_factory=lambda: array("q"))
    _kept: bytearray = field(default_factory=bytearray)
    _markers: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def headers(self) -> MarkedHeaders:
        """The headers that were kept."""
        header = np.frombuffer(bytes(self._kept), HEADER)
        marker = np.full(len(header), _NO_MARKER, dtype=np.int32)
        epoch = np.full(len(header), -1, dtype=np.int32)
        if self._markers:
            at, kinds, epochs = np.array(self._markers, dtype=np.int64).T
            marker[at], epoch[at] = kinds, epochs
        return MarkedHeaders(header, marker, epoch)

    def take(self) -> tuple[I64, AnyArray]:
        """Take the batches that were kept since the last call: where they begin, and `HEADER`."""
        positions, header = np.array(self._positions, np.int64), bytes(self._kept)
        del self._positions[:], self._kept[:]
        return positions, as_batches(np.frombuffer(header, HEADER))

    def segment(
        self,
        source: OpenFile,
        name: str,
        start: int = 0,
        until: int = _MAX_OFFSET,
        *,
        most: int = _MAX_OFFSET,
    ) -> int:
        """Walk over the batches of a segment.

        Args:
            source: The segment.
            name: Its name, for faults.
            start: Where its first batch begins.
            until: The walk ends at the first batch that ends at this offset or behind it.
            most: The walk ends behind so many batches, or somewhat more of small ones.

        Returns:
            Where the walk ended: the position of that batch, or the end of what makes sense.
        """
        window = _Window(source)
        pos, mark, n_mark, wait = start, start, self.n_batches, _MANY
        enough = self.n_batches + most
        while self.n_batches < enough:
            if self.n_batches - n_mark >= wait:
                if pos - mark <= wait * _SMALL:
                    mark, pos = pos, self._hop_many(source, name, pos, until)
                    # A log that is not hopped over far is left alone for longer and longer.
                    wait = _MANY if pos - mark >= _MANY_BYTES // 4 else 4 * wait
                mark, n_mark = pos, self.n_batches
            at = window.reach(pos, HEADER_BYTES)
            view = window.view
            if at is None or view[at + MAGIC_POS] < 2:
                # A message of an older format, which may be shorter than a header.
                end = self._old(window, pos, until)
                if end is None and at is not None and any(view[at : at + 12]):
                    self.stopped(name, pos, "no batch begins here")
                if end is None or end == pos:
                    return pos
                pos = end
                continue
            base, length, epoch, magic, _, _, last_delta = HEAD.unpack_from(view, at)
            if 12 + length > source.size - pos:
                return pos
            last = base + last_delta
            if magic != 2 or length < MIN_LENGTH or last_delta < 0 or base <= self.last_offset:
                self.stopped(name, pos, "no batch begins here, or its offsets go back")
                return pos
            if last >= until:
                return pos
            self.last_offset, self.last_epoch = last, epoch
            self.n_batches += 1
            (newest,) = _MAX_TIMESTAMP.unpack_from(view, at + _MAX_TIMESTAMP_POS)
            self.last_timestamp_ms = max(self.last_timestamp_ms, newest)
            if last >= self.from_offset:
                self._keep(window, pos, at, name)
            pos += 12 + length
        return pos

    def _hop_many(self, source: OpenFile, name: str, pos: int, until: int) -> int:
        """Walk over many small batches at once; returns where what is left begins.

        The kernel finds them, and checks their CRCs; without it nothing is walked over.
        """
        size = min(_MANY_BYTES, source.size - pos)
        view = memoryview(bytearray(size + SLACK))
        size = source.read_into(view[:size], pos)
        found = array("q")
        stretch, *_ = hop(view, (0, size, size), (self.last_offset, -1), found, COMPACTED)
        if not found:
            return pos
        positions = np.frombuffer(found, dtype=np.int64)
        arena = Arena(view, size)
        header = arena.gather(f"V{HEADER.itemsize}", positions).view(HEADER)
        last = header["base_offset"].astype(np.int64) + header["last_delta"]
        n = int(np.searchsorted(last, until))
        end = stretch if n == len(header) else int(positions[n])
        header, last = header[:n], last[:n]
        if not n:
            return pos
        kept = last >= self.from_offset
        markers = {}
        if self.keeps_all:
            self._positions.frombytes((pos + positions[:n][kept]).tobytes())
        else:
            kept &= header["producer_id"] >= 0
        of_markers = kept & (header["attributes"] & CONTROL != 0) & (not self.keeps_all)
        for i in np.flatnonzero(of_markers).tolist():
            begin, length = int(positions[i]), int(header["length"][i])
            batch = view[begin : begin + 12 + length]
            marker = self._marker(batch, int(header["crc"][i]), name, pos + begin)
            if marker is None:
                kept[i] = False
            else:
                markers[i] = marker
        rank = len(self._kept) // HEADER_BYTES + np.cumsum(kept) - 1
        self._markers += [(int(rank[i]), *found) for i, found in markers.items()]
        self._kept += header[kept].tobytes()
        self.last_offset, self.last_epoch = int(last[-1]), int(header["epoch"][-1])
        self.last_timestamp_ms = max(self.last_timestamp_ms, int(header["max_timestamp"].max()))
        self.n_batches += n
        return pos + end

    def stopped(self, name: str, pos: int, reason: str = "a batch is cut off") -> None:
        """Note that a walk ended before the end of the log."""
        text = f"{reason}; what follows is not read"
        self.faults.append(Fault(FaultKind.DAMAGED, text, name, pos, self.last_offset + 1))

    def _old(self, window: _Window, pos: int, until: int) -> int | None:
        """Where a message of an older format ends, which has no producer.

        None where there is none; where it begins if the walk ends there.
        """
        at = window.reach(pos, OLD_HEAD.size)
        if at is None:
            return None
        offset, size, _, magic = OLD_HEAD.unpack_from(window.view, at)
        if magic >= 2 or size < OLD_OVERHEAD[magic] or pos + 12 + size > window.source.size:
            return None
        if offset <= self.last_offset:
            return None
        if offset >= until:
            return pos
        self.last_offset = offset
        self.n_batches += 1
        if magic:
            at = window.reach(pos, OLD_HEAD.size + 9)
            if at is not None:
                (time,) = _MAX_TIMESTAMP.unpack_from(window.view, at + 18)
                self.last_timestamp_ms = max(self.last_timestamp_ms, time)
        if self.keeps_all and offset >= self.from_offset:
            n_bytes = min(HEADER_BYTES, window.source.size - pos)
            at = window.reach(pos, n_bytes)
            if at is not None:
                self._put(pos, window.view[at : at + n_bytes])
        return pos + 12 + int(size)

    def _put(self, pos: int, head: bytes | memoryview) -> None:
        self._positions.append(pos)
        self._kept += bytes(head).ljust(HEADER_BYTES, b"\0")

    def _keep(self, window: _Window, pos: int, at: int, name: str) -> None:
        """Keep the header of a batch where it is asked for, of a marker with what it says."""
        header = bytes(window.view[at : at + HEADER_BYTES])
        if self.keeps_all:
            self._put(pos, header)
            return
        if header[_PRODUCER_POS] >= _NEGATIVE:
            return
        _, length, _, _, crc, attributes, _ = HEAD.unpack_from(header)
        if attributes & CONTROL:
            size = 12 + length
            at_marker = window.reach(pos, size) if size <= _MARKER_MOST else None
            if at_marker is None:
                return
            batch = window.view[at_marker : at_marker + size]
            marker = self._marker(batch, crc, name, pos)
            if marker is None:
                return
            self._markers.append((len(self._kept) // HEADER_BYTES, *marker))
        self._kept += header

    def _marker(self, batch: memoryview, crc: int, name: str, pos: int) -> tuple[int, int] | None:
        """(type, coordinator epoch) of a marker; None where it says nothing of a transaction."""
        if len(batch) <= HEADER_BYTES or len(batch) > _MARKER_MOST:
            # Emptied by compaction; or nothing that a broker writes.
            return None
        actual = crc32c(batch[21:])
        if actual != crc:
            reason = f"CRC mismatch of a marker: stored {crc:08x}, computed {actual:08x}"
            self.faults.append(Fault(FaultKind.DAMAGED, reason, name, pos, self.last_offset))
            return None
        kind = first_control_type(batch, 0)
        if kind not in (ControlType.ABORT, ControlType.COMMIT):
            return None
        return kind, _coordinator_epoch(batch)


def is_batch_at(source: OpenFile, pos: int, base_offset: int) -> bool:
    """Whether a batch, or a message, of a segment with this base offset may begin at a position."""
    window = _Window(source)
    at = window.reach(pos, OLD_HEAD.size)
    if at is None:
        return False
    offset, size, _, magic = OLD_HEAD.unpack_from(window.view, at)
    least = MIN_LENGTH if magic == 2 else OLD_OVERHEAD[magic] if magic < 2 else _MAX_OFFSET
    return bool(offset >= base_offset and size >= least and pos + 12 + size <= source.size)


def _coordinator_epoch(batch: memoryview) -> int:
    """The coordinator's epoch in a marker, -1 where it can't be read.

    The record ends with its value, of an int16 and an int32, and no headers.
    """
    if batch[22] & 0x07 or len(batch) < HEADER_BYTES + 7:
        return -1
    return int.from_bytes(batch[-5:-1], "big", signed=True)


class _Window:
    """The bytes of a file that were last read."""

    def __init__(self, source: OpenFile) -> None:
        self.source = source
        # From a store many bytes come as fast as few.
        self._near = max(_NEAR_BYTES, source.step // 8)
        self._buffer = memoryview(bytearray(min(self._near, max(source.size, _FAR_BYTES))))
        self.view = self._buffer[:0]
        self._start = 0

    def reach(self, pos: int, size: int) -> int | None:
        """Where in `view` the bytes from a position on are; None where the file ends before."""
        at = pos - self._start
        if at >= 0 and at + size <= len(self.view):
            return at
        if pos + size > self.source.size:
            return None
        is_far = at - len(self.view) > _FAR
        wanted = min(_FAR_BYTES if is_far else self._near, self.source.size - pos)
        n = self.source.read_into(self._buffer[:wanted], pos)
        self.view, self._start = self._buffer[:n], pos
        return 0 if n >= size else None
