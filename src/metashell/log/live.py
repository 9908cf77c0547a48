"""A metadata log that is fetched while it is looked at: a snapshot, and the batches behind it.

Owns the bytes that came from a quorum, in memory alone, and what of them counts: records at or
above the high watermark are held back until it passes them, and go away again where the quorum
chose others. A batch comes in only where it proves itself and continues the offsets.

One thread adds and another asks for the files as they are (`LiveLog.metadata_log`). Results that
were handed out stay true: committed bytes never move or change, and later ones lie behind them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import field
from struct import Struct
from threading import Lock
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import DecodeError, SourceError
from metashell.log.chain import Carry, Chain, Chainer, batches
from metashell.log.directory import MetadataLog, why_not_whole
from metashell.log.fault import FaultKind
from metashell.log.layout import (
    HEAD,
    HEADER_BYTES,
    MAGIC_POS,
    MAX_TIMESTAMP,
    MAX_TIMESTAMP_POS,
    MIN_LENGTH,
)
from metashell.log.names import Listing, checkpoint_name, segment_name
from metashell.log.read import SLACK, Loaded, LogFile, anonymous
from metashell.places.place import MemoryFile

_FIRST_CAPACITY: Final = 1 << 20
_MOST_FORESEEN: Final = 1 << 30
"""The most memory that is set aside for announced data before it comes."""
_SNAPSHOT_MAX: Final = (1 << 31) - 1
"""Kafka opens no longer checkpoint (FileRecords)."""
_BATCH_MAX: Final = 64 << 20
"""Bytes of a batch in a snapshot; Kafka's own end at 8 MiB (KafkaRaftClient)."""
_BASE_AND_LENGTH: Final = Struct(">qi")
"""How a batch begins."""
_HELD_MAX: Final = 256 << 20
"""Bytes of records that may wait for the high watermark."""


class _Buffer:
    """Bytes that grow at the end; those that are there stay where they are."""

    def __init__(self, capacity: int = _FIRST_CAPACITY) -> None:
        self.size = 0
        self._allocate(capacity)

    def _allocate(self, capacity: int) -> None:
        try:
            self.memory = anonymous(capacity + SLACK)
        except (OSError, ValueError, OverflowError) as e:
            raise SourceError(f"{capacity} bytes do not fit in memory: {e}") from e
        self.capacity = capacity

    def add(self, data: memoryview) -> None:
        size = self.size + len(data)
        if size > self.capacity:
            # Whoever looks at the old memory keeps it.
            old = memoryview(self.memory)
            self._allocate(max(2 * self.capacity, size))
            memoryview(self.memory)[: self.size] = old[: self.size]
        memoryview(self.memory)[self.size : size] = data
        self.size = size


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """A checkpoint that came whole, at the beginning of the buffer."""

    end_offset: int
    epoch: int
    file: LogFile


@dataclass(slots=True)
class _Incoming:
    """A checkpoint of which pieces came."""

    end_offset: int
    epoch: int
    buffer: _Buffer
    carry: Carry | None = None
    """How far its batches are proved, and its size as the first piece said."""
    chain: Chain = field(default_factory=lambda: Chain(array("q")))
    """The batches that are proved."""

    def prove(self, name: str) -> None:
        """Prove what came since the last time.

        Raises:
            DecodeError: It is not the beginning of a checkpoint.
        """
        carry, chain, buffer = self.carry, self.chain, self.buffer
        assert carry is not None
        view = memoryview(buffer.memory)
        more = Chainer(view, carry.pos, buffer.size, name, carry=carry).run()
        reason = more.faults[0] if more.faults else self._why_refused(view)
        if reason is not None or more.padding:
            raise DecodeError(f"the snapshot is damaged: {reason or 'it ends with zeros'}")
        if more.positions:
            if not chain.positions:
                chain.first_offset = more.first_offset
            chain.last_offset, chain.last_epoch = more.last_offset, more.last_epoch
            chain.last_timestamp_ms = more.last_timestamp_ms
            chain.positions.extend(more.positions)

    def _why_refused(self, view: memoryview) -> str | None:
        """Why what comes next can't become a batch; None while it still can."""
        assert self.carry is not None
        pos, n_here = self.carry.pos, self.buffer.size - self.carry.pos
        if n_here <= MAGIC_POS:
            return None
        base, length = _BASE_AND_LENGTH.unpack_from(view, pos)
        if view[pos + MAGIC_POS] != 2:
            return f"position {pos}: magic {view[pos + MAGIC_POS]} where 2 is expected"
        if not MIN_LENGTH <= length <= _BATCH_MAX:
            return f"position {pos}: a batch of length {length}"
        # The header behind an odd batch tells whether it counts.
        is_odd = n_here >= 12 + length + HEADER_BYTES
        return f"position {pos}: the batch of offset {base} is not sound" if is_odd else None


