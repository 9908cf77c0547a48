"""Names in order, however many there are and whoever else wants to run."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise
from typing import Final

from metashell.kernel import threads

_RUN: Final = 8_192
"""Names that are sorted in one go: some milliseconds."""


def in_order(names: Iterable[str]) -> list[str]:
    """Names by code point.

    A sort holds Python's lock to its end: a tenth of a second for 100,000 names. A thread that
    gives way to others sorts pieces and merges them two by two, so others run in between. That
    takes three quarters more time.
    """
    found = list(names)
    if not threads.leaves_a_cpu():
        found.sort()
        return found
    bounds = [*range(0, len(found), _RUN), len(found)]
    runs = [sorted(found[start:stop]) for start, stop in pairwise(bounds)]
    while len(runs) > 1:
        # Python finds the two parts that are in order already.
        runs = [sorted(chain(*runs[i : i + 2])) for i in range(0, len(runs), 2)]
    return runs[0] if runs else []
