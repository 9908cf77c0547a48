"""The kernel gives what numpy gives, of mutated bytes too: each column and each verdict.

``METASHELL_SEEDS=N`` runs N seeds of each test, ``METASHELL_FIRST_SEED`` says with which to begin.
A seed is a few hundred mutated inputs.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest

from kraftgen.batch import CONTROL, Record, control_record, encode_batch_record, encode_raw_batch
from kraftgen.files import segment_name
from metashell.kernel import load
from metashell.log.chain import Chain, Chainer
from metashell.log.crc import crc32c
from metashell.log.frames import Frames, build_frames
from metashell.log.keyed_chain import KeyedChainer
from metashell.log.keyed_frames import KeyedFrames, build_keyed_frames
from metashell.log.read import load as load_files
from support.implementations import implemented_by
from support.seeds import examples

FIRST = int(os.environ.get("METASHELL_FIRST_SEED", "0"))
SEEDS = int(os.environ.get("METASHELL_SEEDS", examples(9)))
every_seed = pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))

pytestmark = pytest.mark.skipif(load.library() is None, reason=load.description())

NAME = segment_name(0)
BATCHES = 200
"""Of a seed."""


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Change a few bytes, mostly to what is special in a varint; sometimes none."""
    changed = bytearray(data)
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(5):
            case 0:
                changed[at : at + 1] = bytes([rng.choice((0, 1, 0x7F, 0x80, 0xFF))])
            case 1:
                changed[at:at] = rng.randbytes(rng.randrange(1, 4))
            case 2:
                del changed[at : at + rng.randrange(1, 4)]
            case 3 if at < len(changed):
                changed[at] ^= 1 << rng.randrange(8)
            case _:
                changed[at : at + 5] = b"\xff\xff\xff\xff" + bytes([rng.choice((7, 0x0F, 0x7F))])
    return bytes(changed)


def drawn_record(rng: random.Random, is_control: bool) -> Record:
    """Draw a record: mostly plain, sometimes with a key, headers, or a value that is no message."""
    if is_control:
        return control_record(rng.randrange(7), rng.randbytes(rng.choice((0, 1, 2, 9))))
    value = b"\x01" + bytes([rng.randrange(30), rng.randrange(3)]) + rng.randbytes(rng.randrange(9))
    if rng.randrange(4):
        return Record(value=value)
    return Record(
        value=rng.choice((None, b"", value[:2], value, b"\x01\x85\x80\x01\x83\x01" + value)),
        key=rng.choice((None, b"", b"\x00", rng.randbytes(rng.randrange(1, 6)))),
        timestamp_delta=rng.choice((0, -1, 1 << 40, 300)),
        headers=tuple((b"h" * rng.randrange(3), None) for _ in range(rng.randrange(3))),
    )


def drawn_log(rng: random.Random) -> bytes:
    """Draw batches of mutated records, each batch with the CRC that it should have."""
    log, offset = bytearray(), 0
    for _ in range(BATCHES):
        is_control = not rng.randrange(8)
        n = rng.choice((0, 1, 1, 2, 3, 8))
        records = [encode_batch_record(drawn_record(rng, is_control), i) for i in range(n)]
        if records and rng.randrange(2):
            at = rng.randrange(n)
            records[at] = mutated(rng, records[at])
        payload = b"".join(records)
        if not rng.randrange(3):
            payload = mutated(rng, payload)
        last = max(n - 1, 0)
        log += encode_raw_batch(
            payload,
            count=max(n + rng.choice((0, 0, 0, 0, 0, 0, 1, -1)), -1),
            base_offset=offset + rng.choice((0,) * 30 + (3, -1)),
            last_offset_delta=last,
            leader_epoch=rng.choice((1,) * 30 + (0, 2)),
            timestamp=0,
            attributes=CONTROL * is_control,
        )
        offset += last + 1
    return bytes(log)


def read(path: Path, name: str, chainer: type[Chainer] = Chainer) -> Chain:
    """Chain a file by one implementation."""
    with implemented_by(name):
        return load_files([str(path)], chainer=chainer).files[0].chain


def frames_of(path: Path, name: str) -> tuple[Frames, list[object]]:
    """Frame a file by one implementation."""
    with implemented_by(name):
        frames, faults = build_frames(load_files([str(path)]))
    return frames, list(faults)


