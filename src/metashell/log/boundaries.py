"""Where a file may be cut: batches that are surely batches of it, found without reading it whole.

Bytes that look like a batch, CRC and all, may lie inside a record: a config's value holds what a
user likes. A cut is therefore never made at a batch that proves itself alone, but at one that
follows without a break, in bytes and in offsets, on batches that do, beginning at a place that is
sure: the beginning of the file, an earlier cut, an entry of the offset index that fits its batch,
or any place a whole batch's size before.

Where such a batch follows on the one before, the walk over the whole file (`metashell.log.chain`)
needs to know nothing of what lies before but the last offset, which is the one before the batch's
own. Other damage further back is found when the part before the cut is read
(`metashell.log.splits`).
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from metashell.dataclass import dataclass
from metashell.log.chain import search_budget
from metashell.log.crc import crc32c
from metashell.log.layout import HEAD, HEADER_BYTES, LOOKS_LIKE_BATCH, MIN_LENGTH
from metashell.log.read import OpenFile

MAX_BATCH_BYTES: Final = (8 << 20) + 4096
"""More than the largest batch that a controller writes.

Source: org.apache.kafka.raft.KafkaRaftClient.MAX_BATCH_SIZE_BYTES.
"""

_CHUNK: Final = 256 << 10
_SEARCH_CHUNK: Final = 4 << 20
_PATTERN_BYTES: Final = 27
"""Bytes that `LOOKS_LIKE_BATCH` looks at."""

_INDEX_LIMIT: Final = 64 << 20
"""Kafka's default for a whole index is 10 MiB."""

_ENTRY: Final = Struct(">ii")
_ZEROS: Final = bytes(1 << 16)


@dataclass(frozen=True, slots=True)
class Boundary:
    """A place to cut a file at: a batch begins there that follows on the one before it."""

    pos: int
    after: int
    """The last offset before it."""


@dataclass(frozen=True, slots=True)
class _Batch:
    end: int
    base: int
    last: int
    epoch: int


