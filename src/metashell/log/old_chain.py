"""Messages of formats 0 and 1 between the batches of a log with keys, and other magics.

The walk over batches (`metashell.log.chain`) asks here where something is no sound batch of format
2. Brokers wrote messages before there were batches. Each message counts as a batch of its own; a
compressed one wraps others::

    0  offset int64          16 magic int8 (0, 1)        18 timestamp int64 (magic 1 only)
    8  size int32            17 attributes int8          then key and value, each behind an int32
       (bytes from 12 on)                                 length, -1 for null
    12 crc uint32: CRC-32 of everything from ``magic`` on

Source: org.apache.kafka.common.record.internal.LegacyRecord, FileLogInputStream.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Final

from metashell.log.crc import crc32c
from metashell.log.fault import FaultCode
from metashell.log.layout import MIN_LENGTH, OLD_FORMATS, OLD_HEAD, OLD_OVERHEAD

_HEAD_BYTES: Final = OLD_HEAD.size
_CRC: Final = Struct(">I")
_TIMESTAMP: Final = Struct(">q")
_TIMESTAMP_POS: Final = 18
_NEGATIVE: Final = 0x80

LOOKS_LIKE_ANY: Final = re.compile(
    rb"(?s)(?=\x00.{7}(?:[\x00-\x7f].{7}\x02.{4}\x00[\x00-\x7f][\x00-\x7f]"
    rb"|\x00(?!\x00\x00[\x00-\x0d]).{7}[\x00\x01][\x00-\x0b]))"
)
"""The pattern `metashell.log.layout.LOOKS_LIKE_BATCH`, or a message of an older format, of at least
fourteen bytes and below 16 MiB: zeros look like neither.
"""


def is_old(view: memoryview, pos: int, stop: int) -> bool:
    """Whether the magic at a position is that of a message."""
    return stop - pos >= _HEAD_BYTES and view[pos + 16] < OLD_FORMATS


def timestamp(view: memoryview, pos: int) -> int:
    """The time of a message, ms since the epoch; -1 in format 0."""
    return int(_TIMESTAMP.unpack_from(view, pos + _TIMESTAMP_POS)[0]) if view[pos + 16] else -1


def sound_end(view: memoryview, pos: int, stop: int) -> int | None:
    """Where a batch or a message ends that begins at a position, if length and CRC prove it."""
    left = stop - pos
    if left < _HEAD_BYTES:
        return None
    _, size, crc, magic = OLD_HEAD.unpack_from(view, pos)
    end = pos + 12 + int(size)
    if magic >= _NEGATIVE or size > left - 12 or size < least_size(magic):
        return None
    if magic < OLD_FORMATS:
        return end if zlib.crc32(view[pos + 16 : end]) == crc else None
    (crc,) = _CRC.unpack_from(view, pos + 17)
    return end if crc32c(view[pos + 21 : end]) == crc else None


def least_size(magic: int) -> int:
    """The least that the size of a batch, or of a message, can say."""
    return OLD_OVERHEAD[magic] if magic < OLD_FORMATS else MIN_LENGTH


def unusual(view: memoryview, pos: int, bound: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Messages, and batches with a magic that no format has, as long as they are sound.

    Args:
        view: The bytes.
        pos: Where the first one would be.
        bound: Where the walk ends.
        stop: Where the bytes do.

    Yields:
        Position, end and magic. A batch of format 2 ends them: the walk knows that it is not sound.
    """
    while pos < bound and stop - pos >= _HEAD_BYTES:
        magic = view[pos + 16]
        end = sound_end(view, pos, stop) if magic != OLD_FORMATS else None
        if end is None:
            return
        yield pos, end, magic
        pos = end


def why_unsound(view: memoryview, pos: int, left: int) -> tuple[FaultCode, str, int]:
    """Why a message is not sound: the code, the reason, and how many bytes were summed."""
    _, size, crc, magic = OLD_HEAD.unpack_from(view, pos)
    if size < OLD_OVERHEAD[magic]:
        least = OLD_OVERHEAD[magic]
        reason = f"no message of format {magic}: size {size} is below {least}"
        return FaultCode.BATCH_DAMAGED, reason, 0
    if 12 + size > left:
        return FaultCode.CUT_OFF, f"message cut off: {left} bytes of {12 + size}", 0
    actual = zlib.crc32(view[pos + 16 : pos + 12 + size])
    return FaultCode.CRC_MISMATCH, f"CRC mismatch: stored {crc:08x}, computed {actual:08x}", size
