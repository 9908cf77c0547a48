"""Vectors of varints are read as single ones are, sound and malformed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.errors import DecodeError
from metashell.schema import scalar
from metashell.schema import varint as vectors
from metashell.schema.arena import I64, Arena
from metashell.schema.encode import encode_uvarint, encode_varint
from support.seeds import examples

Vector: TypeAlias = Callable[[Arena, I64, I64], tuple[I64, I64]]
Single: TypeAlias = Callable[[bytes, int, int], tuple[int, int]]

READERS = [
    pytest.param(vectors.read_uvarint, scalar.read_uvarint, id="uvarint"),
    pytest.param(vectors.read_varint, scalar.read_varint, id="varint"),
    pytest.param(vectors.read_varlong, scalar.read_varlong, id="varlong"),
]

EDGES = sorted(
    {
        edge + d
        for bits in (0, *range(6, 71, 7), 31, 32, 63)
        for edge in (1 << bits,)
        for d in (-1, 0, 1)
    }
)

encoded = st.one_of(
    st.integers(0, 2**31 - 1).map(encode_uvarint),
    st.integers(-(2**31), 2**31 - 1).map(encode_varint),
    st.integers(-(2**63), 2**63 - 1).map(encode_varint),
    st.sampled_from(EDGES).map(encode_uvarint),
    st.binary(max_size=12),
    # Longer than it need be, or never ending.
    st.integers(0, 12).map(lambda n: b"\x80" * n + b"\x00"),
    st.integers(0, 12).map(lambda n: b"\xff" * n),
    st.integers(0, 127).map(lambda last: b"\xff" * 4 + bytes([last])),
    st.integers(0, 127).map(lambda last: b"\xff" * 9 + bytes([last])),
)


def check(vector: Vector, single: Single, pieces: Sequence[bytes]) -> None:
    """Read one varint at the begin of each piece, with other pieces around."""
    data = b"".join(pieces)
    bounds = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    starts, ends = bounds[:-1].copy(), bounds[1:].copy()
    values, following = vector(Arena.from_bytes(data), starts, ends)
    for i in range(len(pieces)):
        start, end = int(starts[i]), int(ends[i])
        try:
            expected: tuple[int, int] | None = single(data, start, end)
        except DecodeError:
            expected = None
        actual = int(values[i]), int(following[i])
        if expected is None:
            # Cut off by its end, or malformed: either way the cursor stands beyond.
            assert actual[1] > end
        else:
            assert expected == actual


@pytest.mark.parametrize(("vector", "single"), READERS)
@settings(max_examples=examples(100))
@given(pieces=st.lists(encoded, min_size=1, max_size=8))
def test_like_single_ones(vector: Vector, single: Single, pieces: list[bytes]) -> None:
    """Values and cursors are those of the scalar reader; where that refuses, a cursor is beyond."""
    check(vector, single, pieces)


@pytest.mark.parametrize(("vector", "single"), READERS)
def test_every_width(vector: Vector, single: Single) -> None:
    """Values about each number of bytes are read, alone and between others."""
    pieces = [encode_uvarint(edge) for edge in EDGES]
    check(vector, single, pieces)
    for piece in pieces:
        check(vector, single, [piece])
        for cut in range(len(piece)):
            check(vector, single, [piece[:cut], b"\x05"])


@pytest.mark.parametrize("vector", [r.values[0] for r in READERS])
def test_none(vector: Vector) -> None:
    """No positions give no values."""
    nothing = np.empty(0, dtype=np.int64)
    values, following = vector(Arena.from_bytes(b""), nothing, nothing)

    assert (0, 0) == (len(values), len(following))


@pytest.mark.parametrize("vector", [r.values[0] for r in READERS])
def test_at_the_very_end(vector: Vector) -> None:
    """A cursor that stands beyond the last byte reads from the slack and fails nothing."""
    arena = Arena.from_bytes(b"\x80")
    at, end = np.array([0, 1, 2]), np.array([1, 1, 1])
    _, following = vector(arena, at, end)

    assert (following > end).all()
