"""Numbers keys in C, in the order in which they come."""

from __future__ import annotations

import os
from ctypes import CDLL, Structure, byref, c_int64, c_uint64, c_void_p
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from metashell.dataclass import dataclass

MOST_ROWS: Final = (1 << 31) - 1
"""Rows that can be numbered together."""

_FIRST_SLOTS: Final = 1 << 12
_STEPS_A_ROW: Final = 8
"""Slots passed over in vain for each row, at most: by chance it is less than one."""
_CALL_ROWS: Final = 65_536
"""Rows that one call numbers: some milliseconds."""


_KEY: Final = np.dtype([("start", "i8"), ("size", "i4"), ("row", "i4")])
"""``struct numbered_key``."""


class _Table(Structure):
    """``struct numbered_keys``."""

    _fields_ = [
        ("data", c_void_p),
        ("size", c_int64),
        ("starts", c_void_p),
        ("sizes", c_void_p),
        ("rows", c_void_p),
        ("item", c_int64),
        ("before", c_void_p),
        ("secrets", c_uint64 * 2),
        ("steps_left", c_int64),
        ("keys", c_void_p),
        ("n", c_int64),
        ("slots", c_void_p),
        ("n_slots", c_int64),
    ]


@dataclass(frozen=True, slots=True)
class NumberedKeys:
    """Dense numbers for keys."""

    numbers: npt.NDArray[np.int64]
    """int64[n]: equal for equal keys, else different; dense."""
    firsts: npt.NDArray[np.int64]
    """int64[k]: by number, the first of the equal keys."""


def number_spans(
    library: CDLL,
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int32],
    before: npt.NDArray[np.int64] | None,
    rows: npt.NDArray[np.int64] | None = None,
) -> NumberedKeys | None:
    """Number keys that are spans of bytes.

    Args:
        library: The kernel's.
        data: The bytes, without slack.
        starts: int64[n], where each begins; of no meaning for null and empty ones.
        sizes: int32[n], bytes of each; below 0 for null, which differs from empty.
        before: int64[n], a number that is a part of each key; None for none.
        rows: int64[n], which of the spans are the keys; None for all of them in their order.

    Returns:
        The numbers; None where a span does not lie in the bytes, or too many keys share slots.
    """
    starts, sizes = np.ascontiguousarray(starts), np.ascontiguousarray(sizes)
    rows = None if rows is None else np.ascontiguousarray(rows)
    table = _Table(data.ctypes.data, len(data), starts.ctypes.data, sizes.ctypes.data)
    table.rows = None if rows is None else rows.ctypes.data
    return _numbers(library, table, len(starts if rows is None else rows), before)


def number_items(
    library: CDLL, items: npt.NDArray[Any], before: npt.NDArray[np.int64] | None
) -> NumberedKeys | None:
    """Number the elements of an array like `number_spans`. Elements are compared by their bytes."""
    items = np.ascontiguousarray(items)
    table = _Table(items.ctypes.data, items.nbytes, item=items.itemsize)
    return _numbers(library, table, len(items), before)


def _numbers(
    library: CDLL, table: _Table, n: int, before: npt.NDArray[np.int64] | None
) -> NumberedKeys | None:
    if before is not None:
        before = np.ascontiguousarray(before)
        table.before = before.ctypes.data
    secrets = np.frombuffer(os.urandom(16), dtype=np.uint64).tolist()
    table.secrets = (c_uint64 * 2)(*secrets)
    table.steps_left = _STEPS_A_ROW * n + _FIRST_SLOTS
    numbers = np.empty(n, dtype=np.int64)
    keys = np.empty(0, dtype=_KEY)
    at = 0
    while at < n:
        if table.n >= table.n_slots // 2:
            n_slots = max(4 * table.n_slots, _FIRST_SLOTS)
            slots = np.zeros(n_slots, dtype=np.uint64)
            known, keys = keys[: table.n], np.empty(n_slots // 2, dtype=_KEY)
            keys[: table.n] = known
            table.slots, table.n_slots = slots.ctypes.data, n_slots
            table.keys = keys.ctypes.data
            library.metashell_rehash_keys(byref(table))
        end = min(at + _CALL_ROWS, n)
        at = library.metashell_number_keys(byref(table), at, end, numbers.ctypes.data)
        if at < end and table.n < table.n_slots // 2:
            return None
    return NumberedKeys(numbers, keys["row"][: table.n].astype(np.int64))
