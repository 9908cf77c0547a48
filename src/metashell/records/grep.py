"""Which records have a line that a regular expression matches: for ``log --grep`` and whoever
else searches records by what they say.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from metashell.schema.arena import I64

GREP_CHARS: Final = 65_536
"""Characters of a line that are looked at."""
_SIGNS: Final = frozenset("\\.^$*+?{}[]|()\n")
"""Characters that mean something else than themselves, or end a line."""


def matching_rows(
    lines_of: Callable[[I64], Sequence[str]], rows: I64, pattern: re.Pattern[str]
) -> I64:
    """The rows whose line matches.

    Args:
        lines_of: Makes the lines of rows.
        rows: int64, ascending.
        pattern: What is looked for, in the first `GREP_CHARS` characters of a line.
    """
    if not len(rows):
        return rows
    return rows[np.fromiter(matching(lines_of(rows), pattern), dtype=np.int64)]


def matching(lines: Sequence[str], pattern: re.Pattern[str]) -> Iterator[int]:
    """Which lines match, ascending; none of them has a newline."""
    if max(map(len, lines), default=0) > GREP_CHARS:
        lines = [line[:GREP_CHARS] for line in lines]
    text = pattern.pattern
    if pattern.flags == re.UNICODE and text and _SIGNS.isdisjoint(text):
        return _containing(lines, text)
    search = pattern.search
    return (i for i, line in enumerate(lines) if search(line))


def _containing(lines: Sequence[str], text: str) -> Iterator[int]:
    """Which lines contain a text: looked for in all of them at once."""
    whole = "\n".join(lines)
    at = whole.find(text)
    ends: list[int] = []
    while at >= 0:
        if not ends:
            ends = list(accumulate(len(line) + 1 for line in lines))
        i = bisect_right(ends, at)
        yield i
        at = whole.find(text, ends[i])