def keyed_frames_of(path: Path, name: str) -> tuple[KeyedFrames, list[object]]:
    """Likewise as a log with keys."""
    with implemented_by(name):
        frames, faults = build_keyed_frames(load_files([str(path)], chainer=KeyedChainer))
    return frames, list(faults)


@every_seed
def test_frames(tmp_path: Path, seed: int) -> None:
    """Records lie in the same places, and the same batches are left out for the same reasons."""
    path = tmp_path / NAME
    path.write_bytes(drawn_log(random.Random(seed)))
    expected, faults = frames_of(path, "numpy")
    actual, found = frames_of(path, "kernel")

    assert faults == found
    assert faults
    assert len(expected)
    names = ("batch", "start", "body", "stop", "offset", "api_key", "version", "frame_version")
    for name in names:
        one, other = getattr(expected, name), getattr(actual, name)
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist(), name
    assert expected.batches.first_row.tolist() == actual.batches.first_row.tolist()


@every_seed
def test_keyed_frames(tmp_path: Path, seed: int) -> None:
    """So it is with a log whose records have keys."""
    path = tmp_path / NAME
    path.write_bytes(drawn_log(random.Random(seed)))
    expected, faults = keyed_frames_of(path, "numpy")
    actual, found = keyed_frames_of(path, "kernel")

    assert faults == found
    names = (
        *("batch", "start", "offset", "key_type", "value_version"),
        *("key", "key_size", "value", "value_size"),
    )
    for name in names:
        one, other = getattr(expected, name), getattr(actual, name)
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist(), name


@every_seed
@pytest.mark.parametrize("chainer", [Chainer, KeyedChainer])
def test_chain(tmp_path: Path, seed: int, chainer: type[Chainer]) -> None:
    """The same batches are sound, and the same is said of the others."""
    rng = random.Random(seed)
    log = drawn_log(rng)
    for i in range(examples(30)):
        path = tmp_path / NAME
        begin = rng.randrange(len(log) // 2)
        # From anywhere, and with a few bytes changed.
        path.write_bytes(mutated(rng, log if i else log[begin:]))
        assert read(path, "numpy", chainer) == read(path, "kernel", chainer)


@pytest.mark.parametrize("size", [*range(20), 511, 512, 1_535, 1_536, 1_537, 3_080, 100_000])
def test_crc(size: int) -> None:
    """Both sums of the kernel are CRC-32C, for any size."""
    library = load.library()
    assert library is not None
    data = random.Random(size).randbytes(size)
    held = np.frombuffer(data + b"x", dtype=np.uint8)
    from ctypes import c_int64, c_uint32, c_void_p

    for name in ("metashell_crc32c", "metashell_crc32c_by_table"):
        function = getattr(library, name)
        function.argtypes, function.restype = [c_void_p, c_int64], c_uint32
        assert crc32c(data) == function(held.ctypes.data, size), name


def test_a_large_batch_in_several_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of more records than a call frames goes on where the call before it ended."""
    from metashell.kernel import frames as kernel

    records = [encode_batch_record(Record(value=b"\x01\x05\x00" + bytes(i % 90)), i)
               for i in range(1_000)]  # fmt: skip
    bad = [*records[:500], records[500] + b"\x00", *records[501:]]
    malformed = [*records[:500], b"\x04\x00\x00", *records[501:]]
    (tmp_path / NAME).write_bytes(
        b"".join(
            encode_raw_batch(
                b"".join(those),
                count=1_000,
                base_offset=1_000 * i,
                last_offset_delta=999,
                leader_epoch=1,
                timestamp=0,
            )
            for i, those in enumerate((records, bad, malformed, records))
        )
    )
    expected, faults = frames_of(tmp_path / NAME, "numpy")
    monkeypatch.setattr(kernel, "_CALL_RECORDS", 7)
    monkeypatch.setattr(kernel, "_PIECE_RECORDS", 100)
    actual, found = frames_of(tmp_path / NAME, "kernel")

    assert faults == found
    assert 2 == len(found)
    assert expected.offset.tolist() == actual.offset.tolist()
    assert expected.body.tolist() == actual.body.tolist()
