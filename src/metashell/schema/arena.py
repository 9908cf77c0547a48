"""One buffer of bytes, seen as overlapping numbers at every byte position.

Every decoder works on an `Arena`: all bytes of a source in one place, so that a position is one
number whatever file it lies in. Its views have a stride of one byte: element *i* of ``be32`` is the
big-endian int32 that begins at byte *i*, so ``arena.be32[pos]`` reads n unaligned numbers at once
without a copy of the rest.

Reads may start anywhere up to `Arena.size` and run into the slack behind it, which is zero. So a
cursor has to be checked against the end of its record only after it moved by a length that came
from the input, not before each fixed-size read.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from metashell.kernel import library as kernel_library
from metashell.kernel.gather import gather, gather_each

SLACK: Final = 1024
"""Zero bytes behind the last one; more than the fixed-size fields of any message add up to."""

_SHORT: Final = 16
"""Lists up to that length are compared place by place."""

LEAST_GATHERED: Final = 16_384
"""Fewer elements are gathered sooner than the kernel is called."""

U1: TypeAlias = npt.NDArray[np.uint8]
I64: TypeAlias = npt.NDArray[np.int64]
I32: TypeAlias = npt.NDArray[np.int32]
Bools: TypeAlias = npt.NDArray[np.bool_]
AnyArray: TypeAlias = npt.NDArray[Any]


def _keep_freed_memory() -> None:
    """Let glibc's allocator keep what a block's temporaries free, for the next block's.

    It maps large arrays one by one and unmaps them again, each time at a page fault for every
    4 KB, until it has seen a large one freed. So it is shown one, of which no page is ever touched.
    """
    np.empty(31 << 20, dtype=np.uint8)


_keep_freed_memory()


class Arena:
    """Bytes with stride-one views.

    Args:
        buffer: A writable or read-only buffer of at least ``size + SLACK`` bytes.
        size: Bytes that count; those behind must be zero.
    """

    def __init__(self, buffer: Any, size: int) -> None:
        self.size = size
        self.u1: U1 = np.frombuffer(buffer, dtype=np.uint8, count=size + SLACK)

    @property
    def content(self) -> U1:
        """uint8[size]: the bytes that count, without the slack; nothing is copied."""
        return self.u1[: self.size]

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Arena:
        """Copy bytes into an arena of their own (tests, single values)."""
        return cls(bytes(data) + bytes(SLACK), len(data))

    @cached_property
    def le16(self) -> AnyArray:
        """Two bytes as a little-endian uint16: the first byte is the lowest."""
        return self._view("<u2")

    @cached_property
    def le32(self) -> AnyArray:
        """Four bytes as a little-endian uint32: the first byte is the lowest."""
        return self._view("<u4")

    @cached_property
    def le64(self) -> AnyArray:
        """Eight bytes as a little-endian uint64: the first byte is the lowest."""
        return self._view("<u8")

    @cached_property
    def _views(self) -> dict[str, AnyArray]:
        return {}

    def _view(self, dtype: str) -> AnyArray:
        """An element at every byte position from which one may be read."""
        n = self.size + SLACK // 2
        return np.ndarray(shape=(n,), dtype=dtype, buffer=self.u1, strides=(1,))

    def gather(self, dtype: str, pos: AnyArray) -> AnyArray:
        """Read one element of `dtype` at each position, as native-endian numbers.

        Args:
            dtype: Such as ``">i4"`` or ``"V16"``; at most ``SLACK // 2`` bytes long.
            pos: int64[n] or int32[n], each at most ``size + SLACK // 2``.

        Returns:
            dtype[n], native byte order.
        """
        if len(pos) >= LEAST_GATHERED:
            values = self._gathered(dtype, pos)
            if values is not None:
                return values
        view = self._views.get(dtype)
        if view is None:
            view = self._views[dtype] = self._view(dtype)
        values = view[pos]
        if not values.dtype.isnative:
            # Swapping in place and relabelling is several times cheaper than astype.
            values = values.byteswap(inplace=True).view(values.dtype.newbyteorder("="))
        return values

    def _gathered(self, dtype: str, pos: AnyArray) -> AnyArray | None:
        """`gather` by the kernel; None where numpy has to do it, or to refuse it."""
        library = kernel_library.library()
        if library is None or pos.dtype.kind != "i" or pos.ndim != 1:
            return None

        one = np.dtype(dtype)
        # The bytes end where numpy's view of them ends.
        data = self.u1[: self.size + SLACK // 2 + one.itemsize - 1]
        return gather_each(library, data, one, np.ascontiguousarray(pos, dtype=np.int64))

    def slice(self, start: int, stop: int) -> bytes:
        """The bytes of one span."""
        return self.u1[start:stop].tobytes()


def rows_with(marked: Bools, list_offsets: I64) -> Bools:
    """bool[n]: rows with a marked element.

    Args:
        marked: bool[m]: of each element of all rows.
        list_offsets: int64[n + 1]: where each row's elements begin.
    """
    out = np.zeros(len(list_offsets) - 1, dtype=np.bool_)
    out[np.searchsorted(list_offsets, np.flatnonzero(marked), side="right") - 1] = True
    return out


def gather_ragged(
    arena: Arena, dtype: str, starts: AnyArray, counts: AnyArray
) -> tuple[AnyArray, I64]:
    """Read runs of elements that begin at `starts` into one array.

    Args:
        arena: The bytes.
        dtype: The dtype of one element, such as ``">i4"``; ``"u1"`` for bytes.
        starts: int64[n] or int32[n], where each run begins.
        counts: int[n], elements in each run; nothing is read where it is 0 or less.

    Returns:
        (values: dtype[sum of counts], native; list_offsets: int64[n + 1]).

    Cost: a copy of the elements; by numpy an index per element where runs are not equally long.
    """
    list_offsets = list_offsets_of(counts)
    total = int(list_offsets[-1])
    if total == 0:
        return np.empty(0, dtype=np.dtype(dtype).newbyteorder("=")), list_offsets
    library = kernel_library.library()
    if library is not None:
        data = arena.content
        values = gather(library, data, np.dtype(dtype), starts, list_offsets)
        if values is not None:
            return values, list_offsets
    return _gathered(arena, dtype, starts, counts, list_offsets), list_offsets


def list_offsets_of(counts: AnyArray) -> I64:
    """Where the elements of each row begin among all: int64[n + 1]."""
    n = len(counts)
    if n and (counts == counts[0]).all():
        list_offsets = np.arange(n + 1, dtype=np.int64)
        list_offsets *= max(int(counts[0]), 0)
        return list_offsets
    list_offsets = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.maximum(counts, 0), out=list_offsets[1:])
    return list_offsets


def ranges(begins: I64, sizes: I64) -> tuple[I64, I64]:
    """The numbers of ranges behind each other, and where each range begins among them.

    Args:
        begins: int64[n]: the first number of each.
        sizes: int64[n]: how many numbers each has.

    Returns:
        (int64[sum of sizes], int64[n + 1]).
    """
    list_offsets = list_offsets_of(sizes)
    numbers = np.repeat(begins - list_offsets[:-1], sizes)
    numbers += np.arange(len(numbers), dtype=np.int64)
    return numbers, list_offsets


def repeats(rows: I64, values: AnyArray) -> Bools:
    """Which elements of lists are equal to one before them in their list: bool[m].

    Args:
        rows: int64[m], ascending: which list each is in.
        values: int32[m] or int64[m]: the elements; none has more than 32 bits.
    """
    out = np.zeros(len(rows), dtype=np.bool_)
    longest = int(np.bincount(rows).max()) if len(rows) else 0
    if longest > _SHORT:
        keys = (rows << 32) | (values.astype(np.int64) & 0xFFFFFFFF)
        out[:] = True
        out[np.unique(keys, return_index=True)[1]] = False
        return out
    for back in range(1, longest):
        out[back:] |= (rows[back:] == rows[:-back]) & (values[back:] == values[:-back])
    return out


def _gathered(
    arena: Arena, dtype: str, starts: AnyArray, counts: AnyArray, list_offsets: I64
) -> AnyArray:
    """The elements of `gather_ragged` by numpy; there is one at least."""
    n, item = len(counts), np.dtype(dtype).itemsize
    native = np.dtype(dtype).newbyteorder("=")
    width, total = int(list_offsets[1]), int(list_offsets[-1])
    if width * n == total and width * item <= SLACK // 2 and (counts == width).all():
        values = arena.gather(f"V{width * item}", starts).view(dtype)
        if native != dtype:
            values = values.byteswap(inplace=True).view(native)
        return values
    sizes = np.diff(list_offsets)
    pieces = []
    # In chunks: the index of a byte takes eight, and names can make up most of a file.
    step = max(1, n * 262_144 // total)
    for first in range(0, n, step):
        part = slice(first, min(first + step, n))
        size = sizes[part]
        base = starts[part] - (list_offsets[part] - list_offsets[first]) * item
        index = np.repeat(base, size)
        index += np.arange(len(index), dtype=np.int64) * item
        pieces.append(arena.u1.take(index) if dtype == "u1" else arena.gather(dtype, index))
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
