"""Uuids by the million: compared, hashed and looked up as pairs of numbers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from metashell.kernel import fold as kernel
from metashell.kernel import library as kernel_library

if TYPE_CHECKING:
    from metashell.schema.arena import I64, AnyArray, Bools


def id_pairs(ids: AnyArray) -> AnyArray:
    """``V16[n]`` as uint64[n, 2], to compare and hash by."""
    return np.ascontiguousarray(ids).view("<u8").reshape(-1, 2)


def hash_ids(ids: AnyArray) -> AnyArray:
    """uint64[n] of ``V16[n]``."""
    pairs = id_pairs(ids)
    hashes: AnyArray = pairs[:, 0] ^ (pairs[:, 1] * np.uint64(0x9E3779B97F4A7C15))
    return hashes


class IdTable:
    """Distinct ids, to be looked up by the million: a hash table with linear probing.

    Args:
        ids: V16[k].
    """

    def __init__(self, ids: AnyArray) -> None:
        k = len(ids)
        self._pairs = id_pairs(ids)
        self._factors = np.frombuffer(os.urandom(16), dtype=np.uint64) | np.uint64(1)
        self._mask = np.int64((1 << max((2 * k).bit_length(), 4)) - 1)
        self._slots = np.full(int(self._mask) + 1, -1, dtype=np.int64)
        at, left = self._first_slots(self._pairs), np.arange(k, dtype=np.int64)
        # The table is half empty, so this ends; how ids are mixed nobody can know beforehand, so
        # none can be made to collide.
        while left.size:
            slots = at[left]
            free = self._slots[slots] < 0
            self._slots[slots[free]] = left[free]
            left = left[self._slots[slots] != left]
            at[left] = (at[left] + 1) & self._mask

    def _first_slots(self, pairs: AnyArray) -> I64:
        mixed = pairs[:, 0] * self._factors[0]
        mixed += pairs[:, 1] * self._factors[1]
        # A multiplication mixes towards the high bits.
        mixed >>= np.uint64(24)
        slots: I64 = mixed.view(np.int64) & self._mask
        return slots

    def index_of(self, ids: AnyArray) -> I64:
        """Index of each id: int64[n], -1 for those that are not there."""
        pairs = id_pairs(ids)
        library = kernel_library.library()
        if library is not None:
            return kernel.find_ids(library, pairs, (self._pairs, self._slots, self._factors))
        # Records of a topic mostly stand together.
        differs = (pairs[1:, 0] != pairs[:-1, 0]) | (pairs[1:, 1] != pairs[:-1, 1])
        begins = np.flatnonzero(differs) + 1
        if len(begins) < len(pairs) // 4:
            starts = np.append(0, begins)
            return np.repeat(self._found(pairs[starts]), np.diff(np.append(starts, len(pairs))))
        return self._found(pairs)

    def _found(self, pairs: AnyArray) -> I64:
        """The index of each pair of halves, int64[n]; -1 where it is missing."""
        at = self._first_slots(pairs)
        found = self._slots[at]
        if not len(self._pairs):
            return found
        left = np.flatnonzero((found >= 0) & ~self._same(found, pairs))
        while left.size:
            at[left] = (at[left] + 1) & self._mask
            found[left] = self._slots[at[left]]
            again = found[left] >= 0
            again &= ~self._same(found[left], pairs[left])
            left = left[again]
        return found

    def _same(self, found: I64, pairs: AnyArray) -> Bools:
        """Whether each found id is the one looked for; of no meaning where none was found."""
        same: Bools = self._pairs[:, 0][found] == pairs[:, 0]
        same &= self._pairs[:, 1][found] == pairs[:, 1]
        return same
