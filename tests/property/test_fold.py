"""The tools of the fold against plain Python: ragged reads, groups, survivors, uuid texts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.image import fold
from metashell.image.fold import group_keys, last_marked, sort_events, survivors
from metashell.schema.arena import AnyArray, Arena, gather_ragged
from metashell.schema.columns import SpanColumn
from metashell.schema.uuids import parse_uuid, uuid_text, uuid_texts
from support.seeds import examples
from support.strategies import CHARACTERS

pytestmark = pytest.mark.usefixtures("implementation")

ITEM_SIZES = {"u1": 1, ">i2": 2, ">i4": 4, ">i8": 8, "V16": 16}


@settings(max_examples=examples(75))
@given(
    dtype=st.sampled_from(sorted(ITEM_SIZES)),
    data=st.binary(max_size=300),
    runs=st.lists(st.tuples(st.integers(0, 300), st.integers(-1, 12)), max_size=8),
    same=st.booleans(),
)
def test_gather_ragged(dtype: str, data: bytes, runs: list[tuple[int, int]], same: bool) -> None:
    """Runs of elements are what slicing each from the bytes gives, equally long ones too."""
    item = ITEM_SIZES[dtype]
    starts = [min(start, len(data)) for start, _ in runs]
    counts = [
        min(count, (len(data) - start) // item)
        for start, (_, count) in zip(starts, runs, strict=True)
    ]
    if same:
        counts = [min(counts, default=0)] * len(counts)
    values, list_offsets = gather_ragged(
        Arena.from_bytes(data),
        dtype,
        np.array(starts, dtype=np.int64),
        np.array(counts, dtype=np.int64),
    )
    pieces = [data[s : s + max(c, 0) * item] for s, c in zip(starts, counts, strict=True)]
    whole = np.frombuffer(b"".join(pieces), dtype=dtype)

    assert whole.tobytes() == values.astype(values.dtype.newbyteorder(">")).tobytes()
    assert values.dtype.isnative
    assert [len(p) // item for p in pieces] == np.diff(list_offsets).tolist()
    assert 0 == list_offsets[0]


def test_gather_ragged_in_pieces() -> None:
    """Runs so long that they are read in several pieces come out in order."""
    data = np.arange(1 << 21, dtype="<u4").tobytes()[: 1 << 22]
    starts = np.arange(0, 1 << 22, 5_003, dtype=np.int64)
    counts = np.minimum(np.arange(len(starts)) * 7 % 5_000 + 1, (1 << 22) - starts)
    values, list_offsets = gather_ragged(Arena.from_bytes(data), "u1", starts, counts)
    expected = b"".join(
        data[s : s + c] for s, c in zip(starts.tolist(), counts.tolist(), strict=True)
    )

    assert expected == values.tobytes()
    assert [0, *np.cumsum(counts).tolist()] == list_offsets.tolist()


def string_column(texts: list[bytes | None]) -> SpanColumn:
    """Put strings into an arena, in another order than the rows'."""
    data, starts = bytearray(b"\x00"), {}
    for text in sorted({t for t in texts if t is not None}):
        starts[text] = len(data)
        data += text
    return SpanColumn(
        Arena.from_bytes(data),
        "u1",
        np.array([0 if t is None else starts[t] for t in texts], dtype=np.int64),
        np.array([-1 if t is None else len(t) for t in texts], dtype=np.int64),
    )


keys = st.tuples(
    st.one_of(st.none(), st.sampled_from([b"", b"\x00", b"\x00\x00", b"a", b"b", b"ab"])),
    st.sampled_from([b"", b"a", b"ba"]),
    st.integers(-2, 2),
    st.sampled_from([bytes(16), bytes(15) + b"\x01", b"\x01" + bytes(15)]),
)


@pytest.mark.parametrize("colliding", [False, True], ids=["plain", "colliding"])
@given(rows=st.lists(keys, max_size=20))
def test_group_keys(rows: list[tuple[bytes | None, bytes, int, bytes]], colliding: bool) -> None:
    """Groups are those of a dict of tuples, also where every hash collides."""
    parts: list[AnyArray | SpanColumn] = [
        string_column([row[0] for row in rows]),
        string_column([row[1] for row in rows]),
        np.array([row[2] for row in rows], dtype=np.int8),
        np.frombuffer(b"".join(row[3] for row in rows), dtype="V16"),
    ]
    with pytest.MonkeyPatch.context() as patch:
        if colliding:
            # Only numpy's hashes can collide; see `test_kernel` for those of the kernel.
            patch.setattr(fold, "library", lambda: None)
            patch.setattr(fold, "_hash_part", lambda part: np.zeros(len(rows), dtype=np.uint64))
        groups = group_keys(parts, len(rows)).tolist()

    numbers: dict[object, int] = {}
    assert len(rows) == len(groups)
    for row, group in zip(rows, groups, strict=True):
        assert numbers.setdefault(row, group) == group
    assert len(numbers) == len(set(groups))
    assert set(range(len(numbers))) == set(groups)


events = st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=25)


@given(
    events=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), max_size=25), data=st.data()
)
def test_survivors(events: list[tuple[int, int]], data: st.DataObject) -> None:
    """What is left is what a replay in order leaves, whatever order the events are given in."""
    rows_in_order = list(range(len(events)))
    order = data.draw(st.one_of(st.just(rows_in_order), st.permutations(rows_in_order)))
    all_apply = data.draw(st.booleans())
    state: dict[int, tuple[int, int]] = {}
    for row, (key, effect) in enumerate(events):
        if effect == 2:
            state.pop(key, None)
        elif effect or all_apply:
            state[key] = (state.get(key, (row, row))[0], row)
    groups = np.array([events[row][0] for row in order], dtype=np.int64)
    effects = np.array([events[row][1] for row in order], dtype=np.int64)
    rows = np.array(order, dtype=np.int64)
    expected = sorted((created, last) for created, last in state.values())
    alive = survivors(groups, rows, effects == 2, None if all_apply else effects == 1)
    assert expected == list(
        zip(rows[alive.created].tolist(), rows[alive.last].tolist(), strict=True)
    )


@given(events=events)
def test_last_marked(events: list[tuple[int, bool]]) -> None:
    """The nearest marked event at or before each in its group is found."""
    groups = np.array([key for key, _ in events], dtype=np.int64)
    marks = np.array([mark for _, mark in events], dtype=np.bool_)
    by_group = sort_events(groups, np.arange(len(events)))
    found = last_marked(by_group, marks[by_group.order])
    latest: dict[int, int] = {}
    for at, row in enumerate(by_group.order.tolist()):
        key, mark = events[row]
        if mark:
            latest[key] = at
        assert latest.get(key, -1) == found[at]
    ordered = [(events[row][0], row) for row in by_group.order.tolist()]
    assert all(a < b for a, b in pairwise(ordered))


@given(st.lists(st.binary(min_size=16, max_size=16), max_size=10))
def test_uuid_texts(ids: list[bytes]) -> None:
    """Texts made together are those made one by one, and read back as the bytes."""
    texts = uuid_texts(np.frombuffer(b"".join(ids), dtype="V16"))

    assert [uuid_text(raw) for raw in ids] == texts
    assert ids == [parse_uuid(text) for text in texts]


@given(st.text("AQgw-_+/= é", max_size=24) | st.text(CHARACTERS, max_size=24))
def test_parse_uuid(text: str) -> None:
    """A text is a uuid only in the one form that is written."""
    raw = parse_uuid(text)

    assert raw is None or text == uuid_text(raw)
