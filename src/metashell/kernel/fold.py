"""Orders numbers, finds groups of equal ones, takes what stands at places, looks ids up, in C."""

from __future__ import annotations

from ctypes import CDLL, Structure, byref, c_uint64, c_void_p
from typing import Any, Final, TypeAlias

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

MOST_ROWS: Final = (1 << 31) - 1
"""Numbers that are sorted: their indexes have 32 bits."""

_I32: TypeAlias = npt.NDArray[np.int32]
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


def sort(library: CDLL, numbers: _I64) -> tuple[_I32, _I32, _I32] | None:
    """Sort int64 numbers, equal ones as they stand.

    Args:
        library: The kernel's.
        numbers: int64[n].

    Returns:
        Indexes that sort them: int32[n]; for each sorted one where its group of equal ones begins:
        int32[n]; where each group ends: int32[groups]. None where numbers differ in too many bits,
        or there are more than `MOST_ROWS`.
    """
    n = len(numbers)
    if n > MOST_ROWS:
        return None
    numbers = np.ascontiguousarray(numbers, dtype=np.int64)
    varying = c_uint64()
    if library.metashell_varying_bits(numbers.ctypes.data, n, byref(varying)):
        return _grouped(library, numbers.view(np.uint64), 0)
    bits, index_bits = varying.value, n.bit_length()
    # The highest bit is a sign: whether it is set says that a number comes first.
    if bits.bit_count() + index_bits > 64 or bits >> 63:
        return None
    packed = np.empty(n, dtype=np.uint64)
    library.metashell_pack(numbers.ctypes.data, n, bits, index_bits, packed.ctypes.data)
    # Numpy sorts by vector instructions, which a radix sort here did not reach.
    packed.sort()
    return _grouped(library, packed, index_bits)


def _grouped(library: CDLL, numbers: _U64, index_bits: int) -> tuple[_I32, _I32, _I32]:
    """The result of `sort` for sorted numbers. Their low bits hold the index before the sort."""
    n = len(numbers)
    order, first, last = (np.empty(n, dtype=np.int32) for _ in range(3))
    n_groups = 0
    for begin in range(0, n, _CALL_ROWS):
        n_groups = library.metashell_group(
            *(numbers.ctypes.data, index_bits, begin, min(begin + _CALL_ROWS, n)),
            *(order.ctypes.data, first.ctypes.data, last.ctypes.data, n_groups),
        )
    if n:
        last[n_groups] = n - 1
        n_groups += 1
    return order, first, last[:n_groups].copy()


def last_marked(library: CDLL, marked: npt.NDArray[np.bool_], first: _I32) -> _I32:
    """The nearest marked one at or before each in its group, -1 for none: int32[n]."""
    n = len(marked)
    marked = np.ascontiguousarray(marked, dtype=np.bool_)
    found = np.empty(n, dtype=np.int32)
    for begin in range(0, n, _CALL_ROWS):
        library.metashell_last_marked(
            *(marked.ctypes.data, first.ctypes.data, begin, min(begin + _CALL_ROWS, n)),
            found.ctypes.data,
        )
    return found


def take(library: CDLL, values: npt.NDArray[Any], places: _I32) -> npt.NDArray[Any] | None:
    """The value at each place; its length is that of `places`.

    None for a place outside, and for values that are no numbers of 1, 2, 4 or 8 bytes.
    """
    if values.dtype.hasobject or values.ndim != 1:
        return None
    n = len(places)
    values, places = np.ascontiguousarray(values), np.ascontiguousarray(places)
    taken = np.empty(n, dtype=values.dtype)
    for begin in range(0, n, _CALL_ROWS):
        if not library.metashell_take(
            *(values.ctypes.data, values.dtype.itemsize, len(values), places.ctypes.data),
            *(begin, min(begin + _CALL_ROWS, n), taken.ctypes.data),
        ):
            return None
    return taken


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
    n = len(groups)
    groups, effects = np.ascontiguousarray(groups), np.ascontiguousarray(effects)
    created, last = np.full((2, int(groups.max(initial=-1)) + 1), -1, dtype=np.int64)
    for begin in range(0, n, _CALL_ROWS):
        library.metashell_survivors(
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
    n = len(ids)
    pairs, slots, factors = table
    found = np.empty(n, dtype=np.int64)
    its = _IdTable(pairs.ctypes.data, slots.ctypes.data, len(slots) - 1, tuple(factors.tolist()))
    ids_at, found_at = ids.ctypes.data, found.ctypes.data

    def work(first: int) -> None:
        rows = min(_PIECE_ROWS, n - first)
        library.metashell_find_ids(ids_at + 16 * first, rows, byref(its), found_at + 8 * first)

    threads.run(work, range(0, n, _PIECE_ROWS))
    return found
