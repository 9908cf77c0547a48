"""Which implementation finds batches and their records: the kernel's, or numpy's and Python's.

The one place in this layer that knows. Both give the same arrays and judge a batch alike.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from metashell.log.frames import Batches, Frames
    from metashell.log.keyed_frames import KeyedFrames
    from metashell.log.payloads import BatchFaults
    from metashell.schema.arena import I64, AnyArray, Arena, Bools

LEAST_CHAINED_BYTES: Final = 4 << 20
"""Of fewer bytes the batches are found sooner than the kernel is loaded."""

LEAST_KEYED_BYTES: Final = 128 << 10
"""The same of a log with keys, whose batches are small: the kernel finds its records, too."""

NOT_FILLED: Final = "its records do not fill it exactly"
MALFORMED: Final = "a record in it is malformed"
"""Why a batch is left out."""


def hop(
    view: memoryview,
    span: tuple[int, int, int],
    last: tuple[int, int],
    positions: array[int],
    may_miss: bool = False,
    has_keys: bool = False,
) -> tuple[int, int, int]:
    """Hop over batches that are sound and follow on each other, as far as that is quickly done.

    Args:
        view: The bytes.
        span: Position to begin at, end of the bytes, and the position where the walk ends.
        last: Offset and epoch of the last batch before.
        positions: int64: the position of each batch found is added.
        may_miss: Whether offsets may be missing, as compaction leaves them.
        has_keys: Whether it is a log with keys.

    Returns:
        (where to go on; the last offset; the last epoch).
    """
    if view.readonly or min(span[1:]) - span[0] < _least_bytes(has_keys):
        return span[0], *last
    from metashell.kernel.load import library

    found = library()
    if found is None:
        return span[0], *last
    from metashell.kernel import chain

    return chain.hop(found, view, span, last, positions, may_miss)


def _least_bytes(has_keys: bool) -> int:
    return min(LEAST_KEYED_BYTES, LEAST_CHAINED_BYTES) if has_keys else LEAST_CHAINED_BYTES


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
    from metashell.log.frames import CONTROL

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
