"""From batches to frames: where every record lies, for all batches at once.

A record in a batch is: length varint, attributes int8, timestampDelta varlong, offsetDelta varint,
keyLength varint, key, valueLength varint, value, headers; varints zigzag-encoded. `framing` finds
where each lies.

Source: org.apache.kafka.common.record.internal.DefaultRecord.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Self

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.chain import Chain
from metashell.log.deltas import Deltas, Rows
from metashell.log.fault import Fault
from metashell.log.framing import fill_frames
from metashell.log.payloads import CODEC, MIN_RECORD_BYTES, BatchFaults, inflated
from metashell.log.read import EpochRun, Loaded
from metashell.schema.arena import I32, I64, AnyArray, Arena, Bools
from metashell.schema.varint import read_varint, read_varlong

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
    """int32, or int16 where that does: index into `batches`."""
    start: Deltas
    """int64: position of the record's attributes byte."""
    body: Deltas
    """int64: first byte of the message, behind frame version, api key and version; of the value for
    control records and for values with no such frame."""
    stop: Deltas
    """int64: end of the value."""
    offset: Deltas
    """int64: log offset, as the file says (counted from 0 in checkpoints)."""
    api_key: Deltas
    """int32: metadata api key; `NO_KEY` for a value with no readable frame; for control records
    `CONTROL_KEY` minus their type."""
    version: Deltas
    """int32: message version; for control records the first int16 of the value."""
    frame_version: Deltas
    """int32: 1 in sound metadata records, -1 for control records, `NO_FRAME`."""
    merged: Merged | None = None
    """Set where records of a condensed log stand for others as well."""

    @classmethod
    def blank(cls, arena: Arena, batches: Batches, batch: I32) -> Self:
        """Frames of which only the batches are known: numbers are 0, positions those of nothing."""
        n, start = len(batch), Deltas(len(batch))
        return cls(
            arena,
            batches,
            batch,
            start=start,
            body=Deltas(n, start.__getitem__),
            stop=Deltas(n, start.__getitem__),
            offset=cls._blank_offsets(batches, batch),
            api_key=Deltas(n, dtype="i4"),
            version=Deltas(n, dtype="i4"),
            frame_version=Deltas(n, dtype="i4"),
        )

    @classmethod
    def _blank_offsets(cls, batches: Batches, batch: I32) -> Deltas:
        base = batches.header["base_offset"].astype(np.int64)

        def base_of(rows: Rows) -> Any:
            return base[batch[rows]]

        return Deltas(len(batch), base_of)

    def __len__(self) -> int:
        return len(self.batch)

    def put(self, rows: slice, columns: Mapping[str, AnyArray]) -> None:
        """Fill in rows.

        Args:
            rows: Which.
            columns: By the names of `FILLED` an element a row.
        """
        for name in FILLED:
            getattr(self, name)[rows] = columns[name]

    def put_differences(self, rows: slice, differences: Mapping[str, AnyArray]) -> None:
        """As `put`, of what framing finds: see `Deltas.put`."""
        for name in FILLED:
            getattr(self, name).put(rows, differences[name])

    def timestamps(self, rows: AnyArray) -> I64:
        """Timestamps of the rows given: int64, ms since the epoch, -1 for none."""
        start = self.start[rows]
        delta, _ = read_varlong(self.arena, start + 1, np.full_like(start, self.arena.size))
        # A field of all batches takes less than whole headers of all records.
        header, batch = self.batches.header, self.batch[rows]
        times: I64 = header["base_timestamp"].astype(np.int64)[batch]
        times += delta
        appended = header["attributes"] & LOG_APPEND_TIME != 0
        if appended.any():
            times = np.where(appended[batch], header["max_timestamp"][batch], times)
        return times.astype(np.int64, copy=False)

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


def epoch_runs(header: AnyArray) -> list[EpochRun]:
    """The leader epochs of batches that follow on each other, in order.

    Args:
        header: `HEADER[n]` of the batches.
    """
    epochs = header["epoch"].astype(np.int64)
    first = header["base_offset"].astype(np.int64)
    end = first + header["last_delta"] + 1
    begins = np.flatnonzero(np.append(True, epochs[1:] != epochs[:-1])[: len(epochs)])
    ends = end[np.append(begins[1:], len(end)) - 1] if len(end) else end
    return list(zip(epochs[begins].tolist(), first[begins].tolist(), ends.tolist(), strict=True))


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
    batches = Batches(pos, file, header, first_row)
    # Few batches may have many records: two bytes for each then do.
    index = np.int16 if len(pos) <= np.iinfo(np.int16).max else np.int32
    frames = Frames.blank(arena, batches, np.repeat(np.arange(len(pos), dtype=index), n_records))
    fill_frames(frames, starts, stops, n_records, faults)
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
    batch = np.concatenate([frames.batch, new.batch + np.int32(n_batches)])
    joined = Frames.blank(new.arena, batches, batch)
    for name in FILLED:
        parts = [part.differences for part in (getattr(frames, name), getattr(new, name))]
        getattr(joined, name).keep(np.concatenate(parts))
    return joined, faults


def value_spans(arena: Arena, begin: I64, end: I64) -> tuple[I64, I64]:
    """Where the values of records lie, given their attributes bytes: (first byte, end)."""
    _, pos = read_varlong(arena, begin + 1, end)
    _, pos = read_varint(arena, pos, end)
    key_size, pos = read_varint(arena, pos, end)
    size, value = read_varint(arena, pos + np.maximum(key_size, 0), end)
    return value, value + np.maximum(size, 0)


def _without(frames: Frames, bad: Bools) -> Frames:
    """The frames of the other batches."""
    keep = ~bad[frames.batch]
    batches = frames.batches
    counts = np.diff(batches.first_row) * ~bad
    first_row = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=first_row[1:])
    sound = Batches(batches.pos, batches.file, batches.header, first_row)
    left = Frames.blank(frames.arena, sound, frames.batch[keep])
    for name in FILLED:
        getattr(left, name).keep(getattr(frames, name).differences[keep])
    return left


FILLED: Final = ("start", "body", "stop", "offset", "api_key", "version", "frame_version")
"""Columns of `Frames` that framing fills in, each behind the one that it is counted from."""
