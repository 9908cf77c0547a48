"""Which records have a line that a regular expression matches: for ``log --grep`` and whoever
else searches records by what they say.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from metashell.records.written_lines import WrittenLines, bounds, whole
from metashell.schema.arena import I64

GREP_CHARS: Final = 65_536
"""Characters of a line that are looked at."""
_WITHIN_A_LINE: Final = re.compile(
    r"(?: [^\\^$(+\x00-\x1f] | \\[^\w\s] | \\[dwSb] | \((?!\?) | (?<![*+?}])\+ )*", re.VERBOSE
)
"""Patterns that match no newline, and match in a line whatever stands around it: without anchors,
assertions, complements, and repetitions that give nothing back."""


def matching_rows(
    lines_of: Callable[[I64], Sequence[str]], rows: I64, pattern: re.Pattern[str]
) -> I64:
    """The rows whose line matches.

    Args:
        lines_of: Makes the lines of rows.
        rows: int64, ascending.
        pattern: The pattern to look for, in the first `GREP_CHARS` characters of a line.
    """
    if not len(rows):
        return rows
    return rows[np.fromiter(matching(lines_of(rows), pattern), dtype=np.int64)]


def matching(lines: Sequence[str], pattern: re.Pattern[str]) -> Iterator[int]:
    """Which lines match, ascending; none of them has a newline."""
    if lines and pattern.flags == re.UNICODE and _WITHIN_A_LINE.fullmatch(pattern.pattern):
        return _among(lines, pattern)
    search = pattern.search
    return (i for i, line in enumerate(lines) if search(line, 0, GREP_CHARS))


def _among(lines: Sequence[str], pattern: re.Pattern[str]) -> Iterator[int]:
    """Which lines match, looked for in many of them at once; they are one at least.

    A search keeps other threads waiting, so it takes no more than the longest line would.
    """
    in_lines, data = _searched(lines, pattern)
    begins, first = bounds(lines), 0
    while first < len(lines):
        behind = max(bisect_right(begins, begins[first] + GREP_CHARS) - 1, first + 1)
        at, end = begins[first], min(begins[behind], begins[first] + GREP_CHARS)
        while (found := in_lines.search(data, at, end)) is not None and found.start() < end:
            i = bisect_right(begins, found.start()) - 1
            yield i
            at = begins[i + 1]
        first = behind


def _searched(lines: Sequence[str], pattern: re.Pattern[str]) -> tuple[re.Pattern[Any], Any]:
    """The text to search, as bytes or as characters, and the pattern for it."""
    text = pattern.pattern
    if isinstance(lines, WrittenLines) and lines.is_ascii and text.isascii():
        # Bytes that are there take no copy. In ASCII they match as characters do: of those that
        # differ, control characters, a line has none.
        return re.compile(text.encode()), lines.raw
    return pattern, whole(lines)
