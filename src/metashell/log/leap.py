"""Many small batches at once: a stretch of sound ones that follow each other.

A coordinator writes a batch for each commit, so its log has a batch every two hundred bytes, and
hopping from one to the next takes longer than all else. Here many places are hopped from at once.
Each is a guess; only what connects with the place before it counts. What is odd in any way ends the
stretch, and is for `metashell.log.chain` to judge, batch by batch.
"""

from __future__ import annotations

from io import BytesIO
from itertools import islice
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.chain import HEAD, HEADER_BYTES, LOOKS_LIKE_BATCH, MAGIC_POS, MIN_LENGTH
from metashell.log.crc import crc32c
from metashell.schema.arena import I64, SLACK, AnyArray, Arena, Bools

_LANE_BYTES: Final = 1 << 15
"""How far apart the places are, and how far behind each a batch is searched."""
_FEW_LANES: Final = 8
"""Places below which hopping from all of them takes longer than one batch after the other."""
_CANDIDATES: Final = 8
"""What looks like a batch, at one place, before it is given up."""
_SUMMED_TOGETHER: Final = 16_384
"""Batches whose bytes are copied together for their CRCs."""
_BEFORE_SUMMED: Final = 21
"""Bytes of a batch that its CRC does not cover."""
_HEAD_DTYPE: Final = np.dtype(
    [
        ("base", ">i8"),
        ("length", ">i4"),
        ("epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_delta", ">i4"),
    ]
)
"""As `metashell.log.chain.HEAD`."""


@dataclass(slots=True)
class BatchRun:
    """Sound batches that follow each other."""

    positions: I64
    """int64: where each begins."""
    end: int
    """Behind the last."""
    last_offset: int
    last_epoch: int


def leap(
    view: memoryview, pos: int, stop: int, last_offset: int, last_epoch: int, *, gaps: bool
) -> BatchRun | None:
    """Find a stretch of sound batches.

    Args:
        view: The buffer that holds the file.
        pos: Where a batch begins.
        stop: Where the stretch ends at the latest, `HEADER_BYTES` before it.
        last_offset: Of the batch before.
        last_epoch: Likewise.
        gaps: Whether offsets may be missing between batches.

    Returns:
        The batches, up to the first that is not sound or does not follow; None where there are too
        few places to hop from.
    """
    if len(view) < stop + SLACK:
        return None
    starts = _places(view, pos, stop)
    if len(starts) < _FEW_LANES:
        return None
    arena = Arena(view, stop)
    found = _hop(arena, starts, stop - HEADER_BYTES)
    heads = arena.gather(f"V{_HEAD_DTYPE.itemsize}", found).view(_HEAD_DTYPE)
    base, length = heads["base"].astype(np.int64), heads["length"].astype(np.int64)
    ends, last = found + 12 + length, base + heads["last_delta"]
    sound = (length >= MIN_LENGTH) & (heads["magic"] == 2) & (ends <= stop - HEADER_BYTES)
    sound &= (heads["last_delta"] >= 0) & (last >= base)
    sound[1:] &= found[1:] == ends[:-1]
    sound &= _follow(base, last, last_offset, gaps=gaps)
    epochs = heads["epoch"].astype(np.int32)
    sound &= epochs >= np.concatenate([[last_epoch], epochs[:-1]])
    n = len(sound) if sound.all() else int(np.argmin(sound))
    n = _with_sound_crc(view, found[:n], ends[:n], heads["crc"][:n])
    if not n:
        return BatchRun(found[:0], pos, last_offset, last_epoch)
    return BatchRun(found[:n], int(ends[n - 1]), int(last[n - 1]), int(epochs[n - 1]))


def _places(view: memoryview, pos: int, stop: int) -> I64:
    """The position given, and others behind it at which a batch seems to begin."""
    found = [pos]
    for begin in range(pos + _LANE_BYTES, stop - _LANE_BYTES, _LANE_BYTES):
        at = begin
        for _ in range(_CANDIDATES):
            match = LOOKS_LIKE_BATCH.search(view, at, begin + _LANE_BYTES)
            if match is None:
                break
            at = match.start()
            _, length, _, _, crc, _, _ = HEAD.unpack_from(view, at)
            end = at + 12 + length
            fits = MIN_LENGTH <= length <= _LANE_BYTES and end <= stop
            if fits and at > found[-1] and crc32c(view[at + _BEFORE_SUMMED : end]) == crc:
                found.append(at)
                break
            at += 1
    return np.array(found, dtype=np.int64)


def _hop(arena: Arena, starts: I64, stop: int) -> I64:
    """Hop from every place to the next of them; all positions come in order."""
    steps = []
    at, limit = starts, np.append(starts[1:], stop)
    while at.size:
        steps.append(at)
        length = arena.gather(">i4", at + 8).astype(np.int64)
        following = at + 12 + length
        goes_on = (length >= MIN_LENGTH) & (following < limit)
        goes_on &= arena.u1.take(at + MAGIC_POS) == 2
        if goes_on.all():
            at = following
        else:
            at, limit = following[goes_on], limit[goes_on]
    positions = np.concatenate(steps)
    positions.sort()
    return positions


def _follow(base: I64, last: I64, last_offset: int, *, gaps: bool) -> Bools:
    """Whether the offsets of each batch follow on those of the batch before: bool[n].

    The last is taken as if nothing came behind it.
    """
    expected = np.concatenate([[last_offset], last[:-1]]) + 1
    follow: Bools = base == expected
    if gaps and not follow.all():
        # A base offset is not covered by the CRC: the next batch tells whether it is wrong.
        following = np.append(base[1:], -1)
        wrong = (expected <= following) & (following <= last)
        follow |= (base > expected) & ~wrong
        follow[-1:] &= base[-1:] == expected[-1:]
    return follow


def _with_sound_crc(view: memoryview, starts: I64, ends: I64, stored: AnyArray) -> int:
    """How many batches there are before the first whose CRC does not match."""
    for first in range(0, len(starts), _SUMMED_TOGETHER):
        block = slice(first, first + _SUMMED_TOGETHER)
        same = _sums(view, starts[block], ends[block]) == stored[block]
        if not same.all():
            return first + int(np.argmin(same))
    return len(starts)


def _sums(view: memoryview, starts: I64, ends: I64) -> AnyArray:
    """The CRC of each batch: uint32[n]. They lie one behind the other."""
    # Read like a file: no Python code runs for a batch, and nothing of it is kept.
    read = BytesIO(view[int(starts[0]) : int(ends[-1])]).read
    sizes = np.full((len(starts), 2), _BEFORE_SUMMED, dtype=np.int64)
    sizes[:, 1] = ends - starts - _BEFORE_SUMMED
    summed = islice(map(read, sizes.ravel().tolist()), 1, None, 2)
    return np.fromiter(map(crc32c, summed), np.uint32, len(starts))
