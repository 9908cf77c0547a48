"""How much of a file is looked at, where it is larger than any of Kafka's.

Such a file is sparse, or none of Kafka's. Data is looked at up to the first long stretch of zeros,
which ends a log, and never beyond Kafka's limit.
"""

from __future__ import annotations

import errno
import os
from typing import Final

from metashell.log.fault import Fault, FaultKind

LARGEST: Final = (1 << 31) - 1
"""Bytes of a segment or checkpoint at most.

Source: org.apache.kafka.common.record.FileRecords, which refuses a larger file.
"""

_ZEROS: Final = 64 << 20
"""So many zero bytes end a log; a batch of metadata takes 8 MiB at most."""
_STEP: Final = 1 << 20
_MOST_EXTENTS: Final = 10_000
_SEEK_DATA: Final = getattr(os, "SEEK_DATA", None)
_SEEK_HOLE: Final = getattr(os, "SEEK_HOLE", None)


def extent(fd: int, size: int) -> int:
    """How many of a file's bytes are looked at; all of a file that can be Kafka's.

    Args:
        fd: The file, open for reading.
        size: Its size.

    Raises:
        OSError: It can't be read.
    """
    if size <= LARGEST:
        return size
    end = _end_of_data(fd, size)
    return _end_before_zeros(fd) if end is None else end


def rest_of(name: str, size: int, end: int, offset: int) -> Fault:
    """The fault that stands for what is not looked at.

    Args:
        name: The file's.
        size: Its size.
        end: How much of it is looked at.
        offset: The next offset expected.
    """
    reason = (
        f"the file has {size} bytes, and Kafka's have {LARGEST} at most:"
        f" the {size - end} bytes from here are not read"
    )
    return Fault(FaultKind.DAMAGED, reason, name, end, offset)


def _end_of_data(fd: int, size: int) -> int | None:
    """Where the first long hole begins; None where the file system knows of no hole."""
    if _SEEK_DATA is None or _SEEK_HOLE is None:
        return None
    end = 0
    for _ in range(_MOST_EXTENTS):
        try:
            begin = os.lseek(fd, end, _SEEK_DATA)
            if begin - end > _ZEROS or begin >= LARGEST:
                return end
            end = os.lseek(fd, begin, _SEEK_HOLE)
        except OSError as error:
            # There is no data behind the position; else such seeks are not known there.
            return end if error.errno == errno.ENXIO else None
        if end >= LARGEST:
            return None if end >= size else LARGEST
    return end


def _end_before_zeros(fd: int) -> int:
    """The position found by reading, where nothing else tells."""
    end = pos = 0
    while pos < LARGEST and pos - end < _ZEROS:
        piece = os.pread(fd, min(_STEP, LARGEST - pos), pos)
        if not piece:
            break
        pos += len(piece)
        if piece.strip(b"\0"):
            # A batch may end with zeros of its own.
            end = pos
    return end
