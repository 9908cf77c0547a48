"""Payloads of compressed batches.

Kafka's codecs by the number in a batch's attributes: 1 gzip, 2 snappy (framed as Kafka's Java
client frames it, after Xerial's snappy-java; raw from other writers), 3 lz4 (the frame format),
4 zstd. Output is capped, because a few bytes can claim to hold gigabytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from metashell.errors import DecodeError

NAMES: Final = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}

MAX_BATCH_BYTES: Final = 12 << 20
"""Inflated bytes that one batch may have: half as many again as a controller writes at most.

A controller's batch, in the log or in a checkpoint, has 8 MiB at most, and is not compressed.

Source: org.apache.kafka.raft.KafkaRaftClient.MAX_BATCH_SIZE_BYTES, which bounds the batches of
RecordsSnapshotWriter, of the formatter and of BatchFileWriter, too.
"""


_PIECE_BYTES: Final = 1 << 16
"""Bytes that are inflated at a time: how many there were is known where the next ones fail."""


class InflateError(DecodeError):
    """Data can't be inflated.

    Args:
        message: The problem.
        n_bytes: Bytes that were inflated for nothing, at most.
    """

    def __init__(self, message: str, n_bytes: int) -> None:
        super().__init__(message)
        self.n_bytes = n_bytes


class TooLargeError(InflateError):
    """Data inflates to more than it may."""


_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_LZ4_HEADER_BYTES: Final = 15
"""Magic number, flags, block descriptor, content size and checksum."""
_UINT32: Final = 0xFFFFFFFF
_XXH_PRIMES: Final = (2654435761, 2246822519, 3266489917, 668265263, 374761393)

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES: Final = 16


def inflate(codec: int, payload: memoryview, limit: int = MAX_BATCH_BYTES) -> bytes:
    """Decompress one batch's records.

    Args:
        codec: 1 to 4.
        payload: The bytes after the batch header.
        limit: Most bytes that may come out.

    Raises:
        TooLargeError: There are more than `limit` bytes.
        InflateError: Unknown codec, or damaged data.
    """
    pieces: list[bytes] = []
    n_bytes = 0
    for piece in _pieces(codec, payload, limit):
        pieces.append(piece)
        n_bytes += len(piece)
    if n_bytes > limit:
        message = f"{NAMES[codec]} data is over the limit of {limit} bytes inflated"
        raise TooLargeError(message, n_bytes)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def inflate_start(codec: int, payload: memoryview) -> bytes:
    """Decompress the first bytes of one batch's records, not all of them.

    Raises:
        InflateError: Unknown codec, or damaged data.
    """
    return next(_pieces(codec, payload, MAX_BATCH_BYTES), b"")


def _pieces(codec: int, payload: memoryview, limit: int) -> Iterator[bytes]:
    """The inflated bytes piece by piece; where there are more than `limit`, up to one byte more."""
    if codec not in _CODECS:
        raise InflateError(f"unknown compression codec {codec}", 0)
    n_bytes = 0
    try:
        for piece in _CODECS[codec](payload, limit):
            n_bytes += len(piece)
            yield piece
    except InflateError as e:
        e.n_bytes += n_bytes
        raise
    except (zlib.error, OSError, ValueError, EOFError, MemoryError) as e:
        message = f"{NAMES[codec]} data is damaged: {_first_line(e)}"
        # The piece that fails may have been inflated to the last byte.
        raise InflateError(message, n_bytes + _PIECE_BYTES) from e


def _gunzip(payload: memoryview, limit: int) -> Iterator[bytes]:
    decompressor, left, pos = zlib.decompressobj(wbits=31), limit + 1, 0
    while left and not decompressor.eof:
        data = payload[pos : pos + _PIECE_BYTES]
        piece = decompressor.decompress(data, min(left, _PIECE_BYTES))
        pos += len(data) - len(decompressor.unconsumed_tail)
        if not (data or piece or decompressor.eof):
            raise ValueError("it ends early")
        left -= len(piece)
        yield piece


def _stream(payload: memoryview, limit: int, codec: str) -> Iterator[bytes]:
    import pyarrow as pa

    left = limit + 1
    with pa.input_stream(pa.py_buffer(payload), compression=codec) as stream:
        while left and (piece := stream.read(min(left, _PIECE_BYTES))):
            left -= len(piece)
            yield piece


def _unlz4(payload: memoryview, limit: int) -> Iterator[bytes]:
    pieces = _stream(payload, limit, "lz4")
    try:
        first = next(pieces, b"")
    except (OSError, ValueError):
        # In messages of format 0 the header's checksum covers the magic number too (KAFKA-3160).
        mended = _with_checksum(payload)
        if mended is None:
            raise
        pieces = _stream(memoryview(mended), limit, "lz4")
        first = next(pieces, b"")
    yield first
    yield from pieces


def _with_checksum(frame: memoryview) -> bytes | None:
    """An lz4 frame with its header's checksum as it should be; None where it is so already."""
    at = 6 + 8 * bool(len(frame) > _LZ4_HEADER_BYTES and frame[4] & 0x08)
    if len(frame) <= at or bytes(frame[:4]) != _LZ4_MAGIC:
        return None
    right = xxh32(bytes(frame[4:at])) >> 8 & 0xFF
    if right == frame[at]:
        return None
    return bytes(frame[:at]) + bytes((right,)) + bytes(frame[at + 1 :])


