"""Integers kept as differences read as the array that they stand for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metashell.log.deltas import Deltas

_SMALL = st.integers(-130, 130)
_NUMBERS = _SMALL | st.integers(-(2**31), 2**31) | st.sampled_from((-(2**63), 2**63 - 1))
_N = 12


@given(
    st.lists(st.tuples(st.integers(0, _N - 1), st.lists(_NUMBERS, min_size=1, max_size=5))),
    st.none() | st.lists(_SMALL, min_size=_N, max_size=_N),
)
def test_reads_and_writes_as_an_array(
    writes: list[tuple[int, list[int]]], base: list[int] | None
) -> None:
    """Whatever is written, in any order, with a base or without one."""
    of = np.zeros(_N, dtype=np.int64) if base is None else np.array(base, dtype=np.int64)
    deltas = Deltas(_N, None if base is None else lambda rows: of[rows].copy())
    expected = of.copy()
    with np.errstate(over="ignore"):
        for first, values in writes:
            rows = slice(first, first + len(values))
            some = np.array(values, dtype=np.int64)[: _N - first]
            deltas[rows], expected[rows] = some, some
        assert expected.tolist() == deltas[:].tolist() == np.asarray(deltas).tolist()
        assert expected.tolist() == deltas.narrow.tolist()
        picked = np.array([_N - 1, 0, 0])
        assert expected[picked].tolist() == deltas[picked].tolist()
        assert [int(deltas[row]) for row in range(_N)] == expected.tolist()
    assert deltas[:].dtype == np.int64


def test_takes_as_few_bytes_as_the_largest_needs() -> None:
    """And never fewer than before, since others may read meanwhile."""
    sizes = []
    deltas = Deltas(10, dtype="i4")
    for number in (127, 128, 1, -(2**15), 2**15, 2**31 - 1):
        deltas[3] = number
        sizes.append(deltas.nbytes)
        assert number == deltas[3]
    assert sizes == [10, 20, 20, 20, 40, 40]
    assert deltas[:].dtype == np.int32


def test_is_counted_from_another() -> None:
    """A base that is kept so itself."""
    start = Deltas(3)
    end = Deltas(3, start.__getitem__)
    start[:] = np.array([1_000_000, 2_000_000, 3_000_000])
    end[:] = start[:] + np.array([1, 2, 100])
    assert [1_000_001, 2_000_002, 3_000_100] == end[:].tolist()
    assert (12, 3) == (start.nbytes, end.nbytes)
