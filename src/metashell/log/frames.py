"""From batches to frames: where every record lies, for all batches at once.

A record in a batch is: length varint, attributes int8, timestampDelta varlong, offsetDelta varint,
keyLength varint, key, valueLength varint, value, headers; varints zigzag-encoded. Only the lengths
have to be read one after the other, so all batches advance together: step *i* hops over record *i*
of every batch that has one. With batches sorted by their record count, the active ones are a prefix.
Everything behind the length is then decoded for all records in blocks.

A large batch would make few lanes of many steps, so it is cut into several lanes first
(`_split_lanes`): a guess at where its n-th record begins, believed only when the lane before it
arrives exactly there.

Source: org.apache.kafka.common.record.internal.DefaultRecord.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from metashell.errors import DecodeError
from metashell.log.compression import MAX_BATCH_BYTES, inflate
from metashell.log.fault import Fault, FaultKind
from metashell.log.read import SLACK, Loaded
from metashell.schema.arena import AnyArray, Arena, Bools, I32, I64
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

MIN_RECORD_BYTES: Final = 7
"""A record with no key, value or header: one byte for each of its parts."""

LOG_APPEND_TIME: Final = 0x08
CONTROL: Final = 0x20
CODEC: Final = 0x07

_BLOCK: Final = 32_768
_LANE_RECORDS: Final = 2_048
"""A batch of more records is cut into lanes of about this many."""


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


NO_KEY: Final = -1
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
    faults = _Faults(loaded, pos, file, header)
    arena, starts, stops = _payloads(arena, pos, header, faults)
    n_records = header["count"].astype(np.int64)
    lie = (n_records < 0) | (n_records * MIN_RECORD_BYTES > stops - starts)
    lie |= header["last_delta"] < n_records - 1
    faults.add(np.flatnonzero(lie & ~faults.bad), "its record count does not fit its length")
    n_records[faults.bad] = 0
    first_row = np.zeros(len(pos) + 1, dtype=np.int64)
    np.cumsum(n_records, out=first_row[1:])
    begin, finish = _hop(arena, starts, stops, n_records, first_row, faults)
    batches = Batches(pos, file, header, first_row)
    frames = _decode_heads(arena, batches, begin, finish, faults)
    if faults.bad.any():
        frames = _without(frames, faults.bad)
    return frames, faults.found


class _Faults:
    """Batches found unreadable after their CRC held: each is reported once and left out whole."""

    def __init__(self, loaded: Loaded, pos: I64, file: I32, header: AnyArray) -> None:
        self.loaded, self.pos, self.file, self.header = loaded, pos, file, header
        self.bad: Bools = np.zeros(len(pos), dtype=np.bool_)
        self.found: list[Fault] = []

    def add(self, batches: AnyArray, reason: str) -> None:
        for i in batches.tolist():
            if self.bad[i]:
                continue
            self.bad[i] = True
            source = self.loaded.files[int(self.file[i])]
            where = int(self.pos[i]) - source.start
            offset = int(self.header["base_offset"][i])
            self.found.append(
                Fault(FaultKind.DAMAGED, f"batch left out: {reason}", source.name, where, offset)
            )


def _payloads(
    arena: Arena, pos: I64, header: AnyArray, faults: _Faults
) -> tuple[Arena, I64, I64]:
    """Where each batch's records lie: in the file, or behind all files where they were inflated."""
    starts = pos + HEADER.itemsize
    stops = pos + 12 + header["length"]
    codec = header["attributes"] & CODEC
    compressed = np.flatnonzero(codec)
    if not compressed.size:
        return arena, starts, stops
    pieces, at = [], arena.size
    # A file of nothing but bombs may not grow without bound either.
    budget = 64 * arena.size + MAX_BATCH_BYTES
    for i in compressed.tolist():
        payload = memoryview(arena.u1)[int(starts[i]) : int(stops[i])]
        try:
            data = inflate(int(codec[i]), payload, min(MAX_BATCH_BYTES, budget))
        except DecodeError as e:
            faults.add(np.array([i]), e.message)
            data = b""
        budget -= len(data)
        pieces.append(data)
        starts[i], stops[i] = at, at + len(data)
        at += len(data)
    whole = b"".join([arena.u1[: arena.size].tobytes(), *pieces, bytes(SLACK)])
    return Arena(whole, at), starts, stops


