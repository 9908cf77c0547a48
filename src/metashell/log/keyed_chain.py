"""From bytes to batches in a log that brokers replicate: a coordinator's, or any topic's.

Such a log differs from a metadata log in three points. Compaction removes records, so offsets may
be missing. It may hold messages of the formats before batches, each of them a batch of its own; a
compressed one wraps others::

    0  offset int64          16 magic int8 (0, 1)        18 timestamp int64 (magic 1 only)
    8  size int32            17 attributes int8          then key and value, each behind an int32
       (bytes from 12 on)                                 length, -1 for null
    12 crc uint32: CRC-32 of everything from ``magic`` on

And a broker's loader checks no CRC, so what is left out here it may have loaded.

Source: org.apache.kafka.common.record.internal.LegacyRecord, FileLogInputStream.
"""

from __future__ import annotations

import re
import zlib
from struct import Struct
from typing import Final

from metashell.log.chain import Chain, Chainer
from metashell.log.crc import crc32c
from metashell.log.fault import FaultCode
from metashell.log.layout import MIN_LENGTH, OLD_HEAD, OLD_OVERHEAD

_HEAD_BYTES: Final = OLD_HEAD.size
_CRC: Final = Struct(">I")
_TIMESTAMP: Final = Struct(">q")
_TIMESTAMP_POS: Final = 18
_NEWEST: Final = 2
_NEGATIVE: Final = 0x80

_LOOKS_LIKE_BATCH: Final = re.compile(
    rb"(?s)(?=\x00.{7}(?:[\x00-\x7f].{7}\x02.{4}\x00[\x00-\x7f][\x00-\x7f]"
    rb"|\x00(?!\x00\x00[\x00-\x0d]).{7}[\x00\x01][\x00-\x0b]))"
)
"""As `metashell.log.layout.LOOKS_LIKE_BATCH`, or a message of an older format, of at least fourteen
bytes and below 16 MiB: what is filled with zeros looks like neither."""

LOADED_ALL_THE_SAME: Final = "a broker may have loaded it: its loader checks no CRC"


class KeyedChainer(Chainer):
    """Walks the batches of a compacted log's file, those of older formats too; see `Chainer`."""

    offsets_may_be_missing = True
    has_keys = True

    def run(self) -> Chain:
        """Find every sound batch."""
        out = super().run()
        if out.positions and self.view[out.positions[-1] + 16] < _NEWEST:
            last, out.last_timestamp_ms = out.positions[-1], -1
            if self.view[last + 16]:
                (out.last_timestamp_ms,) = _TIMESTAMP.unpack_from(self.view, last + _TIMESTAMP_POS)
        return out

    def _hop(self, pos: int) -> int:
        while True:
            pos = super()._hop(pos)
            if pos >= self._bound or self._need:
                return pos
            following = self._hop_unusual(pos)
            if following == pos:
                return pos
            pos = following

    def _hop_unusual(self, pos: int) -> int:
        """Hop over messages of older formats, and over a batch with a magic that no format has."""
        while pos < self._bound and self.stop - pos >= _HEAD_BYTES:
            magic = self.view[pos + 16]
            # Of a batch of the newest format it is known that it is not sound.
            end = self._end_of_sound(pos) if magic != _NEWEST else None
            if end is None:
                return pos
            (offset,) = _TIMESTAMP.unpack_from(self.view, pos)
            if magic > _NEWEST:
                # The CRC does not cover it, and a broker takes it for a batch all the same.
                reason = f"magic {magic} where 2 is expected; read all the same, as a broker does"
                self._fault(FaultCode.BATCH_DAMAGED, reason, pos)
                last_delta = int.from_bytes(self.view[pos + 23 : pos + 27], "big", signed=True)
                epoch = int.from_bytes(self.view[pos + 12 : pos + 16], "big", signed=True)
                if self._accept(pos, end, offset, last_delta, epoch):
                    self.result.positions.append(pos)
                    self.result.last_offset = offset + last_delta
                    self.result.last_epoch = epoch
            elif offset <= self.result.last_offset:
                reason = (
                    f"message of offset {offset} skipped: offsets go back,"
                    f" {self.result.last_offset + 1} was to come"
                )
                self._fault(FaultCode.OFFSETS_GO_BACK, reason, pos)
            else:
                self.result.positions.append(pos)
                self.result.last_offset = offset
            pos = end
        return pos

    def _end_of_sound(self, pos: int) -> int | None:
        """Where what begins at a position ends, if its length fits and its CRC matches."""
        view, left = self.view, self.stop - pos
        if left < _HEAD_BYTES:
            return None
        _, size, crc, magic = OLD_HEAD.unpack_from(view, pos)
        end = pos + 12 + int(size)
        if magic >= _NEGATIVE or size > left - 12:
            return None
        if magic >= _NEWEST:
            if size < MIN_LENGTH:
                return None
            (crc,) = _CRC.unpack_from(view, pos + 17)
            return end if crc32c(view[pos + 21 : end]) == crc else None
        if size < OLD_OVERHEAD[magic]:
            return None
        return end if zlib.crc32(view[pos + 16 : end]) == crc else None

    def _missing_bytes(self, pos: int) -> int:
        missing = super()._missing_bytes(pos)
        if missing or self.stop == self._end:
            return missing
        _, size, _, magic = OLD_HEAD.unpack_from(self.view, pos)
        beyond = self.stop < pos + 12 + size <= self._end
        return 12 + int(size) if beyond and magic < _NEWEST else 0

    def _what_is_wrong(self, pos: int) -> tuple[FaultCode, str]:
        left = self._end - pos
        magic = self.view[pos + 16] if left >= _HEAD_BYTES else _NEWEST
        if magic >= _NEWEST:
            code, reason = super()._what_is_wrong(pos)
            mismatch = code is FaultCode.CRC_MISMATCH
            return code, f"{reason}; {LOADED_ALL_THE_SAME}" if mismatch else reason
        _, size, crc, _ = OLD_HEAD.unpack_from(self.view, pos)
        if size < OLD_OVERHEAD[magic]:
            least = OLD_OVERHEAD[magic]
            reason = f"no message of format {magic}: size {size} is below {least}"
            return FaultCode.BATCH_DAMAGED, reason
        if 12 + size > left:
            return FaultCode.CUT_OFF, f"message cut off: {left} bytes of {12 + size}"
        self.carry.budget -= 2 * size
        actual = zlib.crc32(self.view[pos + 16 : pos + 12 + size])
        reason = f"CRC mismatch: stored {crc:08x}, computed {actual:08x}"
        return FaultCode.CRC_MISMATCH, f"{reason}; {LOADED_ALL_THE_SAME}"

    def _search(self, pos: int) -> int | None:
        expected = self.result.last_offset + 1
        for match in _LOOKS_LIKE_BATCH.finditer(self.view[pos : self.stop]):
            at = pos + match.start()
            left = self.stop - at
            if left < _HEAD_BYTES:
                return None
            offset, size, _, magic = OLD_HEAD.unpack_from(self.view, at)
            least = MIN_LENGTH if magic >= _NEWEST else OLD_OVERHEAD[magic]
            if size < least or at + 12 + size > self._end or offset < expected:
                continue
            if 12 + size > left:
                return None
            self.carry.budget -= size
            if self.carry.budget < 0:
                return None
            if self._end_of_sound(at) is not None:
                return at
        return None


class UncompactedChainer(KeyedChainer):
    """The same for a log that is only deleted from the front: its offsets follow each other."""

    offsets_may_be_missing = False
