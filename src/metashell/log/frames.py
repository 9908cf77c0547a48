"""From batches to frames: where every record lies, for all batches at once.

A record in a batch is: length varint, attributes int8, timestampDelta varlong, offsetDelta varint,
keyLength varint, key, valueLength varint, value, headers; varints zigzag-encoded. `lanes` finds
where each begins; what stands between a record's length and its message is decoded here for all
records in blocks.

Source: org.apache.kafka.common.record.internal.DefaultRecord.
"""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import Any, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.chain import Chain
from metashell.log.fault import Fault
from metashell.log.lanes import find_records
from metashell.log.payloads import CODEC, MIN_RECORD_BYTES, BatchFaults, inflated
from metashell.log.read import Loaded
from metashell.schema.arena import I32, I64, AnyArray, Arena, Bools
from metashell.schema.varint import read_uvarint, read_varint, read_varlong

HEADER: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
"""The 61 bytes before a batch's records."""

LOG_APPEND_TIME: Final = 0x08
CONTROL: Final = 0x20

_BLOCK: Final = 32_768


@dataclass(slots=True)
class Batches:
    """The batches of a source, in replay order; every array has one element a batch."""

    pos: I64
    """int64: where the header lies in the arena."""
    file: I32
    """int32: index into the source's files."""
    header: AnyArray
    """`HEADER`: native-endian copies would only cost time, so its fields are big-endian."""
    first_row: I64
    """int64[n + 1]: the batch's first record among the frames."""


@dataclass(slots=True)
class Merged:
    """Of records that stand for others as well: how much of what those did they stand for.

    Both have one element a record, which is 1 or what the record itself does where it stands only
    for itself. See `metashell.condensed.condense`.
    """

    changes: I32
    """int32: changes of a partition."""
    leader_changes: I32
    """int32: those that named a leader."""


@dataclass(slots=True)
class Frames:
    """The records of a source, in replay order; every array has one element a record.

    Records of batches that do not frame are left out, as if the batch were not there.
    """

    arena: Arena
    batches: Batches
    batch: I32
    """int32: index into `batches`."""
    start: I64
    """int64: position of the record's attributes byte."""
    body: I64
    """int64: first byte of the message, behind frame version, api key and version; of the value for
    control records and for values with no such frame."""
    stop: I64
    """int64: end of the value."""
    offset: I64
    """int64: log offset, as the file says (counted from 0 in checkpoints)."""
    api_key: I32
    """int32: metadata api key; `NO_KEY` for a value with no readable frame; for control records
    `CONTROL_KEY` minus their type."""
    version: I32
    """int32: message version; for control records the first int16 of the value."""
    frame_version: I32
    """int32: 1 in sound metadata records, -1 for control records, `NO_FRAME`."""
    merged: Merged | None = None
    """Set where records of a condensed log stand for others as well."""

    def __len__(self) -> int:
        return len(self.batch)

    def timestamps(self, rows: AnyArray) -> I64:
        """Timestamps of the rows given: int64, ms since the epoch, -1 for none."""
        start = self.start[rows]
        delta, _ = read_varlong(self.arena, start + 1, np.full_like(start, self.arena.size))
        header = self.batches.header[self.batch[rows]]
        times = header["base_timestamp"].astype(np.int64) + delta
        appended = header["attributes"] & LOG_APPEND_TIME != 0
        return np.where(appended, header["max_timestamp"], times).astype(np.int64)

    def epochs(self, rows: AnyArray) -> I32:
        """Leader epochs of the rows given: int32."""
        return self.batches.header["epoch"][self.batch[rows]].astype(np.int32)

    def values(self, rows: AnyArray) -> I64:
        """Where the value of each row given begins: int64."""
        start = self.start[rows]
        return value_spans(self.arena, start, np.full_like(start, self.arena.size))[0]

    def unread(self, rows: AnyArray) -> Bools:
        """Which of the rows given have no value any more, but the reason why it can't be read."""
        return np.zeros(len(rows), dtype=np.bool_)


NO_KEY: Final = -1
CONTROL_FRAME: Final = -1
"""Frame version of control records, which have none."""

NO_FRAME: Final = -2
"""Frame version of a value that is null, empty or too short to have one."""
CONTROL_KEY: Final = -1000
"""Control records of type t have the api key ``CONTROL_KEY - t``, apart from every metadata key."""


def control_key(control_type: int) -> int:
    """The api key that stands for a control type."""
    return CONTROL_KEY - control_type


def build_frames(loaded: Loaded) -> tuple[Frames, list[Fault]]:
    """Frame every record of the files read.

    Returns:
        (frames, faults: batches whose records do not frame, and unreadable compressed ones).
    """
    counts = [len(file.chain.positions) for file in loaded.files]
    pos = np.concatenate(
        [np.frombuffer(file.chain.positions, dtype=np.int64) for file in loaded.files]
        or [np.empty(0, dtype=np.int64)]
    )
    file = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    arena = Arena(loaded.buffer, loaded.size)
    view = np.ndarray(
        shape=(max(loaded.size - HEADER.itemsize + 1, 0),),
        dtype=f"V{HEADER.itemsize}",
        buffer=arena.u1,
        strides=(1,),
    )
    header = view[pos].view(HEADER)
    faults = BatchFaults(loaded, pos, file, header)
    n_records = header["count"].astype(np.int64)
    starts, stops = pos + HEADER.itemsize, pos + 12 + header["length"]
    arena, starts, stops = inflated(arena, starts, stops, header, faults)
    lie = (n_records < 0) | (n_records * MIN_RECORD_BYTES > stops - starts)
    lie |= header["last_delta"] < n_records - 1
    faults.add(np.flatnonzero(lie & ~faults.bad), "its record count does not fit its length")
    n_records[faults.bad] = 0
    first_row = np.zeros(len(pos) + 1, dtype=np.int64)
    np.cumsum(n_records, out=first_row[1:])
    begin, size = find_records(arena, starts, stops, n_records, first_row, faults.add)
    batches = Batches(pos, file, header, first_row)
    frames = _decode_heads(arena, batches, begin, size, faults)
    if faults.bad.any():
        frames = _without(frames, faults.bad)
    return frames, faults.found


