"""Checks in C, on several threads, whether keyed records decode: no column is written."""

from __future__ import annotations

from ctypes import CDLL, POINTER, Structure, byref, c_int32, c_void_p, pointer
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from metashell.dataclass import dataclass
from metashell.kernel import threads
from metashell.kernel.decode import Decode, Limits

SOUND: Final = 0
BAD_KEY: Final = 1
BAD_VALUE: Final = 2
OTHER: Final = 3
"""Verdicts; what each means stands in ``kernel.h``."""

_PIECE_ROWS: Final = 65_536
"""Rows that are worth a thread, and that one call looks at: some milliseconds."""


Tables: TypeAlias = tuple[npt.NDArray[np.void], npt.NDArray[np.void]]
"""Fields and layouts."""


class _Check(Structure):
    """``struct keyed_check``."""

    _fields_ = [
        ("key", POINTER(Decode)),
        ("value", POINTER(Decode)),
        ("rows", c_void_p),
        ("keys", c_void_p),
        ("values", c_void_p),
        ("key_sizes", c_void_p),
        ("value_sizes", c_void_p),
        ("versions", c_void_p),
        ("version", c_int32),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedSpans:
    """Where the keys and values of a log lie; every array has one element a record."""

    data: npt.NDArray[np.uint8]
    """The bytes, without slack."""
    key: npt.NDArray[np.int64]
    key_size: npt.NDArray[np.int32]
    value: npt.NDArray[np.int64]
    value_size: npt.NDArray[np.int32]
    value_version: npt.NDArray[np.int32]


def check(
    library: CDLL,
    spans: KeyedSpans,
    rows: npt.NDArray[np.int64],
    key: Tables,
    value: Tables,
    version: int,
    limits: Limits,
) -> npt.NDArray[np.uint8]:
    """Check records of one type.

    Args:
        library: The kernel.
        spans: Where the records lie.
        rows: int64[n], contiguous: the rows of the records in `spans`.
        key: Fields and layouts of their keys, as `metashell.kernel.decode.decode` takes them; no
            field has a slot.
        value: Fields and layouts of their values, likewise.
        version: The version of values that are checked.
        limits: Sizes beyond which a record is refused.

    Returns:
        uint8[n]: the verdicts.
    """
    of_key, of_value = (
        Decode(
            data=spans.data.ctypes.data,
            size=len(spans.data),
            fields=fields.ctypes.data,
            layouts=layouts.ctypes.data,
            most_structs=limits.structs,
            nested_left=limits.nested,
            may_trail=1,
        )
        for fields, layouts in (key, value)
    )
    verdicts, function, n = (
        np.empty(len(rows), dtype=np.uint8),
        library.metashell_check_keyed,
        len(rows),
    )
    asked = _Check(
        *(pointer(of_key), pointer(of_value), rows.ctypes.data),
        *(spans.key.ctypes.data, spans.value.ctypes.data),
        *(spans.key_size.ctypes.data, spans.value_size.ctypes.data),
        *(spans.value_version.ctypes.data, version),
    )

    def work(begin: int) -> None:
        function(byref(asked), begin, min(begin + _PIECE_ROWS, n), verdicts.ctypes.data)

    threads.run(work, range(0, n, _PIECE_ROWS))
    return verdicts