def used_entries(data: bytes, entry_bytes: int) -> int:
    """How many whole entries of an index are used: a file in use has up to 10 MiB of zeros behind.

    Args:
        data: The file.
        entry_bytes: Size of an entry.
    """
    end = len(data)
    while data.endswith(_ZEROS, 0, end):  # many times as fast as stripping byte by byte
        end -= len(_ZEROS)
    used = -(-len(data[:end].rstrip(b"\0")) // entry_bytes)
    return min(used, len(data) // entry_bytes)


class OffsetIndex:
    """A segment's ``.index``; what it says is believed only where the segment bears it out.

    An entry has eight bytes: the offset of a batch's last record, relative to the segment's base
    (int32), and the position (int32) of that batch or one appended together with it.

    Args:
        data: The file; zeros at its end are none of its entries.
        base_offset: The segment's.
    """

    def __init__(self, data: bytes, base_offset: int) -> None:
        self._n = used_entries(data, _ENTRY.size)
        self._data, self._base_offset = data, base_offset

    def before(self, pos: int) -> tuple[int, int, int] | None:
        """The last entry for a position or one before it, if it fits its neighbours.

        Returns:
            (position, the last offset before the entry's batches, the entry's offset).
        """
        low, high = 0, self._n
        while low < high:
            middle = (low + high) // 2
            if self._entry(middle)[1] <= pos:
                low = middle + 1
            else:
                high = middle
        if low == 0:
            return None
        offset, at = self._entry(low - 1)
        earlier, earlier_at = self._entry(low - 2) if low > 1 else (-1, -1)
        if not 0 <= at <= pos or offset <= earlier or at < earlier_at:
            return None
        base = self._base_offset
        return at, base + earlier, base + offset

    def _entry(self, i: int) -> tuple[int, int]:
        offset, pos = _ENTRY.unpack_from(self._data, i * _ENTRY.size)
        return int(offset), int(pos)


def read_index(source: OpenFile, base_offset: int) -> OffsetIndex | None:
    """Read an index; None where it is too large to be one.

    Raises:
        SourceError: It can't be read.
    """
    if source.size > _INDEX_LIMIT:
        return None
    data = bytearray(source.size)
    read = source.read_into(memoryview(data), 0)
    return OffsetIndex(bytes(data[:read]), base_offset)


class Cutter:
    """Finds places to cut a file at.

    Args:
        source: The file.
        size: Bytes of it that count.
        index: The offset index of a segment, where there is one.
        max_batch: No batch is larger.
    """

    def __init__(
        self,
        source: OpenFile,
        size: int,
        index: OffsetIndex | None = None,
        max_batch: int = MAX_BATCH_BYTES,
    ) -> None:
        self._source, self._size, self._index, self._max_batch = source, size, index, max_batch
        self._chunk, self._chunk_pos = memoryview(b""), 0
        self._budget = 0

    def boundaries(self, split_bytes: int, after: int = -1) -> list[Boundary]:
        """Places about so many bytes apart; none where nothing is sure.

        Args:
            split_bytes: How many.
            after: The last offset before the file.
        """
        found: list[Boundary] = []
        last, wanted = Boundary(0, after), split_bytes
        while wanted < self._size:
            boundary, gave_up = self.find(last, wanted, 2 * self._max_batch)
            if boundary is None:
                wanted = max(wanted + split_bytes, gave_up)
            elif boundary.after <= last.after:
                # Offsets go back: only who reads all of it knows which batches count.
                break
            else:
                found.append(boundary)
                last, wanted = boundary, boundary.pos + split_bytes
        return found

    def find(self, known: Boundary, wanted: int, reach: int) -> tuple[Boundary | None, int]:
        """The first sure place at or behind a position.

        Args:
            known: A sure place before it, or the beginning of the file.
            wanted: The position.
            reach: How far behind it is looked.

        Returns:
            (the place or None, where the search ended).
        """
        pos, safe = self._start(known, wanted)
        stop = min(wanted + reach, self._size)
        self._budget = search_budget(stop - pos)
        before: _Batch | None = None
        while pos < stop:
            batch = self._prove(pos)
            if batch is None:
                # A batch found by search may lie inside a damaged one, or inside one that was begun
                # in the middle: a batch behind the largest possible size does not.
                safe = max(safe, pos + self._max_batch)
                following = self._search(pos + 1, stop)
                if following is None:
                    return None, stop
                pos, before = following, None
                continue
            follows = before is not None and batch.base == before.last + 1
            if before is not None and follows and batch.epoch >= before.epoch and pos >= safe:
                return Boundary(pos, before.last), pos
            before = batch if batch.last >= batch.base else None
            pos = batch.end
        return None, stop

    def _start(self, known: Boundary, wanted: int) -> tuple[int, int]:
        """Where to begin, and from where on what is found is sure."""
        begin = known.pos
        entry = None if self._index is None else self._index.before(wanted)
        if entry is not None and entry[0] > begin:
            at, earlier, offset = entry
            batch = self._prove(at)
            if batch is not None and max(earlier, known.after) < batch.base <= offset:
                begin = at
        if wanted - begin <= self._max_batch:
            return begin, wanted
        # Somewhere in a batch, likely, which ends before what is wanted.
        return wanted - self._max_batch, wanted

    def _prove(self, pos: int) -> _Batch | None:
        """The batch at a position, if it proves itself."""
        if self._size - pos < HEADER_BYTES:
            return None
        base, length, epoch, magic, crc, _, delta = HEAD.unpack_from(self._bytes(pos, HEADER_BYTES))
        end = pos + 12 + length
        if length < MIN_LENGTH or length > self._max_batch or end > self._size or magic != 2:
            return None
        if base < 0 or crc32c(self._bytes(pos, 12 + length)[21:]) != crc:
            return None
        return _Batch(end, base, base + delta, epoch)

    def _search(self, pos: int, stop: int) -> int | None:
        """The next position of a batch that proves itself."""
        while pos < stop:
            size = min(_SEARCH_CHUNK, stop - pos)
            view = self._bytes(pos, min(size + _PATTERN_BYTES, self._size - pos))
            if not bytes(view).strip(b"\0"):
                # A preallocated file has many.
                pos += size
                continue
            for match in LOOKS_LIKE_BATCH.finditer(view):
                at = pos + match.start()
                length = int.from_bytes(view[match.start() + 8 : match.start() + 12], "big")
                if length > self._max_batch:
                    continue
                self._budget -= length
                if self._budget < 0:
                    return None
                if self._prove(at) is not None:
                    return at
            pos += size
        return None

    def _bytes(self, pos: int, size: int) -> memoryview:
        """Bytes of the file; fewer, and zeros, where it has become shorter."""
        begin = pos - self._chunk_pos
        if begin < 0 or begin + size > len(self._chunk):
            length = min(max(size, _CHUNK), self._size - pos)
            data = memoryview(bytearray(length))
            self._source.read_into(data, pos)
            self._chunk, self._chunk_pos, begin = data, pos, 0
        return self._chunk[begin : begin + size]
