"""Where key and value of each record lie, decoded by numpy.

Without the kernel `metashell.log.framing` uses it; tests hold the kernel to it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.log.heads import record_head
from metashell.log.keyed_frames import KeyedFrames, control_key_type, put_values
from metashell.log.layout import CONTROL
from metashell.log.payloads import MALFORMED, BatchFaults
from metashell.schema.arena import I32, I64, Arena, Bools
from metashell.schema.varint import read_varint

_BLOCK: Final = 32_768


def fill_in_blocks(
    frames: KeyedFrames, begin: I64, size: I32, old: Bools, faults: BatchFaults
) -> None:
    """Decode keys, values and their numbers, block by block; nothing of older formats.

    Args:
        frames: To be filled in, but for `KeyedFrames.batch`.
        begin: int64[n], where each record begins, behind its length.
        size: int32[n], bytes of each from there on.
        old: bool[number of batches]: those of older formats.
        faults: Where batches are noted of which a record is malformed.
    """
    arena, batches, batch, total = frames.arena, frames.batches, frames.batch, len(begin)
    counts = np.diff(batches.first_row)
    frames.start = begin
    frames.offset = np.repeat(batches.header["base_offset"].astype(np.int64), counts)
    last_delta = np.repeat(batches.header["last_delta"].astype(np.int32), counts)
    control = np.repeat(batches.header["attributes"] & CONTROL != 0, counts)
    of_batches = np.flatnonzero(np.repeat(~old, counts)) if old.any() else None
    n = total if of_batches is None else len(of_batches)
    for first in range(0, n, _BLOCK):
        block = slice(first, min(first + _BLOCK, n))
        rows = block if of_batches is None else of_batches[block]
        end = begin[rows] + size[rows]
        delta, key, key_size, value, stop, ok = record_head(arena, begin[rows], end)
        frames.offset[rows] += delta
        ok &= (delta >= 0) & (delta <= last_delta[rows])
        value_size = stop - value
        _find_nulls(arena, key, key_size, value, value_size, end)
        put_values(frames, rows, key, key_size, value, value_size)
        ok &= ~control[rows] | (key_size >= 4)
        if not ok.all():
            faults.add(np.unique(batch[rows][~ok]), MALFORMED)
    marked = np.flatnonzero(control)
    if marked.size:
        types = arena.gather(">i2", frames.key[marked] + 2).astype(np.int32)
        frames.key_type[marked] = control_key_type(0) - types


def _find_nulls(
    arena: Arena, key: I64, key_size: I64, value: I64, value_size: I64, end: I64
) -> None:
    """Tell null from empty among the values without bytes: their lengths are read again."""
    empty = np.flatnonzero(value_size <= 0)
    if empty.size:
        at = key[empty] + np.maximum(key_size[empty], 0)
        length, _ = read_varint(arena, np.minimum(at, end[empty] + 1), end[empty])
        value_size[empty] = np.where(length < 0, -1, 0)
