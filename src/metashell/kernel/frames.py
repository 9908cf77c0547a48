"""Frames the records of batches in C, on several threads."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import CDLL, POINTER, Structure, byref, c_int64, c_void_p
from functools import cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from metashell.kernel import threads

BATCH: Final = np.dtype(
    [
        ("start", "i8"),
        ("stop", "i8"),
        ("count", "i8"),
        ("first_row", "i8"),
        ("base_offset", "i8"),
        ("last_delta", "i4"),
        ("is_control", "i4"),
    ]
)
"""``struct batch``."""

NOT_FILLED: Final = 1
MALFORMED: Final = 2
"""Verdicts of batches that do not count; 0 of those that do."""

_CALL_RECORDS: Final = 262_144
"""Records that one call frames: some milliseconds."""
_PIECE_RECORDS: Final = 65_536
"""Records that are worth a thread."""

FRAME_COLUMNS: Final = (
    "start",
    "body",
    "stop",
    "offset",
    "api_key",
    "version",
    "frame_version",
)
KEYED_COLUMNS: Final = (
    "start",
    "offset",
    "key",
    "value",
    "key_size",
    "value_size",
    "key_type",
    "value_version",
)


class _Cursor(Structure):
    """``struct frame_cursor``."""

    _fields_ = [("batch", c_int64), ("record", c_int64), ("pos", c_int64)]


class _FrameColumns(Structure):
    """``struct frame_columns``."""

    _fields_ = [(name, c_void_p) for name in FRAME_COLUMNS]


class _KeyedColumns(Structure):
    """``struct keyed_columns``."""

    _fields_ = [(name, c_void_p) for name in KEYED_COLUMNS]


@cache
def _function(library: CDLL, kind: type[Structure]) -> Any:
    function = library.metashell_frames if kind is _FrameColumns else library.metashell_keyed_frames
    function.argtypes = [
        *(c_void_p, c_int64, c_void_p, c_int64, POINTER(_Cursor), c_int64, POINTER(kind), c_void_p)
    ]
    function.restype = None
    return function


def frame(
    library: CDLL,
    data: npt.NDArray[np.uint8],
    batches: npt.NDArray[np.void],
    columns: Mapping[str, npt.NDArray[Any]],
) -> npt.NDArray[np.uint8]:
    """Frame the records of batches.

    Args:
        library: The kernel's.
        data: uint8[size]: the bytes, without slack.
        batches: `BATCH`[n], whose rows follow on each other.
        columns: Arrays to be filled, an element a row: those of `FRAME_COLUMNS` for a metadata log
            or of `KEYED_COLUMNS` for one with keys, int64 or int32 as the C says.

    Returns:
        uint8[n]: the verdict of each batch. Rows of those that do not count mean nothing.
    """
    verdicts = np.zeros(len(batches), dtype=np.uint8)
    kind = _FrameColumns if "body" in columns else _KeyedColumns
    function = _function(library, kind)
    addresses = kind(**{name: array.ctypes.data for name, array in columns.items()})
    data_at, batches_at, verdicts_at = (a.ctypes.data for a in (data, batches, verdicts))

    def work(piece: tuple[int, int]) -> None:
        cursor, end = _Cursor(piece[0], 0, 0), piece[1]
        while cursor.batch < end:
            function(
                *(data_at, len(data), batches_at, end, byref(cursor)),
                *(_CALL_RECORDS, byref(addresses), verdicts_at),
            )

    threads.run(work, _pieces(batches["first_row"]))
    return verdicts


def _pieces(first_row: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Runs of batches with about as many records as are worth a thread: (first, end) of each."""
    n = len(first_row)
    if not n:
        return []
    rows = np.arange(_PIECE_RECORDS, int(first_row[-1]), _PIECE_RECORDS)
    cuts = [0, *np.unique(np.searchsorted(first_row, rows)).tolist(), n]
    return [(a, b) for a, b in pairwise(cuts) if a < b]
