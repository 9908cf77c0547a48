"""The kernel gives what numpy gives, of mutated bytes too: each column and each verdict.

``METASHELL_SEEDS=N`` runs N seeds of each test, ``METASHELL_FIRST_SEED`` says with which to begin.
A seed is a few hundred mutated inputs.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from kraftgen.batch import CONTROL, Record, control_record, encode_batch_record, encode_raw_batch
from kraftgen.files import segment_name
from metashell.image import fold
from metashell.kernel import keys
from metashell.kernel import library as load
from metashell.log.chain import COMPACTED, METADATA, Chain, LogKind
from metashell.log.crc import crc32c
from metashell.log.frames import Frames
from metashell.log.framing import build_frames, count_plain
from metashell.log.read import load as load_files
from metashell.schema import columnar
from metashell.schema.arena import AnyArray, Arena
from metashell.schema.columns import (
    Columns,
    FixedColumn,
    SpanColumn,
    StructArrayColumn,
    StructColumn,
)
from metashell.schema.decoding import decode
from metashell.schema.encode import encode_uvarint
from metashell.schema.id_table import IdTable
from metashell.schema.model import FieldPlan, StructPlan, message_plan
from support.implementations import IMPLEMENTATIONS, implemented_by
from support.seeds import examples
from support.strategies import builtin_registry, coordinator_specs

FIRST = int(os.environ.get("METASHELL_FIRST_SEED", "0"))
SEEDS = int(os.environ.get("METASHELL_SEEDS", examples(5)))
every_seed = pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))

pytestmark = pytest.mark.skipif(load.library() is None, reason=load.description())

NAME = segment_name(0)
BATCHES = 200
"""Of a seed."""
MESSAGES = 2_000 if "METASHELL_SEEDS" in os.environ else 200
"""Of each type and seed; many take little longer than few."""
WIDTHS = ("i4", "i8")
"""Types of counts."""
DRAWN = 10
"""Messages of a type that are mutated to so many."""


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


def drawn_log(rng: random.Random, *, gaps: bool = False, lies: bool = True) -> bytes:
    """Draw batches of mutated records, each with its right CRC; some offsets are missing.

    Without lies no batch says that it has more records than its bytes could hold.
    """
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
        count = max(n + rng.choice((0, 0, 0, 0, 0, 0, 1, -1)), -1)
        if not lies:
            count = max(min(count, last + 1, len(payload) // 7), 0)
        log += encode_raw_batch(
            payload,
            count=count,
            base_offset=offset + rng.choice((0,) * (6 if gaps else 30) + (3, 1, -1)),
            last_offset_delta=last,
            leader_epoch=rng.choice((1,) * 30 + (0, 2)),
            timestamp=0,
            attributes=CONTROL * is_control,
        )
        offset += last + 1
    return bytes(log)


def read(path: Path, name: str, kind: LogKind = METADATA) -> Chain:
    """Chain a file by one implementation."""
    with implemented_by(name):
        return load_files([str(path)], kind=kind).files[0].chain


def frames_of(path: Path, name: str) -> tuple[Frames, list[object]]:
    """Frame a file by one implementation."""
    with implemented_by(name):
        frames, faults = build_frames(load_files([str(path)]))
    return frames, list(faults)


def keyed_frames_of(path: Path, name: str) -> tuple[Frames, list[object]]:
    """Likewise as a log with keys."""
    with implemented_by(name):
        frames, faults = build_frames(load_files([str(path)], kind=COMPACTED), has_keys=True)
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
        one, other = (np.asarray(getattr(frames, name)) for frames in (expected, actual))
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist(), name
    assert expected.batches.first_row.tolist() == actual.batches.first_row.tolist()


@every_seed
@pytest.mark.parametrize("lies", [False, True], ids=["plain", "any"])
def test_keyed_frames(tmp_path: Path, seed: int, lies: bool) -> None:
    """So it is with a log whose records have keys; plain batches are read another way."""
    path = tmp_path / NAME
    path.write_bytes(drawn_log(random.Random(seed), lies=lies))
    loaded = load_files([str(path)], kind=COMPACTED)
    positions = np.array(loaded.files[0].chain.positions, dtype=np.int64)
    with implemented_by("kernel"):
        assert lies == (count_plain(Arena(loaded.buffer, loaded.size), positions) is None)
    expected, faults = keyed_frames_of(path, "numpy")
    actual, found = keyed_frames_of(path, "kernel")

    assert faults == found
    assert faults
    assert len(expected)
    names = (
        *("batch", "start", "offset", "api_key", "version"),
        *("key", "key_size", "body", "value_size"),
    )
    for name in names:
        one, other = getattr(expected, name)[:], getattr(actual, name)[:]
        assert one.dtype == other.dtype or name == "batch"
        assert one.tolist() == other.tolist(), name
    assert expected.batches.first_row.tolist() == actual.batches.first_row.tolist()


@every_seed
@pytest.mark.parametrize("kind", [METADATA, COMPACTED])
def test_chain(tmp_path: Path, seed: int, kind: LogKind) -> None:
    """The same batches are sound, and the same is said of the others."""
    rng = random.Random(seed)
    log = drawn_log(rng, gaps=kind is COMPACTED)
    for i in range(examples(30)):
        path = tmp_path / NAME
        begin = rng.randrange(len(log) // 2)
        # From anywhere, and with a few bytes changed.
        path.write_bytes(mutated(rng, log if i else log[begin:]))
        assert read(path, "numpy", kind) == read(path, "kernel", kind)


def drawn_message(rng: random.Random, plan: StructPlan) -> bytes:
    """Draw the bytes of a struct, mostly as its plan says."""
    out = b"".join(drawn_field(rng, field, plan.flexible) for field in plan.fields)
    if not plan.has_tags:
        return out
    chosen = [tag for tag in sorted(plan.tags) if rng.randrange(2)]
    if not rng.randrange(10):
        chosen += [rng.choice((*plan.tags, *plan.wrong_tags, 77, 300))]
    out += encode_uvarint(len(chosen))
    for tag in chosen:
        content = rng.randbytes(rng.randrange(4))
        if tag in plan.tags:
            content = drawn_field(rng, plan.tags[tag], plan.flexible, is_tagged=True)
        out += encode_uvarint(tag) + encode_uvarint(len(content)) + content
    return out


def drawn_field(
    rng: random.Random, field: FieldPlan, flexible: bool, *, is_tagged: bool = False
) -> bytes:
    """Draw the bytes of a field."""
    is_array = field.spec.is_array
    if field.size and not is_array:
        return rng.choice((rng.randbytes(field.size), bytes(field.size)))
    is_null = field.nullable and not rng.randrange(3)
    if field.struct is not None and not is_array:
        content = b"" if is_null else drawn_message(rng, field.struct)
        if not field.nullable:
            return content
        return (b"\x00" if is_tagged else b"\xff") if is_null else b"\x01" + content
    n = -1 if is_null else rng.choice((0, 1, 1, 2, 3, 130 if field.struct is None else 4))
    if flexible:
        out = encode_uvarint(n + 1)
    else:
        is_short = field.spec.type == "string" and not is_array
        out = n.to_bytes(2 if is_short else 4, "big", signed=True)
    if field.struct is not None:
        return out + b"".join(drawn_message(rng, field.struct) for _ in range(n))
    return out + rng.randbytes(max(n, 0) * max(field.size, 1))


def assert_same(expected: Columns, actual: Columns) -> None:
    """Compare columns all of whose rows decode."""
    assert expected.n == actual.n
    assert expected.specs == actual.specs
    assert list(expected.fields) == list(actual.fields)
    for name, one in expected.fields.items():
        other = actual.fields[name]
        match one, other:
            case FixedColumn(), FixedColumn():
                assert one.values.dtype == other.values.dtype, name
                assert one.values.tobytes() == other.values.tobytes(), name
            case SpanColumn(), SpanColumn():
                assert one.counts.tolist() == other.counts.tolist(), name
                there = np.flatnonzero(one.counts > 0)
                assert one.starts[there].tolist() == other.starts[there].tolist(), name
                assert one.gather()[0].tobytes() == other.gather()[0].tobytes(), name
            case StructColumn(), StructColumn():
                assert one.present.tolist() == other.present.tolist(), name
                assert_same(one.items, other.items)
            case StructArrayColumn(), StructArrayColumn():
                assert one.counts.tolist() == other.counts.tolist(), name
                assert one.list_offsets.tolist() == other.list_offsets.tolist(), name
                assert_same(one.items, other.items)
            case _:
                raise AssertionError(name)


@every_seed
def test_columns(seed: int) -> None:
    """Of every message, also not flexible ones, the same decodes to the same columns."""
    rng = random.Random(seed)
    for spec in (*builtin_registry().by_name.values(), *coordinator_specs()):
        version = rng.randint(spec.versions.low, spec.versions.high)
        plan = message_plan(spec, version)
        data, starts, stops = bytearray(), [], []
        drawn = [drawn_message(rng, plan) for _ in range(DRAWN)]
        for i in range(MESSAGES):
            starts.append(len(data))
            data += mutated(rng, drawn[i % DRAWN])
            stops.append(len(data))
        names = [field.column_name for field in spec.fields]
        wanted = rng.choice((None, set(rng.sample(names, rng.randint(0, len(names))))))
        arena, bounds = Arena.from_bytes(data), (np.array(starts), np.array(stops))
        trailing = not rng.randrange(3)
        expected = columnar.decode(arena, spec, version, *bounds, wanted, trailing=trailing)
        block = rng.choice((columnar.BLOCK_ROWS, 7, 64))
        with implemented_by("kernel"), patch.object(columnar, "BLOCK_ROWS", block):
            actual = decode(arena, spec, version, *bounds, wanted, trailing=trailing)
        ok = expected.ok.tolist()
        assert ok == actual.ok.tolist(), (spec.name, version)
        assert any(ok)
        good = np.flatnonzero(expected.ok)
        assert_same(expected.take(good), actual.take(good))


@every_seed
def test_events(seed: int) -> None:
    """Events come into the same order and groups, and the same ones are the last marked."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        n = int(rng.integers(0, 200))
        low, high = (
            (0, -3, 1 << 32, -(1 << 63))[rng.integers(4)],
            (2, 300, 1 << 40)[rng.integers(3)],
        )
        groups = rng.integers(low, low + high, n)
        groups = (groups << rng.integers(0, 20)) if low >= 0 else groups
        if rng.integers(3) == 0:
            groups = np.sort(groups)
        rows = np.cumsum(rng.integers(0, 2, n))
        if rng.integers(3) == 0:
            rng.shuffle(rows)
        marked = rng.integers(0, 2, n).astype(np.bool_)
        found = []
        for name in IMPLEMENTATIONS:
            with implemented_by(name):
                events = fold.sort_events(groups, rows)
                last = fold.last_marked(events, marked)
                arrays = (events.order, events.first, events.last, last)
                assert {a.dtype for a in arrays} == {np.dtype(np.int32)}
                found.append([a.tolist() for a in arrays])
        order = sorted(range(n), key=lambda i: (groups[i], rows[i], i))
        assert found[0] == found[1]
        assert found[0][0] == order
        with patch.object(fold.kernel, "MOST_ROWS", 0):
            wide = fold.sort_events(groups, rows)
            arrays = (wide.order, wide.first, wide.last, fold.last_marked(wide, marked))
        assert [a.tolist() for a in arrays] == found[0]
        assert {a.dtype for a in arrays} == {np.dtype(np.int64 if n else np.int32)}


