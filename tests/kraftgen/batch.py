"""Writes record batches v2, whole or with a wish for damage.

Owns the layout of a batch and of the records in it: header, CRC-32C, compression, control batches.
Must not know what a record means. Layout: metashell's docs on the record format.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import crc32c
import pyarrow as pa

from metashell.schema.encode import encode_control_key, encode_varint

Codec = Literal["none", "gzip", "snappy", "snappy-raw", "lz4", "zstd"]

CODEC_IDS: Final = {"none": 0, "gzip": 1, "snappy": 2, "snappy-raw": 2, "lz4": 3, "zstd": 4}
"""The attribute bits of each codec; ``snappy`` is framed as Kafka's Java client does it."""

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
"""The 61 bytes in front of the records."""

TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES: Final = 32 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record of a batch."""

    value: bytes | None
    key: bytes | None = None
    timestamp_delta: int = 0
    offset_delta: int | None = None
    """None for the place in the batch."""
    headers: tuple[tuple[bytes, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """What a header says instead of the truth; None for the truth."""

    magic: int | None = None
    batch_length: int | None = None
    count: int | None = None
    last_offset_delta: int | None = None
    codec_id: int | None = None
    crc_xor: int = 0
    """Bits of the CRC to flip. The CRC is that of the header as damaged, so only this breaks it."""


def control_record(control_type: int, value: bytes) -> Record:
    """Make a record for a control batch."""
    return Record(key=encode_control_key(control_type), value=value)


def encode_batch(
    records: Sequence[Record | bytes],
    *,
    base_offset: int = 0,
    leader_epoch: int = 1,
    timestamp: int = 1_790_000_000_000,
    codec: Codec = "none",
    control: bool = False,
    transactional: bool = False,
    producer_id: int = -1,
    damage: Damage | None = None,
) -> bytes:
    """Write one batch.

    Args:
        records: Records, or values alone for records without a key.
        base_offset: Offset of the first record.
        leader_epoch: The leader's epoch, of the whole batch.
        timestamp: Of the first record, in ms since the epoch; the records' deltas add to it.
        codec: How the records are compressed.
        control: Sets the control bit.
        transactional: Sets the transactional bit.
        producer_id: The producer's id; -1 for none, as in every batch of a metadata log.
        damage: What to falsify in the header.
    """
    full = [r if isinstance(r, Record) else Record(value=r) for r in records]
    deltas = [i if r.offset_delta is None else r.offset_delta for i, r in enumerate(full)]
    payload = b"".join(encode_batch_record(r, delta) for r, delta in zip(full, deltas, strict=True))
    return encode_raw_batch(
        compress(payload, codec),
        count=len(full),
        base_offset=base_offset,
        last_offset_delta=deltas[-1] if deltas else 0,
        leader_epoch=leader_epoch,
        timestamp=timestamp,
        max_timestamp=timestamp + max((r.timestamp_delta for r in full), default=0),
        attributes=CODEC_IDS[codec] | control * CONTROL | transactional * TRANSACTIONAL,
        producer_id=producer_id,
        damage=damage,
    )


def encode_raw_batch(
    payload: bytes,
    *,
    count: int,
    base_offset: int,
    last_offset_delta: int,
    leader_epoch: int,
    timestamp: int,
    max_timestamp: int | None = None,
    attributes: int = 0,
    producer_id: int = -1,
    damage: Damage | None = None,
) -> bytes:
    """Put a header in front of records that are bytes already, compressed or not."""
    damage = damage or Damage()
    if damage.codec_id is not None:
        attributes = attributes & ~7 | damage.codec_id
    tail = struct.pack(
        ">hiqqqhii",
        attributes,
        last_offset_delta if damage.last_offset_delta is None else damage.last_offset_delta,
        timestamp,
        timestamp if max_timestamp is None else max_timestamp,
        producer_id,
        -1,
        -1,
        count if damage.count is None else damage.count,
    )
    crc = crc32c.crc32c(payload, crc32c.crc32c(tail)) ^ damage.crc_xor
    length = HEADER.size - 12 + len(payload)
    head = struct.pack(
        ">qiibI",
        base_offset,
        length if damage.batch_length is None else damage.batch_length,
        leader_epoch,
        2 if damage.magic is None else damage.magic,
        crc,
    )
    return head + tail + payload


def encode_batch_record(record: Record, offset_delta: int) -> bytes:
    """Write one record with its length in front."""
    body = bytearray(b"\x00")
    body += encode_varint(record.timestamp_delta) + encode_varint(offset_delta)
    _write_nullable(body, record.key)
    _write_nullable(body, record.value)
    body += encode_varint(len(record.headers))
    for key, value in record.headers:
        _write_nullable(body, key)
        _write_nullable(body, value)
    return encode_varint(len(body)) + bytes(body)


def compress(data: bytes, codec: Codec) -> bytes:
    """Compress the records of a batch."""
    match codec:
        case "none":
            return data
        case "gzip":
            return gzip.compress(data, mtime=0)
        case "snappy":
            blocks = [
                pa.compress(data[i : i + _XERIAL_BLOCK_BYTES], codec="snappy", asbytes=True)
                for i in range(0, len(data), _XERIAL_BLOCK_BYTES)
            ]
            return _XERIAL_MAGIC + b"".join(struct.pack(">i", len(b)) + b for b in blocks)
        case "snappy-raw":
            return bytes(pa.compress(data, codec="snappy", asbytes=True))
        case _:
            return bytes(pa.compress(data, codec=codec, asbytes=True))


def _write_nullable(out: bytearray, data: bytes | None) -> None:
    out += encode_varint(-1 if data is None else len(data))
    out += data or b""
