"""Checks of ``.index`` and ``.timeindex`` files against the batches of their segment.

An offset index has entries of eight bytes: an offset relative to the segment's base (int32) and the
position (int32) of a batch at or before it. A time index has twelve: a timestamp (int64) and the
relative offset (int32) of the last record of the batch that it is the latest time of. A node makes
both at their full size, so zeros at the end are none of their entries.

Source: org.apache.kafka.storage.internals.log.{OffsetIndex, TimeIndex}.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from metashell.checks.finding import Finding
from metashell.checks.fsck import CheckedFile
from metashell.log.boundaries import used_entries
from metashell.log.names import SegmentName
from metashell.log.read import opened
from metashell.places.place import FileRef, name_of
from metashell.schema.arena import AnyArray, Bools

INDEX_SUFFIXES: Final = (".index", ".timeindex")
_OFFSET_ENTRY: Final = np.dtype([("offset", ">i4"), ("pos", ">i4")])
_TIME_ENTRY: Final = np.dtype([("time", ">i8"), ("offset", ">i4")])
_LIMIT_BYTES: Final = 64 << 20
"""Kafka's default for a whole index is 10 MiB."""
_MAX_OFFSET: Final = (1 << 63) - (1 << 32)
"""A name has room for more digits than an offset."""


def check_index(facts: CheckedFile, path: FileRef, *, is_last: bool) -> Iterator[Finding]:
    """Check one index file of a segment.

    Args:
        facts: The segment.
        path: The index; its name tells which kind.
        is_last: Whether the segment is the one that a node appends to: while it is read, the index
            may have become longer than the segment was.

    Raises:
        VanishedError: There is none.
        SourceError: It can't be read.
    """
    name = name_of(path)
    is_time = name.endswith(".timeindex")
    dtype = _TIME_ENTRY if is_time else _OFFSET_ENTRY
    data, size = _read(path)
    if size > _LIMIT_BYTES or size % dtype.itemsize:
        yield Finding(
            "index-size",
            f"{size} bytes are "
            + (
                "too many for an index: not checked"
                if size > _LIMIT_BYTES
                else f"no whole number of entries of {dtype.itemsize}"
            ),
            file=name,
            pos=0,
        )
        if size > _LIMIT_BYTES:
            return
    entries = np.frombuffer(data, dtype=dtype, count=used_entries(data, dtype.itemsize))
    if not isinstance(facts.parsed, SegmentName) or facts.parsed.base_offset > _MAX_OFFSET:
        return
    offset = entries["offset"].astype(np.int64) + facts.parsed.base_offset
    wrong = (
        _wrong_times(facts, entries, offset)
        if is_time
        else _wrong_positions(facts, entries, offset)
    )
    wrong &= ~_excused(facts, entries, offset, is_last=is_last)
    bad = np.flatnonzero(wrong)
    if bad.size:
        yield _finding(name, entries, int(bad[0]), int(offset[bad[0]]), len(bad), is_time=is_time)


def _read(path: FileRef) -> tuple[bytes, int]:
    """(content, size in bytes); no content where it is too large."""
    with opened(path) as file:
        if file.size > _LIMIT_BYTES:
            return b"", file.size
        content = bytearray(file.size)
        read = file.read_into(memoryview(content), 0)
        return bytes(content[:read]), read


def _wrong_positions(facts: CheckedFile, entries: AnyArray, offset: AnyArray) -> Bools:
    """Entries that lead to no batch, behind the offset they promise, or back."""
    pos = entries["pos"].astype(np.int64)
    at = np.minimum(np.searchsorted(facts.pos, pos), max(len(facts.pos) - 1, 0))
    if not len(facts.pos):
        return np.ones(len(entries), dtype=np.bool_)
    good = (facts.pos[at] == pos) & (facts.base[at] <= offset)
    ends = np.minimum(np.searchsorted(facts.last, offset), len(facts.last) - 1)
    good &= facts.last[ends] == offset
    good[1:] &= (offset[1:] > offset[:-1]) & (pos[1:] >= pos[:-1])
    wrong: Bools = ~good
    return wrong


def _wrong_times(facts: CheckedFile, entries: AnyArray, offset: AnyArray) -> Bools:
    """Entries whose time is not that of the batch of their offset."""
    if not len(facts.pos):
        return np.ones(len(entries), dtype=np.bool_)
    at = np.minimum(np.searchsorted(facts.last, offset), len(facts.last) - 1)
    good = (facts.base[at] <= offset) & (offset <= facts.last[at])
    good &= facts.max_time[at] == entries["time"]
    wrong: Bools = ~good
    return wrong


def _excused(facts: CheckedFile, entries: AnyArray, offset: AnyArray, *, is_last: bool) -> Bools:
    """Entries about bytes that are damaged, which is told already, or came while we read."""
    end = facts.end_offset
    if end is None:
        return np.ones(len(entries), dtype=np.bool_)
    excused = np.zeros(len(entries), dtype=np.bool_)
    if facts.faults:
        sound = facts.pos < facts.first_fault
        excused |= offset > (int(facts.last[sound][-1]) if sound.any() else -1)
    if is_last:
        excused |= offset >= end
        if entries.dtype == _OFFSET_ENTRY:
            # A wrong entry about a part that was read is a fault all the same.
            excused &= entries["pos"] >= facts.first_fault
    return excused


def _finding(
    name: str, entries: AnyArray, at: int, offset: int, n_wrong: int, *, is_time: bool
) -> Finding:
    entry = entries[at]
    more = f", and {n_wrong - 1} more entries are wrong" if n_wrong > 1 else ""
    if is_time:
        what = f"entry {at} gives offset {offset} the time {int(entry['time'])} ms, and no batch"
        what += " there has it as its latest"
    else:
        what = f"entry {at} leads to offset {offset} by position {int(entry['pos'])}, and no batch"
        what += " there fits"
    return Finding(
        code="time-index-entry" if is_time else "index-entry",
        message=what + more,
        file=name,
        pos=at * entries.dtype.itemsize,
        offset=offset,
    )
