"""Sums by key, for millions of records at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from metashell.schema.arena import I64, AnyArray

_SPARSE: Final = 4
"""Keys whose range is this many times their number are sorted, others are counted directly."""


_Ranks: TypeAlias = Callable[[I64], I64]


class Tally:
    """Bytes and records by a whole number, and how many of the records have each of some marks."""

    def __init__(self, n_marks: int = 0) -> None:
        self._keys = np.empty(0, dtype=np.int64)
        self._columns: list[I64] = [np.empty(0, dtype=np.int64)] * (2 + n_marks)

    def add(self, keys: AnyArray, sizes: AnyArray, *marks: AnyArray) -> None:
        """Count records, each given by its key, its size and whether it has each of the marks.

        Without marks they have none.
        """
        if not len(keys):
            return
        distinct, groups = _groups(keys)
        n = len(distinct)
        columns = [_sums(groups, sizes, n), np.bincount(groups, minlength=n).astype(np.int64)]
        columns += [_sums(groups, mark, n) for mark in marks]
        columns += [np.zeros(n, dtype=np.int64)] * (len(self._columns) - len(columns))
        if len(self._keys):
            merged, groups = _groups(np.concatenate([self._keys, distinct]))
            columns = [
                _sums(groups, np.concatenate(pair), len(merged))
                for pair in zip(self._columns, columns, strict=True)
            ]
            distinct = merged
        known = columns[1] > 0
        self._keys, self._columns = distinct[known], [column[known] for column in columns]

    def __len__(self) -> int:
        return len(self._keys)

    def by_bytes(
        self, limit: int | None = None, ranks: _Ranks | None = None
    ) -> list[tuple[int, ...]]:
        """(key, bytes, records, records with each mark), most bytes first.

        Args:
            limit: How many of them; None for all.
            ranks: Called with the keys: how those of equal amounts are ordered.
        """
        return self._rows(np.lexsort((*self._ties(ranks), -self._columns[0]))[:limit])

    def by_records(
        self, limit: int | None = None, ranks: _Ranks | None = None
    ) -> list[tuple[int, ...]]:
        """Rows like those of `by_bytes`, most records first."""
        n_bytes, n_records = self._columns[:2]
        return self._rows(np.lexsort((*self._ties(ranks), -n_bytes, -n_records))[:limit])

    def _ties(self, ranks: _Ranks | None) -> tuple[I64, ...]:
        """Sort keys for equal amounts, in the order of `np.lexsort`."""
        return (self._keys,) if ranks is None else (self._keys, ranks(self._keys))

    def by_key(self) -> list[tuple[int, ...]]:
        """Rows like those of `by_bytes`, by ascending key."""
        return self._rows(np.arange(len(self._keys)))

    def amounts(self, key: int) -> tuple[int, int]:
        """(bytes, records) of one key."""
        at = int(np.searchsorted(self._keys, key))
        if at == len(self._keys) or int(self._keys[at]) != key:
            return 0, 0
        return int(self._columns[0][at]), int(self._columns[1][at])

    def total(self) -> tuple[int, int]:
        """(bytes, records) of all keys."""
        return int(self._columns[0].sum()), int(self._columns[1].sum())

    def _rows(self, order: I64) -> list[tuple[int, ...]]:
        columns = (self._keys, *self._columns)
        return list(zip(*(column[order].tolist() for column in columns), strict=True))


def _groups(keys: AnyArray) -> tuple[I64, I64]:
    """Numbers for the keys: (key of each number, number of each key given).

    Keys close to each other are numbered by their distance from the least, so that some numbers
    may be of no key given.
    """
    low, high = int(keys.min()), int(keys.max())
    if high - low < _SPARSE * len(keys) + 1024:
        return np.arange(low, high + 1), keys.astype(np.int64) - low
    distinct, inverse = np.unique(keys, return_inverse=True)
    return distinct.astype(np.int64), inverse


def _sums(groups: AnyArray, values: AnyArray, n: int) -> I64:
    # By way of float64, which is exact below 2**53: more bytes than a node has.
    sums: I64 = np.bincount(groups, weights=values, minlength=n).astype(np.int64)
    return sums