def _hop(
    arena: Arena, starts: I64, stops: I64, counts: I64, first_row: I64, faults: _Faults
) -> tuple[I64, I64]:
    """Find every record's body: (first byte after its length, end), int64 each."""
    total = int(first_row[-1])
    begin = np.zeros(total, dtype=np.int64)
    finish = np.zeros(total, dtype=np.int64)
    lanes = _Lanes(starts, stops, counts, first_row[:-1])
    if counts.size and int(counts.max()) > 2 * _LANE_RECORDS:
        lanes = _split_lanes(arena, lanes)
    order = np.argsort(-lanes.count, kind="stable")
    pos, stop = lanes.pos[order].copy(), lanes.stop[order]
    row, count = lanes.row[order], lanes.count[order]
    n_active = np.searchsorted(-count, -np.arange(int(count[0]) if count.size else 0), side="left")
    for i, n in enumerate(n_active.tolist()):
        at, limit = pos[:n], stop[:n]
        length, body = read_varint(arena, at, limit)
        end = body + length
        # Also when the length is negative: a cursor may stand still, but never go back or beyond.
        wrong = (length < 0) | (end > limit)
        if wrong.any():
            end = np.where(wrong, limit + 1, end)
            body = np.minimum(body, end)
        rows = row[:n] + i
        begin[rows] = body
        finish[rows] = end
        pos[:n] = end
    arrived = np.empty(len(order), dtype=np.bool_)
    arrived[order] = pos == stop
    bad = np.unique(lanes.batch[~arrived])
    if lanes.guessed and bad.size:
        # A guess was wrong, or the batch is: hop through those batches without guessing.
        redo = np.zeros(len(counts), dtype=np.int64)
        redo[bad] = counts[bad]
        again, ends = _hop_plain(arena, starts, stops, redo, first_row, faults)
        for i in bad.tolist():
            rows_of = slice(int(first_row[i]), int(first_row[i + 1]))
            begin[rows_of], finish[rows_of] = again[rows_of], ends[rows_of]
    else:
        faults.add(bad, "its records do not fill it exactly")
    return begin, finish


@dataclass(slots=True)
class _Lanes:
    """Runs of records to hop through: each begins at ``pos``, has ``count`` records, ends at ``stop``."""

    pos: I64
    stop: I64
    count: I64
    row: I64
    batch: I64 = None  # type: ignore[assignment]
    guessed: bool = False

    def __post_init__(self) -> None:
        if self.batch is None:
            self.batch = np.arange(len(self.pos), dtype=np.int64)


def _hop_plain(
    arena: Arena, starts: I64, stops: I64, counts: I64, first_row: I64, faults: _Faults
) -> tuple[I64, I64]:
    """Hop through batches one record after the other, for the few on which guessing failed."""
    begin = np.zeros(int(first_row[-1]), dtype=np.int64)
    finish = np.zeros(int(first_row[-1]), dtype=np.int64)
    for i in np.flatnonzero(counts).tolist():
        first, pos, stop = int(first_row[i]), int(starts[i]), int(stops[i])
        base, data = pos, arena.u1[pos : stop + 8].tobytes()
        size = stop - base
        at = 0
        for row in range(first, first + int(counts[i])):
            value, shift = 0, 0
            while at < size and shift < 35:
                byte = data[at]
                at += 1
                value |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    break
            end = at + ((value >> 1) ^ -(value & 1))
            if end < at or end > size:
                at = size + 1
                break
            begin[row], finish[row] = base + at, base + end
            at = end
        if at != size:
            faults.add(np.array([i]), "its records do not fill it exactly")
    return begin, finish