@every_seed
def test_take(seed: int) -> None:
    """Both take the same values from the same places, and refuse the same ones."""
    rng = np.random.default_rng(seed)
    for dtype in ("?", "i1", "i2", ">i4", "i4", "i8", "f8", "V16", object):
        values = rng.integers(0, 100, int(rng.integers(1, 50))).astype("i8").astype(dtype)
        places = rng.integers(0, len(values), 40).astype(rng.choice(("i4", "i8")))
        if rng.integers(3) == 0:
            places[rng.integers(40)] = rng.choice((-1, -len(values)))
        beside = places.copy()
        beside[rng.integers(40)] = rng.choice((len(values), -1 - len(values)))
        for name in IMPLEMENTATIONS:
            with implemented_by(name), patch.object(fold, "_LEAST_TAKEN", 0):
                taken = fold.take(values, places)
                assert taken.dtype == values.dtype
                assert taken.tolist() == values[places].tolist()
                with pytest.raises(IndexError):
                    fold.take(values, beside)


@every_seed
def test_keys(seed: int) -> None:
    """Keys get the same groups, in any order; so they do where the table has to grow."""
    rng = np.random.default_rng(seed)
    for n in (1, 7, 300, 9_000):
        data = rng.integers(0, 2, 4_000).astype(np.uint8).tobytes()
        counts = rng.integers(-1, rng.choice((2, 20, 70)), n)
        starts = rng.integers(0, len(data) - 70, n)
        parts: list[AnyArray | SpanColumn] = [
            SpanColumn(Arena.from_bytes(data), "u1", starts, counts.astype(rng.choice(WIDTHS))),
            rng.integers(-2, 2, n).astype(rng.choice(("i1", "i4", "i8"))),
            np.frombuffer(rng.integers(0, 2, 16 * n, np.uint8).tobytes(), "V16"),
            SpanColumn(Arena.from_bytes(data), ">i4", starts, counts // 5),
        ]
        for some in (parts[:1], parts[1:2], parts[:2], parts[1:], parts):
            found = []
            for name in IMPLEMENTATIONS:
                with implemented_by(name):
                    groups = fold.group_keys(some, n)
                numbers: dict[int, int] = {}
                found.append([numbers.setdefault(g, len(numbers)) for g in groups.tolist()])
                assert set(range(len(numbers))) == set(numbers)
            assert found[0] == found[1]


def test_keys_beside_the_bytes_are_left_to_numpy() -> None:
    """So they are grouped as by numpy alone."""
    counts = np.array([1, 2, 1], np.int32)
    spans = SpanColumn(Arena.from_bytes(b"abc"), "u1", np.array([0, 3, 2]), counts)
    for name in IMPLEMENTATIONS:
        with implemented_by(name):
            assert 3 == len(set(fold.group_keys([spans], 3).tolist()))
            assert [0, 1, 3] == sorted(fold.number_rows(spans, np.array([1, 0, 0, 2])).firsts)


@every_seed
def test_keys_of_some_rows(seed: int) -> None:
    """They are numbered as if there were no others, in any order; so are the first ones."""
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 2, 4_000).astype(np.uint8).tobytes()
    for n in (0, 1, 7, 300, 9_000):
        counts = rng.integers(-1, rng.choice((2, 20, 300)), 500).astype(np.int32)
        starts = rng.integers(0, len(data) - 300, 500) // 16 * 16
        spans = SpanColumn(Arena.from_bytes(data), "u1", starts, counts)
        rows = rng.integers(0, 500, n)
        raws = spans.take(rows).raws()
        for name in IMPLEMENTATIONS:
            with implemented_by(name):
                found = fold.number_rows(spans, rows)
            firsts = found.firsts.tolist()
            assert raws == [raws[firsts[number]] for number in found.numbers.tolist()]
            assert firsts == [raws.index(raws[first]) for first in firsts]
            assert len(firsts) == len(set(raws))


