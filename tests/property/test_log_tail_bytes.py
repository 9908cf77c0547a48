"""Whatever bytes lie in a log's directory, its end is told or an error that says why not."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftgen.batch import control_record, encode_batch
from kraftgen.old_messages import encode_message
from metashell.answers.hanging import open_producers, open_table, producers_table
from metashell.answers.transactions import TRANSACTION_SCHEMA
from metashell.image.coordinators.producers import fold_producers
from metashell.log import batch_headers
from metashell.log.log_tail import LogTail
from metashell.log.read import opened
from support.strategies import damaged

_OFFSETS = st.sampled_from([0, 1, 5, (1 << 31) + 1, (1 << 63) - 3])


@st.composite
def _batch(draw: st.DrawFn) -> bytes:
    offset, producer = draw(_OFFSETS), draw(st.integers(-1, 2))
    match draw(st.sampled_from(["data", "marker", "old", "zeros"])):
        case "data":
            n = draw(st.integers(0, 3))
            return encode_batch(
                [b"x"] * n,
                base_offset=offset,
                producer_id=producer,
                transactional=draw(st.booleans()),
            )
        case "marker":
            record = control_record(draw(st.integers(0, 3)), struct.pack(">hi", 0, 7))
            return encode_batch(
                [record], base_offset=offset, producer_id=producer, control=True, transactional=True
            )
        case "old":
            return encode_message(draw(st.sampled_from([0, 1])), offset, b"k", b"v", timestamp=5)
    return bytes(draw(st.integers(0, 80)))


@st.composite
def _log(draw: st.DrawFn) -> bytes:
    whole = b"".join(draw(st.lists(_batch(), max_size=4)))
    return draw(damaged(st.just(whole))) if whole and draw(st.booleans()) else whole


@pytest.fixture(scope="module", name="place")
def fixture_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a directory, which examples write again and again."""
    return tmp_path_factory.mktemp("t-0")


@settings(max_examples=200)
@given(
    segments=st.lists(_log(), min_size=1, max_size=3),
    snapshot=st.binary(max_size=120),
    index=st.binary(max_size=40),
    asked=st.lists(_OFFSETS, max_size=3),
)
def test_any_bytes(
    place: Path, segments: list[bytes], snapshot: bytes, index: bytes, asked: list[int]
) -> None:
    """Ends, times, producers and what is open come out of any segments, snapshots and indexes."""
    for file in place.iterdir():
        file.unlink()
    for i, segment in enumerate(segments):
        (place / f"{i * 3:020d}.log").write_bytes(segment)
        (place / f"{i * 3:020d}.index").write_bytes(index)
        (place / f"{i * 3 + 1:020d}.snapshot").write_bytes(snapshot)
    tail = LogTail(str(place), "t-0")
    end = tail.end()
    assert 0 <= end.start_offset <= end.end_offset
    assert len(asked) == len(tail.batch_times(asked))
    history = tail.producers()
    state = fold_producers(history)
    assert sorted(set(state.producer_id.tolist())) == state.producer_id.tolist()
    table = open_producers(producers_table(state, "t", 0))
    opened = open_table(table, TRANSACTION_SCHEMA.empty_table(), is_complete=True, end_ms=7)
    assert len(table) == len(opened)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1 << 30),
    flips=st.lists(st.integers(0, 1 << 20), max_size=3),
    from_offset=st.integers(0, 1200),
    until=st.sampled_from([500, 900, 1 << 62]),
)
def test_many_batches_at_once(
    place: Path, seed: int, flips: list[int], from_offset: int, until: int
) -> None:
    """Many small batches that are walked over together tell the same as one after the other."""
    rng = random.Random(seed)
    data, offset = bytearray(), 0
    for _ in range(500):
        producer, n = rng.randint(-1, 2), rng.randint(1, 3)
        kind, is_marker = rng.randint(0, 2), rng.random() < 0.2
        records = (
            [control_record(kind, bytes(6))] if is_marker else [b"x" * rng.randint(300, 900)] * n
        )
        data += encode_batch(
            records,
            base_offset=offset,
            producer_id=producer,
            control=is_marker,
            transactional=producer >= 0,
            timestamp=1_790_000_000_000 + rng.randint(0, 9000),
        )
        offset += len(records) + (rng.random() < 0.1)
    for at in flips:
        data[at % len(data)] ^= 0x10
    path = place / "many"
    path.write_bytes(data)
    found = []
    for many in (1 << 62, 8):
        walk = batch_headers.HeaderWalk(from_offset=from_offset)
        with patch.object(batch_headers, "_MANY", many), opened(str(path)) as source:
            end = walk.segment(source, "many", 0, until)
        kept = walk.headers
        columns = (kept.header.tobytes(), kept.marker.tolist(), kept.coordinator_epoch.tolist())
        times = (walk.last_offset, walk.last_timestamp_ms, walk.n_batches)
        found.append((end, columns, times, list(map(str, walk.faults))))
    assert found[0] == found[1]
