"""Decodes the records of one message in C, on several threads; tables tell what there is to do.

Checks in C, on several threads, whether keyed records decode: no column is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import CDLL, POINTER, Structure, byref, c_int32, c_int64, c_uint64, c_void_p, pointer
from threading import Lock
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from metashell.dataclass import dataclass
from metashell.kernel import threads

FIXED: Final = 0
SPAN: Final = 1
STRUCT: Final = 2
STRUCTS: Final = 3
WRONG: Final = 4
"""Kinds of fields; what each means stands in ``kernel.h``."""

FIELD: Final = np.dtype(
    [
        ("kind", "u1"),
        ("size", "u1"),
        ("is_nullable", "u1"),
        ("is_bool", "u1"),
        ("is_string", "u1"),
        ("tag", "i4"),
        ("child", "i4"),
        ("slot", "i4"),
        ("if_absent", "i4"),
        ("value_if_absent", "V16"),
    ],
    align=True,
)
"""``struct field``."""

LAYOUT: Final = np.dtype(
    [
        ("first", "i4"),
        ("end", "i4"),
        ("first_tag", "i4"),
        ("end_tag", "i4"),
        ("is_flexible", "i4"),
        ("has_tags", "i4"),
        ("eager_tags", "u8"),
    ]
)
"""``struct layout``."""

MOST_TAGS: Final = 64
"""Tags that a struct can have here: each is a bit of a number."""

_CALL_BYTES: Final = 8 << 20
"""Bytes of messages after which a call ends: they take some milliseconds."""

_AnyArray: TypeAlias = npt.NDArray[Any]
_I64: TypeAlias = npt.NDArray[np.int64]


class Decode(Structure):
    """``struct decode``."""

    _fields_ = [
        ("data", c_void_p),
        ("size", c_int64),
        ("fields", c_void_p),
        ("layouts", c_void_p),
        ("columns", c_void_p),
        ("starts", c_void_p),
        ("stops", c_void_p),
        ("counts", c_void_p),
        ("first_row", c_void_p),
        ("ok", c_void_p),
        ("most_structs", c_int64),
        ("nested_left", c_int64),
        ("seen", c_uint64),
        ("may_trail", c_int32),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """Where messages stand, and how they are read."""

    data: npt.NDArray[np.uint8]
    """The bytes, without slack."""
    starts: _I64
    """int64[n], contiguous: where each begins."""
    stops: _I64
    """int64[n], contiguous: where each ends at the latest."""
    counts: _I64 | None = None
    """int64[n]: how many stand behind each other at each start; None for one each."""
    first_row: _I64 | None = None
    """int64[n + 1], with `counts`: the row of the first at each start."""
    may_trail: bool = False
    """Whether bytes may stand behind a message."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes beyond which messages are refused, or left to numpy."""

    structs: int
    """Elements that an array of structs may have."""
    nested: int
    """Elements of arrays in elements of arrays that a block may have."""
    block: int
    """Starts in a block; each block may be on a thread of its own."""


@dataclass(frozen=True, slots=True)
class DecodedRows:
    """Rows decoded by one call, and which of the root's tags it met."""

    begin: int
    end: int
    tags: int
    """A bit each, in the order of the tags."""


def decode(
    library: CDLL,
    fields: npt.NDArray[np.void],
    layouts: npt.NDArray[np.void],
    columns: Sequence[_AnyArray],
    messages: Messages,
    limits: Limits,
) -> tuple[npt.NDArray[np.bool_], list[DecodedRows]] | None:
    """Decode messages into columns.

    Args:
        library: The kernel.
        fields: `FIELD`[k].
        layouts: `LAYOUT`[m]; the first is that of a message.
        columns: One array a slot, with an element a row. The column of a tag of the root is written
            only in the rows of calls that met the tag.
        messages: Where the messages stand.
        limits: Sizes beyond which messages are left to numpy.

    Returns:
        (bool[n]: starts that decode, all True with counts; what each call met), or None where a
        block has more nested elements than it may.
    """
    n = len(messages.starts)
    ok = np.ones(n, dtype=np.bool_)
    addresses = np.array([array.ctypes.data for array in columns], dtype=np.uintp)
    starts, stops, counts, first_row = (
        None if array is None else array.ctypes.data
        for array in (messages.starts, messages.stops, messages.counts, messages.first_row)
    )
    rows = messages.first_row
    function = library.metashell_decode
    lock = Lock()
    met: list[DecodedRows] = []
    is_exhausted: list[bool] = []

    def work(first: int) -> None:
        decode = Decode(
            *(messages.data.ctypes.data, len(messages.data), fields.ctypes.data),
            *(layouts.ctypes.data, addresses.ctypes.data, starts, stops, counts, first_row),
            *(None if counts else ok.ctypes.data, limits.structs, limits.nested, 0),
            messages.may_trail,
        )
        at, end = first, min(first + limits.block, n)
        while at < end and not is_exhausted:
            following = function(byref(decode), at, end, _CALL_BYTES)
            if following < 0:
                is_exhausted.append(True)
                return
            begin, behind = at, following
            if rows is not None:
                begin, behind = int(rows[at]), int(rows[following])
            with lock:
                met.append(DecodedRows(begin, behind, decode.seen))
            at = following

    threads.run(work, range(0, n, limits.block))
    return None if is_exhausted else (ok, met)


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
