"""Keyed records of every format are found where they were written, and damage harms nothing."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftgen.batch import (
    CODEC_IDS,
    Codec,
    Record,
    compress,
    encode_batch,
    encode_batch_record,
    encode_raw_batch,
)
from kraftgen.files import segment_name
from kraftgen.old_messages import encode_message, wrap_messages
from metashell.log.chain import COMPACTED
from metashell.log.frames import NO_NUMBER, Frames
from metashell.log.framing import build_frames
from metashell.log.payloads import INFLATED_BYTES, RECORD_BYTES
from metashell.log.read import load, windows
from support.seeds import examples
from support.strategies import damaged

pytestmark = pytest.mark.usefixtures("implementation")

NAME = segment_name(0)
TIME = 1_790_000_000_000

Row = tuple[int, int, bytes | None, bytes | None]
"""Offset, timestamp, key, value."""


@dataclass(frozen=True)
class Written:
    """The bytes of a segment and the records in it."""

    data: bytes
    rows: list[Row]


@pytest.fixture(scope="module", name="path")
def fixture_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a segment's path, which examples write again and again."""
    return tmp_path_factory.mktemp("keyed") / NAME


def framed(path: Path, data: bytes) -> Frames:
    """Write a segment and frame it."""
    path.write_bytes(data)
    frames, _ = build_frames(load([str(path)], kind=COMPACTED), has_keys=True)
    return frames


def rows_of(frames: Frames) -> list[Row]:
    """Take frames apart."""
    rows = np.arange(len(frames))
    columns = frames.offset[:].tolist(), frames.timestamps(rows).tolist()
    return list(zip(*columns, frames.keys(rows), frames.values(rows), strict=True))


def number_of(data: bytes | None) -> int:
    """Read what a key or a value begins with."""
    if data is None or len(data) < 2:
        return NO_NUMBER
    return int.from_bytes(data[:2], "big", signed=True)


parts = st.one_of(
    st.none(), st.binary(max_size=5), st.sampled_from([b"x" * 63, b"y" * 64, b"\x00\x01" * 4_200])
)


@st.composite
def segments(draw: st.DrawFn) -> Written:
    """Draw a segment of batches and messages of all formats, with gaps in the offsets."""
    data, rows, offset = bytearray(), list[Row](), draw(st.integers(0, 3))
    for _ in range(draw(st.integers(1, 5))):
        records = draw(st.lists(st.tuples(parts, parts), min_size=1, max_size=4))
        steps = draw(st.lists(st.integers(1, 3), min_size=len(records), max_size=len(records)))
        offsets = [offset + step for step in np.cumsum(steps).tolist()]
        times = [TIME + draw(st.integers(0, 300)) for _ in records]
        magic = draw(st.sampled_from([0, 1, 2]))
        codecs: list[Codec] = ["none", "gzip", "snappy", "lz4", *(["zstd"] if magic == 2 else [])]
        codec = draw(st.sampled_from(codecs))
        pairs = list(zip(offsets, records, times, strict=True))
        if magic == 2:
            batch = [
                Record(key=k, value=v, offset_delta=o - offsets[0], timestamp_delta=t - TIME)
                for o, (k, v), t in pairs
            ]
            data += encode_batch(batch, base_offset=offsets[0], timestamp=TIME, codec=codec)
        elif codec == "none":
            for o, (k, v), t in pairs:
                data += encode_message(magic, o, k, v, timestamp=t)  # type: ignore[arg-type]
        else:
            appended = draw(st.sampled_from([None, TIME + 999])) if magic else None
            data += wrap_messages(
                magic,  # type: ignore[arg-type]
                [(o, k, v, t) for o, (k, v), t in pairs],
                codec,
                append_time=appended,
            )
            times = times if appended is None else [appended] * len(times)
        times = times if magic else [-1] * len(times)
        rows += [(o, t, k, v) for o, (k, v), t in zip(offsets, records, times, strict=True)]
        offset = offsets[-1]
    return Written(bytes(data), rows)


@settings(max_examples=examples(75))
@given(written=segments())
def test_every_format(path: Path, written: Written) -> None:
    """Offsets, times, keys and values are those written, and so are the numbers they begin with."""
    frames = framed(path, written.data)

    assert written.rows == rows_of(frames)
    assert [number_of(key) for _, _, key, _ in written.rows] == frames.api_key.narrow.tolist()
    assert [number_of(value) for *_, value in written.rows] == frames.version.narrow.tolist()


@settings(max_examples=examples(30))
@given(written=segments(), size=st.sampled_from([1, 30, 61, 100, 300]))
def test_windows(path: Path, written: Written, size: int) -> None:
    """Read in windows the records and the positions of their batches are the same."""
    whole = framed(path, written.data)
    rows, positions = list[Row](), list[int]()
    for window in windows(str(path), size, kind=COMPACTED):
        frames, faults = build_frames(window, has_keys=True)
        assert [] == faults == window.files[0].chain.faults
        rows += rows_of(frames)
        positions += (frames.batches.pos - window.files[0].start).tolist()

    assert rows_of(whole) == rows
    assert whole.batches.pos.tolist() == positions


