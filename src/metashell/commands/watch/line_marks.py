"""The differences between two outputs, line by line and word by word. Pure.

Cost is bounded: what is too large to be compared well is taken as replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, TypeAlias

from metashell.dataclass import dataclass

_MOST_LINES: Final = 2_000
"""Lines on either side, common ends left out, that are compared in full."""
_MOST_WORDS: Final = 2_000
_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")

MarkedPiece: TypeAlias = tuple[str, bool]
"""Some text, and whether it is new."""


@dataclass(frozen=True, slots=True)
class MarkedLine:
    """A line of the new output."""

    pieces: tuple[MarkedPiece, ...]
    mark: str
    """``+`` for a new one, ``~`` for one that took the place of another, a space for an old one."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many lines are new, changed and gone."""

    new: int = 0
    changed: int = 0
    gone: int = 0

    def __str__(self) -> str:
        parts = ((self.new, "+"), (self.changed, "~"), (self.gone, "-"))
        return " ".join(f"{sign}{n}" for n, sign in parts if n)


def marked(old: Sequence[str], new: Sequence[str]) -> tuple[list[MarkedLine], Counts]:
    """The new lines, with what is new in them."""
    lines: list[MarkedLine] = []
    n_new = n_changed = n_gone = 0
    for i, i_end, j, j_end in _steps(old, new):
        if old[i:i_end] == new[j:j_end]:
            lines += [MarkedLine(((text, False),), " ") for text in new[j:j_end]]
            continue
        n_paired = min(i_end - i, j_end - j)
        for k in range(n_paired):
            lines.append(MarkedLine(tuple(_words(old[i + k], new[j + k])), "~"))
        lines += [MarkedLine(((text, True),), "+") for text in new[j + n_paired : j_end]]
        n_changed += n_paired
        n_new += j_end - j - n_paired
        n_gone += i_end - i - n_paired
    return lines, Counts(n_new, n_changed, n_gone)


def differences(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Lines that are gone behind a ``-``, and new ones behind a ``+``, in order."""
    for i, i_end, j, j_end in _steps(old, new):
        if old[i:i_end] != new[j:j_end]:
            yield from (f"-{text}" for text in old[i:i_end])
            yield from (f"+{text}" for text in new[j:j_end])


def _steps(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Spans of both that stand for each other, in order: equal ones and unequal ones."""
    n = min(len(old), len(new))
    head = next((k for k in range(n) if old[k] != new[k]), n)
    tail = next((k for k in range(n - head) if old[-1 - k] != new[-1 - k]), n - head)
    i_end, j_end = len(old) - tail, len(new) - tail
    yield 0, head, 0, head
    if max(i_end, j_end) - head > _MOST_LINES:
        yield head, i_end, head, j_end
    else:
        matcher = SequenceMatcher(None, old[head:i_end], new[head:j_end], autojunk=False)
        for _, a, a_end, b, b_end in matcher.get_opcodes():
            yield head + a, head + a_end, head + b, head + b_end
    yield i_end, len(old), j_end, len(new)


def _words(old: str, new: str) -> Iterator[MarkedPiece]:
    a, b = _WORD.findall(old), _WORD.findall(new)
    if max(len(a), len(b)) > _MOST_WORDS:
        yield new, True
        return
    for tag, _, _, begin, end in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if begin < end:
            yield "".join(b[begin:end]), tag != "equal"
