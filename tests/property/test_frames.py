"""Batches that are written come out of the framing as they went in, of any size and codec."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftgen.batch import (
    CODEC_IDS,
    CONTROL,
    Codec,
    Record,
    control_record,
    encode_batch,
    encode_batch_record,
    encode_raw_batch,
)
from metashell.errors import DecodeError
from metashell.log.fault import Fault, FaultKind
from metashell.log.frames import NO_FRAME, NO_KEY, Frames, control_key
from metashell.log.framing import build_frames
from metashell.log.read import load
from metashell.records.records import Records
from metashell.schema.encode import encode_uvarint, encode_varint
from metashell.schema.rows import to_rows
from metashell.schema.scalar import (
    decode_frame,
    read_uvarint,
    read_varint,
    read_varlong,
)
from support.dump import record_value
from support.plain_batches import read_records
from support.seeds import examples
from support.strategies import DrawnRecord, builtin_registry, record_lists

pytestmark = pytest.mark.usefixtures("implementation")

NAME = "00000000000000000000.log"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose one file each example writes anew."""
    return tmp_path_factory.mktemp("frames")


def frame(folder: Path, data: bytes) -> tuple[Frames, list[Fault]]:
    """Frame the batches of a file of these bytes."""
    path = folder / NAME
    path.write_bytes(data)
    loaded = load([str(path)])
    frames, faults = build_frames(loaded)
    return frames, [*loaded.faults, *faults]


def check(folder: Path, data: bytes) -> Frames:
    """Compare every record with what a plain reader finds."""
    frames, faults = frame(folder, data)
    expected = list(read_records(data))
    rows = np.arange(len(frames))

    assert {FaultKind.GAP} >= {fault.kind for fault in faults}
    assert len(expected) == len(frames)
    assert [r.offset for r in expected] == frames.offset[:].tolist()
    assert [r.timestamp for r in expected] == frames.timestamps(rows).tolist()
    assert [r.batch.leader_epoch for r in expected] == frames.epochs(rows).tolist()
    for row, record in enumerate(expected):
        actual = record_value(frames, row)
        assert record.value == actual
        if not record.batch.is_control:
            numbers, size = _read_head(actual)
            columns = frames.frame_version, frames.api_key, frames.version
            assert numbers == tuple(int(column[row]) for column in columns)
            body = frames.arena.slice(int(frames.body[row]), int(frames.stop[row]))
            assert (actual or b"")[size:] == body
    return frames


def _read_head(value: bytes | None) -> tuple[tuple[int, int, int], int]:
    """Read frame version, api key and version as three varints, and the bytes they take."""
    data, pos, numbers = value or b"", 0, []
    try:
        for _ in range(3):
            number, pos = read_uvarint(data, pos, len(data))
            numbers.append(number)
    except DecodeError:
        return (NO_FRAME, NO_KEY, -1), 0
    return (numbers[0], numbers[1], numbers[2]), pos


@st.composite
def batch_records(draw: st.DrawFn) -> list[Record]:
    """Draw the records of a batch: keys, headers, nulls, gaps in the offsets."""
    n = draw(st.integers(1, 8))
    gaps = draw(st.lists(st.integers(0, 70), min_size=n, max_size=n))
    optional = st.none() | st.binary(max_size=6)
    headers = st.lists(
        st.tuples(st.binary(max_size=3), st.none() | st.binary(max_size=3)), max_size=2
    )
    values = (
        st.none()
        | st.binary(max_size=20)
        | st.builds(lambda n: b"\x01\x05" * n, st.integers(30, 90))
    )
    records, delta = [], -1
    for gap in gaps:
        delta += 1 + gap
        records.append(
            Record(
                value=draw(values),
                key=draw(optional),
                timestamp_delta=draw(st.integers(-(2**40), 2**40) | st.integers(-1, 1)),
                offset_delta=delta,
                headers=tuple(draw(st.just([]) | headers)),
            )
        )
    return records


codecs = st.sampled_from(sorted(CODEC_IDS))


@settings(max_examples=examples(30))
@given(
    batches=st.lists(st.tuples(batch_records(), codecs, st.integers(0, 5)), min_size=1, max_size=5)
)
def test_small_batches(folder: Path, batches: list[tuple[list[Record], Codec, int]]) -> None:
    """Any mix of keys, nulls, headers, gaps and codecs is framed as a plain reader reads it."""
    data, offset = bytearray(), 0
    for records, codec, gap in batches:
        offset += gap
        data += encode_batch(records, base_offset=offset, leader_epoch=offset, codec=codec)
        offset += (records[-1].offset_delta or 0) + 1
    check(folder, bytes(data))


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])
@given(
    batches=st.lists(
        st.tuples(record_lists(min_size=1, max_size=8), codecs), min_size=1, max_size=4
    )
)
def test_encode_decode(folder: Path, batches: list[tuple[list[DrawnRecord], Codec]]) -> None:
    """Records of all types and versions decode to the fields that they were made of."""
    drawn: list[DrawnRecord] = []
    data = bytearray()
    for records, codec in batches:
        data += encode_batch([r.value for r in records], base_offset=len(drawn), codec=codec)
        drawn += records
    (folder / NAME).write_bytes(data)
    records_of = Records(load([str(folder / NAME)]), builtin_registry())
    seen: dict[int, object] = {}
    for name in {r.spec.name for r in drawn}:
        wanted = np.array([i for i, r in enumerate(drawn) if r.spec.name == name])
        rows, columns = records_of.decode(name, wanted)
        seen.update(zip(rows.tolist(), to_rows(columns), strict=True))

    assert [] == records_of.faults
    assert {i: _known(r.fields) for i, r in enumerate(drawn)} == seen


