"""Texts of columns, written many at a time."""

from __future__ import annotations

import numpy as np
import pytest

from metashell.schema import arrow
from metashell.schema.arrow_texts import number_texts
from metashell.schema.uuids import uuid_texts

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


@pytest.mark.parametrize("n_different", [1, 3, 400])
def test_ids_that_come_often_are_those_texts(
    monkeypatch: pytest.MonkeyPatch, n_different: int
) -> None:
    """Each text is made once then, and stands where its id does."""
    monkeypatch.setattr(arrow, "_MANY", 10)
    random = np.random.default_rng(7)
    different = random.integers(0, 256, (n_different, 16), dtype=np.uint8).view("V16").reshape(-1)
    ids = different[random.integers(0, n_different, 500)]
    assert uuid_texts(ids) == arrow.uuid_array(ids).to_pylist()
