"""From batches to frames: where every record lies, for all batches at once.

The kernel finds the records, or numpy does. Both give the same arrays and judge a batch alike.

Where every record of every batch lies: all batches advance together.

Only the lengths of records have to be read one after the other, so step *i* hops over record *i* of
every batch that has one. With batches sorted by record count, the active ones are a prefix.

A large batch would make few lanes of many steps, so it is cut into several lanes first
(`_split_lanes`): a guess at where its n-th record begins, believed only when the lane before it
arrives exactly there.

Where few lanes are left a step costs more than its records: those are walked one by one.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

import numpy as np

from metashell.dataclass import dataclass
from metashell.kernel import frames as kernel
from metashell.kernel import library as kernel_library
from metashell.log.chain import Chain
from metashell.log.fault import Fault
from metashell.log.frames import FILLED, HEADER, Batches, Frames, HeaderFields, first_rows
from metashell.log.heads import fill_columns, fill_frames
from metashell.log.layout import CODEC, OLD_FORMATS
from metashell.log.old_messages import OldMessages
from metashell.log.payloads import MALFORMED, MIN_RECORD_BYTES, NOT_FILLED, BatchFaults, inflated
from metashell.log.read import Loaded
from metashell.schema.arena import I32, I64, AnyArray, Arena, Bools
from metashell.schema.encode import encode_uvarint
from metashell.schema.varint import read_varint

FaultReport: TypeAlias = Callable[[AnyArray, str], None]
"""Called with batches (by index) found unreadable, and why."""

_LANE_RECORDS: Final = 2_048
"""A batch of more records is cut into lanes of about this many."""

_FEW_LANES: Final = 32
"""Lanes below which a step of all takes longer than a record of each by itself."""


def find_records(
    arena: Arena, starts: I64, stops: I64, counts: I64, first_row: I64, report: FaultReport
) -> tuple[I64, I32]:
    """Find every record: (first byte after its length: int64, bytes from there on: int32)."""
    total = int(first_row[-1])
    begin = np.zeros(total, dtype=np.int64)
    size = np.zeros(total, dtype=np.int32)
    lanes = _Lanes(starts, stops, counts, first_row[:-1], np.arange(len(starts)))
    if counts.size and int(counts.max()) > 2 * _LANE_RECORDS:
        lanes = _split_lanes(arena, lanes)
    order = np.argsort(-lanes.count, kind="stable")
    pos, stop = lanes.pos[order], lanes.stop[order]
    row, count = lanes.row[order], lanes.count[order]
    # A cursor that runs past its lane stands one byte behind it from then on.
    beyond = stop + 1
    negative = np.zeros(len(order), dtype=np.uint16)
    n_active = np.searchsorted(-count, -np.arange(int(count[0]) if count.size else 0), side="left")
    n_steps = int(np.searchsorted(-n_active, -_FEW_LANES, side="right"))
    for n in n_active[:n_steps].tolist():
        at = pos[:n]
        word = arena.le16[at]
        more = (word >> np.uint16(7)) & np.uint16(1)
        length = (word & np.uint16(0x7F)) | (((word >> np.uint16(1)) & np.uint16(0x3F80)) * more)
        body = at + more
        body += 1
        negative[:n] |= length
        length >>= np.uint16(1)
        end = body + length
        word &= np.uint16(0x8080)
        if int(word.max()) == 0x8080:
            long = np.flatnonzero(word == np.uint16(0x8080))
            wide, after = read_varint(arena, at[long], beyond[long])
            negative[long] |= wide < 0
            body[long], end[long] = after, after + np.maximum(wide, 0)
        np.minimum(end, beyond[:n], out=end)
        rows = row[:n]
        begin[rows] = body
        size[rows] = end - body
        rows += 1
        pos[:n] = end
    for i in np.flatnonzero(count > n_steps).tolist():
        left = int(count[i]) - n_steps
        pos[i] = _walk(arena, int(pos[i]), int(stop[i]), int(row[i]), left, begin, size)
    arrived = np.empty(len(order), dtype=np.bool_)
    arrived[order] = (pos == stop) & (negative & np.uint16(1) == 0)
    bad = np.unique(lanes.batch[~arrived])
    if lanes.guessed and bad.size:
        # A guess was wrong, or the batch is: hop through those batches without guessing.
        ends = [
            _walk(arena, int(starts[i]), int(stops[i]), int(first_row[i]), int(counts[i]), begin,
                  size)
            for i in bad.tolist()
        ]  # fmt: skip
        bad = bad[np.array(ends, dtype=np.int64) != stops[bad]]
    report(bad, NOT_FILLED)
    return begin, size


@dataclass(slots=True)
class _Lanes:
    """Runs of records to hop through: ``count`` of them from ``pos`` to ``stop``.

    ``row``: number of its first record; ``batch``: the batch that it is of.
    """

    pos: I64
    stop: I64
    count: I64
    row: I64
    batch: I64
    guessed: bool = False


def _walk(arena: Arena, pos: int, stop: int, row: int, count: int, begin: I64, size_of: I32) -> int:
    """Hop through a lane one record after the other; return where it ends, `stop` + 1 if beyond."""
    if pos > stop:
        return stop + 1
    data, size, at = arena.u1[pos:stop].tobytes(), stop - pos, 0
    begins, sizes = [], []
    for _ in range(count):
        value, shift, byte = 0, 0, 0x80
        while at < size and shift < 35 and byte >= 0x80:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
        end = at + ((value & 0xFFFFFFFF) >> 1)
        if byte >= 0x80 or value & 1 or end > size:
            return stop + 1
        begins.append(pos + at)
        sizes.append(end - at)
        at = end
        if len(begins) == _LANE_RECORDS:
            row = _put(row, begins, sizes, begin, size_of)
    _put(row, begins, sizes, begin, size_of)
    return pos + at


def _put(row: int, begins: list[int], sizes: list[int], begin: I64, size_of: I32) -> int:
    """Hand on the records found, from a row on; return the row behind them."""
    behind = row + len(begins)
    begin[row:behind], size_of[row:behind] = begins, sizes
    begins.clear()
    sizes.clear()
    return behind


def _split_lanes(arena: Arena, lanes: _Lanes) -> _Lanes:
    """Cut large batches into lanes at guessed record boundaries.

    The n-th record of a batch has an offset delta of n in every log that no one compacted, so its
    bytes are searched for near where the average record length says: attributes 0, any timestamp
    delta, then that delta, then a null key. The bytes before give the length, which must be the
    distance to the record's end; but in the end only the lane before tells whether the guess holds.
    """
    large = lanes.count > 2 * _LANE_RECORDS
    out: list[tuple[int, int, int, int, int]] = []
    for i in np.flatnonzero(large).tolist():
        pos, stop = int(lanes.pos[i]), int(lanes.stop[i])
        count, row = int(lanes.count[i]), int(lanes.row[i])
        data = arena.u1[pos:stop].tobytes()
        at, done = 0, 0
        for n in range(_LANE_RECORDS, count - _LANE_RECORDS, _LANE_RECORDS):
            distance = (len(data) - at) * (n - done) // (count - done)
            found = _find_record(data, n, at, distance)
            if found is not None:
                out.append((pos + at, pos + found, n - done, row + done, i))
                at, done = found, n
        out.append((pos + at, stop, count - done, row + done, i))
    cut = np.array(out, dtype=np.int64).T
    whole = (lanes.pos, lanes.stop, lanes.count, lanes.row, lanes.batch)
    pos_of, stop_of, counts, rows, batches = (
        np.concatenate([a[~large], b]) for a, b in zip(whole, cut, strict=True)
    )
    return _Lanes(pos_of, stop_of, counts, rows, batches, guessed=True)


def _find_record(data: bytes, n: int, after: int, distance: int) -> int | None:
    """Where record n seems to begin (at its length), beyond `after`, about `distance` further."""
    delta = encode_uvarint(2 * n)
    pattern = delta + b"\x01"
    low = after + distance // 2
    high = min(len(data), after + 2 * distance + 65_536)
    at = data.find(pattern, low, high)
    while at >= 0:
        # A timestamp delta of one to three bytes stands before the offset delta.
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
    pattern = encode_uvarint(2 * n) + b"\x01"
    return 0 < data.find(pattern, pos, pos + 24) - pos < 12


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


def build_frames(loaded: Loaded, *, has_keys: bool = False) -> tuple[Frames, list[Fault]]:
    """Frame every record of the files read.

    Args:
        loaded: The files.
        has_keys: Whether it is a log with keys, whose batches are small.

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
    fields = HeaderFields(arena, pos)
    header = cast("AnyArray", fields) if has_keys else fields[:]
    faults = BatchFaults(loaded, pos, file, header)
    counted = count_plain(arena, pos) if has_keys else None
    if counted is None:
        frames = _framed(arena, pos, file, header, faults, has_keys=has_keys)
    else:
        frames = _plain(arena, Batches(pos, file, header, first_rows(counted)), fields, faults)
    if faults.bad.any():
        frames = frames.without(faults.bad)
    return frames, faults.found


