"""The bytes between a record's length and its message, decoded by numpy.

Without the kernel `metashell.log.framing` uses it; tests hold the kernel to it.

Source: org.apache.kafka.common.record.internal.DefaultRecord.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.frames import (
    CONTROL_FRAME,
    CONTROL_KEY,
    KEYED_CONTROL_KEY,
    NO_FRAME,
    NO_KEY,
    NO_NUMBER,
    Batches,
    Frames,
)
from metashell.log.layout import CONTROL
from metashell.log.payloads import MALFORMED, BatchFaults
from metashell.schema.arena import I32, I64, AnyArray, Arena, Bools
from metashell.schema.varint import read_uvarint, read_varint, read_varlong

_BLOCK: Final = 32_768


@dataclass(slots=True)
class HeadBlock:
    """Heads of some records, each of which may be malformed; arrays have one element a record."""

    rows: slice | I64
    """Which records."""
    begin: I64
    """int64: position of the attributes byte."""
    end: I64
    """int64: where the record ends."""
    delta: I64
    """int64: the offset, counted from its batch's."""
    key: I64
    key_size: I64
    """int64: -1 for null."""
    value: I64
    stop: I64
    """int64: end of the value; where it begins for null."""
    control: I64
    """int64: which of them are control records."""


def heads_in_blocks(
    arena: Arena,
    batches: Batches,
    batch: I32,
    places: tuple[I64, I32],
    faults: BatchFaults,
    chosen: I64 | None = None,
) -> Iterator[HeadBlock]:
    """Decode what stands between a record's length and its value, block by block.

    Args:
        arena: The bytes.
        batches: The batches.
        batch: int32[n], the batch of each record.
        places: int64[n] and int32[n]: where each record begins, behind its length, and how many
            bytes it has from there on.
        faults: Where batches are noted of which a record is malformed.
        chosen: int64, the records that are decoded; None for all.
    """
    begin, size = places
    counts = np.diff(batches.first_row)
    last_delta = np.repeat(batches.header["last_delta"].astype(np.int32), counts)
    is_control = np.repeat(batches.header["attributes"] & CONTROL != 0, counts)
    n = len(begin) if chosen is None else len(chosen)
    for first in range(0, n, _BLOCK):
        block = slice(first, min(first + _BLOCK, n))
        rows = block if chosen is None else chosen[block]
        starts, ends = begin[rows], begin[rows] + size[rows]
        delta, key, key_size, value, stop, ok = record_head(arena, starts, ends)
        ok &= (delta >= 0) & (delta <= last_delta[rows])
        control = np.flatnonzero(is_control[rows])
        ok[control] &= key_size[control] >= 4
        if not ok.all():
            faults.add(np.unique(batch[rows][~ok]), MALFORMED)
        yield HeadBlock(rows, starts, ends, delta, key, key_size, value, stop, control)


def fill_frames(frames: Frames, places: tuple[I64, I32], faults: BatchFaults) -> None:
    """Fill in the frames of a log whose keys are null; arguments as of `heads_in_blocks`."""
    arena, batches, batch = frames.arena, frames.batches, frames.batch
    for heads in heads_in_blocks(arena, batches, batch, places, faults):
        rows = heads.rows
        frames.start[rows], frames.stop[rows] = heads.begin, heads.stop
        frames.offset.put(rows, heads.delta)
        _message_frame(frames, rows, heads.value, heads.stop)
        if heads.control.size:
            of = heads.control
            control = np.arange(len(batch), dtype=np.int64)[rows][of]
            _control_frame(frames, control, heads.key[of], heads.value[of])


def fill_columns(
    arena: Arena,
    batches: Batches,
    batch: I32,
    places: tuple[I64, I32],
    columns: Mapping[str, AnyArray],
    faults: BatchFaults,
    chosen: I64 | None,
) -> None:
    """Fill in the columns of a log with keys, as the kernel does.

    Arguments are those of `heads_in_blocks`, and the columns by the kernel's names.
    """
    columns["start"][:] = places[0]
    columns["offset"][:] = batches.header["base_offset"].astype(np.int64)[batch]
    for heads in heads_in_blocks(arena, batches, batch, places, faults, chosen):
        rows, value_size = heads.rows, heads.stop - heads.value
        columns["offset"][rows] += heads.delta
        _find_nulls(arena, heads, value_size)
        put_spans(arena, columns, rows, (heads.key, heads.key_size), (heads.value, value_size))
        if heads.control.size:
            types = arena.gather(">i2", heads.key[heads.control] + 2).astype(np.int32)
            control = np.arange(len(batch), dtype=np.int64)[rows][heads.control]
            columns["key_type"][control] = KEYED_CONTROL_KEY - types


def put_spans(
    arena: Arena,
    columns: Mapping[str, AnyArray],
    rows: slice | I64,
    key: tuple[I64, AnyArray],
    value: tuple[I64, AnyArray],
) -> None:
    """Fill in the spans of keys and values, and the numbers that they begin with."""
    for span, name, number in ((key, "key", "key_type"), (value, "value", "value_version")):
        begin, size = span
        columns[name][rows], columns[f"{name}_size"][rows] = begin, size
        found = arena.gather(">i2", np.minimum(begin, arena.size)).astype(np.int32)
        columns[number][rows] = np.where(size >= 2, found, NO_NUMBER)


def _find_nulls(arena: Arena, heads: HeadBlock, value_size: I64) -> None:
    """Tell null from empty among the values without bytes: their lengths are read again."""
    empty = np.flatnonzero(value_size <= 0)
    if empty.size:
        at = heads.key[empty] + np.maximum(heads.key_size[empty], 0)
        length, _ = read_varint(arena, np.minimum(at, heads.end[empty] + 1), heads.end[empty])
        value_size[empty] = np.where(length < 0, -1, 0)


