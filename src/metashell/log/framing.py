"""From batches to frames: where every record lies, for all batches at once.

The kernel finds the records, or numpy does. Both give the same arrays and judge a batch alike.
"""

from __future__ import annotations

from array import array
from dataclasses import fields, replace
from typing import Any, cast

import numpy as np

from metashell.log.chain import Chain
from metashell.log.fault import Fault
from metashell.log.frames import FILLED, Batches, Frames
from metashell.log.header_fields import HEADER, HeaderFields
from metashell.log.keyed_frames import KeyedFrames, put_values
from metashell.log.layout import CODEC, OLD_FORMATS
from metashell.log.old_messages import OldMessages, as_headers, find_messages
from metashell.log.payloads import MALFORMED, MIN_RECORD_BYTES, NOT_FILLED, BatchFaults, inflated
from metashell.log.read import Loaded
from metashell.schema.arena import I32, I64, AnyArray, Arena, Bools


def fill_frames(frames: Frames, starts: I64, stops: I64, counts: I64, faults: BatchFaults) -> None:
    """Find every record of batches, and fill in the columns that are not there yet.

    Args:
        frames: Of so many rows; only `Frames.batch` is filled in.
        starts: int64[n], where each batch's records begin.
        stops: int64[n], where they end.
        counts: int64[n], how many there are: at most a seventh of the bytes.
        faults: Where batches are noted that do not frame; their rows mean nothing.
    """
    from metashell.kernel.load import library

    found = library()
    if found is not None:
        from metashell.kernel import frames as kernel

        table = _table_of(frames.batches, starts, stops, counts)
        _note(kernel.frame(found, frames.arena.content, table, frames.put_differences), faults)
        return
    from metashell.log.heads import fill_in_blocks
    from metashell.log.lanes import find_records

    first_row = frames.batches.first_row
    begin, size = find_records(frames.arena, starts, stops, counts, first_row, faults.add)
    fill_in_blocks(frames, begin, size, faults)


def fill_keyed_frames(
    frames: KeyedFrames, starts: I64, stops: I64, counts: I64, old: Bools, faults: BatchFaults
) -> None:
    """As `fill_frames` for a log with keys; of messages of older formats the rows stay as they are.

    Args:
        frames: Of so many rows; only `KeyedFrames.batch` is filled in.
        starts: int64[n], where each batch's records begin.
        stops: int64[n], where they end.
        counts: int64[n], how many there are.
        old: bool[n]: batches that are such messages.
        faults: Where batches are noted that do not frame.
    """
    import numpy as np

    in_lanes, lane_starts = np.where(old, 0, counts), np.where(old, stops, starts)
    from metashell.kernel.load import library

    found = library()
    if found is not None:
        from metashell.kernel import frames as kernel

        columns = {name: getattr(frames, name) for name in kernel.KEYED_COLUMNS}
        table = _table_of(frames.batches, lane_starts, stops, in_lanes)
        _note(kernel.frame_keyed(found, frames.arena.content, table, columns), faults)
        return
    from metashell.log.keyed_heads import fill_in_blocks
    from metashell.log.lanes import find_records

    first_row = frames.batches.first_row
    begin, size = find_records(frames.arena, lane_starts, stops, in_lanes, first_row, faults.add)
    fill_in_blocks(frames, begin, size, old, faults)


def count_plain(arena: Arena, pos: I64) -> I64 | None:
    """How many records each batch has, where all are plain and there is a kernel that frames them.

    A plain one is of format 2, is not compressed, and has a count that fits.

    Args:
        arena: The bytes.
        pos: int64[n], where each batch begins.

    Returns:
        int64[n]; None where the batches have to be looked at one field after the other.
    """
    from metashell.kernel.load import library

    found = library()
    if found is None:
        return None
    from metashell.kernel.frames import count_plain

    return count_plain(found, arena.content, pos)


def fill_plain_frames(frames: KeyedFrames, producer_ids: I64, faults: BatchFaults) -> None:
    """As `fill_keyed_frames` for batches that are all plain, as `count_plain` counted them.

    Args:
        frames: Of so many rows; `KeyedFrames.batch` is filled in, too.
        producer_ids: int64[n], to be filled with those of the batches.
        faults: Where batches are noted that do not frame.
    """
    from metashell.kernel import frames as kernel
    from metashell.kernel.load import library

    found, arena, batches = library(), frames.arena, frames.batches
    assert found is not None
    columns = {name: getattr(frames, name) for name in kernel.KEYED_COLUMNS}
    data, first_row = arena.content, batches.first_row
    verdicts = kernel.frame_plain(
        found, data, batches.pos, first_row, columns, frames.batch, producer_ids
    )
    _note(verdicts, faults)


def _table_of(batches: Batches, starts: I64, stops: I64, counts: I64) -> AnyArray:
    """The kernel's table of batches."""
    import numpy as np

    from metashell.kernel import frames as kernel
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
    import numpy as np

    from metashell.kernel import frames as kernel

    for verdict, reason in ((kernel.NOT_FILLED, NOT_FILLED), (kernel.MALFORMED, MALFORMED)):
        faults.add(np.flatnonzero(verdicts == verdict), reason)


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