def test_keys_that_share_slots_are_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the kernel passes over too many slots the groups are the same."""
    library, numbers = load.library(), np.arange(20_000) % 7_000
    assert library is not None
    assert keys.number_items(library, numbers, None) is not None
    monkeypatch.setattr(keys, "_STEPS_A_ROW", -1)
    assert keys.number_items(library, numbers, None) is None
    with implemented_by("kernel"):
        groups = fold.group_keys([numbers], len(numbers))
    assert 7_000 == len(set(groups.tolist())) == len(set(zip(groups, numbers, strict=True)))


@every_seed
def test_ids(seed: int) -> None:
    """Ids are found in a table at the same indexes, or not at all."""
    rng = np.random.default_rng(seed)
    for n in (0, 1, 7, 300):
        ids = np.frombuffer(rng.bytes(16 * n), dtype="V16")
        table = IdTable(ids)
        others = np.frombuffer(rng.bytes(16 * 20) + bytes(16), dtype="V16")
        asked = np.repeat(np.concatenate([ids, others]), rng.integers(0, 4, n + 21))
        asked = rng.permutation(asked) if rng.integers(2) else asked
        found = []
        for name in IMPLEMENTATIONS:
            with implemented_by(name):
                found.append(table.index_of(asked).tolist())
        numbers = {id_.tobytes(): i for i, id_ in enumerate(ids)}
        assert [numbers.get(id_.tobytes(), -1) for id_ in asked] == found[0]
        assert found[0] == found[1]


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
    assert expected.offset[:].tolist() == actual.offset[:].tolist()
    assert expected.body[:].tolist() == actual.body[:].tolist()
