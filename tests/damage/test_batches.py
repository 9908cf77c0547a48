"""Damaged batches: each is a fault that names file, position and offset, and the others count."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import metashell
from kraftgen.batch import (
    HEADER,
    Codec,
    Damage,
    Record,
    encode_batch,
    encode_batch_record,
    encode_raw_batch,
)
from kraftgen.files import segment_name
from metashell.errors import SourceError
from metashell.log import chain
from metashell.log.chain import Chainer
from metashell.log.crc import crc32c
from metashell.log.fault import Fault, FaultKind
from support.logs import make_directory, topic_batch, topic_log, topic_record, topics_of
from support.seeds import chosen

pytestmark = pytest.mark.usefixtures("implementation")

NAME = segment_name(0)
UNCOVERED = range(12, 16)
"""Bytes of a header that nothing protects: the leader epoch."""


def fault_of(source: metashell.Source) -> Fault:
    """The only fault."""
    (fault,) = source.all_faults()
    return fault


def test_truncated_at_every_byte(tmp_path: Path) -> None:
    """A segment cut anywhere shows its whole batches and says where the torn one begins."""
    batches = topic_log(3)
    whole = b"".join(batches)
    ends = [sum(map(len, batches[: n + 1])) for n in range(3)]
    directory = make_directory(tmp_path, (0, whole))
    path = directory / NAME
    for size in sorted({*chosen(24, len(whole) + 1), *ends}):
        path.write_bytes(whole[:size])
        n_whole = sum(end <= size for end in ends)
        source = metashell.open(directory)
        assert set(range(2 * n_whole)) == topics_of(source)
        at = ends[n_whole - 1] if n_whole else 0
        # Of the first batch's offset only zeros are there: a preallocated file looks the same.
        torn = any(whole[at:size])
        found = [(f.kind, f.file, f.pos, f.offset) for f in source.all_faults()]
        assert [(FaultKind.TORN, NAME, at, 2 * n_whole)] * torn == found
        assert torn == ("torn tail" in source.status().notes)
        if n_whole:
            alone = metashell.open_file(path)
            assert set(range(2 * n_whole)) == topics_of(alone)
            assert torn == bool(alone.all_faults())
        else:
            with pytest.raises(SourceError, match=NAME):
                metashell.open_file(path)


@pytest.mark.cases(61)
@pytest.mark.parametrize("at", range(HEADER.size))
@pytest.mark.parametrize("bit", [0, 6, 7])
def test_flipped_bit_in_header(tmp_path: Path, at: int, bit: int) -> None:
    """A bit flipped in a header loses that batch at most, and is told with its place."""
    batches = topic_log(3)
    damaged = bytearray(batches[1])
    damaged[at] ^= 1 << bit
    directory = make_directory(tmp_path, (0, batches[0] + bytes(damaged) + batches[2]))
    source = metashell.open(directory)
    faults = source.all_faults()

    if at in UNCOVERED:
        assert {0, 1, 2, 3, 4, 5} == topics_of(source)
        places = {len(batches[0]), len(batches[0] + damaged)}
    else:
        assert {0, 1, 4, 5} == topics_of(source)
        places = {len(batches[0])}
    assert faults
    assert faults[0].pos in places
    assert all(f.file == NAME and f.pos is not None and f.offset is not None for f in faults)


@pytest.mark.parametrize("at", range(8))
def test_flipped_bit_in_the_first_offset(tmp_path: Path, at: int) -> None:
    """A first batch that claims a far offset does not make the others look like old ones."""
    batches = topic_log(3)
    damaged = bytearray(batches[0])
    damaged[at] ^= 0x40
    source = metashell.open(make_directory(tmp_path, (0, bytes(damaged) + batches[1] + batches[2])))

    assert {2, 3, 4, 5} == topics_of(source)
    assert 0 == fault_of(source).pos or FaultKind.GAP is source.all_faults()[-1].kind


@pytest.mark.parametrize("length", [2**31 - 1, 2**31 - 13, 1 << 30, 0, 48, -1, -(2**31)])
@pytest.mark.parametrize("last", [False, True], ids=["in the middle", "at the end"])
def test_lying_length(tmp_path: Path, length: int, last: bool) -> None:
    """A batch that claims 2 GB, or less than a header, is skipped or ends the file."""
    batches = topic_log(3)
    lie = encode_batch([topic_record(9)], base_offset=2, damage=Damage(batch_length=length))
    data = batches[0] + lie + (b"" if last else topic_batch(3, 2))
    source = metashell.open(make_directory(tmp_path, (0, data)))
    fault = fault_of(source)

    assert ({0, 1} if last else {0, 1, 3, 4}) == topics_of(source)
    assert (NAME, len(batches[0]), 2) == (fault.file, fault.pos, fault.offset)


def raw(payload: bytes, count: int, **header: Any) -> bytes:
    """Make a batch of offset 2 and following whose CRC holds."""
    fields = {"last_offset_delta": max(count - 1, 0), "attributes": 0, **header}
    return encode_raw_batch(
        payload, count=count, base_offset=2, leader_epoch=1, timestamp=0, **fields
    )


SOUND = encode_batch_record(Record(value=topic_record(9)), 0)
BAD_INSIDES = {
    "endless length": raw(b"\x80" * 40, 1),
    "endless length of ones": raw(b"\xff" * 40, 1),
    "length beyond the batch": raw(b"\x7e" + SOUND[1:], 1),
    "length of 2 GB": raw(b"\xfe\xff\xff\xff\x0f" + SOUND[1:], 1),
    "negative length": raw(b"\x05" + SOUND[1:], 1),
    "endless time delta": raw(b"\x28\x00" + b"\x80" * 19, 1),
    "endless value length": raw(b"\x28\x00\x00\x00\x01" + b"\x80" * 16, 1),
    "value beyond the record": raw(b"\x10\x00\x00\x00\x01\x7e\x01\x02\x00", 1),
    "no room for headers": raw(b"\x10\x00\x00\x00\x01\x06\x01\x02\x00", 1),
    "headers that are not there": raw(b"\x12\x00\x00\x00\x01\x06\x01\x02\x00\x7e", 1),
    "more records than bytes": raw(SOUND, 2**31 - 1, last_offset_delta=2**31 - 1),
    "more records than there are": raw(SOUND, 2),
    "fewer records than there are": raw(SOUND + encode_batch_record(Record(value=b""), 1), 1),
    "negative count": raw(SOUND, -1),
    "count above the last delta": raw(SOUND * 2, 2, last_offset_delta=0),
    "offset delta above the last": raw(encode_batch_record(Record(value=b"\x01"), 5), 1),
    "negative offset delta": raw(encode_batch_record(Record(value=b"\x01"), -1), 1),
    "unknown codec": raw(SOUND, 1, attributes=5),
    "control record without a key": raw(SOUND, 1, attributes=0x20),
    "no gzip": raw(SOUND, 1, attributes=1),
    "no snappy": raw(SOUND, 1, attributes=2),
    "no lz4": raw(SOUND, 1, attributes=3),
    "no zstd": raw(SOUND, 1, attributes=4),
}


@pytest.mark.parametrize("what", BAD_INSIDES)
def test_bad_insides(tmp_path: Path, what: str) -> None:
    """A batch whose CRC holds but whose records do not is left out whole, with its place."""
    first, bad = topic_batch(0, 2), BAD_INSIDES[what]
    directory = make_directory(tmp_path, (0, first + bad + topic_batch(2 + 2**32, 2)))
    source = metashell.open(directory)
    faults = [f for f in source.all_faults() if f.kind is not FaultKind.GAP]

    assert {0, 1, 2 + 2**32, 3 + 2**32} == topics_of(source)
    assert [(NAME, len(first), 2)] == [(f.file, f.pos, f.offset) for f in faults]
    assert FaultKind.DAMAGED is faults[0].kind


@pytest.mark.slow
@pytest.mark.cases(2)
@pytest.mark.parametrize("codec", ["gzip", "snappy", "snappy-raw", "lz4", "zstd"])
def test_compressed_batch_cut_inside(tmp_path: Path, codec: Codec) -> None:
    """Compressed data that ends early, its CRC right, is a fault at every length."""
    whole = topic_batch(2, 3, codec=codec)
    payload, attributes = whole[HEADER.size :], struct.unpack_from(">h", whole, 21)[0]
    directory = make_directory(tmp_path)
    for size in range(len(payload)):
        bad = raw(payload[:size], 3, attributes=attributes)
        (directory / NAME).write_bytes(topic_batch(0, 2) + bad + topic_batch(5, 1))
        source = metashell.open(directory)
        shown = topics_of(source)
        assert {0, 1, 5} <= shown, size
        if shown != {0, 1, 2, 3, 4, 5}:
            assert 2 == fault_of(source).offset
        else:
            # Only what is behind the data (a checksum of it) was cut off.
            assert size > len(payload) - 12


def test_damage_in_the_middle(tmp_path: Path) -> None:
    """Reading goes on at the next sound batch, and says how much was skipped."""
    batches = topic_log(5)
    batches[2] = bytes(255 - b for b in batches[2])
    source = metashell.open(make_directory(tmp_path, (0, b"".join(batches))))
    fault = fault_of(source)

    assert {0, 1, 2, 3, 6, 7, 8, 9} == topics_of(source)
    assert (FaultKind.DAMAGED, NAME, 4) == (fault.kind, fault.file, fault.offset)
    assert len(batches[0] + batches[1]) == fault.pos
    assert f"{len(batches[2])} bytes skipped" in fault.reason
    assert any(str(fault) in warning for warning in source.warnings)


def test_inserted_and_lost_bytes(tmp_path: Path) -> None:
    """Bytes too many between batches are skipped, a batch too few is a gap."""
    batches = topic_log(4)
    data = batches[0] + b"\x00\x01garbage" + batches[1] + batches[3]
    source = metashell.open(make_directory(tmp_path, (0, data)))

    assert {0, 1, 2, 3, 6, 7} == topics_of(source)
    assert [FaultKind.DAMAGED, FaultKind.GAP] == [f.kind for f in source.all_faults()]
    assert "offsets 4 to 5 are missing" in source.all_faults()[1].reason


@pytest.mark.parametrize("zeros", [1, 60, 61, 4096, 3 << 20])
def test_preallocated_tail(tmp_path: Path, zeros: int) -> None:
    """Zeros behind the last batch are no fault."""
    source = metashell.open(make_directory(tmp_path, (0, topic_batch(0, 3) + bytes(zeros))))

    assert {0, 1, 2} == topics_of(source)
    assert [] == source.all_faults()


def test_zeros_in_the_middle(tmp_path: Path) -> None:
    """Zeros with a batch behind them are damage."""
    data = topic_batch(0) + bytes(5_000) + topic_batch(1)
    source = metashell.open(make_directory(tmp_path, (0, data)))

    assert {0, 1} == topics_of(source)
    assert (FaultKind.DAMAGED, 1) == (fault_of(source).kind, fault_of(source).offset)


def test_batch_twice(tmp_path: Path) -> None:
    """A batch that stands twice counts once."""
    data = topic_batch(0, 2) * 2 + topic_batch(2)
    source = metashell.open(make_directory(tmp_path, (0, data)))

    assert {0, 1, 2} == topics_of(source)
    assert (FaultKind.GAP, 2) == (fault_of(source).kind, fault_of(source).offset)


class Counted:
    """A checksum that counts the bytes it is given."""

    def __init__(self, checksum: Callable[[Any], int]) -> None:
        self.checksum = checksum
        self.n_bytes = 0

    def __call__(self, data: Any) -> int:
        self.n_bytes += len(data)
        return self.checksum(data)


def fake_header(offset: int, length: int) -> bytes:
    """Make a header that looks sound and whose CRC is wrong."""
    return HEADER.pack(offset, length, 1, 2, 0xBAD, 0, 0, 0, 0, -1, -1, -1, 1)


def _rest(total: int, at: int) -> int:
    return total - at - 12


def candidates(n: int) -> bytes:
    """Headers one behind the other, each claiming all the rest of the file."""
    total = n * HEADER.size
    return b"".join(fake_header(i, _rest(total, i * HEADER.size)) for i in range(n))


def between_batches(n: int) -> bytes:
    """The same with a sound batch behind each, at which reading goes on."""
    sound = [topic_batch(i) for i in range(n)]
    total = sum(map(len, sound)) + n * HEADER.size
    data = bytearray()
    for i, batch in enumerate(sound):
        data += fake_header(i, _rest(total, len(data))) + batch
    return bytes(data)


def overlapping(n: int) -> bytes:
    """Headers of zeros that overlap as closely as they can, each long."""
    return (b"\x00" * 10 + b"\x10\x00" + b"\x00" * 4 + b"\x02" + b"\x00" * 7) * n + b"\x01"


HOSTILE = {"candidates": candidates, "between batches": between_batches, "overlapping": overlapping}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_linear(hostile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However a file is made, each of its bytes is summed a bounded number of times."""
    counted = Counted(crc32c)
    monkeypatch.setattr(chain, "crc32c", counted)
    for n in (100, 5_000):
        counted.n_bytes = 0
        data = HOSTILE[hostile](n)
        found = Chainer(memoryview(data), 0, len(data), NAME).run()

        assert found.faults
        assert counted.n_bytes < 20 * len(data) + (2 << 20)


def test_many_small_damages(tmp_path: Path) -> None:
    """Of a file with damage in every other batch the sound half is shown."""
    batches = topic_log(2_000, count=1)
    for i in range(1, len(batches), 2):
        batches[i] = batches[i][:30] + b"\xff" + batches[i][31:]
    source = metashell.open(make_directory(tmp_path, (0, b"".join(batches))))

    assert set(range(0, 2_000, 2)) == topics_of(source)
    assert list(range(1, 2_000, 2)) == [f.offset for f in source.all_faults()]
