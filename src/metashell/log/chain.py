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

A log that brokers replicate, such as a coordinator's, has keys. It may hold messages older than
batches (`metashell.log.old_chain`), and compaction removes records of it. A broker's loader checks
no CRC there, so it may have loaded what is left out here.

Source: org.apache.kafka.common.record.internal.DefaultRecordBatch.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import field
from mmap import mmap
from typing import Final

from metashell.dataclass import dataclass
from metashell.log import old_chain
from metashell.log.crc import crc32c
from metashell.log.fault import Fault, FaultCode, FaultKind
from metashell.log.layout import (
    HEAD,
    HEADER_BYTES,
    LOOKS_LIKE_BATCH,
    MAGIC_POS,
    MAX_TIMESTAMP,
    MAX_TIMESTAMP_POS,
    MIN_LENGTH,
    OLD_FORMATS,
    OLD_HEAD,
)
from metashell.places.archives import HEAD_BYTES, archive_format

LEAST_CHAINED_BYTES: Final = 4 << 20
"""Fewer bytes are walked in Python sooner than the kernel is loaded."""

LEAST_KEYED_BYTES: Final = 128 << 10
"""The limit for a log with keys, whose batches are small: the kernel finds its records, too."""

LOADED_ALL_THE_SAME: Final = "a broker may have loaded it: its loader checks no CRC"

_MAX_OFFSET: Final = (1 << 63) - 1

_SEARCH_BUDGET: Final = 16
"""How often, at most, each byte of a file may be read again in search of a sound batch: candidates
that overlap each other could otherwise make the search quadratic."""


@dataclass(frozen=True, slots=True)
class LogKind:
    """The facts that the walk has to know of a log."""

    has_keys: bool
    """Whether records have keys: then they are small, and there are many batches."""
    offsets_may_be_missing: bool
    """Whether a gap in the offsets is no fault: compaction leaves some."""
    is_loaded: bool = False
    """Whether a broker loads its records, which checks no CRC."""


METADATA: Final = LogKind(has_keys=False, offsets_may_be_missing=False)
COMPACTED: Final = LogKind(has_keys=True, offsets_may_be_missing=True, is_loaded=True)
UNCOMPACTED: Final = LogKind(has_keys=True, offsets_may_be_missing=False, is_loaded=True)
"""A log with keys that is only deleted from the front."""
OF_TOPIC: Final = LogKind(has_keys=True, offsets_may_be_missing=True)
"""The log of any other topic, which may be compacted."""


@dataclass(slots=True)
class Chain:
    """The sound batches of one file, in order."""

    positions: array[int]
    """Where each batch begins, in the buffer given."""
    faults: list[Fault] = field(default_factory=list)
    first_offset: int = -1
    last_offset: int = -1
    """The offset of the last record; -1 without one."""
    last_epoch: int = -1
    last_timestamp_ms: int = -1
    """maxTimestamp of the last batch, ms since the epoch."""
    padding: int = 0
    """Zero bytes at the end: a preallocated segment."""
    n_elsewhere: int = 0
    """Batches that were read by somebody else, as of a reduced log: no byte of them is here."""
    latest_timestamp_ms: int = -1
    """The latest maxTimestamp of those; of batches here, see `Loaded.latest_timestamp_ms`."""

    @property
    def n_batches(self) -> int:
        """How many there are, here or elsewhere."""
        return len(self.positions) + self.n_elsewhere

    @property
    def is_whole(self) -> bool:
        """Whether every byte belongs to a sound batch."""
        return not self.faults


def batches(
    view: memoryview | mmap | bytes, positions: Iterable[int]
) -> Iterator[tuple[int, int, int, int, int]]:
    """For each batch at a position: begin and end in the buffer, first and last offset, epoch."""
    for begin in positions:
        base, length, epoch, _, _, _, last_delta = HEAD.unpack_from(view, begin)
        yield begin, begin + 12 + length, base, base + last_delta, epoch


def search_budget(size: int) -> int:
    """Bytes that may be read again in search of sound batches among so many."""
    return _SEARCH_BUDGET * size + (1 << 20)


