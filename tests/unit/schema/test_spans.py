"""Hashes and comparisons of many spans, against plain bytes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metashell.schema.arena import Arena
from metashell.schema.spans import hash_spans, same_spans

TEXTS = st.lists(
    st.one_of(st.none(), st.binary(max_size=40), st.sampled_from([b"\0", b"\0" * 8, b"a" * 16])),
    max_size=30,
)


def _placed(texts: list[bytes | None]) -> tuple[Arena, np.ndarray, np.ndarray]:
    data, starts = b"", []
    for text in texts:
        starts.append(len(data))
        data += (text or b"") + b"\xff"
    sizes = [-1 if text is None else len(text) for text in texts]
    return Arena.from_bytes(data), np.array(starts, dtype=np.int64), np.array(sizes, dtype=np.int64)


@given(TEXTS)
def test_hashes_are_equal_where_the_bytes_are(texts: list[bytes | None]) -> None:
    """Null, empty and zero bytes are told apart."""
    arena, starts, sizes = _placed(texts)
    hashes = hash_spans(arena, starts, sizes).tolist()
    assert len(set(texts)) == len(set(hashes))
    assert dict(zip(texts, hashes, strict=True)) == dict(
        zip(reversed(texts), reversed(hashes), strict=True)
    )


@given(TEXTS, st.integers(0, 29), st.integers(0, 39))
def test_a_byte_makes_spans_differ(texts: list[bytes | None], which: int, at: int) -> None:
    """Copies are the same; with one byte changed they are not."""
    copies = list(texts)
    arena, starts, sizes = _placed([*texts, *copies])
    n = len(texts)
    assert same_spans(arena, starts[:n], starts[n:], sizes[:n])
    if which < n and (text := texts[which]):
        at %= len(text)
        copies[which] = text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]
        arena, starts, sizes = _placed([*texts, *copies])
        assert not same_spans(arena, starts[:n], starts[n:], sizes[:n])


def test_many_spans_are_taken_in_blocks() -> None:
    """Of more spans than a block has, each is hashed."""
    texts = [str(i).encode() for i in range(40_000)]
    arena, starts, sizes = _placed(texts)  # type: ignore[arg-type]
    assert 40_000 == len(np.unique(hash_spans(arena, starts, sizes)))
    assert same_spans(arena, starts, starts, sizes)
    assert not same_spans(arena, starts[:-1], starts[1:], sizes[:-1])
