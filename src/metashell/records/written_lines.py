"""Lines that lie side by side in one piece of bytes: they need not become strings one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Final, overload

import numpy as np

from metashell.schema.arena import I64, U1

ENCODING: Final = ("utf-8", "surrogatepass")
"""File names may have bytes that are not UTF-8, which Python holds as surrogates."""


class WrittenLines(Sequence[str]):
    """Lines in one piece of bytes.

    Args:
        data: uint8[size]: all lines, each with its end.
        bounds: int64[n + 1]: where each begins, and where the last ends.
    """

    def __init__(self, data: U1, bounds: I64) -> None:
        self._data, self._bounds = data, bounds

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            first, end, step = index.indices(len(self))
            if step != 1:
                return list(self)[index]
            return WrittenLines(self._data, self._bounds[first : max(first, end) + 1])
        row = range(len(self))[index]
        return self._text(self._bounds[row], self._bounds[row + 1] - 1)

    def __iter__(self) -> Iterator[str]:
        bounds = pairwise(self._bounds.tolist())
        if self.is_ascii:
            text = self._text(0, len(self._data))
            return (text[first : end - 1] for first, end in bounds)
        return (self._text(first, end - 1) for first, end in bounds)

    def _text(self, first: int, end: int) -> str:
        return str(self._data[first:end].data, *ENCODING)

    @cached_property
    def is_ascii(self) -> bool:
        """Whether a byte is a character."""
        return not len(self._data) or bool(self._data.max() < 0x80)

    @property
    def raw(self) -> memoryview:
        """The bytes of all lines, each with its end."""
        return self._data[self._bounds[0] : self._bounds[-1]].data

    def whole(self) -> str:
        """All lines, each with its end."""
        return str(self.raw, *ENCODING)

    def bounds(self) -> list[int]:
        """Where each line begins in `whole`, and where the last ends; in characters."""
        bounds = self._bounds
        if not self.is_ascii:
            n_before = np.zeros(len(self._data) + 1, dtype=np.int64)
            np.cumsum(self._data & 0xC0 != 0x80, out=n_before[1:])
            bounds = n_before[bounds]
        in_text: list[int] = (bounds - bounds[0]).tolist()
        return in_text

    def with_others(self, rows: I64, others: Sequence[str]) -> WrittenLines:
        """Put lines in the place of some that have no bytes, not even an end.

        Args:
            rows: int64[k], ascending: which have none.
            others: k lines, without their ends.
        """
        texts = [np.frombuffer(f"{text}\n".encode(*ENCODING), dtype=np.uint8) for text in others]
        pieces, at = [], 0
        for place, text in zip(self._bounds[rows].tolist(), texts, strict=True):
            pieces += [self._data[at:place], text]
            at = place
        pieces.append(self._data[at:])
        sizes = np.diff(self._bounds)
        sizes[rows] = [len(text) for text in texts]
        bounds = np.zeros(len(self._bounds), dtype=np.int64)
        np.cumsum(sizes, out=bounds[1:])
        return WrittenLines(np.concatenate(pieces), bounds)


def whole(lines: Sequence[str]) -> str:
    """Lines, of which there is one at least, each with its end."""
    return lines.whole() if isinstance(lines, WrittenLines) else "\n".join(lines) + "\n"


def bounds(lines: Sequence[str]) -> list[int]:
    """Where each line begins in `whole`, and where the last ends; in characters."""
    if isinstance(lines, WrittenLines):
        return lines.bounds()
    return list(accumulate((len(line) + 1 for line in lines), initial=0))
