"""Numbers in few words."""

from __future__ import annotations

from itertools import chain, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metashell.answers.ranges import ranges_texts


def read(text: str) -> list[int]:
    """The numbers that a text stands for."""
    pairs = [part.partition("-") for part in text.split(",")]
    return [n for low, _, high in pairs for n in range(int(low), int(high or low) + 1)]


@given(st.lists(st.sets(st.integers(0, 30), min_size=1), min_size=1))
def test_texts_say_the_numbers(groups: list[set[int]]) -> None:
    """All of them, those of each group, as shortly as first and last can say them."""
    numbers = [sorted(group) for group in groups]
    starts = np.cumsum([0, *map(len, numbers[:-1])])
    texts = ranges_texts(np.array([*chain(*numbers)], dtype=np.int64), starts).to_pylist()

    assert [read(text) for text in texts] == numbers
    for text, group in zip(texts, numbers, strict=True):
        gaps = sum(b - a > 1 for a, b in pairwise(group))
        assert text.count(",") == gaps


def test_no_rows() -> None:
    """Nothing is said of nothing."""
    nothing = np.empty(0, dtype=np.int64)
    assert ranges_texts(nothing, nothing).to_pylist() == []