def _framed(
    arena: Arena, pos: I64, file: I32, header: AnyArray, faults: BatchFaults, *, has_keys: bool
) -> Frames:
    """The frames of batches of any kind, messages of older formats among them.

    Args:
        arena: The bytes.
        pos: int64[n], where each batch begins.
        file: int32[n], the file that it lies in.
        header: `HEADER` of each.
        faults: Where batches are noted that can't be read; their rows mean nothing.
        has_keys: Whether it is a log with keys.
    """
    is_old = header["magic"] < OLD_FORMATS
    starts, stops, old = pos + HEADER.itemsize, pos + 12 + header["length"], None
    if is_old.any():
        # A message may be shorter than a batch's header: what is read beyond it is overwritten.
        faults.header = header = header[:]
        messages = np.flatnonzero(is_old)
        old = OldMessages(arena, header, pos, messages, starts, stops, faults)
    arena, starts, stops = inflated(arena, starts, stops, header, faults)
    if old is not None:
        old.find(arena, starts, stops)
    n_records = header["count"].astype(np.int64)
    lie = (n_records < 0) | (n_records * MIN_RECORD_BYTES > stops - starts)
    lie |= header["last_delta"] < n_records - 1
    faults.add(
        np.flatnonzero(lie & ~is_old & ~faults.bad), "its record count does not fit its length"
    )
    n_records[faults.bad] = 0
    batches = Batches(pos, file, header, first_rows(n_records))
    # Few batches may have many records: two bytes for each then do.
    index = np.int16 if len(pos) <= np.iinfo(np.int16).max else np.int32
    batch: I32 = np.repeat(np.arange(len(pos), dtype=index), n_records)
    if not has_keys:
        frames = Frames.blank(arena, batches, batch)
        _fill(frames, starts, stops, n_records, faults)
        return frames
    columns = _new_columns(len(batch))
    # The records of older formats were found already.
    spans = np.where(is_old, stops, starts), stops, np.where(is_old, 0, n_records)
    _fill_columns(arena, batches, batch, spans, columns, is_old, faults)
    if old is not None:
        old.put(arena, batches.first_row, columns)
    frames = Frames.of_columns(arena, batches, batch, columns)
    frames.is_old = None if old is None else is_old
    return frames