def extend_frames(frames: Frames, loaded: Loaded) -> tuple[Frames, list[Fault]] | None:
    """Frame what came behind records that are framed already.

    Args:
        frames: Of the files as they were.
        loaded: The same files, to the last of which batches were added, in a buffer that begins
            with the same bytes.

    Returns:
        (all frames, the faults of the new batches), or None where a batch is compressed: what was
        inflated lies where the new batches do now.
    """
    n_batches = len(frames.batches.pos)
    *before, last = loaded.files
    n_known = n_batches - sum(len(file.chain.positions) for file in before)
    added = replace(last, chain=Chain(last.chain.positions[n_known:]))
    files = [*(replace(file, chain=Chain(array("q"))) for file in before), added]
    new, faults = build_frames(Loaded(loaded.buffer, loaded.size, files))
    compressed = (frames.batches.header["attributes"] & CODEC).any()
    if compressed or (new.batches.header["attributes"] & CODEC).any():
        return None
    old_batches, new_batches = frames.batches, new.batches
    first_row = new_batches.first_row + old_batches.first_row[-1]
    batches = Batches(
        np.concatenate([old_batches.pos, new_batches.pos]),
        np.concatenate([old_batches.file, new_batches.file]),
        np.concatenate([old_batches.header, new_batches.header]),
        np.concatenate([old_batches.first_row[:-1], first_row]),
    )
    columns = {name: (getattr(frames, name), getattr(new, name)) for name in _PER_RECORD}
    columns["batch"] = (frames.batch, new.batch + np.int32(n_batches))
    joined: dict[str, Any] = {name: np.concatenate(pair) for name, pair in columns.items()}
    return Frames(new.arena, batches, **joined), faults


def _decode_heads(
    arena: Arena, batches: Batches, begin: I64, size: I32, faults: BatchFaults
) -> Frames:
    """Decode what stands between a record's length and its message, block by block."""
    total = len(begin)
    counts = np.diff(batches.first_row)
    batch = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    frames = Frames(
        arena,
        batches,
        batch,
        start=begin,
        body=np.empty(total, dtype=np.int64),
        stop=np.empty(total, dtype=np.int64),
        # So far of the batch; each record's delta is added below.
        offset=np.repeat(batches.header["base_offset"].astype(np.int64), counts),
        api_key=np.empty(total, dtype=np.int32),
        version=np.empty(total, dtype=np.int32),
        frame_version=np.empty(total, dtype=np.int32),
    )
    last_delta = np.repeat(batches.header["last_delta"].astype(np.int32), counts)
    control = _control_rows(batches, counts)
    for first in range(0, total, _BLOCK):
        rows = slice(first, min(first + _BLOCK, total))
        end = begin[rows] + size[rows]
        delta, key, key_size, value, stop, ok = record_head(arena, begin[rows], end)
        frames.offset[rows] += delta
        ok &= (delta >= 0) & (delta <= last_delta[rows])
        _message_frame(frames, rows, value, stop)
        bounds = np.searchsorted(control, [rows.start, rows.stop])
        if bounds[0] < bounds[1]:
            local = control[bounds[0] : bounds[1]] - first
            ok[local] &= key_size[local] >= 4
            _control_frame(frames, first + local, key[local], value[local])
        if not ok.all():
            faults.add(np.unique(batch[rows][~ok]), "a record in it is malformed")
        frames.stop[rows] = stop
    return frames


def _control_rows(batches: Batches, counts: I64) -> I64:
    """Rows of the records in control batches, ascending."""
    control = np.flatnonzero(batches.header["attributes"] & CONTROL)
    sizes = counts[control]
    rows = np.repeat(batches.first_row[control] - np.cumsum(sizes) + sizes, sizes)
    rows += np.arange(len(rows), dtype=np.int64)
    return rows


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


def value_spans(arena: Arena, begin: I64, end: I64) -> tuple[I64, I64]:
    """Where the values of records lie, given their attributes bytes: (first byte, end)."""
    _, pos = read_varlong(arena, begin + 1, end)
    _, pos = read_varint(arena, pos, end)
    key_size, pos = read_varint(arena, pos, end)
    size, value = read_varint(arena, pos + np.maximum(key_size, 0), end)
    return value, value + np.maximum(size, 0)


def _short_head(arena: Arena, begin: I64, end: I64) -> tuple[I64, I64, I64, I64, I64, Bools] | None:
    """As `record_head`, from one load of eight bytes a record; None where a block needs more.

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


def _message_frame(frames: Frames, rows: slice, value: I64, stop: I64) -> None:
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


def _without(frames: Frames, bad: Bools) -> Frames:
    """The frames of the other batches."""
    keep = ~bad[frames.batch]
    batches = frames.batches
    counts = np.diff(batches.first_row) * ~bad
    first_row = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=first_row[1:])
    return Frames(
        frames.arena,
        Batches(batches.pos, batches.file, batches.header, first_row),
        *(getattr(frames, name)[keep] for name in _PER_RECORD),
    )


_PER_RECORD: Final = (
    "batch",
    "start",
    "body",
    "stop",
    "offset",
    "api_key",
    "version",
    "frame_version",
)
"""Fields of `Frames` with an element a record, in their order."""
