"""``.snapshot`` files beside the segments of a log: the state of its producers at an offset.

A broker writes one when it begins a segment, and when it stops; on a start it reads the newest and
the log behind it. An int16 version and a CRC-32C stand before the entries.

Source: org.apache.kafka.storage.internals.log.ProducerStateManager; ProducerSnapshot, version 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from struct import Struct
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import DecodeError
from metashell.log.crc import crc32c
from metashell.schema.arena import AnyArray

SNAPSHOT_LIMIT_BYTES: Final = 256 << 20
"""Bytes of such a file at most that are read: millions of producers."""

_HEAD: Final = Struct(">hIi")
_CRC_END: Final = 6
_VERSION: Final = 1
_ENTRY: Final = np.dtype(
    [
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("last_sequence", ">i4"),
        ("last_offset", ">i8"),
        ("offset_delta", ">i4"),
        ("last_timestamp", ">i8"),
        ("coordinator_epoch", ">i4"),
        ("current_txn_first_offset", ">i8"),
    ]
)
NO_PRODUCERS: Final[AnyArray] = np.empty(0, _ENTRY)
"""The entries where there is no snapshot."""
_NAME: Final = re.compile(r"(\d{20})\.snapshot", re.ASCII)
_MAX_OFFSET: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True, order=True)
class SnapshotName:
    """A file with the state of a log's producers before an offset."""

    end_offset: int
    name: str


def snapshot_names(names: Iterable[str]) -> list[SnapshotName]:
    """The snapshots among the names of a log's directory, by offset."""
    matches = (_NAME.fullmatch(name) for name in names)
    found = [SnapshotName(int(match[1]), match[0]) for match in matches if match is not None]
    return sorted(each for each in found if each.end_offset <= _MAX_OFFSET)


def parse_producer_snapshot(data: bytes) -> AnyArray:
    """The entries of a snapshot's content, one a producer.

    Returns:
        A structured array with the fields ``producer_id``, ``producer_epoch``, ``last_sequence``
        (-1 for none), ``last_offset`` (of a record with data, -1 for none), ``last_timestamp`` (ms
        since the epoch), ``coordinator_epoch`` (of the last marker, -1 for none) and
        ``current_txn_first_offset`` (-1 where no transaction is open).

    Raises:
        DecodeError: It is cut, of an unknown version, or its CRC is wrong.
    """
    if len(data) < _HEAD.size:
        raise DecodeError(f"cut off: {len(data)} bytes")
    version, crc, count = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise DecodeError(f"unknown version {version}")
    actual = crc32c(memoryview(data)[_CRC_END:])
    if crc != actual:
        raise DecodeError(f"CRC mismatch: stored {crc:08x}, computed {actual:08x}")
    if count < 0 or count * _ENTRY.itemsize > len(data) - _HEAD.size:
        raise DecodeError(f"cut off: {count} entries do not fit in {len(data)} bytes")
    return np.frombuffer(data, _ENTRY, count, _HEAD.size)
