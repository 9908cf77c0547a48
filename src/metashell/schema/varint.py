"""Variable-length integers, decoded as vectors.

A varint holds seven bits a byte, lowest first, the high bit saying that more follow: up to five
bytes for 32-bit values, ten for 64-bit ones (``varlong``). Kafka writes lengths, tags and counts of
messages unsigned, and all numbers of a record's frame zigzag-encoded.

A malformed one moves its cursor to ``end + 1``, where no cursor of a good record ever stands, so
callers need no second result to learn of it.

Source: org.apache.kafka.common.utils.ByteUtils.
"""

from __future__ import annotations

import numpy as np

from metashell.schema.arena import I64, Arena, Bools


def read_uvarint(arena: Arena, pos: I64, end: I64) -> tuple[I64, I64]:
    """Read an unsigned varint of 32 bits at each position.

    Args:
        arena: The bytes.
        pos: int64[n], at most ``end + SLACK // 2``.
        end: int64[n], where each record ends.

    Returns:
        (value: int64[n] in 0..2**31-1, next position: int64[n]); the position is ``end + 1`` where
        the varint is longer than five bytes or its value over 31 bits.
    """
    first = arena.u1.take(pos)
    if not first.size or int(first.max()) < 0x80:
        return first.astype(np.int64), pos + 1
    return _read_multibyte(arena, pos, end)


def read_varint(arena: Arena, pos: I64, end: I64) -> tuple[I64, I64]:
    """Read a zigzag varint of 32 bits at each position; as `read_uvarint`, value an int32."""
    first = arena.u1.take(pos)
    if not first.size or int(first.max()) < 0x80:
        value, following = first.astype(np.int64), pos + 1
    else:
        value, following = _read_multibyte(arena, pos, end, zigzag=True)
    return (value >> 1) ^ -(value & 1), following


def read_varlong(arena: Arena, pos: I64, end: I64) -> tuple[I64, I64]:
    """Read a zigzag varint of 64 bits at each position; as `read_varint`, up to ten bytes."""
    first = arena.u1.take(pos)
    if not first.size or int(first.max()) < 0x80:
        value = first.astype(np.int64)
        return (value >> 1) ^ -(value & 1), pos + 1
    value, following, long = _read_two_bytes(arena, pos)
    raw = value.view(np.uint64)
    if long.any():
        rows = np.flatnonzero(long)
        raw[rows], following[rows] = _read_bytewise(arena, pos[rows], end[rows], max_bytes=10)
    return (raw >> np.uint64(1)).view(np.int64) ^ -(raw & np.uint64(1)).view(np.int64), following


def _read_two_bytes(arena: Arena, pos: I64) -> tuple[I64, I64, Bools]:
    """The value of one or two bytes, the next position, and which have more bytes than that."""
    word = arena.le16[pos]
    more = (word & np.uint16(0x80)) >> np.uint16(7)
    following = pos + 1
    following += more
    # Without a continuation bit the second byte is the next field's.
    second = (word >> np.uint16(1)) & np.uint16(0x3F80)
    value = ((word & np.uint16(0x7F)) | (second * more)).astype(np.int64)
    return value, following, (word & np.uint16(0x8080)) == np.uint16(0x8080)


def _read_multibyte(arena: Arena, pos: I64, end: I64, *, zigzag: bool = False) -> tuple[I64, I64]:
    """One or two bytes from one load each, which is nearly all there is; longer ones one by one."""
    value, following, long = _read_two_bytes(arena, pos)
    if long.any():
        rows = np.flatnonzero(long)
        raw, after = _read_bytewise(arena, pos[rows], end[rows], max_bytes=5)
        if zigzag:
            # A fifth byte may carry bits beyond 32; Kafka's reader lets them fall off.
            raw &= np.uint64(0xFFFFFFFF)
        value[rows] = raw.astype(np.int64)
        following[rows] = after
        if not zigzag:
            too_large = value > 0x7FFFFFFF
            following[too_large] = end[too_large] + 1
            value[too_large] = 0
    return value, following


def _read_bytewise(
    arena: Arena, pos: I64, end: I64, *, max_bytes: int
) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint64]], I64]:
    value = np.zeros(len(pos), dtype=np.uint64)
    following = end + 1
    active = np.arange(len(pos))
    for i in range(max_bytes):
        byte = arena.u1.take(pos[active] + i).astype(np.uint64)
        value[active] |= (byte & np.uint64(0x7F)) << np.uint64(7 * i)
        done = byte < np.uint64(0x80)
        following[active[done]] = pos[active[done]] + i + 1
        active = active[~done]
        if not active.size:
            break
    return value, following
