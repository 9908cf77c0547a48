"""Elements of DER: just enough to look into a key store before a library reads it.

Owns tags and lengths. Knows no ASN.1 type; `cryptography` reads certificates, keys and PKCS #12.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from metashell.dataclass import dataclass

INTEGER: Final = 0x02
OCTET_STRING: Final = 0x04
OBJECT_ID: Final = 0x06
SEQUENCE: Final = 0x30
_CONSTRUCTED: Final = 0x20


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a buffer; positions are in that buffer."""

    tag: int
    pos: int
    """Where its tag is."""
    start: int
    """Where its content begins."""
    end: int
    """Where its content ends."""

    @property
    def is_constructed(self) -> bool:
        """Whether its content is elements."""
        return bool(self.tag & _CONSTRUCTED)


def element_at(data: bytes, pos: int, end: int | None = None) -> Element:
    """Read the tag and length at a position.

    Args:
        data: The buffer.
        pos: Where the element begins.
        end: Where what holds it ends; None for the buffer's end.

    Raises:
        ValueError: It is cut short, longer than what holds it, or of indefinite length.
    """
    end = len(data) if end is None else end
    if pos + 2 > end:
        raise ValueError("cut short")
    length = data[pos + 1]
    start = pos + 2
    if length >= 0x80:
        size = length & 0x7F
        if not 1 <= size <= 4 or start + size > end:
            raise ValueError("a bad length")
        length = int.from_bytes(data[start : start + size], "big")
        start += size
    if start + length > end:
        raise ValueError("longer than what holds it")
    return Element(data[pos], pos, start, start + length)


def elements_in(data: bytes, start: int, end: int) -> Iterator[Element]:
    """Read the elements of a constructed one's content.

    Raises:
        ValueError: See `element_at`.
    """
    while start < end:
        element = element_at(data, start, end)
        yield element
        start = element.end


def is_sequence(data: bytes) -> bool:
    """Whether the whole of the bytes is one SEQUENCE, as every certificate is."""
    try:
        element = element_at(data, 0)
    except ValueError:
        return False
    return element.tag == SEQUENCE and element.end == len(data)