@dataclass(slots=True)
class Carry:
    """The state that windows of one file hand on, so that they chain like the whole file."""

    size: int
    """Bytes of the file."""
    last_offset: int = -1
    """The offset of the last record so far; at first, that of the file before it."""
    pos: int = 0
    """Where in the file the next window begins."""
    need: int = 0
    """Bytes that the next window must have at least, or reach the end of the file."""
    last_epoch: int = -1
    any_batch: bool = False
    resumed: int = -1
    """Position at which reading went on after damage, which says already what is missing."""
    limit: int = -1
    """Position of a batch at which the walk ends, -1 for the file's end."""
    budget: int = field(init=False)
    """Bytes that may still be read again in search of a sound batch."""

    def __post_init__(self) -> None:
        if self.limit < 0:
            self.limit = self.size
        self.budget = search_budget(self.limit - self.pos)


def hop(
    view: memoryview,
    span: tuple[int, int, int],
    last: tuple[int, int],
    positions: array[int],
    kind: LogKind = METADATA,
) -> tuple[int, int, int]:
    """Hop over batches that are sound and follow on each other, as far as that is quickly done.

    Args:
        view: The bytes.
        span: Position to begin at, end of the bytes, and the position where the walk ends.
        last: Offset and epoch of the last batch before.
        positions: int64: the position of each batch found is added.
        kind: The kind of the log.

    Returns:
        (where to go on; the last offset; the last epoch).
    """
    least = min(LEAST_KEYED_BYTES, LEAST_CHAINED_BYTES) if kind.has_keys else LEAST_CHAINED_BYTES
    if view.readonly or min(span[1:]) - span[0] < least:
        return span[0], *last
    from metashell.kernel.library import library

    found = library()
    if found is None:
        return span[0], *last
    from metashell.kernel import chain

    return chain.hop(found, view, span, last, positions, kind.offsets_may_be_missing)