def xxh32(data: bytes) -> int:
    """XXH32 with seed 0 of fewer than sixteen bytes, as an lz4 frame's header has."""
    value = (_XXH_PRIMES[4] + len(data)) & _UINT32
    words = len(data) // 4 * 4
    for i in range(0, words, 4):
        value += int.from_bytes(data[i : i + 4], "little") * _XXH_PRIMES[2]
        value = _rotated(value, 17) * _XXH_PRIMES[3] & _UINT32
    for byte in data[words:]:
        value = _rotated(value + byte * _XXH_PRIMES[4], 11) * _XXH_PRIMES[0] & _UINT32
    for shift, prime in ((15, _XXH_PRIMES[1]), (13, _XXH_PRIMES[2]), (16, 1)):
        value = (value ^ value >> shift) * prime & _UINT32
    return value


def _rotated(value: int, bits: int) -> int:
    value &= _UINT32
    return (value << bits | value >> 32 - bits) & _UINT32


def _unsnappy(payload: memoryview, limit: int) -> Iterator[bytes]:
    if bytes(payload[:8]) != _XERIAL_MAGIC:
        yield _unsnappy_block(payload, limit)
        return
    left, pos = limit, _XERIAL_HEADER_BYTES
    while pos < len(payload):
        size = int.from_bytes(payload[pos : pos + 4], "big", signed=True)
        pos += 4
        if size <= 0 or size > len(payload) - pos:
            raise ValueError(f"a block of {size} bytes where {len(payload) - pos} are left")
        piece = _unsnappy_block(payload[pos : pos + size], left)
        left -= len(piece)
        pos += size
        yield piece


def _unsnappy_block(block: memoryview, limit: int) -> bytes:
    import pyarrow as pa

    size = 0
    for i, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            break
    else:
        raise ValueError("its length is malformed")
    # Three bytes can copy 64, so an honest block inflates by no more than that.
    if size > limit or size > 32 * len(block) + 64:
        raise TooLargeError(f"snappy block claims {size} bytes, over the limit", 0)
    data: bytes = pa.Codec("snappy").decompress(block, decompressed_size=size, asbytes=True)
    return data


_CODECS: Final[dict[int, Callable[[memoryview, int], Iterator[bytes]]]] = {
    1: _gunzip,
    2: _unsnappy,
    3: _unlz4,
    4: partial(_stream, codec="zstd"),
}


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
