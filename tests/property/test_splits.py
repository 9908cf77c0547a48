"""Files read in splits have the batches and faults of the files read in one."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftgen.batch import encode_batch
from kraftgen.files import segment_name
from metashell.errors import SourceError
from metashell.log import boundaries
from metashell.log.boundaries import Boundary, Cutter, OffsetIndex
from metashell.log.directory import read_directory
from metashell.log.fault import Fault, FaultKind
from metashell.log.names import SegmentName, parse_name
from metashell.log.read import load, opened
from metashell.log.splits import Plan, Split, SplitError, plan_splits, read_split
from metashell.read_settings import ReadSettings
from support.fixtures import fixture, fixture_names
from support.logs import make_directory, record, topic_batch, topic_log
from support.strategies import damage_bytes

SIZES = (1, 150, 700, 5000, 1 << 20)

Found = tuple[list[tuple[str, int]], list[Fault]]


def whole(paths: Sequence[Path]) -> Found:
    """Batches and faults of files read in one."""
    loaded = load([str(path) for path in paths])
    at = [(f.name, pos - f.start) for f in loaded.files for pos in f.chain.positions]
    return at, loaded.faults


def apart(splits: Sequence[Split], window_bytes: int = 1 << 20) -> Found:
    """The same of their splits, each pickled and read by itself."""
    at: list[tuple[str, int]] = []
    faults: list[Fault] = []
    for split in splits:
        for loaded in read_split(pickle.loads(pickle.dumps(split)), window_bytes):
            (file,) = loaded.files
            at += [(file.name, pos - file.start) for pos in file.chain.positions]
            faults += file.chain.faults
            assert (file.end_offset, file.epoch) == (split.end_offset, split.epoch)
    return at, faults


def files_of(plan: Plan) -> list[Path]:
    """The files planned, each once, in order."""
    return [Path(str(path)) for path in dict.fromkeys(split.file for split in plan.splits)]


def n_cut(plan: Plan) -> int:
    """How many cuts a plan has."""
    return len(plan.splits) - len(files_of(plan))


@pytest.mark.parametrize("name", fixture_names())
def test_real_files(name: str) -> None:
    """Every fixture, in splits of any size; the same files and faults as read in one."""
    if fixture(name).kind != "directory":
        pytest.skip("a file alone")
    directory = fixture(name).input
    log = read_directory(str(directory))
    for size in SIZES[2:]:
        plan = plan_splits(str(directory), size)
        assert [file.name for file in log.loaded.files] == [p.name for p in files_of(plan)]
        assert log.checkpoint == plan.checkpoint
        found = apart(plan.splits)
        assert whole(files_of(plan)) == found
        assert sorted(map(str, log.faults)) == sorted(map(str, [*plan.faults, *found[1]]))
        of_files = {str(fault) for fault in log.loaded.faults}
        assert set(plan.notes) <= set(log.notes)
        assert all(any(f in note for f in of_files) for note in set(log.notes) - set(plan.notes))
        every = plan_splits(str(directory), size, every=True)
        names = {path.name for path in directory.iterdir() if parse_name(path.name)}
        assert names == {path.name for path in files_of(every)}
        assert whole(files_of(every)) == apart(every.splits)


@st.composite
def segments(draw: st.DrawFn, damaged: bool) -> bytes:
    """Draw a segment, and perhaps what is wrong with it."""
    data = bytearray()
    offset = 0
    for _ in range(draw(st.integers(0, 12))):
        count = draw(st.sampled_from([1, 2, 40]))
        values = [
            record("ConfigRecord", resource_type=2, resource_name="t", name="k", value=value)
            for value in draw(st.lists(st.sampled_from(["v", "x" * 400]), max_size=2))
        ]
        data += (
            encode_batch(values, base_offset=offset)
            if values
            else topic_batch(offset, count, leader_epoch=draw(st.sampled_from([1, 1, 2])))
        )
        offset += len(values) or draw(st.sampled_from([count, count, count, count + 3]))
    for _ in range(draw(st.integers(0, 3)) if damaged else 0):
        damage_bytes(draw, data)
    return bytes(data)


def read_or_uncut(directory: Path, size: int, window: int) -> tuple[Found, SplitError | None]:
    """What a directory's splits hold; where they can't be read, of uncut files."""
    try:
        return apart(plan_splits(str(directory), size).splits, window), None
    except SplitError as e:
        uncut = [path.name for path in directory.iterdir()]
        return apart(plan_splits(str(directory), size, uncut=uncut).splits, window), e


@pytest.fixture
def small_batches() -> object:
    """No batch is larger than the largest of these tests, so that searches begin close by."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boundaries.Cutter.__init__, "__defaults__", (None, 3000))
        yield


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    data=st.lists(segments(damaged=True), min_size=1, max_size=3),
    size=st.one_of(st.sampled_from(SIZES), st.integers(1, 3000)),
    window=st.sampled_from([1, 300, 1 << 20]),
)
def test_damaged_files(
    tmp_path: Path, small_batches: object, data: list[bytes], size: int, window: int
) -> None:
    """Damage anywhere gives the same faults wherever files are cut."""
    directory = tmp_path / "d"
    directory.mkdir(exist_ok=True)
    for old in directory.iterdir():
        old.unlink()
    paths = [directory / segment_name(i) for i in range(len(data))]
    for path, content in zip(paths, data, strict=True):
        path.write_bytes(content)
    expected = whole(paths)
    found, refused = read_or_uncut(directory, size, window)
    # Only where what lies far before a place decides whether it counts.
    assert refused is None or expected[1]
    assert expected == found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    flips=st.lists(st.tuples(st.integers(0, 29), st.integers(8, 400)), min_size=1, max_size=3),
    bit=st.integers(0, 7),
    size=st.integers(1, 3000),
)
def test_damage_that_is_never_refused(
    tmp_path: Path, small_batches: object, flips: list[tuple[int, int]], bit: int, size: int
) -> None:
    """Whatever is damaged but for first offsets, every other batch is read, and in splits."""
    batches = [bytearray(batch) for batch in topic_log(30, 3)]
    for number, at in flips:
        batches[number][at % (len(batches[number]) - 8) + 8] ^= 1 << bit
    path = tmp_path / segment_name(0)
    path.write_bytes(b"".join(batches))
    assert whole([path]) == apart(plan_splits(str(tmp_path), size).splits)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=segments(damaged=False), size=st.integers(1, 3000))
