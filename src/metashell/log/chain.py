"""From bytes to batches: hop from header to header, and prove each batch.

A record batch (magic 2) begins with 61 bytes, big-endian::

    0  baseOffset int64      16  magic int8 (2)          27  baseTimestamp int64
    8  batchLength int32     17  crc uint32              35  maxTimestamp int64
       (bytes from 12 on)    21  attributes int16        43  producerId int64, epoch int16,
    12 partitionLeaderEpoch  23  lastOffsetDelta int32       baseSequence int32
       int32                                             57  count int32, then the records

``crc`` is the CRC-32C of everything from ``attributes`` to the end. A batch is believed when its
length fits, its magic is 2 and its CRC matches. Where one is not, reading goes on at the next that
proves itself. This is the only loop over batches, and it needs no numpy: what only asks whether a
directory can be read (``ls /image``) ends here.

Source: org.apache.kafka.common.record.internal.DefaultRecordBatch.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from struct import Struct
from typing import Final

from metashell.log.crc import crc32c
from metashell.log.fault import Fault, FaultKind

HEADER_BYTES: Final = 61
MIN_LENGTH: Final = HEADER_BYTES - 12
"""The least that batchLength can say: a header with no records."""

_HEAD: Final = Struct(">qiiBIhi")
_MAX_TIMESTAMP: Final = Struct(">q")

_LOOKS_LIKE_BATCH: Final = re.compile(
    rb"(?s)(?=\x00.{7}[\x00-\x7f].{3}.{4}\x02.{4}\x00[\x00-\x7f][\x00-\x7f])"
)
"""A base offset below 2**56, a length that is not negative, magic 2, and no unknown attributes."""

_MAX_OFFSET: Final = (1 << 63) - 1

_SEARCH_BUDGET: Final = 16
"""How often, at most, each byte of a file may be read again in search of a sound batch: candidates
that overlap each other could otherwise make the search quadratic."""


@dataclass(slots=True)
class Chain:
    """The sound batches of one file, in order."""

    positions: array[int]
    """Where each batch begins, in the buffer given."""
    faults: list[Fault] = field(default_factory=list)
    first_offset: int = -1
    last_offset: int = -1
    """Of the last record; -1 without one."""
    last_epoch: int = -1
    last_timestamp_ms: int = -1
    """maxTimestamp of the last batch, ms since the epoch."""
    padding: int = 0
    """Zero bytes at the end: a preallocated segment."""

    @property
    def is_whole(self) -> bool:
        """Whether every byte belongs to a sound batch."""
        return not self.faults


class Chainer:
    """Walks the batches of one file.

    Args:
        view: The buffer that holds the file.
        start: Where the file begins in it.
        stop: Where it ends.
        name: The file's name, for faults.
        after: Offset behind which the file's batches must lie: the last of the file before it.
    """

    def __init__(self, view: memoryview, start: int, stop: int, name: str, after: int = -1) -> None:
        self.view, self.start, self.stop, self.name = view, start, stop, name
        self.result = Chain(array("q"), last_offset=after)
        self._resumed = -1
        """Where reading went on after damage, which says already that something is missing."""
        self._budget = _SEARCH_BUDGET * (stop - start) + (1 << 20)

    def run(self) -> Chain:
        """Find every sound batch."""
        pos = self.start
        while pos < self.stop:
            pos = self._hop(pos)
            if pos < self.stop:
                pos = self._past_damage(pos)
        out = self.result
        if out.positions:
            out.first_offset = _HEAD.unpack_from(self.view, out.positions[0])[0]
            (out.last_timestamp_ms,) = _MAX_TIMESTAMP.unpack_from(self.view, out.positions[-1] + 35)
        else:
            out.last_offset = -1
        return out

    def _hop(self, pos: int) -> int:
        """Hop as long as batches are sound; return where the first that is not begins."""
        view, stop, out = self.view, self.stop, self.result
        unpack, append = _HEAD.unpack_from, out.positions.append
        last, epoch = out.last_offset, out.last_epoch
        while stop - pos >= HEADER_BYTES:
            base, length, epoch_here, magic, crc, _, last_delta = unpack(view, pos)
            end = pos + 12 + length
            if (
                length < MIN_LENGTH
                or end > stop
                or magic != 2
                or crc32c(view[pos + 21 : end]) != crc
            ):
                break
            if base != last + 1 or last_delta < 0 or epoch_here < epoch:
                out.last_offset, out.last_epoch = last, epoch
                if not self._accept(pos, end, base, last_delta, epoch_here):
                    pos = end
                    continue
            append(pos)
            last, epoch = base + last_delta, epoch_here
            pos = end
        out.last_offset, out.last_epoch = last, epoch
        return pos

    def _accept(self, pos: int, end: int, base: int, last_delta: int, epoch: int) -> bool:
        """Report what is odd about a batch that does not follow on the one before.

        Neither its base offset nor its epoch is covered by the CRC.

        Returns:
            Whether it counts all the same.
        """
        out = self.result
        expected = out.last_offset + 1
        if last_delta < 0 or base + last_delta > _MAX_OFFSET:
            reason = f"batch skipped: it goes from offset {base} to {base + last_delta}"
            self._fault(FaultKind.DAMAGED, reason, pos)
            return False
        if base < expected:
            reason = f"batch of offset {base} skipped: offsets go back, {expected} was to come"
            self._fault(FaultKind.GAP, reason, pos)
            return False
        if base > expected:
            following = self._base_at(end)
            if following is not None and expected <= following <= base + last_delta:
                reason = (
                    f"batch of offset {base} skipped: {expected} was to come, {following} follows"
                )
                self._fault(FaultKind.DAMAGED, reason, pos)
                return False
            if out.positions and pos != self._resumed:
                reason = f"offsets {expected} to {base - 1} are missing"
                self._fault(FaultKind.GAP, reason, pos)
        if epoch < out.last_epoch:
            reason = f"the leader epoch goes back from {out.last_epoch} to {epoch}"
            self._fault(FaultKind.DAMAGED, reason, pos)
        return True

    def _base_at(self, pos: int) -> int | None:
        """The base offset of what seems to be a batch, or None."""
        if self.stop - pos < HEADER_BYTES:
            return None
        base, _, _, magic, _, _, _ = _HEAD.unpack_from(self.view, pos)
        return int(base) if magic == 2 else None

    def _past_damage(self, pos: int) -> int:
        """Report what is wrong at `pos`; return where reading can go on."""
        if self._is_zero(pos):
            self.result.padding = self.stop - pos
            return self.stop
        kind, reason = self._what_is_wrong(pos)
        following = self._search(pos + 1)
        if following is None:
            self._fault(kind, f"{reason}; the {self.stop - pos} bytes from here are not read", pos)
            return self.stop
        self._fault(
            FaultKind.DAMAGED,
            f"{reason}; {following - pos} bytes skipped, to the next sound batch",
            pos,
        )
        self._resumed = following
        return following

    def _is_zero(self, pos: int) -> bool:
        # In growing steps: what is looked at is never much more than the zeros that are there.
        step = 64
        while pos < self.stop:
            if bytes(self.view[pos : min(pos + step, self.stop)]).strip(b"\0"):
                return False
            pos += step
            step = min(2 * step, 1 << 20)
        return True

    def _what_is_wrong(self, pos: int) -> tuple[FaultKind, str]:
        left = self.stop - pos
        if left < HEADER_BYTES:
            return (
                FaultKind.TORN,
                f"batch cut off: {left} bytes where its header takes {HEADER_BYTES}",
            )
        _, length, _, magic, crc, _, _ = _HEAD.unpack_from(self.view, pos)
        if magic != 2:
            return FaultKind.DAMAGED, f"no record batch: magic {magic} where 2 is expected"
        if length < MIN_LENGTH:
            return FaultKind.DAMAGED, f"no record batch: length {length} is below {MIN_LENGTH}"
        if 12 + length > left:
            return FaultKind.TORN, f"batch cut off: {left} bytes of {12 + length}"
        # Once for this sum and once for that which failed: damage may not cost ever more of them.
        self._budget -= 2 * length
        actual = crc32c(self.view[pos + 21 : pos + 12 + length])
        return FaultKind.DAMAGED, f"CRC mismatch: stored {crc:08x}, computed {actual:08x}"

    def _search(self, pos: int) -> int | None:
        """The next position at which a batch proves itself and continues the offsets."""
        expected = self.result.last_offset + 1
        for match in _LOOKS_LIKE_BATCH.finditer(self.view[pos : self.stop]):
            at = pos + match.start()
            if self.stop - at < HEADER_BYTES:
                return None
            base, length, _, _, crc, _, last_delta = _HEAD.unpack_from(self.view, at)
            end = at + 12 + length
            if length < MIN_LENGTH or end > self.stop or base < expected or last_delta < 0:
                continue
            self._budget -= length
            if self._budget < 0:
                return None
            if crc32c(self.view[at + 21 : end]) == crc:
                return at
        return None

    def _fault(self, kind: FaultKind, reason: str, pos: int) -> None:
        expected = self.result.last_offset + 1
        self.result.faults.append(Fault(kind, reason, self.name, pos - self.start, expected))
