"""Gathers elements that lie apart into one array in C, on several threads."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import CDLL
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from metashell.kernel import threads

_PIECE_ROWS: Final = 65_536
"""Rows that are worth a thread, and that one call takes."""

_I64: TypeAlias = npt.NDArray[np.int64]


def gather_each(
    library: CDLL, data: npt.NDArray[np.uint8], dtype: np.dtype[Any], at: _I64
) -> npt.NDArray[Any] | None:
    """Gather single elements.

    Args:
        library: The kernel's.
        data: The bytes, without slack.
        dtype: The dtype of an element in the bytes: numbers, or bytes of any size.
        at: int64[n], contiguous: where each begins.

    Returns:
        The elements, native; None where one does not lie in the bytes.
    """
    out = np.empty(len(at), dtype=dtype.newbyteorder("="))
    function = library.metashell_gather_each

    def gathered(begin: int, end: int) -> int:
        done: int = function(
            *(data.ctypes.data, len(data), at.ctypes.data, begin, end),
            *(dtype.itemsize, not dtype.isnative, out.ctypes.data),
        )
        return done

    return out if _is_whole(gathered, len(at)) else None


def gather(
    library: CDLL,
    data: npt.NDArray[np.uint8],
    dtype: np.dtype[Any],
    starts: npt.NDArray[Any],
    list_offsets: _I64,
) -> npt.NDArray[Any] | None:
    """Gather runs of elements.

    Args:
        library: The kernel's.
        data: The bytes, without slack.
        dtype: The dtype of an element in the bytes: big-endian numbers, or bytes of any size.
        starts: int64[n] or int32[n], where each run begins; of no meaning where it is empty.
        list_offsets: int64[n + 1], contiguous: where each run begins among all elements.

    Returns:
        The elements, native; None where a run reaches beyond the bytes.
    """
    out = np.empty(int(list_offsets[-1]), dtype=dtype.newbyteorder("="))
    starts = np.ascontiguousarray(starts, dtype=np.int64)
    function = library.metashell_gather

    def gathered(begin: int, end: int) -> int:
        done: int = function(
            *(data.ctypes.data, len(data), starts.ctypes.data, list_offsets.ctypes.data),
            *(begin, end, dtype.itemsize, out.ctypes.data),
        )
        return done

    return out if _is_whole(gathered, len(starts)) else None


def _is_whole(gathered: Callable[[int, int], int], n: int) -> bool:
    """Gather n rows piece by piece; whether each call came to the end of its piece."""
    beyond: list[int] = []

    def work(begin: int) -> None:
        end = min(begin + _PIECE_ROWS, n)
        done = gathered(begin, end)
        if done < end:
            beyond.append(done)

    threads.run(work, range(0, n, _PIECE_ROWS))
    return not beyond
