"""Orders numbers, finds groups of equal ones, and looks ids up, in C."""

from __future__ import annotations

from ctypes import CDLL, POINTER, Structure, byref, c_int32, c_int64, c_uint64, c_void_p
from functools import cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from metashell.kernel import threads

WRITES: Final = 1
REMOVES: Final = 2
"""``enum effect``."""

_CALL_ROWS: Final = 1 << 20
"""Rows that one call works on: some milliseconds."""
_PIECE_ROWS: Final = 65_536
"""Rows that are worth a thread."""

_I64: TypeAlias = npt.NDArray[np.int64]
_U64: TypeAlias = npt.NDArray[np.uint64]


class _IdTable(Structure):
    """``struct id_table``."""

    _fields_ = [
        ("ids", c_void_p),
        ("slots", c_void_p),
        ("mask", c_uint64),
        ("factors", c_uint64 * 2),
    ]


@cache
def _functions(library: CDLL) -> CDLL:
    """The library, its functions here with the types of their arguments."""
    pointer, number, small = c_void_p, c_int64, c_int32
    library.metashell_varying_bits.argtypes = [pointer, number, POINTER(c_uint64)]
    library.metashell_varying_bits.restype = small
    library.metashell_pack.argtypes = [pointer, number, c_uint64, small, pointer]
    library.metashell_pack.restype = None
    library.metashell_group.argtypes = [*(pointer, small, number, number, pointer, pointer, number)]
    library.metashell_group.restype = number
    library.metashell_last_marked.argtypes = [pointer, pointer, number, number, pointer]
    library.metashell_last_marked.restype = None
    library.metashell_survivors.argtypes = [
        *(pointer, pointer, number, number, number, pointer, pointer)
    ]
    library.metashell_survivors.restype = None
    library.metashell_find_ids.argtypes = [pointer, number, POINTER(_IdTable), pointer]
    library.metashell_find_ids.restype = None
    return library


class Sorted:
    """Numbers in their order, equal ones as they stood.

    Args:
        library: The kernel's.
        order: int64[n], indexes that sort the numbers.
        numbers: uint64[n], the numbers in that order, or other numbers that differ where they do.
        shift: Bits of these that do not count.
    """

    def __init__(self, library: CDLL, order: _I64, numbers: _U64, shift: int) -> None:
        self._library, self.order = library, order
        self._numbers, self._shift = numbers, shift

    def groups(self) -> tuple[_I64, _I64]:
        """The first of each one's group of equal ones: int64[n]; the last of each: int64[g]."""
        functions, n = _functions(self._library), len(self.order)
        first, last = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        n_groups = 0
        for begin in range(0, n, _CALL_ROWS):
            n_groups = functions.metashell_group(
                *(self._numbers.ctypes.data, self._shift, begin, min(begin + _CALL_ROWS, n)),
                *(first.ctypes.data, last.ctypes.data, n_groups),
            )
        if n:
            last[n_groups] = n - 1
            n_groups += 1
        return first, last[:n_groups].copy()


def sort(library: CDLL, numbers: _I64) -> Sorted | None:
    """Sort int64 numbers; None where they differ in too many bits."""
    functions, n = _functions(library), len(numbers)
    numbers = np.ascontiguousarray(numbers, dtype=np.int64)
    varying = c_uint64()
    if functions.metashell_varying_bits(numbers.ctypes.data, n, byref(varying)):
        return Sorted(library, np.arange(n, dtype=np.int64), numbers.view(np.uint64), 0)
    bits, index_bits = varying.value, n.bit_length()
    # The highest bit is a sign: whether it is set says that a number comes first.
    if bits.bit_count() + index_bits > 64 or bits >> 63:
        return None
    packed = np.empty(n, dtype=np.uint64)
    functions.metashell_pack(numbers.ctypes.data, n, bits, index_bits, packed.ctypes.data)
    # Numpy sorts by vector instructions, which a radix sort here did not reach.
    packed.sort()
    order = (packed & np.uint64((1 << index_bits) - 1)).view(np.int64)
    return Sorted(library, order, packed, index_bits)


def last_marked(library: CDLL, marked: npt.NDArray[np.bool_], first: _I64) -> _I64:
    """The nearest marked one at or before each in its group, -1 for none: int64[n]."""
    functions, n = _functions(library), len(marked)
    marked = np.ascontiguousarray(marked, dtype=np.bool_)
    found = np.empty(n, dtype=np.int64)
    for begin in range(0, n, _CALL_ROWS):
        functions.metashell_last_marked(
            *(marked.ctypes.data, first.ctypes.data, begin, min(begin + _CALL_ROWS, n)),
            found.ctypes.data,
        )
    return found


def survivors(library: CDLL, groups: _I64, effects: npt.NDArray[np.uint8]) -> tuple[_I64, _I64]:
    """Which keys are there after all events.

    Args:
        library: The kernel's.
        groups: int64[n]: the key of each event, in the order of replay.
        effects: uint8[n]: `WRITES`, `REMOVES`, or 0 for nothing.

    Returns:
        By key the event that made it, and the one that last wrote it: int64[k], -1 where the key is
        not there.
    """
    functions, n = _functions(library), len(groups)
    groups, effects = np.ascontiguousarray(groups), np.ascontiguousarray(effects)
    created, last = np.full((2, int(groups.max(initial=-1)) + 1), -1, dtype=np.int64)
    for begin in range(0, n, _CALL_ROWS):
        functions.metashell_survivors(
            *(groups.ctypes.data, effects.ctypes.data, begin, min(begin + _CALL_ROWS, n)),
            *(len(last), created.ctypes.data, last.ctypes.data),
        )
    return created, last


def find_ids(
    library: CDLL,
    ids: _U64,
    table: tuple[_U64, _I64, _U64],
) -> _I64:
    """Index of each id in a hash table: int64[n], -1 for one that is not there.

    Args:
        library: The kernel's.
        ids: uint64[n, 2], contiguous: the halves of each.
        table: Ids (uint64[k, 2]), slots and factors of `metashell.schema.id_table.IdTable`.
    """
    functions, n = _functions(library), len(ids)
    pairs, slots, factors = table
    found = np.empty(n, dtype=np.int64)
    its = _IdTable(pairs.ctypes.data, slots.ctypes.data, len(slots) - 1, tuple(factors.tolist()))
    ids_at, found_at = ids.ctypes.data, found.ctypes.data

    def work(first: int) -> None:
        rows = min(_PIECE_ROWS, n - first)
        functions.metashell_find_ids(ids_at + 16 * first, rows, byref(its), found_at + 8 * first)

    threads.run(work, range(0, n, _PIECE_ROWS))
    return found
