"""Reads whole record batches one record at a time: slow, obvious, independent of `metashell.log`.

For tests that need what is in a file without trusting the reader that others test. Trusts its input
but for the CRC.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import crc32c
import pyarrow as pa

from kraftgen.batch import CONTROL, HEADER
from metashell.schema.scalar import read_uvarint, read_varint, read_varlong


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch: its header and its records' bytes, decompressed."""

    pos: int
    base_offset: int
    leader_epoch: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    count: int
    payload: bytes

    @property
    def is_control(self) -> bool:
        """Whether its records are control records."""
        return bool(self.attributes & CONTROL)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRecord:
    """A record with its place in the log."""

    batch: Batch
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes | None, bytes | None], ...]


def read_batches(data: bytes) -> Iterator[Batch]:
    """Read batches up to the end, or to one that is cut off."""
    pos = 0
    while pos + HEADER.size <= len(data):
        header = HEADER.unpack_from(data, pos)
        stop = pos + 12 + header[1]
        if stop > len(data):
            return
        assert header[3] == 2
        assert header[4] == crc32c.crc32c(data[pos + 21 : stop])
        yield Batch(
            pos=pos,
            base_offset=header[0],
            leader_epoch=header[2],
            attributes=header[5],
            last_offset_delta=header[6],
            base_timestamp=header[7],
            max_timestamp=header[8],
            producer_id=header[9],
            count=header[12],
            payload=_decompress(header[5] & 7, data[pos + HEADER.size : stop]),
        )
        pos = stop


def read_records(data: bytes) -> Iterator[PlainRecord]:
    """Read the records of all batches."""
    for batch in read_batches(data):
        pos = 0
        for _ in range(batch.count):
            size, pos = read_varint(batch.payload, pos, len(batch.payload))
            yield _record(batch, batch.payload[pos : pos + size])
            pos += size
        assert pos == len(batch.payload)


def _record(batch: Batch, data: bytes) -> PlainRecord:
    stop = len(data)
    timestamp_delta, pos = read_varlong(data, 1, stop)
    offset_delta, pos = read_varint(data, pos, stop)
    key, pos = _nullable(data, pos)
    value, pos = _nullable(data, pos)
    n_headers, pos = read_varint(data, pos, stop)
    headers = []
    for _ in range(n_headers):
        name, pos = _nullable(data, pos)
        content, pos = _nullable(data, pos)
        headers.append((name, content))
    assert pos == stop
    return PlainRecord(
        batch=batch,
        offset=batch.base_offset + offset_delta,
        timestamp=batch.base_timestamp + timestamp_delta,
        key=key,
        value=value,
        headers=tuple(headers),
    )


def _nullable(data: bytes, pos: int) -> tuple[bytes | None, int]:
    length, pos = read_varint(data, pos, len(data))
    if length < 0:
        return None, pos
    assert pos + length <= len(data)
    return data[pos : pos + length], pos + length


def _decompress(codec: int, data: bytes) -> bytes:
    match codec:
        case 0:
            return data
        case 1:
            return gzip.decompress(data)
        case 2:
            return _unsnappy(data)
        case _:
            name = {3: "lz4", 4: "zstd"}[codec]
            return bytes(pa.CompressedInputStream(pa.BufferReader(data), name).read())


def _unsnappy(data: bytes) -> bytes:
    if not data.startswith(b"\x82SNAPPY\x00"):
        return _unsnappy_block(data)
    out, pos = b"", 16
    while pos < len(data):
        (size,) = struct.unpack_from(">i", data, pos)
        out += _unsnappy_block(data[pos + 4 : pos + 4 + size])
        pos += 4 + size
    return out


def _unsnappy_block(block: bytes) -> bytes:
    size, _ = read_uvarint(block, 0, len(block))
    return bytes(pa.decompress(block, size, codec="snappy", asbytes=True))
