"""Frames the records of batches in C, on several threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ctypes import CDLL, Structure, byref, c_int64, c_void_p
from itertools import pairwise
from threading import Lock
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

_CALL_BATCHES: Final = 65_536
"""Headers that one call reads."""
_PLAIN_BATCHES: Final = 4_096
"""Headers that are read at a time where records are framed next: they stay in the cache so long."""
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
"""``struct frame_columns``, in its order: ``start`` is int64, the others are int32. ``body`` and
``stop`` count from ``start``, ``offset`` from the batch's base offset."""
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
"""``struct keyed_columns``, in its order."""


class _Cursor(Structure):
    """``struct frame_cursor``."""

    _fields_ = [("batch", c_int64), ("record", c_int64), ("pos", c_int64)]


def count_plain(
    library: CDLL, data: npt.NDArray[np.uint8], positions: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64] | None:
    """Read how many records batches have, if all of them are plain.

    Args:
        library: The kernel's.
        data: The bytes, without slack.
        positions: int64[n], contiguous: where each batch begins.

    Returns:
        int64[n]; None where a batch is of another format, is compressed, or has a count that does
        not fit its length and its offsets.
    """
    counts, n = np.empty(len(positions), dtype=np.int64), len(positions)
    function = library.metashell_count_plain
    for begin in range(0, n, _CALL_BATCHES):
        end = min(begin + _CALL_BATCHES, n)
        if end != function(
            *(data.ctypes.data, len(data), positions.ctypes.data, begin, end, counts.ctypes.data)
        ):
            return None
    return counts


def frame_plain(
    library: CDLL,
    data: npt.NDArray[np.uint8],
    positions: npt.NDArray[np.int64],
    first_row: npt.NDArray[np.int64],
    columns: Mapping[str, npt.NDArray[Any]],
    batch_of: npt.NDArray[np.int32],
    producer_ids: npt.NDArray[np.int64],
) -> npt.NDArray[np.uint8]:
    """Frame the records of batches that `count_plain` counted: their headers are read in place.

    Args:
        library: The kernel.
        data: The bytes, without slack.
        positions: int64[n], contiguous: where each batch begins.
        first_row: int64[n + 1], contiguous: the first row of each, as counted.
        columns: The columns that `frame_keyed` takes.
        batch_of: int32[rows], to be filled with the batch of each row.
        producer_ids: int64[n], to be filled with the batches' producer ids.
    """
    verdicts = _Verdicts(library, data, columns, len(positions))

    def work(piece: tuple[int, int]) -> None:
        batches = np.empty(_PLAIN_BATCHES, dtype=BATCH)
        for begin in range(*piece, _PLAIN_BATCHES):
            end = min(begin + _PLAIN_BATCHES, piece[1])
            library.metashell_plain_batches(
                *(data.ctypes.data, positions.ctypes.data, first_row.ctypes.data, begin, end),
                *(batches.ctypes.data, producer_ids.ctypes.data, batch_of.ctypes.data),
            )
            verdicts.find(batches, 0, end - begin, begin)

    threads.run(work, _pieces(first_row[:-1]))
    return verdicts.found


class _Verdicts:
    """Verdicts of batches, found while their records are framed."""

    def __init__(
        self,
        library: CDLL,
        data: npt.NDArray[np.uint8],
        columns: Mapping[str, npt.NDArray[Any]],
        n: int,
    ) -> None:
        has_keys = "key" in columns
        names = KEYED_COLUMNS if has_keys else FRAME_COLUMNS
        self._function = library.metashell_keyed_frames if has_keys else library.metashell_frames
        self._data = data
        self._columns = (c_void_p * len(names))(*(columns[name].ctypes.data for name in names))
        self.found = np.zeros(n, dtype=np.uint8)
        """uint8[n]."""

    def find(self, batches: npt.NDArray[np.void], begin: int, end: int, first: int = 0) -> None:
        """Frame some batches of a table, whose first one has a place among all."""
        cursor, data = _Cursor(begin, 0, 0), self._data
        while cursor.batch < end:
            self._function(
                *(data.ctypes.data, len(data), batches.ctypes.data, end, byref(cursor)),
                *(_CALL_RECORDS, byref(self._columns), self.found.ctypes.data + first),
            )


def frame(
    library: CDLL,
    data: npt.NDArray[np.uint8],
    batches: npt.NDArray[np.void],
    put: Callable[[slice, Mapping[str, npt.NDArray[Any]]], None],
) -> npt.NDArray[np.uint8]:
    """Frame the records of batches of a metadata log, some at a time.

    Args:
        library: The kernel's.
        data: uint8[size]: the bytes, without slack.
        batches: `BATCH`[n], whose rows follow on each other.
        put: Called with some rows and their `FRAME_COLUMNS`, which mean nothing later; of batches
            that do not count all is 0.

    Returns:
        uint8[n]: the verdict of each batch.
    """
    found = np.zeros(len(batches), dtype=np.uint8)
    lock = Lock()

    def work(piece: tuple[int, int]) -> None:
        table = batches[slice(*piece)].copy()
        first, n_rows = int(table["first_row"][0]), int(table["count"].sum())
        table["first_row"] -= first
        columns: dict[str, npt.NDArray[Any]] = {
            name: np.empty(n_rows, dtype=np.int64 if name == "start" else np.int32)
            for name in FRAME_COLUMNS
        }
        verdicts = _Verdicts(library, data, columns, len(table))
        verdicts.find(table, 0, len(table))
        found[slice(*piece)] = verdicts.found
        if verdicts.found.any():
            bad = np.repeat(verdicts.found != 0, table["count"])
            for column in columns.values():
                column[bad] = 0
        with lock:
            put(slice(first, first + n_rows), columns)

    threads.run(work, _pieces(batches["first_row"]))
    return found


def frame_keyed(
    library: CDLL,
    data: npt.NDArray[np.uint8],
    batches: npt.NDArray[np.void],
    columns: Mapping[str, npt.NDArray[Any]],
) -> npt.NDArray[np.uint8]:
    """Frame the records of batches of a log with keys.

    Args:
        library: The kernel's.
        data: uint8[size]: the bytes, without slack.
        batches: `BATCH`[n], whose rows follow on each other.
        columns: Arrays to be filled, an element a row: those of `KEYED_COLUMNS`, int64 or int32 as
            the C says.

    Returns:
        uint8[n]: the verdict of each batch. Rows of those that do not count mean nothing.
    """
    verdicts = _Verdicts(library, data, columns, len(batches))
    threads.run(lambda piece: verdicts.find(batches, *piece), _pieces(batches["first_row"]))
    return verdicts.found


def _pieces(first_row: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Runs of batches with about as many records as are worth a thread: (first, end) of each."""
    n = len(first_row)
    if not n:
        return []
    rows = np.arange(_PIECE_RECORDS, int(first_row[-1]), _PIECE_RECORDS)
    cuts = [0, *np.searchsorted(first_row, rows).tolist(), n]
    return [(a, b) for a, b in pairwise(cuts) if a < b]
