"""Where copies of a log leave each other is what a look at every pair of batches finds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metashell.checks.agreement import first_conflict
from metashell.schema.arena import I64


@st.composite
def _copies(draw: st.DrawFn) -> list[I64]:
    """Copies of one log, some with batches missing, cut otherwise, or of another CRC."""
    sizes = draw(st.lists(st.integers(1, 3), max_size=10))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        rows, base = [], 0
        for size in sizes:
            kind = draw(st.sampled_from(["same", "same", "same", "missing", "cut", "other"]))
            if kind == "cut" and size > 1:
                rows += [(base, base, 1, 7), (base + 1, base + size - 1, 1, 7)]
            elif kind != "missing":
                rows.append((base, base + size - 1, 1, 8 if kind == "other" else 7))
            base += size
        found.append(np.array(rows, dtype=np.int64).reshape(-1, 4))
    return found


@given(_copies())
def test_first_conflict(copies: list[I64]) -> None:
    """It is the first offset that two batches have both, and are not the same."""
    conflicts = [
        max(a[0], b[0])
        for one, other in combinations([copy.tolist() for copy in copies], 2)
        for a in one
        for b in other
        if a != b and a[0] <= b[1] and b[0] <= a[1]
    ]

    assert min(conflicts, default=None) == first_conflict(copies)