def _split_lanes(arena: Arena, lanes: _Lanes) -> _Lanes:
    """Cut large batches into lanes at guessed record boundaries.

    The n-th record of a batch has an offset delta of n in every log that no one compacted, so its
    bytes are searched for near where the average record length says: attributes 0, any timestamp
    delta, then that delta, then a null key. The bytes before give the length, which must be the
    distance to the record's end; but in the end only the lane before tells whether the guess holds.
    """
    out: list[tuple[int, int, int, int, int]] = []
    for i in range(len(lanes.pos)):
        pos, stop = int(lanes.pos[i]), int(lanes.stop[i])
        count, row = int(lanes.count[i]), int(lanes.row[i])
        done = 0
        if count > 2 * _LANE_RECORDS:
            data = arena.u1[pos:stop].tobytes()
            at = 0
            for n in range(_LANE_RECORDS, count - _LANE_RECORDS, _LANE_RECORDS):
                found = _find_record(data, n, at, (len(data) - at) // max(count - done, 1) * (n - done))
                if found is not None:
                    out.append((pos + at, pos + found, n - done, row + done, i))
                    at, done = found, n
            out.append((pos + at, stop, count - done, row + done, i))
        else:
            out.append((pos, stop, count, row, i))
    columns = np.array(out, dtype=np.int64).reshape(-1, 5).T.copy()
    return _Lanes(columns[0], columns[1], columns[2], columns[3], columns[4], guessed=True)


def _find_record(data: bytes, n: int, after: int, distance: int) -> int | None:
    """Where record n seems to begin (at its length), beyond `after`, about `distance` further."""
    delta = _varint_bytes(2 * n)
    pattern = delta + b"\x01"
    low = after + distance // 2
    high = min(len(data), after + 2 * distance + 65_536)
    at = data.find(pattern, low, high)
    while at >= 0:
        # A timestamp delta of one to three bytes stands between the attributes and the offset delta.
        for width in (1, 2, 3):
            body = at - width - 1
            if body > after and data[body] == 0 and data[at - 1] < 0x80:
                for prefix in (1, 2, 3):
                    length = _read_varint(data, body - prefix, prefix)
                    if length is not None and length >= at + len(pattern) - body:
                        following = body + length
                        if following < len(data) and _follows(data, following, n + 1):
                            return body - prefix
        at = data.find(pattern, at + 1, high)
    return None


def _follows(data: bytes, pos: int, n: int) -> bool:
    """Whether what begins at `pos` looks like record n."""
    pattern = _varint_bytes(2 * n) + b"\x01"
    return 0 < data.find(pattern, pos, pos + 24) - pos < 12


def _varint_bytes(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, pos: int, width: int) -> int | None:
    """A zigzag varint of exactly `width` bytes, or None."""
    if pos < 0 or data[pos + width - 1] >= 0x80:
        return None
    value = 0
    for i in range(width):
        if i < width - 1 and data[pos + i] < 0x80:
            return None
        value |= (data[pos + i] & 0x7F) << (7 * i)
    return None if value & 1 else value >> 1


def _decode_heads(
    arena: Arena, batches: Batches, begin: I64, finish: I64, faults: _Faults
) -> Frames:
    """Decode what stands between a record's length and its message, block by block."""
    total = len(begin)
    counts = np.diff(batches.first_row)
    batch = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    frames = Frames(
        arena,
        batches,
        batch,
        begin,
        np.empty(total, dtype=np.int64),
        np.empty(total, dtype=np.int64),
        np.empty(total, dtype=np.int64),
        np.empty(total, dtype=np.int32),
        np.empty(total, dtype=np.int32),
        np.empty(total, dtype=np.int32),
    )
    base_offset = batches.header["base_offset"].astype(np.int64)
    last_delta = batches.header["last_delta"].astype(np.int64)
    is_control = batches.header["attributes"] & CONTROL != 0
    any_control = bool(is_control.any())
    for first in range(0, total, _BLOCK):
        rows = slice(first, min(first + _BLOCK, total))
        in_batch = batch[rows]
        end = finish[rows]
        delta, key, key_size, value, stop, ok = _head(arena, begin[rows], end)
        frames.offset[rows] = base_offset[in_batch] + delta
        ok &= (delta >= 0) & (delta <= last_delta[in_batch])
        _message_frame(frames, rows, value, stop)
        if any_control:
            local = np.flatnonzero(is_control[in_batch])
            ok[local] &= key_size[local] >= 4
            _control_frame(frames, first + local, key[local], value[local])
        if not ok.all():
            faults.add(np.unique(in_batch[~ok]), "a record in it is malformed")
        frames.stop[rows] = stop
    return frames


def _head(
    arena: Arena, begin: I64, end: I64
) -> tuple[I64, I64, I64, I64, I64, Bools]:
    """Offset delta, key position and size, value position and end, and whether the record is sound."""
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
    """Read frame version, api key and version: three unsigned varints, nearly always a byte each."""
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
    frames.frame_version[rows] = -1
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
        *(
            getattr(frames, name)[keep]
            for name in (
                "batch", "start", "body", "stop", "offset", "api_key", "version", "frame_version",
            )
        ),
    )
