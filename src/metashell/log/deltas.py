"""Integers kept as small differences: what is told of each record in few bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from metashell.schema.arena import AnyArray

Rows: TypeAlias = Any
"""An index of elements of an array: an integer, a slice, or an array."""

_WIDTHS: Final = tuple((np.iinfo(of), np.dtype(of)) for of in ("i1", "i2", "i4", "i8"))


class Deltas:
    """Integers, one a row, each kept as its difference from a base (frame of reference).

    The differences have as few bytes as the largest one needs. ``deltas[rows]`` and
    ``deltas[rows] = values`` are those of an array; so is what `numpy.asarray` makes of all.

    Args:
        n: How many there are; all equal their bases at first.
        base: Gives the bases of rows, a new array of `dtype`; None where they are 0. They must stay
            the same.
        dtype: The type of the integers: int64 or int32.
    """

    __slots__ = ("_base", "_dtype", "_is_blank", "_kept")

    def __init__(
        self, n: int, base: Callable[[Rows], Any] | None = None, dtype: str = "i8"
    ) -> None:
        self._base, self._dtype = base, np.dtype(dtype)
        self._kept: AnyArray = np.zeros(n, dtype=np.int8)
        self._is_blank = True

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, rows: Rows) -> Any:
        """The integers of rows, as an array of their own; of an index a scalar."""
        kept = self._kept[rows]
        if self._base is None:
            # An array picks anew what it picks; a slice does not.
            return kept.astype(self._dtype, copy=not isinstance(rows, np.ndarray))
        found = self._base(rows)
        found += kept
        return found

    def __setitem__(self, rows: Rows, values: Any) -> None:
        self.put(rows, values if self._base is None else values - self._base(rows))

    @property
    def narrow(self) -> AnyArray:
        """All integers, to be compared and not changed: int8[n] to int64[n] where no base is."""
        found: AnyArray = self._kept if self._base is None else self[:]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        del copy
        return np.asarray(self[:], dtype=dtype)

    @property
    def nbytes(self) -> int:
        """Bytes that the differences take."""
        return self._kept.nbytes

    def put(self, rows: Rows, differences: Any) -> None:
        """Set rows by their differences from the bases."""
        self._widen(np.asarray(differences))
        self._kept[rows] = differences
        self._is_blank = False

    def keep(self, differences: AnyArray) -> None:
        """Set all by their differences from the bases, as `differences` gives them."""
        self._kept, self._is_blank = differences, False

    @property
    def differences(self) -> AnyArray:
        """int8[n] to int64[n]: from the bases; not to be changed."""
        return self._kept

    def _widen(self, differences: AnyArray) -> None:
        if not differences.size:
            return
        low, high = int(differences.min()), int(differences.max())
        for range_, dtype in _WIDTHS:
            if range_.min <= low and high <= range_.max:
                if dtype.itemsize > self._kept.dtype.itemsize:
                    # Pages of zeros that nothing was written to cost nothing.
                    blank = self._is_blank
                    kept = np.zeros(len(self), dtype) if blank else self._kept.astype(dtype)
                    self._kept = kept
                return
