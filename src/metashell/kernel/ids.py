"""Numbers ids of sixteen bytes in C, in the order in which they come."""

from __future__ import annotations

import os
from ctypes import CDLL, Structure, byref, c_int64, c_uint64, c_void_p
from typing import Final

import numpy as np
import numpy.typing as npt

_FIRST_SLOTS: Final = 1 << 10
_N_SECRETS: Final = 5


class _Table(Structure):
    """``struct numbered_ids``."""

    _fields_ = [
        ("secrets", c_uint64 * _N_SECRETS),
        ("ids", c_void_p),
        ("n", c_int64),
        ("slots", c_void_p),
        ("n_slots", c_int64),
    ]


class _Values(Structure):
    """``struct values``."""

    _fields_ = [("first", c_void_p), ("step", c_int64)]


class Ids:
    """Distinct ids, which become more and more.

    Args:
        library: The kernel's.
    """

    def __init__(self, library: CDLL) -> None:
        self._function = library.metashell_number_ids
        secrets = np.frombuffer(os.urandom(8 * _N_SECRETS), dtype=np.uint64).tolist()
        self._table = _Table((c_uint64 * _N_SECRETS)(*secrets))
        self._ids = np.empty(0, dtype="V16")
        self._make_room(_FIRST_SLOTS)

    def __len__(self) -> int:
        return int(self._table.n)

    def at(self, numbers: npt.NDArray[np.int64]) -> list[bytes]:
        """The ids with these numbers."""
        ids: list[bytes] = self._ids[numbers].tolist()
        return ids

    def numbers(self, ids: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
        """The number of each id: int64[n]; new ones get the next.

        Args:
            ids: V16[n].
        """
        numbers = np.empty(len(ids), dtype=np.int64)
        at = self._take(ids, 0, numbers)
        while at < len(ids):
            self._make_room(2 * self._table.n_slots)
            at = self._take(ids, at, numbers)
        return numbers

    def _take(self, ids: npt.NDArray[np.void], begin: int, numbers: npt.NDArray[np.int64]) -> int:
        values = _Values(ids.ctypes.data, ids.strides[0])
        at: int = self._function(
            byref(self._table), byref(values), begin, len(ids), numbers.ctypes.data
        )
        return at

    def _make_room(self, n_slots: int) -> None:
        known = self._ids[: len(self)]
        self._ids, self._slots = np.empty(n_slots // 2, dtype="V16"), np.empty(n_slots, np.int32)
        self._slots.fill(-1)
        table = self._table
        table.ids, table.slots = self._ids.ctypes.data, self._slots.ctypes.data
        table.n, table.n_slots = 0, n_slots
        self._take(known, 0, np.empty(len(known), dtype=np.int64))