def build_keyed_frames(loaded: Loaded) -> tuple[KeyedFrames, list[Fault]]:
    """Frame every record of the files read.

    Args:
        loaded: Files whose batches `metashell.log.keyed_chain.KeyedChainer` found.

    Returns:
        (frames, faults: batches whose records do not frame, and unreadable compressed ones).
    """
    sizes = [len(file.chain.positions) for file in loaded.files]
    pos = np.concatenate(
        [np.empty(0, dtype=np.int64)]
        + [np.frombuffer(file.chain.positions, dtype=np.int64) for file in loaded.files]
    )
    file = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    arena = Arena(loaded.buffer, loaded.size)
    fields_of_headers = HeaderFields(arena, pos)
    header = cast("AnyArray", fields_of_headers)
    faults = BatchFaults(loaded, pos, file, header)
    counts = count_plain(arena, pos)
    if counts is None:
        frames = _framed(arena, pos, file, header, faults)
    else:
        frames = _not_filled(arena, Batches(pos, file, header, _first_rows(counts)))
        producer_ids = np.empty(len(pos), dtype=np.int64)
        fill_plain_frames(frames, producer_ids, faults)
        # Who looks at commits asks for them; headers are far apart.
        fields_of_headers.keep("producer_id", producer_ids)
    if faults.bad.any():
        frames = _keyed_without(frames, faults.bad)
    return frames, faults.found


def _first_rows(counts: I64) -> I64:
    """int64[n + 1]: where the records of each batch begin among all."""
    first_row = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=first_row[1:])
    return first_row


def _framed(
    arena: Arena, pos: I64, file: I32, header: AnyArray, faults: BatchFaults
) -> KeyedFrames:
    """The frames of batches of any kind, messages of older formats among them.

    Args:
        arena: The bytes.
        pos: int64[n], where each batch begins.
        file: int32[n], the file that it lies in.
        header: `HEADER` of each.
        faults: Where batches are noted that can't be read; their rows mean nothing.
    """
    old = header["magic"] < OLD_FORMATS
    if old.any():
        # A message may be shorter than a batch's header: what is read beyond it is overwritten.
        header = header[:]
        faults.header = header
    starts, stops = pos + HEADER.itemsize, pos + 12 + header["length"]
    messages = np.flatnonzero(old)
    if messages.size:
        as_headers(arena, header, pos, messages, starts, stops, faults)
    arena, starts, stops = inflated(arena, starts, stops, header, faults)
    found = None
    if messages.size:
        found = find_messages(arena, header, pos, messages, starts, stops, faults)
    n_records = header["count"].astype(np.int64)
    lie = (n_records < 0) | (n_records * MIN_RECORD_BYTES > stops - starts)
    lie |= header["last_delta"] < n_records - 1
    lie &= ~old & ~faults.bad
    faults.add(np.flatnonzero(lie), "its record count does not fit its length")
    n_records[faults.bad] = 0
    frames = _not_filled(arena, Batches(pos, file, header, _first_rows(n_records)))
    frames.batch = np.repeat(np.arange(len(pos), dtype=np.int32), n_records)
    # The records of older formats were found already.
    fill_keyed_frames(frames, starts, stops, n_records, old, faults)
    if found is not None:
        frames._old = old
        _put_messages(frames, found, faults)
    return frames


def _not_filled(arena: Arena, batches: Batches) -> KeyedFrames:
    """Frames of as many records as batches have, of which nothing is known."""
    total = int(batches.first_row[-1])
    # Columns of one width lie side by side: large pages then have fewer edges.
    start, offset, key, value = np.empty((4, total), dtype=np.int64)
    batch, key_size, value_size, key_type, version = np.empty((5, total), dtype=np.int32)
    return KeyedFrames(
        arena,
        batches,
        batch=batch,
        start=start,
        offset=offset,
        key=key,
        key_size=key_size,
        value=value,
        value_size=value_size,
        key_type=key_type,
        value_version=version,
    )


def _put_messages(frames: KeyedFrames, found: OldMessages, faults: BatchFaults) -> None:
    """Fill in the messages of older formats."""
    there = np.flatnonzero(~faults.bad[found.batch])
    batch = found.batch[there]
    rank = found.rank[there]
    rows = frames.batches.first_row[batch] + rank
    frames.start[rows], frames.offset[rows] = found.start[there], found.offset[there]
    put_values(
        frames,
        rows,
        found.key[there],
        found.key_size[there],
        found.value[there],
        found.value_size[there],
    )


def _keyed_without(frames: KeyedFrames, bad: Bools) -> KeyedFrames:
    """The frames of the other batches."""
    keep = ~bad[frames.batch]
    batches = frames.batches
    counts = np.diff(batches.first_row) * ~bad
    first_row = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=first_row[1:])
    per_record = {
        f.name: getattr(frames, f.name)[keep]
        for f in fields(frames)
        if f.name not in ("arena", "batches", "_old")
    }
    left = Batches(batches.pos, batches.file, batches.header, first_row)
    return KeyedFrames(frames.arena, left, **per_record, _old=frames._old)
