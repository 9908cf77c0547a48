"""Whatever the bytes: an error of ours or faults, never an exception of another kind."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import metashell
from kraftgen.batch import CODEC_IDS, CONTROL, control_record, encode_batch, encode_raw_batch
from kraftgen.files import LOG_DIR_NAME, checkpoint_bytes, checkpoint_name, segment_name
from metashell.errors import SourceError
from metashell.log.read import load
from metashell.sources.source import Source
from support.dumped import dump
from support.fixtures import fixture
from support.golden_tree import product_tree
from support.seeds import examples
from support.shell import run
from support.strategies import builtin_registry, damaged, damaged_values, records

any_bytes = settings(
    max_examples=examples(25),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A metadata directory whose files each example writes anew."""
    made = tmp_path_factory.mktemp("any") / LOG_DIR_NAME
    made.mkdir()
    return made


@cache
def small_file() -> bytes:
    """A few batches of several kinds, as Kafka wrote them."""
    (path,) = fixture("quirks/partition-changes").data_files()
    return path.read_bytes()[:1_500]


def look_at_everything(source: Source) -> None:
    """Decode, fold and print all that there is."""
    # Made-up names can stand twice in a directory, so every node is visited and nothing compared.
    product_tree(source.root, ("image",))
    for line in ("tree /", "find /", "ls -R /"):
        assert 0 == run(source.root, line).status
    for fault in source.all_faults():
        assert fault.file
        assert fault.pos is not None or fault.offset is not None
        assert str(fault)
    source.status()
    assert all(isinstance(text, str) for text in source.warnings)
    for name in source.tables:
        source.table(name).validate(full=True)


def open_or_refuse(directory: Path, **content: bytes) -> Source | None:
    """Write files and open the directory; None where it is refused."""
    for path in directory.iterdir():
        path.unlink()
    for name, data in content.items():
        (directory / name).write_bytes(data)
    try:
        return metashell.open(directory)
    except SourceError:
        return None


SEGMENT = segment_name(0)
CHECKPOINT = checkpoint_name(50, 1)


@any_bytes
@given(data=st.binary(max_size=300))
def test_random_file(directory: Path, data: bytes) -> None:
    """Any bytes as a segment and as a checkpoint are refused or shown with faults."""
    for names in ([SEGMENT], [CHECKPOINT], [SEGMENT, CHECKPOINT]):
        source = open_or_refuse(directory, **dict.fromkeys(names, data))
        if source is not None:
            look_at_everything(source)
    for name in (SEGMENT, CHECKPOINT):
        (directory / name).write_bytes(data)
        with suppress(SourceError):
            look_at_everything(metashell.open_file(directory / name))


@any_bytes
@given(data=st.data())
def test_damaged_file(directory: Path, data: st.DataObject) -> None:
    """A real segment with bytes changed is shown as far as it goes."""
    content = data.draw(damaged(st.just(small_file())))
    source = open_or_refuse(directory, **{SEGMENT: content})
    if source is not None:
        look_at_everything(source)


@any_bytes
@given(
    values=st.lists(
        st.one_of(
            st.none(),
            records().map(lambda record: record.value),
            damaged_values(),
            st.binary(max_size=30),
        ),
        min_size=1,
        max_size=12,
    ),
    in_checkpoint=st.booleans(),
)
def test_any_records(directory: Path, values: list[bytes | None], in_checkpoint: bool) -> None:
    """Records of all types with any values, whole and damaged, are replayed and shown."""
    from kraftgen.batch import Record

    if in_checkpoint:
        content = {CHECKPOINT: checkpoint_bytes([v or b"" for v in values])}
    else:
        content = {SEGMENT: encode_batch([Record(value=value) for value in values])}
    source = open_or_refuse(directory, **content)

    assert source is not None
    look_at_everything(source)
    path = directory / next(iter(content))
    dumped = list(dump(load([str(path)]), builtin_registry()))
    assert len(values) <= len(dumped)
    assert all((record.data is None) != (record.error is None) for record in dumped)


@any_bytes
@given(
    payload=st.binary(max_size=120),
    count=st.integers(-3, 20),
    last_delta=st.integers(-3, 20),
    attributes=st.sampled_from([*CODEC_IDS.values(), CONTROL, CONTROL | 1, 5, 6, 7, -1, 0x40]),
    timestamp=st.sampled_from([0, -1, -(2**63), 2**63 - 1]),
)
def test_any_payload(
    directory: Path, payload: bytes, count: int, last_delta: int, attributes: int, timestamp: int
) -> None:
    """A batch whose CRC holds and whose insides are anything is a fault or is shown."""
    batch = encode_raw_batch(
        payload,
        count=count,
        base_offset=0,
        last_offset_delta=last_delta,
        leader_epoch=-1,
        timestamp=timestamp,
        attributes=attributes,
    )
    for name in (SEGMENT, CHECKPOINT):
        source = open_or_refuse(directory, **{name: batch})
        if source is not None:
            look_at_everything(source)


@any_bytes
@given(
    control=st.lists(
        st.tuples(st.integers(-1, 8), st.binary(max_size=20), st.booleans()), min_size=1, max_size=4
    ),
    key=st.none() | st.binary(max_size=5),
)
def test_any_control_records(
    directory: Path, control: list[tuple[int, bytes, bool]], key: bytes | None
) -> None:
    """Control records of any type, version and content, and with keys too short, are bearable."""
    from kraftgen.batch import Record

    made = [control_record(kind, value) for kind, value, _ in control]
    if any(odd for _, _, odd in control):
        made.append(Record(key=key, value=b"\x00\x00"))
    source = open_or_refuse(directory, **{SEGMENT: encode_batch(made, control=True)})
    if source is not None:
        look_at_everything(source)
