"""Writes lines from columns in C; tables tell what stands in a line."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import CDLL, Structure, byref, c_int64
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

LITERAL: Final = 0
OPEN: Final = 1
NUMBER: Final = 2
BOOL: Final = 3
UUID: Final = 4
STRING: Final = 5
BYTES: Final = 6
NUMBERS: Final = 7
UUIDS: Final = 8
STRUCTS: Final = 9
STRINGS: Final = 10
CHOICE: Final = 11
TIME: Final = 12
"""Kinds of texts; what each means stands in ``kernel.h``."""

TEXT: Final = np.dtype(
    [
        ("kind", "i4"),
        ("width", "i4"),
        ("count_width", "i4"),
        ("is_signed", "i4"),
        ("is_of_line", "i4"),
        ("has_default", "i4"),
        ("needs_elements", "i4"),
        ("is_bare", "i4"),
        ("default_number", "i8"),
        ("default_bytes", "u8"),
        ("key", "u8"),
        ("key_size", "i8"),
        ("values", "u8"),
        ("values_step", "i8"),
        ("counts", "u8"),
        ("counts_step", "i8"),
        ("choices", "u8"),
        ("choice_bounds", "u8"),
        ("n_choices", "i8"),
        ("children", "u8"),
        ("n_children", "i8"),
        ("n_elements", "i8"),
    ],
    align=True,
)
"""``struct text``."""

_KIND: Final = np.dtype([("texts", "u8"), ("n_texts", "i8"), ("n_rows", "i8"), ("row", "i8")])
"""``struct line_kind``."""

_CALL_BYTES: Final = 4 << 20
"""Bytes that one call may write: they take some milliseconds."""

_AnyArray: TypeAlias = npt.NDArray[Any]


class _Cursor(Structure):
    """``struct line_cursor``."""

    _fields_ = [("line", c_int64), ("written", c_int64), ("needed", c_int64)]


class LineTexts:
    """The pieces of a line, in their order.

    Keeps every array and text alive that the table points to.

    Args:
        is_bare: Whether texts stand without quotes.
    """

    def __init__(self, *, is_bare: bool = False) -> None:
        self.is_bare = is_bare
        self._rows: list[dict[str, int]] = []
        self._kept: list[object] = []

    def copy(self) -> LineTexts:
        """A copy that can be gone on with."""
        found = LineTexts(is_bare=self.is_bare)
        found._rows, found._kept = [*self._rows], [*self._kept]
        return found

    def add(
        self,
        kind: int,
        key: bytes,
        values: _AnyArray | None = None,
        counts: _AnyArray | None = None,
        *,
        is_of_line: bool = False,
        width: int | None = None,
        is_signed: bool = True,
    ) -> None:
        """Add a piece.

        Args:
            kind: Such as `NUMBER`.
            key: The text before the value.
            values: The values, laid out as `kernel.h` says for the kind.
            counts: int32[n] or int64[n], likewise.
            is_of_line: Whether the values are by line, not by message.
            width: Bytes of an element; None for those of the values.
            is_signed: Whether numbers are.
        """
        if width is None:
            width = 1 if values is None else values.dtype.itemsize
        row = {"kind": kind, "width": width, "is_signed": is_signed, "is_of_line": is_of_line}
        row |= {"key": self._address_of(key), "key_size": len(key), "is_bare": self.is_bare}
        for name, array in (("values", values), ("counts", counts)):
            if array is not None:
                self._kept.append(array)
                row |= {name: array.ctypes.data, f"{name}_step": array.strides[0]}
        if counts is not None:
            row["count_width"] = counts.dtype.itemsize
        self._rows.append(row)

    def leave_out(self, number: int, content: bytes = b"") -> None:
        """Leave the piece added last out where it holds a value.

        Args:
            number: The default, if it is a number; else how many elements it has, -1 for null.
            content: The bytes of these elements, or of a uuid.
        """
        row = self._rows[-1]
        row |= {"has_default": 1, "default_number": number}
        row["default_bytes"] = self._address_of(content)

    def leave_out_empty(self) -> None:
        """Leave the piece added last out where it has no elements."""
        self._rows[-1]["needs_elements"] = 1

    def choose(self, choices: _AnyArray, bounds: _AnyArray) -> None:
        """Let the piece added last choose among texts.

        Args:
            choices: uint8[size]: all texts, one after the other.
            bounds: int64[n + 1]: where each begins, and where the last ends.
        """
        self._kept += [choices, bounds]
        self._rows[-1] |= {"choices": choices.ctypes.data, "choice_bounds": bounds.ctypes.data}
        self._rows[-1]["n_choices"] = len(bounds) - 1

    def nest(self, children: LineTexts, n_elements: int) -> None:
        """Let the piece added last be of structs.

        Args:
            children: The pieces of an element.
            n_elements: Elements of all rows.
        """
        self._kept.append(children)
        table = children.table()
        self._rows[-1] |= {"children": table.ctypes.data, "n_children": len(table)}
        self._rows[-1]["n_elements"] = n_elements

    def table(self) -> npt.NDArray[np.void]:
        """`TEXT`[n], alive as long as this is."""
        table = np.zeros(len(self._rows), dtype=TEXT)
        for i, row in enumerate(self._rows):
            for name, value in row.items():
                table[name][i] = value
        self._kept.append(table)
        return table

    def _address_of(self, content: bytes) -> int:
        array = np.frombuffer(content or b"\0", dtype=np.uint8)
        self._kept.append(array)
        return int(array.ctypes.data)


def write(
    library: CDLL,
    data: npt.NDArray[np.uint8],
    kinds: Sequence[tuple[LineTexts, int]],
    kind_of: npt.NDArray[np.int32],
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Write lines.

    Args:
        library: The kernel's.
        data: uint8[size]: the bytes that columns point into, without slack.
        kinds: For each kind of line its texts, and how many messages there are.
        kind_of: int32[n], contiguous: the kind of each line, -1 for none. Lines of a kind take its
            messages in their order.

    Returns:
        (uint8[size]: the lines; int64[n]: where each ends; bool[n]: those left out, because they
        are of no kind or have a text that can't be written, as `kernel.h` says).
    """
    n = len(kind_of)
    table = np.zeros(max(len(kinds), 1), dtype=_KIND)
    for i, (texts, n_rows) in enumerate(kinds):
        of_kind = texts.table()
        table[i] = (of_kind.ctypes.data, len(of_kind), n_rows, 0)
    stops, is_left = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    out = np.empty(_CALL_BYTES, dtype=np.uint8)
    cursor, pieces, function, size = _Cursor(0, 0, 0), [], library.metashell_lines, 0
    while cursor.line < n:
        first = cursor.line
        function(
            *(data.ctypes.data, len(data), table.ctypes.data, kind_of.ctypes.data, byref(cursor)),
            *(n, out.ctypes.data, len(out), stops.ctypes.data, is_left.ctypes.data),
        )
        pieces.append(out[: cursor.written])
        stops[first : cursor.line] += size
        size += cursor.written
        if cursor.line < n:
            out = np.empty(max(cursor.needed, _CALL_BYTES), dtype=np.uint8)
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces or [out[:0]]), stops, is_left