def _fill(frames: Frames, starts: I64, stops: I64, counts: I64, faults: BatchFaults) -> None:
    """Find every record of batches, and fill in the frames, of which only the batches are known.

    Args:
        frames: The frames, with that many rows.
        starts: int64[n], where each batch's records begin.
        stops: int64[n], where they end.
        counts: int64[n], how many there are: at most a seventh of the bytes.
        faults: Where batches are noted that do not frame; their rows mean nothing.
    """
    found = kernel_library.library()
    if found is not None:
        table = _table_of(frames.batches, starts, stops, counts)
        _note(kernel.frame(found, frames.arena.content, table, frames.put_differences), faults)
        return
    first_row = frames.batches.first_row
    places = find_records(frames.arena, starts, stops, counts, first_row, faults.add)
    fill_frames(frames, places, faults)


def _fill_columns(
    arena: Arena,
    batches: Batches,
    batch: I32,
    spans: tuple[I64, I64, I64],
    columns: Mapping[str, AnyArray],
    is_old: Bools,
    faults: BatchFaults,
) -> None:
    """Fill in the columns of a log with keys; rows of messages of older formats stay unchanged.

    Args:
        arena: The bytes.
        batches: The batches.
        batch: int32[rows], the batch of each record.
        spans: Starts, stops and counts, as `_fill` takes them.
        columns: By the names of `KEYED_COLUMNS`, to be filled.
        is_old: bool[n]: batches that are such messages.
        faults: The argument of `_fill`.
    """
    found = kernel_library.library()
    if found is not None:
        table = _table_of(batches, *spans)
        _note(kernel.frame_keyed(found, arena.content, table, columns), faults)
        return
    places = find_records(arena, *spans, batches.first_row, faults.add)
    chosen = np.flatnonzero(~is_old[batch]) if is_old.any() else None
    fill_columns(arena, batches, batch, places, columns, faults, chosen)