def _known(value: object) -> object:
    if isinstance(value, dict):
        return {name: _known(part) for name, part in value.items() if name != "_unknown_tags"}
    return [_known(part) for part in value] if isinstance(value, list) else value


SHAPES: dict[str, Callable[[int], bytes]] = {
    "short": lambda i: b"\x01\x05\x00" + bytes(i % 3),
    "mixed": lambda i: b"\x01\x05\x00" + bytes([i & 0x7F]) * (i * 7919 % 150),
    "long": lambda i: b"\x01\x05\x00" + encode_uvarint(i) * (i % 400),
    # Values that look like records themselves: an offset delta of theirs and a null key.
    "alike": lambda i: b"\x01\x05\x00" + encode_batch_record(Record(value=b"\x01\x05\x00"), i) * 3,
    "alike-later": lambda i: (
        b"\x01\x05\x00" + b"".join(encode_batch_record(Record(value=b"x"), i + d) for d in range(4))
    ),
}


@pytest.mark.cases(11)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 2_048, 4_096, 4_097, 6_000, 13_000])
def test_large_batches(folder: Path, shape: str, count: int) -> None:
    """Batches that are cut into lanes are framed as they are without."""
    values = [SHAPES[shape](i) for i in range(count)]
    small = encode_batch([b"\x01\x05\x00first"])
    data = small + encode_batch(values, base_offset=1)
    frames, faults = frame(folder, data)

    assert [] == faults
    assert list(range(count + 1)) == frames.offset[:].tolist()
    expected = [b"first", *(value[3:] for value in values)]
    bounds = zip(frames.body[:].tolist(), frames.stop[:].tolist(), strict=True)
    whole = frames.arena.slice(0, frames.arena.size)
    assert expected == [whole[a:b] for a, b in bounds]


@pytest.mark.cases(7)
@pytest.mark.parametrize(
    "unusual",
    [
        {"key": b"k"},
        {"key": b""},
        {"headers": ((b"h", b"v"),)},
        {"timestamp_delta": 1 << 40},
        {"timestamp_delta": -5},
    ],
    ids=["key", "empty-key", "header", "late", "early"],
)
@pytest.mark.parametrize("every", [1, 7, 2_048])
def test_large_batches_of_unusual_records(
    folder: Path, unusual: dict[str, object], every: int
) -> None:
    """Keys, headers and times that no guess of a lane expects are framed all the same."""
    records = [
        Record(value=b"\x01\x05\x00" + bytes(i % 9), **(unusual if i % every == 0 else {}))  # type: ignore[arg-type]
        for i in range(6_500)
    ]
    check_sizes(folder, records)


def test_large_batch_with_gaps(folder: Path) -> None:
    """A large batch whose offsets have gaps is framed, its offsets as they are."""
    check_sizes(
        folder,
        [Record(value=b"\x01\x05\x00" + bytes(i % 5), offset_delta=3 * i) for i in range(6_500)],
    )


def check_sizes(folder: Path, records: list[Record]) -> None:
    """Frame one batch and compare offsets, times and the sizes of the messages."""
    frames, faults = frame(folder, encode_batch(records, timestamp=10_000))
    deltas = [i if r.offset_delta is None else r.offset_delta for i, r in enumerate(records)]

    assert [] == faults
    assert deltas == frames.offset[:].tolist()
    assert [len(r.value or b"") - 3 for r in records] == (frames.stop[:] - frames.body[:]).tolist()
    times = frames.timestamps(np.arange(len(frames))).tolist()
    assert [10_000 + r.timestamp_delta for r in records] == times


@pytest.mark.parametrize("at", [0, 1, 3_000, 6_499])
def test_large_batch_that_does_not_frame(folder: Path, at: int) -> None:
    """One wrong length in a large batch leaves it out whole, and the next batch counts."""
    pieces = [
        encode_batch_record(Record(value=b"\x01\x05\x00" + bytes(9)), i) for i in range(6_500)
    ]
    pieces[at] = encode_varint(len(pieces[at]) + 40) + pieces[at][1:]
    bad = encode_raw_batch(
        b"".join(pieces),
        count=6_500,
        base_offset=0,
        last_offset_delta=6_499,
        leader_epoch=1,
        timestamp=0,
    )
    frames, faults = frame(folder, bad + encode_batch([b"\x01\x05\x00next"], base_offset=6_500))

    assert [(FaultKind.DAMAGED, NAME, 0, 0)] == [(f.kind, f.file, f.pos, f.offset) for f in faults]
    assert [6_500] == frames.offset[:].tolist()


