"""Bytes as people read them: position, hex, ASCII."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_MOST: Final = 4096
"""Bytes that are shown."""


def hex_lines(data: bytes, position: int = 0, width: int = 16, most: int = _MOST) -> Iterator[str]:
    """Lines with the bytes in hex and as ASCII.

    Args:
        data: The bytes.
        position: The position written before the first byte.
        width: Bytes in a line.
        most: The largest number of bytes written; a last line counts the others.
    """
    digits = max(len(f"{position + min(len(data), most):x}"), 4)
    for at in range(0, min(len(data), most), width):
        row = data[at : min(at + width, most)]
        half = width // 2
        left, right = row[:half].hex(" "), row[half:].hex(" ")
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        yield f"{position + at:0{digits}x}  {left:<{half * 3 - 1}}  {right:<{half * 3 - 1}}  {text}"
    if len(data) > most:
        yield f"... {len(data) - most} more bytes"


def fitting_width(columns: int) -> int:
    """How many bytes a line of so many columns can show: 16 or 8."""
    return 16 if columns >= 6 + 49 + 2 + 16 else 8