class LiveLog:
    """The data fetched so far, and how much of it is committed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.generation = 0
        """Grows whenever there is more, or other, that is committed."""
        self._incoming: _Incoming | None = None
        self._begin_anew(_Buffer(), None)

    def _begin_anew(self, buffer: _Buffer, snapshot: _Snapshot | None) -> None:
        self._buffer, self._snapshot = buffer, snapshot
        self._positions = array("q")
        self._lasts = array("q")
        self._epochs = array("i")
        self._n_committed = 0
        self.committed_end = self.base_offset
        """The first offset that is not known to be committed."""
        self.lineage = object()
        """Changes where what was committed before is no beginning of what is committed now."""

    # Methods for the observer.

    @property
    def base_offset(self) -> int:
        """The first offset behind the snapshot."""
        return 0 if self._snapshot is None else self._snapshot.end_offset

    @property
    def end_offset(self) -> int:
        """The offset to fetch next."""
        return self._lasts[-1] + 1 if self._lasts else self.base_offset

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last record here, 0 without one."""
        if self._epochs:
            return self._epochs[-1]
        return 0 if self._snapshot is None else self._snapshot.epoch

    @property
    def held_back(self) -> int | None:
        """The last offset of the first batch that is held back; None where none is."""
        n = self._n_committed
        return self._lasts[n] if n < len(self._lasts) else None

    @property
    def n_proved(self) -> int:
        """Bytes of sound batches: here, or of the snapshot that is to take their place."""
        carry = None if self._incoming is None else self._incoming.carry
        return max(self._buffer.size, 0 if carry is None else carry.pos)

    def begin_snapshot(self, end_offset: int, epoch: int) -> None:
        """Make ready for the bytes of a snapshot; what is here stays until they are whole."""
        self._incoming = _Incoming(end_offset, epoch, _Buffer(0))

    def add_snapshot(self, pos: int, data: memoryview, size: int) -> bool:
        """Take a piece of the snapshot that was begun.

        Args:
            pos: Where in the snapshot it belongs: behind the last piece.
            data: The bytes.
            size: The size of the whole snapshot.

        Returns:
            Whether it is whole and has taken the place of all that was here.

        Raises:
            DecodeError: The piece does not belong there, or the whole is no sound checkpoint.
        """
        incoming = self._incoming
        if incoming is None or pos != incoming.buffer.size:
            raise DecodeError(f"a piece at position {pos} where another was asked for")
        if pos + len(data) > min(size, _SNAPSHOT_MAX):
            raise DecodeError(f"{pos + len(data)} bytes of a snapshot of {size}")
        if incoming.carry is None:
            incoming.carry = Carry(size)
            # With room for what follows, so that the first of it does not move all.
            incoming.buffer = _Buffer(min(size + (size >> 3), _MOST_FORESEEN) + _FIRST_CAPACITY)
        elif size != incoming.carry.size:
            raise DecodeError(f"the snapshot's size was {incoming.carry.size} and is now {size}")
        try:
            return self._add_snapshot(incoming, data)
        except DecodeError:
            self._incoming = None
            raise

    def _add_snapshot(self, incoming: _Incoming, data: memoryview) -> bool:
        """Take a piece that belongs there."""
        end_offset, epoch, buffer = incoming.end_offset, incoming.epoch, incoming.buffer
        name = checkpoint_name(end_offset, epoch).name
        buffer.add(data)
        incoming.prove(name)
        assert incoming.carry is not None
        size = incoming.carry.size
        if buffer.size < size:
            return False
        self._incoming = None
        file = LogFile(name, 0, size, incoming.chain)
        broken = why_not_whole(Loaded(buffer.memory, size, [file]))
        if broken is not None:
            raise DecodeError(f"the snapshot is damaged: {broken}")
        file.end_offset, file.epoch = end_offset, epoch
        with self._lock:
            self._begin_anew(buffer, _Snapshot(end_offset, epoch, file))
            self.generation += 1
        return True

    def append(self, data: memoryview) -> int:
        """Take batches that were fetched at `end_offset`; one cut off at the end is left out.

        Returns:
            How many batches were taken.

        Raises:
            DecodeError: A batch is damaged, or its offsets do not follow.
        """
        end, newest = self.end_offset, self.last_epoch
        n_committed = self._n_committed
        if n_committed < len(self._lasts):
            n_held = self._buffer.size - self._positions[n_committed]
            if n_held > _HELD_MAX:
                raise DecodeError(f"{n_held:,} bytes wait for the high watermark already")
        chain = Chainer(data, 0, len(data), "fetched records").run()
        taken, lasts, epochs, stop = array("q"), array("q"), array("i"), 0
        for pos, behind, base, last, epoch in batches(data, chain.positions):
            # A snapshot may end inside a batch, which then comes whole.
            first = not taken and not self._lasts
            if not (base == end or (first and base < end <= last)) or epoch < newest:
                break
            newest = epoch
            taken.append(self._buffer.size + pos)
            lasts.append(last)
            epochs.append(epoch)
            end, stop = last + 1, behind
        if chain.faults and chain.faults[0].kind is not FaultKind.TORN:
            raise DecodeError(str(chain.faults[0]))
        if len(taken) < len(chain.positions):
            raise DecodeError(f"a batch does not follow on offset {end - 1}")
        with self._lock:
            self._buffer.add(data[:stop])
            self._positions.extend(taken)
            self._lasts.extend(lasts)
            self._epochs.extend(epochs)
        return len(taken)

    def truncate(self, epoch: int, end_offset: int) -> bool:
        """Drop what the leader does not have, as it says by a diverging epoch.

        Args:
            epoch: The largest epoch up to ours that the leader's log has.
            end_offset: Where that epoch ends in its log.

        Returns:
            False where that would take away what was committed: all has to be fetched anew.

        Source: org.apache.kafka.raft.ReplicatedLog.truncateToEndOffset.
        """
        later = bisect_left(self._epochs, epoch + 1)
        ours = self._lasts[later - 1] + 1 if later else self.base_offset
        base_epoch = 0 if self._snapshot is None else self._snapshot.epoch
        has_epoch = (self._epochs[later - 1] if later else base_epoch) == epoch
        if epoch == 0:
            end = min(self.end_offset, end_offset)
        else:
            end = min(ours, end_offset) if has_epoch else ours
        if end < self.committed_end:
            return False
        keep = bisect_left(self._lasts, end)
        with self._lock:
            if keep < len(self._positions):
                self._buffer.size = self._positions[keep]
                del self._positions[keep:], self._lasts[keep:], self._epochs[keep:]
        return True

    def commit(self, high_watermark: int) -> bool:
        """Count what lies below the high watermark; whether that is more than before."""
        n = bisect_left(self._lasts, high_watermark)
        if n <= self._n_committed:
            return False
        with self._lock:
            self._n_committed = n
            self.committed_end = self._lasts[n - 1] + 1
            self.generation += 1
        return True

    def forget(self) -> None:
        """Drop everything: the quorum's log is another one now.

        The generation stays: who shows the old state goes on until there is something newer.
        """
        with self._lock:
            self._incoming = None
            self._begin_anew(_Buffer(), None)

    # Methods for a source.

    def metadata_log(self, name: str) -> tuple[MetadataLog, int, object]:
        """The committed part, as files.

        Args:
            name: The name of the source.

        Returns:
            (the log, its generation, its lineage: of two logs of one lineage the later begins with
            the very bytes of the earlier).
        """
        with self._lock:
            generation, lineage = self.generation, self.lineage
            n, snapshot, memory = self._n_committed, self._snapshot, self._buffer.memory
            positions = self._positions[:n]
            start = 0 if snapshot is None else snapshot.file.size
            stop = self._positions[n] if n < len(self._positions) else self._buffer.size
            base, last = self.base_offset, self.committed_end - 1
            epoch = self._epochs[n - 1] if n else -1
        files = [] if snapshot is None else [snapshot.file]
        segment = segment_name(base)
        chain = Chain(positions)
        view = memoryview(memory).toreadonly()
        if n:
            chain.first_offset = HEAD.unpack_from(view, positions[0])[0]
            chain.last_offset, chain.last_epoch = last, epoch
            (chain.last_timestamp_ms,) = MAX_TIMESTAMP.unpack_from(
                view, positions[-1] + MAX_TIMESTAMP_POS
            )
        files.append(LogFile(segment.name, start, stop - start, chain))
        checkpoint = None if snapshot is None else checkpoint_name(base, snapshot.epoch)
        return (
            MetadataLog(
                name,
                Loaded(memory, stop, files),
                Listing((segment,), () if checkpoint is None else (checkpoint,)),
                checkpoint,
                in_memory={
                    file.name: MemoryFile(file.name, view[file.start : file.start + file.size])
                    for file in files
                },
            ),
            generation,
            lineage,
        )
