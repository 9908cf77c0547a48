"""Counting by number: what the commands build on."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metashell.answers.usage.metadata import MetadataUsage
from metashell.answers.usage.usage import Tally, hour_name
from metashell.schema.model import load_registry

KEYS = st.lists(st.one_of(st.integers(-3, 30), st.integers(-(1 << 62), 1 << 62)), max_size=30)


@given(st.lists(KEYS, max_size=4))
def test_tally_is_a_counter(parts: list[list[int]]) -> None:
    """Whatever the keys, close to each other or far apart, in one part or several."""
    tally, n_records = Tally(n_marks=1), Counter[int]()
    n_bytes, n_odd = Counter[int](), Counter[int]()
    for part in parts:
        keys, sizes = np.array(part, dtype=np.int64), np.arange(len(part))
        tally.add(keys, sizes, sizes % 2 == 1)
        for key, size in zip(part, sizes.tolist(), strict=True):
            n_records[key] += 1
            n_bytes[key] += size
            n_odd[key] += size % 2

    expected = [(key, n_bytes[key], n, n_odd[key]) for key, n in sorted(n_records.items())]
    assert expected == tally.by_key()
    assert sorted(expected, key=lambda row: -row[1]) == tally.by_bytes()
    assert sorted(expected, key=lambda row: (-row[2], -row[1])) == tally.by_records()
    assert all((row[1], row[2]) == tally.amounts(row[0]) for row in expected)
    assert (0, 0) == tally.amounts(31)


def test_ids_of_one_hash_stay_apart() -> None:
    """Topic ids are told apart by all their bytes."""
    factor = 0x9E3779B97F4A7C15
    same = [(0, 0), (factor, 1), (0, 0), (5, 7)]
    ids = np.array(same, dtype="<u8").view("V16").ravel()

    numbers = MetadataUsage(load_registry([]), {"topic"})._number(ids).tolist()

    assert numbers[0] == numbers[2]
    assert 3 == len(set(numbers))


def test_hours_have_names() -> None:
    """No time has one too."""
    assert "1970-01-01T00Z" == hour_name(0)
    assert "2026-09-21T14Z" == hour_name(497_222)
    assert "(no time)" == hour_name(-1)
