"""Gathers runs of elements into one array in C, on several threads."""

from __future__ import annotations

from ctypes import CDLL, c_int32, c_int64, c_void_p
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from metashell.kernel import threads

_PIECE_ROWS: Final = 65_536
"""Rows that are worth a thread, and that one call takes."""

_I64: TypeAlias = npt.NDArray[np.int64]


@cache
def _function(library: CDLL) -> Any:
    function = library.metashell_gather
    number = c_int64
    function.argtypes = [*(c_void_p, number, c_void_p, c_void_p, number, number, c_int32, c_void_p)]
    function.restype = number
    return function


def gather(
    library: CDLL,
    data: npt.NDArray[np.uint8],
    dtype: np.dtype[Any],
    starts: _I64,
    list_offsets: _I64,
) -> npt.NDArray[Any] | None:
    """Gather runs of elements.

    Args:
        library: The kernel's.
        data: The bytes, without slack.
        dtype: Of one element in the bytes: big-endian numbers, or bytes of any size.
        starts: int64[n], where each run begins; of no meaning where it is empty.
        list_offsets: int64[n + 1], contiguous: where each run begins among all elements.

    Returns:
        The elements, native; None where a run reaches beyond the bytes.
    """
    out = np.empty(int(list_offsets[-1]), dtype=dtype.newbyteorder("="))
    starts, function = np.ascontiguousarray(starts), _function(library)
    n = len(starts)
    beyond: list[int] = []

    def work(begin: int) -> None:
        end = min(begin + _PIECE_ROWS, n)
        done = function(
            *(data.ctypes.data, len(data), starts.ctypes.data, list_offsets.ctypes.data),
            *(begin, end, dtype.itemsize, out.ctypes.data),
        )
        if done < end:
            beyond.append(done)

    threads.run(work, range(0, n, _PIECE_ROWS))
    return None if beyond else out