def test_sound_files(tmp_path: Path, small_batches: object, data: bytes, size: int) -> None:
    """Without damage, nothing is refused."""
    path = tmp_path / segment_name(0)
    path.write_bytes(data)
    plan = plan_splits(str(tmp_path), size)
    assert whole([path]) == apart(plan.splits)
    ends = [split.end for split in plan.splits]
    assert [0, *ends[:-1]] == [split.begin for split in plan.splits]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    entries=st.lists(
        st.one_of(
            st.tuples(st.integers(0, 60), st.integers(-1, 29).map(lambda i: i)),
            st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1)),
        ),
        max_size=30,
    ),
    ordered=st.booleans(),
    tail=st.binary(max_size=20),
    size=st.integers(1, 3000),
)
def test_lying_indexes(
    tmp_path: Path,
    small_batches: object,
    entries: list[tuple[int, int]],
    ordered: bool,
    tail: bytes,
    size: int,
) -> None:
    """Whatever an index says, it only ever tells where to look."""
    batches = topic_log(30)
    starts = [sum(map(len, batches[:i])) for i in range(30)]
    path = tmp_path / segment_name(0)
    path.write_bytes(b"".join(batches))
    told = [(o, starts[p] if 0 <= p < 30 else p) for o, p in entries]
    told = sorted(told) if ordered else told
    content = b"".join(struct.pack(">ii", *entry) for entry in told) + tail
    path.with_suffix(".index").write_bytes(content)
    assert whole([path]) == apart(plan_splits(str(tmp_path), size).splits)


def fake_in_a_value(n_fakes: int) -> tuple[bytes, int, int]:
    """Twenty batches, one of which has others in a config's value.

    Returns:
        (segment, where the fakes begin, the length of each).
    """
    fakes = topic_log(n_fakes)
    config = record("ConfigRecord", resource_type=2, resource_name="t", name="k", value="@" * 8000)
    batches = topic_log(10)
    batches.append(encode_batch([config], base_offset=20))
    at = sum(map(len, batches)) - 8000
    batches += [topic_batch(21 + i) for i in range(10)]
    inner = b"".join(fakes)
    value = inner.ljust(8000, b"@")
    raw = record("ConfigRecord", resource_type=2, resource_name="t", name="k", value="@" * 8000)
    batches[10] = encode_batch([raw.replace(b"@" * 8000, value)], base_offset=20)
    data = b"".join(batches)
    at = data.index(inner, at - 100)
    return data, at, len(fakes[0])


@pytest.mark.parametrize("n_fakes", [1, 2, 30])
@pytest.mark.parametrize("size", [1, 500, 2000])
def test_fake_batches_in_a_value(tmp_path: Path, n_fakes: int, size: int) -> None:
    """A value that holds batches is not taken for them, wherever the search begins."""
    data, at, _ = fake_in_a_value(n_fakes)
    path = tmp_path / segment_name(0)
    path.write_bytes(data)
    assert whole([path]) == apart(plan_splits(str(tmp_path), size).splits)
    with opened(str(path)) as source:
        for wanted in range(at + 8100, len(data), 37):
            cutter = Cutter(source, len(data), None, 8300)
            found, _ = cutter.find(Boundary(0, -1), wanted, len(data))
            assert found is None or (path.name, found.pos) in whole([path])[0]


