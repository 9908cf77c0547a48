"""Bytes of many spans at once, 32 at a time: hashes of them, and whether they are equal.

A span costs a load for each 32 bytes of it, and no index for each byte.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.schema.arena import I64, AnyArray, Arena

_PRIME: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(32)
_PIECE: Final = 32
"""Bytes that are loaded of a span at a time: four words."""
_PIECE_DTYPE: Final = f"V{_PIECE}"
_BLOCK: Final = 32_768
"""Spans taken together: few enough that their pieces stay in the cache."""

_MASKS: Final = np.tril(np.full((_PIECE + 1, _PIECE), 0xFF, dtype=np.uint8), -1).view("<u8")
"""By number of bytes: what keeps so many of a piece's first."""


def hash_spans(arena: Arena, starts: I64, sizes: AnyArray) -> AnyArray:
    """Hash the bytes of each span.

    Args:
        arena: The bytes.
        starts: int64[n], where each begins.
        sizes: int[n], bytes of each; -1 for null, which differs from empty.

    Returns:
        uint64[n]: equal for equal bytes. Others may have the same: somebody may want that.
    """
    hashes = np.empty(len(starts), dtype=np.uint64)
    for first in range(0, len(starts), _BLOCK):
        block = slice(first, first + _BLOCK)
        hashes[block] = _hash_block(arena, starts[block], sizes[block].astype(np.int64))
    return hashes


def _hash_block(arena: Arena, pos: I64, left: I64) -> AnyArray:
    out = left.view(np.uint64) * _PRIME
    hashes, rows = out, None
    while True:
        some = left > 0
        if not some.all():
            if rows is not None:
                out[rows] = hashes
            kept = np.flatnonzero(some)
            if not kept.size:
                return out
            rows = kept if rows is None else rows[kept]
            hashes, pos, left = hashes[kept], pos[kept], left[kept]
        for word in _pieces(arena, pos, left).T:
            hashes ^= word
            hashes *= _PRIME
            hashes ^= hashes >> _SHIFT
        pos, left = pos + _PIECE, left - _PIECE


def same_spans(arena: Arena, a: I64, b: I64, sizes: AnyArray) -> bool:
    """Whether spans of the same sizes have the same bytes, each in two places.

    Args:
        arena: The bytes.
        a: int64[n], where each span begins.
        b: int64[n], where the other of the same size begins.
        sizes: int[n], bytes of both; below 1 for none.
    """
    for first in range(0, len(a), _BLOCK):
        block = slice(first, first + _BLOCK)
        if not _same_block(arena, a[block], b[block], sizes[block].astype(np.int64)):
            return False
    return True


def _same_block(arena: Arena, a: I64, b: I64, left: I64) -> bool:
    while True:
        some = left > 0
        if not some.all():
            kept = np.flatnonzero(some)
            if not kept.size:
                return True
            a, b, left = a[kept], b[kept], left[kept]
        if (_pieces(arena, a, left) != _pieces(arena, b, left)).any():
            return False
        a, b, left = a + _PIECE, b + _PIECE, left - _PIECE


def _pieces(arena: Arena, pos: I64, left: I64) -> AnyArray:
    """The next words of each span, zero behind its end: uint64[n, 4]."""
    words = arena.gather(_PIECE_DTYPE, pos).view("<u8").reshape(len(pos), -1)
    if len(left) and int(left.min()) < _PIECE:
        words &= _MASKS.take(np.minimum(left, _PIECE), axis=0)
    return words