@settings(max_examples=examples(125))
@given(data=damaged(segments().map(lambda written: written.data)))
def test_damage(path: Path, data: bytes) -> None:
    """Damaged bytes give records that lie in the bytes, or faults."""
    path.write_bytes(data)
    loaded = load([str(path)], kind=COMPACTED)
    frames, _ = build_frames(loaded, has_keys=True)
    positions = np.frombuffer(loaded.files[0].chain.positions, dtype=np.int64)

    assert (np.diff(positions) > 0).all()
    for starts, sizes in ((frames.key, frames.key_size), (frames.body.narrow, frames.value_size)):
        assert (starts >= 0).all()
        assert (sizes >= -1).all()
        assert (starts + np.maximum(sizes, 0) <= frames.arena.size).all()
    assert len(frames) == len(rows_of(frames))


def hostile_messages() -> Iterator[tuple[str, bytes]]:
    """Messages whose CRC is right and whose insides lie."""
    one = encode_message(1, 5, b"k", b"v")
    yield "no value", encode_message(1, 5, b"k", None, attributes=1)
    yield "not compressed", encode_message(1, 5, None, b"no gzip", attributes=1)
    yield "codec of batches", encode_message(1, 5, None, b"", attributes=4)
    older = gzip.compress(encode_message(0, 5, b"k", b"v"))
    yield "magic differs", encode_message(1, 5, None, older, attributes=1)
    yield "before 0", wrap_messages(1, [(-3, b"a", b"b", 0), (5, b"a", b"b", 0)], "gzip")
    yield "offsets go back", wrap_messages(0, [(7, b"a", b"b", 0), (5, b"a", b"b", 0)], "gzip")
    yield "key too long", one[:26] + b"\x7f\xff\xff\xff" + one[30:]
    yield "value too long", one[:31] + b"\x7f\xff\xff\xff" + one[35:]


@pytest.mark.parametrize(
    "message",
    [data for _, data in hostile_messages()],
    ids=[name for name, _ in hostile_messages()],
)
def test_hostile_messages(path: Path, message: bytes) -> None:
    """What lies about its insides is a fault, and what follows counts."""
    message = message[:12] + zlib.crc32(message[16:]).to_bytes(4, "big") + message[16:]
    path.write_bytes(message + encode_message(0, 9, b"k", None))
    loaded = load([str(path)], kind=COMPACTED)
    frames, faults = build_frames(loaded, has_keys=True)

    assert [(9, -1, b"k", None)] == rows_of(frames)
    assert [0] == [fault.pos for fault in (*faults, *loaded.files[0].chain.faults)]


@pytest.mark.parametrize("filler", [b"\x00", b"\x00\x01", b"\x00\x00\x00\x0e"])
def test_filled_with_what_is_like_messages(path: Path, filler: bytes) -> None:
    """Behind zeros the next sound batch is found; what is like messages ends the search early."""
    fill = filler * (200_000 // len(filler))
    message = encode_message(1, 5, b"k", b"v", timestamp=7)
    path.write_bytes(b"\xff" + fill + message + b"\xff" + fill)
    loaded = load([str(path)], kind=COMPACTED)
    frames, _ = build_frames(loaded, has_keys=True)

    assert ([(5, 7, b"k", b"v")] if filler == b"\x00" else []) == rows_of(frames)
    assert loaded.files[0].chain.faults


def test_wrapped_bomb(path: Path) -> None:
    """A message of a few bytes that inflates to more than a batch may have is left out."""
    bomb = wrap_messages(0, [(5, b"k", bytes(13 << 20), 0)], "gzip")
    frames = framed(path, bomb + encode_message(0, 9, b"k", b""))

    assert [9] == frames.offset[:].tolist()


def test_tiny_wrapped_messages(path: Path) -> None:
    """Wrapped messages take memory each: those that do not fit beside others are left out."""
    n = 100_000
    one = encode_message(1, 0, None, None)
    inner = b"".join(struct.pack(">q", i) + one[8:] for i in range(n))
    wrap = partial(encode_message, 1, key=None, value=gzip.compress(inner, 1), attributes=1)
    frames = framed(path, b"".join(wrap(i * n) for i in range(1, 13)))

    assert 0 < len(frames) * RECORD_BYTES <= INFLATED_BYTES + 2 * path.stat().st_size


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("middle", [b"\x7f", b"\x00"])
def test_rows_of_the_batches_behind_a_bad_one(path: Path, codec: Codec, middle: bytes) -> None:
    """Of a batch that does not frame no row is left, and the others keep theirs."""
    records = [encode_batch_record(Record(key=b"k", value=b"1"), at) for at in range(3)]
    records[1] = middle * len(records[1])
    bad = encode_raw_batch(
        compress(b"".join(records), codec),
        count=3,
        base_offset=10,
        last_offset_delta=2,
        leader_epoch=1,
        timestamp=TIME,
        attributes=CODEC_IDS[codec],
    )
    before, behind = (
        encode_batch([Record(key=b"k", value=value)] * n, base_offset=offset, codec=codec)
        for offset, n, value in ((0, 2, b"0"), (20, 4, b"2"))
    )
    frames = framed(path, before + bad + behind)
    assert [0, 2, 2, 6] == frames.batches.first_row.tolist()
    assert [0, 0, 2, 2, 2, 2] == frames.batch[:].tolist()
    assert [b"0"] * 2 + [b"2"] * 4 == frames.values(np.arange(6))


def test_what_is_cut_off_in_a_message(path: Path) -> None:
    """A wrapped message that is cut off is not there, and the others are."""
    inner = b"".join(encode_message(0, offset, b"k", b"v") for offset in (3, 4, 5))[:-2]
    data = encode_message(0, 5, None, gzip.compress(inner), attributes=1)

    assert [3, 4] == framed(path, data).offset[:].tolist()