def record_head(arena: Arena, begin: I64, end: I64) -> tuple[I64, I64, I64, I64, I64, Bools]:
    """Offset delta, key position and size, value position and end, and which are sound."""
    short = _short_head(arena, begin, end)
    if short is not None:
        return short
    _, pos = read_varlong(arena, begin + 1, end)
    delta, pos = read_varint(arena, np.minimum(pos, end + 1), end)
    key_size, key = read_varint(arena, np.minimum(pos, end + 1), end)
    pos = np.minimum(key + np.maximum(key_size, 0), end + 1)
    value_size, value = read_varint(arena, pos, end)
    ok = (key_size >= -1) & (value_size >= -1)
    stop = np.minimum(value + np.maximum(value_size, 0), end + 1)
    # Almost always no headers, a single zero byte; where there are some, walk them.
    plain = (arena.u1.take(stop) == 0) & (stop + 1 == end)
    if not plain.all():
        for i in np.flatnonzero(~plain & ok).tolist():
            ok[i] = _headers_fit(arena, int(stop[i]), int(end[i]))
        value = np.minimum(value, end)
        stop = np.minimum(stop, end)
    return delta, key, key_size, value, stop, ok


def _short_head(arena: Arena, begin: I64, end: I64) -> tuple[I64, I64, I64, I64, I64, Bools] | None:
    """Decode heads, see `record_head`, by one load of eight bytes each; None if that is too short.

    Enough for what a controller writes: a timestamp delta of one byte, an offset delta and a value
    length of up to two, no key, no headers.
    """
    word = arena.le64[begin]
    word >>= np.uint64(8)
    if ((word & np.uint64(0x80)) != 0).any():
        return None
    word >>= np.uint64(8)
    delta, width = _two_bytes(word)
    word >>= np.uint64(8) + np.uint64(8) * width
    if ((word & np.uint64(0xFF)) != np.uint64(1)).any():
        return None
    word >>= np.uint64(8)
    size, size_width = _two_bytes(word)
    width += size_width
    value = begin + 5
    value += width.view(np.int64)
    size_signed = (size >> np.uint64(1)).view(np.int64)
    stop = value + size_signed
    np.minimum(stop, end, out=stop)
    negative = ((delta | size) & np.uint64(1)) != 0
    three = width > np.uint64(_THREE)
    if negative.any() or three.any() or not ((arena.u1.take(stop) == 0) & (stop + 1 == end)).all():
        return None
    no_key = np.full(len(begin), -1, dtype=np.int64)
    ok = np.ones(len(begin), dtype=np.bool_)
    return (delta >> np.uint64(1)).view(np.int64), value, no_key, value, stop, ok


_THREE: Final = 1 << 32
"""Added to the width of a varint of three bytes or more."""


def _two_bytes(word: AnyArray) -> tuple[AnyArray, AnyArray]:
    """The varint in the lowest bytes: (value, 0 or 1 for one or two bytes, more if longer)."""
    more = (word >> np.uint64(7)) & np.uint64(1)
    value = (word & np.uint64(0x7F)) | (((word >> np.uint64(1)) & np.uint64(0x3F80)) * more)
    longer = (word & np.uint64(0x8080)) == np.uint64(0x8080)
    return value, np.where(longer, np.uint64(2 * _THREE), more) if longer.any() else more


def _headers_fit(arena: Arena, pos: int, end: int) -> bool:
    """Whether the record's headers, in plain Python, end where the record does."""
    if pos > end:
        return False
    data = arena.u1[pos:end].tobytes()
    size, at = len(data), 0

    def varint() -> int:
        nonlocal at
        value = 0
        for i in range(5):
            if at >= size:
                return -2
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << (7 * i)
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
        return -2

    count = varint()
    if count < 0 or count > size:
        return False
    for _ in range(count):
        key_size = varint()
        at += max(key_size, 0)
        value_size = varint()
        at += max(value_size, 0)
        if key_size < 0 or value_size < -1 or at > size:
            return False
    return at == size


def _message_frame(frames: Frames, rows: slice | I64, value: I64, stop: I64) -> None:
    """Read frame version, api key and version: three varints, nearly always a byte each."""
    word = frames.arena.le32[value]
    short = (word & np.uint32(0x808080)) == 0
    fits = value + 3 <= stop
    if (short & fits).all():
        frames.frame_version[rows] = word & np.uint32(0xFF)
        frames.api_key[rows] = (word >> np.uint32(8)) & np.uint32(0xFF)
        frames.version[rows] = (word >> np.uint32(16)) & np.uint32(0xFF)
        frames.body[rows] = value + 3
        return
    frame_version, pos = read_uvarint(frames.arena, value, stop)
    api_key, pos = read_uvarint(frames.arena, np.minimum(pos, stop + 1), stop)
    version, pos = read_uvarint(frames.arena, np.minimum(pos, stop + 1), stop)
    none = pos > stop
    frames.frame_version[rows] = np.where(none, NO_FRAME, frame_version)
    frames.api_key[rows] = np.where(none, NO_KEY, api_key)
    frames.version[rows] = np.where(none, -1, version)
    frames.body[rows] = np.where(none, value, pos)


def _control_frame(frames: Frames, rows: I64, key: I64, value: I64) -> None:
    """A control record's type stands in its key, its version in its value."""
    control_type = frames.arena.gather(">i2", key + 2).astype(np.int32)
    frames.api_key[rows] = CONTROL_KEY - control_type
    frames.version[rows] = frames.arena.gather(">i2", value)
    frames.frame_version[rows] = CONTROL_FRAME
    frames.body[rows] = value
