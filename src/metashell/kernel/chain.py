"""Hops over sound batches in C. Imports no numpy: what only chains batches needs none."""

from __future__ import annotations

from array import array
from ctypes import CDLL, Structure, byref, c_char, c_int64
from typing import Final

_CAPACITY: Final = 8_192
"""Positions that one call can find."""

_CALL_BYTES: Final = 32 << 20
"""Bytes that one call sums up: some milliseconds, or 20 without the processor's instruction."""

_MOST_OFFSET: Final = (1 << 63) - (1 << 33)


class _Chain(Structure):
    """``struct chain``."""

    _fields_ = [
        ("pos", c_int64),
        ("bound", c_int64),
        ("last_offset", c_int64),
        ("last_epoch", c_int64),
        ("found", c_int64),
        ("may_miss", c_int64),
    ]


def hop(
    library: CDLL,
    view: memoryview,
    span: tuple[int, int, int],
    last: tuple[int, int],
    positions: array[int],
    may_miss: bool,
) -> tuple[int, int, int]:
    """Hop over batches that are sound and follow on each other.

    Args:
        library: The kernel's.
        view: The bytes, writable (so that their address can be had).
        span: Position to begin at, end of the bytes, and the position where the walk ends.
        last: Offset and epoch of the last batch before.
        positions: int64: the position of each batch found is added.
        may_miss: Whether offsets may be missing.

    Returns:
        (where the first that is not sound, or is odd, begins; the last offset; the last epoch).
    """
    pos, stop, bound = span
    if not -1 <= last[0] < _MOST_OFFSET:
        return pos, *last
    chain = _Chain(pos, bound, *last, 0, may_miss)
    found = array("q", bytes(8 * _CAPACITY))
    address, _ = found.buffer_info()
    data = (c_char * 0).from_buffer(view)
    function = library.metashell_chain
    while True:
        before = chain.pos
        function(byref(data), stop, byref(chain), address, _CAPACITY, _CALL_BYTES)
        positions.frombytes(memoryview(found)[: chain.found].cast("B"))
        if chain.pos == before:
            return chain.pos, chain.last_offset, chain.last_epoch
