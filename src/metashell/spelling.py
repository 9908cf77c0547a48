"""Finds the name that a mistyped word was meant to be, or the names that are like it.

These are pure functions over words. A search makes a bounded number of comparisons.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Final

_LONGEST: Final = 249
_FEW: Final = 3
_ALIKE: Final = 0.7
_ALIKE_SHORT: Final = 0.5
"""How much alike names have to be, by `difflib`; those of a few letters, which one slip changes."""
_MOST_COMPARED: Final = 2000
"""Names that are compared letter by letter, which is slow."""


def near(word: str, names: Collection[str]) -> str | None:
    """The one name that a word was meant to be: it differs in case, is cut off, or has a slip.

    A slip is a letter too much, missing, wrong, or in its neighbour's place. A word of eight
    letters may have two.
    """
    folded = word.casefold()
    if not folded or len(word) > _LONGEST:
        return None
    for name in names:
        if name.casefold() == folded and name != word:
            return name
    limit = _slips(len(folded))
    best: tuple[int, str] | None = None
    for name in names:
        if name == word or abs(len(name) - len(folded)) > limit:
            continue
        slips = distance(folded, name.casefold(), limit)
        if slips is not None and (best is None or (slips, name) < best):
            best = (slips, name)
    return _begun(folded, names) if best is None else best[1]


def _slips(length: int) -> int:
    """How many slips a word of that length may have."""
    return 0 if length < 3 else 1 if length < 8 else 2


def _begun(folded: str, names: Iterable[str]) -> str | None:
    """The name that a word begins, where that is one, or the beginning of all the others."""
    if len(folded) < 2:
        return None
    begun = sorted((name for name in names if name.casefold().startswith(folded)), key=len)
    return begun[0] if begun and all(name.startswith(begun[0]) for name in begun) else None


def distance(a: str, b: str, limit: int) -> int | None:
    """How many slips are between two words; None for more than `limit`."""
    if not limit:
        return 0 if a == b else None
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, above, row = row, before, [i]
        for j, other in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return None
    return row[-1] if row[-1] <= limit else None


def near_names(word: str, names: Iterable[str], limit: int = 3) -> list[str]:
    """The names that are most like a word, the nearest first; of very many, likely ones only."""
    from difflib import get_close_matches

    if set("*?[{") & set(word):
        return []
    wanted, head = word.casefold(), word[:1].casefold()
    folded = {name.casefold(): name for name in names}
    holding = sorted((n for n in folded if wanted and wanted in n), key=lambda n: (len(n), n))
    likely = list(folded)
    if len(folded) > _MOST_COMPARED:
        alike = (n for n in folded if n.startswith(head) or wanted in n)
        likely = list(islice(alike, _MOST_COMPARED))
    found = [
        *get_close_matches(wanted, likely, limit, _ALIKE if len(wanted) > _FEW else _ALIKE_SHORT),
        *holding,
    ]
    return [folded[name] for name in dict.fromkeys(found)][:limit]


def did_you_mean(near: Sequence[str]) -> str:
    """``did you mean a, b or c?``; empty where nothing is near."""
    if not near:
        return ""
    *others, last = near
    return f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