def count_plain(arena: Arena, pos: I64) -> I64 | None:
    """How many records each batch has, where all are plain and there is a kernel that frames them.

    A plain one is of format 2, is not compressed, and has a count that fits.

    Args:
        arena: The bytes.
        pos: int64[n], where each batch begins.

    Returns:
        int64[n]; None where the batches have to be looked at one field after the other.
    """
    found = kernel_library.library()
    return None if found is None else kernel.count_plain(found, arena.content, pos)


def _plain(arena: Arena, batches: Batches, fields: HeaderFields, faults: BatchFaults) -> Frames:
    """The frames of a log with keys whose batches are all plain, as `count_plain` counted them."""
    found, first_row = kernel_library.library(), batches.first_row
    assert found is not None
    columns, batch = _new_columns(int(first_row[-1])), np.empty(int(first_row[-1]), dtype=np.int32)
    producer_ids = np.empty(len(batches.pos), dtype=np.int64)
    _note(
        kernel.frame_plain(
            found, arena.content, batches.pos, first_row, columns, batch, producer_ids
        ),
        faults,
    )
    # Who looks at commits asks for them; headers are far apart.
    fields.keep("producer_id", producer_ids)
    return Frames.of_columns(arena, batches, batch, columns)


def _new_columns(n: int) -> dict[str, AnyArray]:
    """The columns of n records of a log with keys, not filled."""
    # Columns of one width lie side by side: large pages then have fewer edges.
    wide, narrow = np.empty((4, n), dtype=np.int64), np.empty((4, n), dtype=np.int32)
    return dict(zip(kernel.KEYED_COLUMNS, [*wide, *narrow], strict=True))


def extend_frames(frames: Frames, loaded: Loaded) -> tuple[Frames, list[Fault]] | None:
    """Frame what came behind records that are framed already.

    Args:
        frames: The frames of the files before.
        loaded: These files, with batches added to the last, in a buffer that begins with the same
            bytes.

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
    batch = np.concatenate([frames.batch, new.batch + np.int32(n_batches)])
    joined = Frames.blank(new.arena, batches, batch)
    for name in FILLED:
        parts = [part.differences for part in (getattr(frames, name), getattr(new, name))]
        getattr(joined, name).keep(np.concatenate(parts))
    return joined, faults


def _table_of(batches: Batches, starts: I64, stops: I64, counts: I64) -> AnyArray:
    """The kernel's table of batches."""
    from metashell.log.layout import CONTROL

    header = batches.header
    table: Any = np.empty(len(starts), dtype=kernel.BATCH)
    table["start"], table["stop"], table["count"] = starts, stops, counts
    table["first_row"] = batches.first_row[:-1]
    table["base_offset"], table["last_delta"] = header["base_offset"], header["last_delta"]
    table["is_control"] = (header["attributes"] & CONTROL) != 0
    found: AnyArray = table
    return found


def _note(verdicts: AnyArray, faults: BatchFaults) -> None:
    """Note the batches that do not frame."""
    for verdict, reason in ((kernel.NOT_FILLED, NOT_FILLED), (kernel.MALFORMED, MALFORMED)):
        faults.add(np.flatnonzero(verdicts == verdict), reason)