def test_an_index_into_a_value(tmp_path: Path) -> None:
    """An index that leads to batches in a value is found out: an error, never a wrong answer."""
    data, at, length = fake_in_a_value(30)
    path = tmp_path / segment_name(0)
    path.write_bytes(data)
    with opened(str(path)) as source:
        index = OffsetIndex(struct.pack(">ii", 5, at), 0)
        found, _ = Cutter(source, len(data), index, 300).find(Boundary(0, -1), at + 1, 4000)
    assert found is not None
    assert at + length == found.pos
    (split,) = plan_splits(str(tmp_path)).splits
    first = replace(split, end=found.pos, until=found.after)
    with pytest.raises(SplitError, match=f"position {found.pos} ends at position") as caught:
        list(read_split(first))
    assert caught.value.file == path.name


def test_a_sound_index_spares_reading(tmp_path: Path) -> None:
    """Only what lies between an entry and the wanted place is read."""
    batches = topic_log(4000, 4)
    starts = [0]
    for batch in batches:
        starts.append(starts[-1] + len(batch))
    path = tmp_path / segment_name(0)
    path.write_bytes(b"".join(batches))
    content = b"".join(struct.pack(">ii", 4 * i + 3, starts[i]) for i in range(10, 4000, 10))
    path.with_suffix(".index").write_bytes(content.ljust(1 << 20, b"\0"))

    asked: list[int] = []

    class Counting:
        def __init__(self, inner: boundaries.OpenFile) -> None:
            self.inner, self.size = inner, inner.size

        def read_into(self, target: memoryview, pos: int) -> int:
            asked.append(len(target))
            return self.inner.read_into(target, pos)

    with opened(str(path)) as source, opened(str(path.with_suffix(".index"))) as index_file:
        index = boundaries.read_index(index_file, 0)
        assert index is not None
        cutter = Cutter(Counting(source), source.size, index)
        found, _ = cutter.find(Boundary(0, -1), starts[3000] - 1, source.size)
    assert Boundary(starts[3000], 4 * 3000 - 1) == found
    assert sum(asked) <= boundaries._CHUNK * 2 < source.size or len(asked) <= 2
    plan = plan_splits(str(tmp_path), 100_000)
    assert n_cut(plan) > 3
    assert whole([path]) == apart(plan.splits)


def test_a_file_that_grows(tmp_path: Path) -> None:
    """What is appended after planning is not read, nor does it change what is."""
    path = make_directory(tmp_path, (0, b"".join(topic_log(20)))) / segment_name(0)
    plan = plan_splits(str(path.parent), 300)
    before = whole([path])
    with path.open("ab") as file:
        file.write(topic_batch(40) + b"torn")
    assert before == apart(plan.splits)


def test_a_file_that_changes(tmp_path: Path) -> None:
    """A file that became shorter, or is gone, is an error."""
    path = make_directory(tmp_path, (0, b"".join(topic_log(20)))) / segment_name(0)
    plan = plan_splits(str(path.parent), 300)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SplitError, match="shorter"):
        list(read_split(plan.splits[0]))
    path.unlink()
    with pytest.raises(SplitError, match="gone"):
        list(read_split(plan.splits[0]))


def test_a_preallocated_file(tmp_path: Path) -> None:
    """Zeros at the end are no place to cut at."""
    data = b"".join(topic_log(300))
    path = tmp_path / segment_name(0)
    path.write_bytes(data + bytes(9 << 20))
    plan = plan_splits(str(tmp_path), 10_000)
    assert len(data) // 10_000 <= n_cut(plan)
    assert whole([path]) == apart(plan.splits)


def test_gaps_between_files(tmp_path: Path) -> None:
    """Are told by the plan, with the notes of a directory read in one."""
    directory = make_directory(tmp_path, (4, topic_batch(4, 2)), (9, topic_batch(9, 2)))
    log, plan = read_directory(str(directory)), plan_splits(str(directory))
    assert (log.faults, log.notes) == (list(plan.faults), list(plan.notes))
    assert [FaultKind.GAP] == [fault.kind for fault in plan.faults]


def test_unfinished_checkpoints(tmp_path: Path) -> None:
    """Are skipped with their fault, and reported where all files are planned."""
    directory = make_directory(tmp_path, (0, topic_batch(0, 2)))
    (directory / "00000000000000000002-0000000001.checkpoint").write_bytes(topic_batch(0, 2))
    (directory / "00000000000000000003-0000000001.checkpoint").write_bytes(b"")
    log, plan = read_directory(str(directory)), plan_splits(str(directory))
    assert (log.faults, log.notes) == (list(plan.faults), list(plan.notes))
    assert isinstance(parse_name(plan.splits[0].name), SegmentName)
    every = plan_splits(str(directory), every=True)
    assert ["no snapshot header: it was not finished"] == [f.reason for f in every.faults]
    assert plan_splits(str(directory), settings=ReadSettings(committed_only=True)).splits == ()


def test_what_is_no_directory(tmp_path: Path) -> None:
    """Is refused as elsewhere."""
    with pytest.raises(SourceError, match="no segment"):
        plan_splits(str(tmp_path))
    with pytest.raises(SourceError, match="No such file"):
        plan_splits(str(tmp_path / "nowhere"))