def test_log_append_time(folder: Path) -> None:
    """With the broker's time the batch's largest counts for every record."""
    payload = b"".join(
        encode_batch_record(Record(value=b"\x01\x05\x00", timestamp_delta=5 * i), i)
        for i in range(3)
    )
    data = encode_raw_batch(
        payload,
        count=3,
        base_offset=0,
        last_offset_delta=2,
        leader_epoch=1,
        timestamp=100,
        max_timestamp=777,
        attributes=0x08,
    )
    frames, _ = frame(folder, data)

    assert [777] * 3 == frames.timestamps(np.arange(3)).tolist()


def test_control_records(folder: Path) -> None:
    """Control records have their type for a key, beside data in other batches."""
    control = encode_batch(
        [control_record(2, b"\x00\x01abc"), control_record(5, bytes(5))], control=True
    )
    frames, faults = frame(folder, control + encode_batch([b"\x01\x02\x00"], base_offset=2))

    assert [] == faults
    assert [control_key(2), control_key(5), 2] == frames.api_key[:].tolist()
    assert [1, 0, 0] == frames.version[:].tolist()
    assert CONTROL & int(frames.batches.header["attributes"][0])


@settings(max_examples=examples(75))
@given(
    payload=st.binary(max_size=80),
    count=st.integers(-2, 12),
    last_delta=st.integers(-1, 12),
    attributes=st.sampled_from([0, 0, 0, 1, 2, 3, 4, 5, 7, CONTROL, 0x08]),
)
def test_random_payloads(
    folder: Path, payload: bytes, count: int, last_delta: int, attributes: int
) -> None:
    """A batch of random bytes gives records or a fault, and the batch behind it counts."""
    data = encode_raw_batch(
        payload,
        count=count,
        base_offset=0,
        last_offset_delta=last_delta,
        leader_epoch=1,
        timestamp=0,
        attributes=attributes,
    )
    frames, faults = frame(folder, data + encode_batch([b"\x01\x17\x00"], base_offset=20))

    assert 20 == frames.offset[-1]
    assert (frames.body[:] <= frames.stop[:]).all()
    assert (frames.stop[:] <= frames.arena.size).all()
    if len(frames) == 1 and count != 0:
        assert faults
    assert (np.diff(frames.offset[:]) >= 0).all() or not attributes & CONTROL


@settings(max_examples=examples(100))
@given(
    records=st.lists(st.binary(max_size=25), min_size=1, max_size=5), last_delta=st.integers(0, 6)
)
def test_random_record_bodies(folder: Path, records: list[bytes], last_delta: int) -> None:
    """Records whose lengths fit and whose insides are random are read as plain code reads them."""
    payload = b"".join(encode_varint(len(body)) + body for body in records)
    data = encode_raw_batch(
        payload,
        count=len(records),
        base_offset=0,
        last_offset_delta=last_delta,
        leader_epoch=1,
        timestamp=0,
    )
    frames, faults = frame(folder, data)
    expected = [plain_record(body, last_delta) for body in records]
    if len(payload) < 7 * len(records) or last_delta < len(records) - 1 or None in expected:
        assert (0, 1) == (len(frames), len(faults))
        return
    assert [] == faults
    assert [r and r[0] for r in expected] == frames.offset[:].tolist()
    assert [r and (r[1] or b"") for r in expected] == [
        frames.arena.slice(int(stop) - len((r and r[1]) or b""), int(stop))
        for r, stop in zip(expected, frames.stop[:].tolist(), strict=True)
    ]


def plain_record(body: bytes, last_delta: int) -> tuple[int, bytes | None] | None:
    """Read a record's (offset delta, value) byte by byte, or None where it is malformed."""
    stop = len(body)
    if not body:
        return None
    try:
        _, pos = read_varlong(body, 1, stop)
        delta, pos = read_varint(body, pos, stop)
        parts: list[bytes | None] = []
        for _ in range(2):
            size, pos = read_varint(body, pos, stop)
            if size < -1 or pos + max(size, 0) > stop:
                return None
            parts.append(None if size < 0 else body[pos : pos + size])
            pos += max(size, 0)
        n_headers, pos = read_varint(body, pos, stop)
        if n_headers < 0:
            return None
        for _ in range(n_headers):
            for least in (0, -1):
                size, pos = read_varint(body, pos, stop)
                if size < least or pos + max(size, 0) > stop:
                    return None
                pos += max(size, 0)
    except DecodeError:
        return None
    return (delta, parts[1]) if pos == stop and 0 <= delta <= last_delta else None


def test_frame_of_value_matches_scalar(folder: Path) -> None:
    """Frame version, api key and version of several bytes are read as by the scalar decoder."""
    numbers = [0, 1, 127, 128, 300, 16_383, 16_384, 32_767]
    values = [
        b"\x01" + encode_uvarint(key) + encode_uvarint(version)
        for key in numbers
        for version in numbers
    ]
    frames, _ = frame(folder, encode_batch(values))
    for row, value in enumerate(values):
        found = int(frames.api_key[row]), int(frames.version[row])
        assert decode_frame(value)[1:3] == found
