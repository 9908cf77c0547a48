"""Where every record of every batch lies: all batches advance together.

Only the lengths of records have to be read one after the other, so step *i* hops over record *i* of
every batch that has one. With batches sorted by record count, the active ones are a prefix.

A large batch would make few lanes of many steps, so it is cut into several lanes first
(`_split_lanes`): a guess at where its n-th record begins, believed only when the lane before it
arrives exactly there.

Where few lanes are left a step costs more than its records: those are walked one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.payloads import NOT_FILLED
from metashell.schema.arena import I32, I64, AnyArray, Arena
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
