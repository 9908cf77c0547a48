"""Writes messages of the formats 0 and 1, from before there were batches."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Literal

from kraftgen.batch import CODEC_IDS, Codec, compress
from metashell.log.compression import xxh32

OldMagic = Literal[0, 1]

APPEND_TIME = 0x08


def encode_message(
    magic: OldMagic,
    offset: int,
    key: bytes | None,
    value: bytes | None,
    *,
    timestamp: int = -1,
    attributes: int = 0,
) -> bytes:
    """Write one message."""
    body = struct.pack(">bb", magic, attributes)
    if magic:
        body += struct.pack(">q", timestamp)
    for part in (key, value):
        body += struct.pack(">i", -1 if part is None else len(part)) + (part or b"")
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def wrap_messages(
    magic: OldMagic,
    messages: Sequence[tuple[int, bytes | None, bytes | None, int]],
    codec: Codec,
    *,
    append_time: int | None = None,
) -> bytes:
    """Write messages into a compressed one.

    Args:
        magic: The format of all.
        messages: Offset, key, value and timestamp of each.
        codec: How they are compressed.
        append_time: The time at which a broker appended them, where that counts.
    """
    last = messages[-1][0]
    first = messages[0][0] if magic else 0
    inner = b"".join(
        encode_message(magic, offset - first, key, value, timestamp=timestamp)
        for offset, key, value, timestamp in messages
    )
    packed = compress(inner, codec)
    if codec == "lz4" and magic == 0:
        packed = _with_wrong_checksum(packed)
    return encode_message(
        magic,
        last,
        None,
        packed,
        timestamp=messages[-1][3] if append_time is None else append_time,
        attributes=CODEC_IDS[codec] | (0 if append_time is None else APPEND_TIME),
    )


def _with_wrong_checksum(frame: bytes) -> bytes:
    """Compute the header's checksum as writers of format 0 did: over the magic number, too."""
    at = 14 if frame[4] & 0x08 else 6
    # XXH32 of sixteen bytes and more is another algorithm; any other byte does as well.
    wrong = xxh32(frame[:at]) >> 8 & 0xFF if at < 16 else frame[at] ^ 0xFF
    return frame[:at] + bytes((wrong,)) + frame[at + 1 :]
