"""Elements at positions all over an arena, against plain bytes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from metashell.schema.arena import SLACK, Arena
from support.implementations import IMPLEMENTATIONS, implemented_by

DATA = random.Random(1).randbytes(1_000)
POSITIONS = [*range(len(DATA) + 1), 5, 5, len(DATA) + SLACK // 2 - 1]
DTYPES = (">i2", ">u4", ">i8", "u1", "i1", "<u8", "V16", "V32", "V61")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_elements_are_those_of_the_bytes(implementation: str, dtype: str) -> None:
    """Behind the last byte there are zeros."""
    one = np.dtype(dtype)
    whole = DATA + bytes(SLACK)
    expected = [np.frombuffer(whole, one, 1, at)[0] for at in POSITIONS]
    with implemented_by(implementation):
        found = Arena.from_bytes(DATA).gather(dtype, np.array(POSITIONS, dtype=np.int64))
    assert found.dtype.isnative
    assert one.itemsize == found.dtype.itemsize
    assert [value.item() for value in expected] == found.tolist()


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_a_position_far_behind_the_end_is_an_error(implementation: str) -> None:
    """It is one for numpy, so it is one for the kernel."""
    positions = np.array([0, len(DATA) + SLACK // 2], dtype=np.int64)
    with implemented_by(implementation), pytest.raises(IndexError):
        Arena.from_bytes(DATA).gather(">i4", positions)
