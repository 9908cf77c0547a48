"""Texts of columns, written many at a time."""

from __future__ import annotations

import numpy as np
import pytest

from metashell.schema.arrow_texts import number_texts

_INT64 = np.iinfo(np.int64)


@pytest.mark.parametrize(
    "values",
    [
        [_INT64.max],
        [_INT64.max] * 5 + [_INT64.max - 1],
        [_INT64.min] * 5 + [_INT64.min + 1],
        [_INT64.min, _INT64.max],
        [-1] * 5 + [1, 0],
        [],
    ],
)
def test_numbers(values: list[int]) -> None:
    """Each is written with all of its digits, also where numbers lie close together."""
    assert list(map(str, values)) == number_texts(np.array(values, dtype=np.int64)).to_pylist()