class Chainer:
    """Walks the batches of one file, or of a window of it.

    Args:
        view: The buffer that holds the file.
        start: Where the file, or its window, begins in it.
        stop: Where it ends.
        name: The file's name, for faults.
        after: Offset behind which the file's batches must lie: the last of the file before it.
        carry: The carry of the windows before, for a window; brought up to date by `run`. A batch
            that can't be judged without bytes behind the window is left to the next, at
            ``carry.pos``.
        kind: The kind of the log.
    """

    def __init__(
        self,
        view: memoryview,
        start: int,
        stop: int,
        name: str,
        after: int = -1,
        *,
        carry: Carry | None = None,
        kind: LogKind = METADATA,
    ) -> None:
        self.kind = kind
        self.view, self.start, self.stop, self.name = view, start, stop, name
        self.carry = carry = carry or Carry(stop - start, after)
        self.result = Chain(array("q"), last_offset=carry.last_offset, last_epoch=carry.last_epoch)
        self._origin = start - carry.pos
        """Where the file's first byte is, or would be, in the buffer."""
        self._end = self._origin + carry.size
        """Where its end is, or would be."""
        self._bound = min(stop, self._origin + carry.limit)
        """Where the walk ends."""
        self._need = 0
        """Bytes wanted from where the walk stopped; 0 while it goes on."""

    def run(self) -> Chain:
        """Find every sound batch."""
        pos = self.start
        while pos < self._bound and not self._need:
            pos = self._hop(pos)
            if pos < self._bound and not self._need:
                following = self._hop_unusual(pos) if self.kind.has_keys else pos
                pos = following if following > pos else self._past_damage(pos)
        out, carry = self.result, self.carry
        carry.pos, carry.need = pos - self._origin, self._need
        carry.last_offset, carry.last_epoch = out.last_offset, out.last_epoch
        carry.any_batch |= bool(out.positions)
        if out.positions:
            out.first_offset = HEAD.unpack_from(self.view, out.positions[0])[0]
            out.last_timestamp_ms = self._timestamp(out.positions[-1])
        else:
            out.last_offset = -1
        return out

    def _timestamp(self, pos: int) -> int:
        """The latest time in a batch."""
        if self.view[pos + MAGIC_POS] < OLD_FORMATS:
            return old_chain.timestamp(self.view, pos)
        return int(MAX_TIMESTAMP.unpack_from(self.view, pos + MAX_TIMESTAMP_POS)[0])

    def _hop(self, pos: int) -> int:
        """Hop as long as batches are sound; return where the first that is not begins."""
        view, stop, bound, out = self.view, self.stop, self._bound, self.result
        unpack, append = HEAD.unpack_from, out.positions.append
        last, epoch = out.last_offset, out.last_epoch
        span = pos, stop, bound
        pos, last, epoch = hop(view, span, (last, epoch), out.positions, self.kind)
        while pos < bound and stop - pos >= HEADER_BYTES:
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
                if end + HEADER_BYTES > stop and end + HEADER_BYTES <= self._end:
                    # The next header is looked at, to tell a gap from a wrong base offset.
                    self._need = end + HEADER_BYTES - pos
                    return pos
                if self._accept(pos, end, base, last_delta, epoch_here):
                    append(pos)
                    last, epoch = base + last_delta, epoch_here
                # Batches behind an odd one mostly are not odd.
                span = end, stop, bound
                pos, last, epoch = hop(view, span, (last, epoch), out.positions, self.kind)
                continue
            append(pos)
            last, epoch = base + last_delta, epoch_here
            pos = end
        out.last_offset, out.last_epoch = last, epoch
        return pos

    def _hop_unusual(self, pos: int) -> int:
        """Hop over messages of older formats, and over a batch with a magic that no format has."""
        out = self.result
        for at, end, magic in old_chain.unusual(self.view, pos, self._bound, self.stop):
            (base, *_), last_delta, pos = OLD_HEAD.unpack_from(self.view, at), 0, end
            if magic > OLD_FORMATS:
                _, _, epoch, _, _, _, last_delta = HEAD.unpack_from(self.view, at)
                # The CRC does not cover it, and a broker takes it for a batch all the same.
                reason = f"magic {magic} where 2 is expected; read all the same, as a broker does"
                self._fault(FaultCode.BATCH_DAMAGED, reason, at)
                if not self._accept(at, end, base, last_delta, epoch):
                    continue
                out.last_epoch = epoch
            elif base <= out.last_offset:
                reason = (
                    f"message of offset {base} skipped: offsets go back,"
                    f" {out.last_offset + 1} was to come"
                )
                self._fault(FaultCode.OFFSETS_GO_BACK, reason, at)
                continue
            out.positions.append(at)
            out.last_offset = base + last_delta
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
            self._fault(FaultCode.BAD_OFFSET_RANGE, reason, pos)
            return False
        if base < expected:
            reason = f"batch of offset {base} skipped: offsets go back, {expected} was to come"
            self._fault(FaultCode.OFFSETS_GO_BACK, reason, pos)
            return False
        if base > expected:
            following = self._base_at(end)
            if following is not None and expected <= following <= base + last_delta:
                reason = (
                    f"batch of offset {base} skipped: {expected} was to come, {following} follows"
                )
                self._fault(FaultCode.OUT_OF_ORDER, reason, pos)
                return False
            seen = self.carry.any_batch or out.positions
            resumed = pos - self._origin == self.carry.resumed
            if seen and not resumed and not self.kind.offsets_may_be_missing:
                reason = f"offsets {expected} to {base - 1} are missing"
                self._fault(FaultCode.OFFSET_GAP, reason, pos)
        if epoch < out.last_epoch:
            reason = f"the leader epoch goes back from {out.last_epoch} to {epoch}"
            self._fault(FaultCode.EPOCH_FALLS, reason, pos)
        return True

    def _base_at(self, pos: int) -> int | None:
        """The base offset of what seems to be a batch, or None."""
        if self.stop - pos < HEADER_BYTES:
            return None
        base, _, _, magic, _, _, _ = HEAD.unpack_from(self.view, pos)
        return int(base) if magic == 2 else None

    def _past_damage(self, pos: int) -> int:
        """Report what is wrong at `pos`; return where reading can go on.

        In a window this may be for the next one to tell, which then begins here.
        """
        if pos == self._origin:
            # A tar archive has segments in it, which are not this file's.
            what = archive_format(bytes(self.view[pos : min(pos + HEAD_BYTES, self.stop)]))
            if what is not None:
                self._fault(FaultCode.BATCH_DAMAGED, f"{what}, which is not read", pos)
                return self._origin + self.carry.limit
        self._need = self._missing_bytes(pos)
        if self._need:
            return pos
        whole, budget = self.stop == self._end, self.carry.budget
        if self._is_zero(pos):
            if not whole:
                self._need = 2 * (self.stop - pos)
                return pos
            self.result.padding = self.stop - pos
            return self.stop
        code, reason = self._what_is_wrong(pos)
        following = self._search(pos + 1)
        if following is None and not whole:
            self.carry.budget = budget
            self._need = 2 * (self.stop - pos)
            return pos
        if following is None:
            text = f"{reason}; the {self.stop - pos} bytes from here are not read"
            self._fault(code, text, pos, is_torn=code is FaultCode.CUT_OFF)
            return self.stop
        text = f"{reason}; {following - pos} bytes skipped, to the next sound batch"
        self._fault(code, text, pos)
        self.carry.resumed = following - self._origin
        return following

    def _missing_bytes(self, pos: int) -> int:
        """How many bytes a batch needs that reaches beyond the window; 0 where none does."""
        if self.stop == self._end:
            return 0
        if self.stop - pos < HEADER_BYTES:
            return HEADER_BYTES
        _, length, _, magic = OLD_HEAD.unpack_from(self.view, pos)
        beyond = self.stop < pos + 12 + length <= self._end
        is_known = magic == 2 or (magic < OLD_FORMATS and self.kind.has_keys)
        return 12 + int(length) if beyond and is_known else 0

    def _is_zero(self, pos: int) -> bool:
        # In growing steps: what is looked at is never much more than the zeros that are there.
        step = 64
        while pos < self.stop:
            if bytes(self.view[pos : min(pos + step, self.stop)]).strip(b"\0"):
                return False
            pos += step
            step = min(2 * step, 1 << 20)
        return True

    def _what_is_wrong(self, pos: int) -> tuple[FaultCode, str]:
        if not self.kind.has_keys:
            return self._why_no_batch(pos)
        if old_chain.is_old(self.view, pos, self._end):
            code, reason, summed = old_chain.why_unsound(self.view, pos, self._end - pos)
            self.carry.budget -= 2 * summed
        else:
            code, reason = self._why_no_batch(pos)
        is_loaded = code is FaultCode.CRC_MISMATCH and self.kind.is_loaded
        return code, f"{reason}; {LOADED_ALL_THE_SAME}" if is_loaded else reason

    def _why_no_batch(self, pos: int) -> tuple[FaultCode, str]:
        left = self._end - pos
        if left < HEADER_BYTES:
            return (
                FaultCode.CUT_OFF,
                f"batch cut off: {left} bytes where its header takes {HEADER_BYTES}",
            )
        _, length, _, magic, crc, _, _ = HEAD.unpack_from(self.view, pos)
        if magic != 2:
            return FaultCode.BAD_MAGIC, f"no record batch: magic {magic} where 2 is expected"
        if length < MIN_LENGTH:
            return FaultCode.BAD_LENGTH, f"no record batch: length {length} is below {MIN_LENGTH}"
        if 12 + length > left:
            return FaultCode.CUT_OFF, f"batch cut off: {left} bytes of {12 + length}"
        # Once for this sum and once for that which failed: damage may not cost ever more of them.
        self.carry.budget -= 2 * length
        actual = crc32c(self.view[pos + 21 : pos + 12 + length])
        return FaultCode.CRC_MISMATCH, f"CRC mismatch: stored {crc:08x}, computed {actual:08x}"

    def _search(self, pos: int) -> int | None:
        """The next position at which a batch proves itself and continues the offsets.

        None also where a window is too short to tell.
        """
        expected = self.result.last_offset + 1
        looks = old_chain.LOOKS_LIKE_ANY if self.kind.has_keys else LOOKS_LIKE_BATCH
        for match in looks.finditer(self.view[pos : self.stop]):
            at = pos + match.start()
            if self.stop - at < OLD_HEAD.size:
                return None
            base, size, _, magic = OLD_HEAD.unpack_from(self.view, at)
            end = at + 12 + size
            if size < old_chain.least_size(magic) or end > self._end or base < expected:
                continue
            if end > self.stop:
                return None
            if magic == OLD_FORMATS and HEAD.unpack_from(self.view, at)[-1] < 0:
                # It would end before it begins.
                continue
            self.carry.budget -= size
            if self.carry.budget < 0:
                return None
            if old_chain.sound_end(self.view, at, self.stop) is not None:
                return at
        return None

    def _fault(self, code: FaultCode, reason: str, pos: int, *, is_torn: bool = False) -> None:
        is_gap = code in (FaultCode.OFFSETS_GO_BACK, FaultCode.OFFSET_GAP)
        kind = FaultKind.GAP if is_gap else FaultKind.TORN if is_torn else FaultKind.DAMAGED
        place = self.name, pos - self._origin, self.result.last_offset + 1
        self.result.faults.append(Fault(kind, reason, *place, code))
