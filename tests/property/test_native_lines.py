"""The kernel writes the same lines as Python, of any records, or leaves them to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from ctypes import CDLL
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftgen.batch import encode_batch
from kraftgen.files import segment_name
from metashell.kernel import library as load
from metashell.kernel.ids import Ids
from metashell.kernel.lines import LineTexts
from metashell.log.read import load as load_files
from metashell.records.filter import TopicNames
from metashell.records.keyed_records import KeyedRecords
from metashell.records.line_forms import JsonForm, LineForm, ReadableForm
from metashell.records.lines import LineWriter, json_lines, readable_lines
from metashell.records.native_lines import Names, NativeTexts, write_lines
from metashell.records.records import Records
from metashell.records.rows import RecordRows
from metashell.redact import Redaction
from metashell.schema.arena import Arena
from metashell.schema.coordinators import CoordinatorLog, load_record_types
from metashell.schema.encode import encode_record
from metashell.schema.model import NO_VERSIONS, FieldSpec, MessageSpec, Registry, Versions
from metashell.schema.scalar import default_value
from metashell.schema.timestamps import iso_time
from support.coordinators import RecordedSegment, differing_segments
from support.fixtures import differing, fixture, fixture_names
from support.logs import topic_batch, topic_log
from support.seeds import examples
from support.strategies import (
    DrawnRecord,
    builtin_registry,
    damaged,
    damaged_values,
    definitions,
    field_values,
    record_lists,
)

pytestmark = pytest.mark.skipif(load.library() is None, reason=load.description())

anywhere = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def both(
    path: Path, registry: Registry, redaction: Redaction, rows: Sequence[int] | None = None
) -> tuple[list[str], list[str]]:
    """The lines of some records of a file, of JSON and to be read, by Python and by the kernel."""
    by_python, by_kernel = (
        [
            line
            for form in (JsonForm(), ReadableForm())
            for line in _written(path, registry, redaction, rows, form, library)
        ]
        for library in (None, load.library())
    )
    return by_python, by_kernel


def _written(
    path: Path,
    registry: Registry,
    redaction: Redaction,
    rows: Sequence[int] | None,
    form: LineForm,
    library: CDLL | None,
) -> list[str]:
    records = Records(load_files([str(path)]), registry)
    names = TopicNames()
    names.learn(records)
    n = len(records.frames)
    chosen = np.arange(n) if rows is None else np.array(sorted({row % n for row in rows}))
    lines = LineWriter(form, redaction, names, library)
    first, again = lines.lines(records, chosen), lines.lines(records, chosen)
    assert list(first) == list(again)
    whole = getattr(first, "whole", lambda: "\n".join(first) + "\n")()
    assert "\n".join(first) + "\n" == whole
    return list(first)


def record_values() -> st.SearchStrategy[bytes]:
    """Draw records as bytes."""
    return record_lists(min_size=1, max_size=1).map(lambda drawn: drawn[0].value)


def of_values(tmp_path: Path, values: Sequence[bytes], registry: Registry) -> list[str]:
    """The lines of records with these values, which are the same by both."""
    path = tmp_path / segment_name(0)
    path.write_bytes(encode_batch(values))
    expected, actual = both(path, registry, Redaction())
    assert expected == actual
    return actual


@anywhere
@given(
    drawn=record_lists(min_size=1),
    show_secrets=st.booleans(),
    rows=st.none() | st.lists(st.integers(0, 11), min_size=1, max_size=4),
)
def test_any_records(
    tmp_path: Path, drawn: list[DrawnRecord], show_secrets: bool, rows: list[int] | None
) -> None:
    """Any types and versions, mixed in one block, some of them asked for."""
    path = tmp_path / segment_name(0)
    path.write_bytes(encode_batch([record.value for record in drawn]))
    expected, actual = both(path, builtin_registry(), Redaction(show_secrets), rows)
    assert expected == actual


@anywhere
@given(
    drawn=st.lists(record_values() | damaged_values(), min_size=1, max_size=8),
    rows=st.lists(st.integers(0, 7), min_size=1, max_size=8, unique=True).map(sorted),
)
def test_rows_of_any_records(tmp_path: Path, drawn: list[bytes], rows: list[int]) -> None:
    """Values of columns are those by Python, too."""
    path = tmp_path / segment_name(0)
    path.write_bytes(encode_batch(drawn))
    names = ("offset", "type", "topic", "data", "error", "raw")
    found = []
    for library in (load.library(), None):
        with patch.object(load, "library", lambda library=library: library):
            records = Records(load_files([str(path)]), builtin_registry())
            chosen = np.array([row for row in rows if row < len(records.frames)] or [0])
            known = TopicNames()
            known.learn(records)
            writer = RecordRows(known, Redaction(), names)
            found.append(writer.rows(records, chosen))
    assert found[0] == found[1]


@anywhere
@given(values=st.lists(damaged_values(), min_size=1, max_size=8))
def test_damaged_records(tmp_path: Path, values: list[bytes]) -> None:
    """Records that do not decode, or whose strings are not UTF-8."""
    of_values(tmp_path, values, builtin_registry())


@settings(anywhere, max_examples=examples(50))
@given(data=st.data(), spec=definitions())
def test_any_definition(tmp_path: Path, data: st.DataObject, spec: MessageSpec) -> None:
    """Each kind of field: tagged and not, nullable and not, arrays and structs in structs."""
    values = st.integers(spec.versions.low, spec.versions.high).flatmap(
        lambda version: field_values(spec, version).map(
            lambda fields: encode_record(spec, version, fields)
        )
    )
    of_values(
        tmp_path,
        data.draw(st.lists(values | damaged(values), min_size=1, max_size=5)),
        Registry((spec,)),
    )


def test_position_is_that_in_the_file(tmp_path: Path) -> None:
    """The second file of a log counts from its own begin, wherever it lies in memory."""
    paths = [tmp_path / segment_name(offset) for offset in (0, 2)]
    for path, batches in zip(paths, (topic_log(1), topic_log(3)[1:]), strict=True):
        path.write_bytes(b"".join(batches))
    records = Records(load_files(list(map(str, paths))), builtin_registry())
    lines = json_lines(Redaction())
    found = [json.loads(line) for line in lines.lines(records, np.arange(2, 6))]
    second = len(topic_batch(2, 2))
    expected = [(2, 0), (3, 0), (4, second), (5, second)]
    assert expected == [(line["offset"], line["pos"]) for line in found]


@pytest.mark.cases(12)
@pytest.mark.parametrize("name", differing(fixture_names()))
def test_recorded_directories(name: str) -> None:
    """Each type that Kafka wrote."""
    for path in fixture(name).data_files():
        expected, actual = both(path, builtin_registry(), Redaction())
        assert expected == actual


@pytest.mark.cases(6)
@pytest.mark.parametrize("segment", differing_segments(), ids=lambda segment: segment.name)
def test_recorded_logs_of_coordinators(segment: RecordedSegment) -> None:
    """Each type that a coordinator wrote, tombstones and markers."""
    log = next(log for log in CoordinatorLog if log.value == segment.topic)
    records = KeyedRecords(segment.load(), load_record_types(log))
    rows = np.arange(len(records.frames))
    for form in (JsonForm(), ReadableForm()):
        expected, actual = (
            LineWriter(form, Redaction(), library=library).lines(records, rows)
            for library in (None, load.library())
        )
        assert list(expected) == list(actual)


EDGES = [
    "",
    "plain",
    '"quoted" \\back\\ /slash/',
    "".join(map(chr, range(32))),
    "\x7f\x80\x9f\xa0",
    "\u07ff\u0800\ud7ff\ue000\ufffd\uffff",
    "\U00010000\U0010ffff",
    "\u2028\u2029\u202e",
    "x" * 32_767,
    "a=b",
    "[redacted]",
    "{}",
]
NOT_UTF8 = [
    b"\xed\xa0\x80",  # a surrogate
    b"\xed\xbf\xbf",
    b"\xc0\x80",  # longer than it needs to be
    b"\xc1\xbf",
    b"\xe0\x9f\xbf",
    b"\xf0\x8f\xbf\xbf",
    b"\xf4\x90\x80\x80",  # beyond U+10FFFF
    b"\xf5\x80\x80\x80",
    b"\x80",
    b"\xc3",  # cut short
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xe2\x28\xa1",
    b"\xf0\x28\x8c\xbc",
    b"\xff\xfe",
]


def text_spec() -> MessageSpec:
    """A message with a string."""
    every = Versions(0, 0)
    return MessageSpec(
        name="TextRecord",
        api_key=501,
        control_type=None,
        versions=every,
        flexible=NO_VERSIONS,
        fields=(
            FieldSpec(
                name="Text",
                type="string",
                is_array=False,
                versions=every,
                nullable=NO_VERSIONS,
                tagged=NO_VERSIONS,
                tag=None,
                default="",
                fields=(),
            ),
        ),
    )


def test_edges_of_strings(tmp_path: Path) -> None:
    """Escapes, characters of each size, and the longest string."""
    spec = text_spec()
    values = [encode_record(spec, 0, {"text": text}) for text in EDGES]
    lines = of_values(tmp_path, values, Registry((spec,)))
    assert "\\u0000\\u0001" in lines[3]
    assert "\\b\\t\\n\\u000B\\f\\r\\u000E" in lines[3]
    assert EDGES[6] in lines[6]


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    """Alone, behind text and in front of it; what stands beside them is whole."""
    spec, header = text_spec(), encode_record(text_spec(), 0, {"text": ""})[:-2]
    raws = [before + raw + b"z" for raw in NOT_UTF8 for before in (b"", "é".encode(), b"ab")]
    raws += [b"fine", *NOT_UTF8]
    values = [header + len(raw).to_bytes(2, "big") + raw for raw in raws]
    lines = of_values(tmp_path, values, Registry((spec,)))
    assert all("\ufffd" in line for line in lines if "fine" not in line)


def test_ids_get_numbers_in_the_order_in_which_they_come() -> None:
    """However many there are, and whether they come at once or not."""
    library = load.library()
    assert library is not None
    rng = np.random.default_rng(7)
    drawn = rng.integers(0, 3_000, 20_000).astype(">u8")
    ids = np.zeros((len(drawn), 2), dtype=">u8")
    ids[:, rng.integers(0, 2)] = drawn
    raws = ids.view("V16")[:, 0]
    known: dict[bytes, int] = {}
    expected = [known.setdefault(raw, len(known)) for raw in raws.tolist()]

    numbered = Ids(library)
    parts = np.array_split(raws, [1, 2, 900, 901, 5_000])
    actual = np.concatenate([numbered.numbers(part) for part in parts])
    assert expected == actual.tolist()
    assert len(known) == len(numbered)
    assert list(known) == numbered.at(np.arange(len(known)))
    # One value for all rows has no step.
    constant = np.broadcast_to(raws[:1], 5)
    assert [0] * 5 == numbered.numbers(constant).tolist()


@given(
    st.lists(
        st.sampled_from([-(1 << 63), (1 << 63) - 1, -1, 0, 951_782_400_000])
        | st.integers(-(1 << 63), (1 << 63) - 1)
        | st.integers(-62_200_000_000_000, 253_500_000_000_000),
        min_size=1,
    )
)
def test_times(times: list[int]) -> None:
    """Any number of milliseconds, before the year 0 and after 9999."""
    library = load.library()
    assert library is not None
    arena = Arena.from_bytes(b"")
    texts = NativeTexts(arena, Names(library, TopicNames(), list, "null"), LineTexts())
    texts.times("", np.array(times, dtype=np.int64))
    n = len(times)
    kinds, kind_of = [(texts.finished(""), n)], np.zeros(n, dtype=np.int32)
    lines, left = write_lines(library, arena, kinds, kind_of)
    assert [iso_time(time) for time in times] == list(lines)
    assert not len(left)


@pytest.mark.parametrize("knows", [False, True])
def test_topics_without_a_name(tmp_path: Path, knows: bool) -> None:
    """Their ids stand in a line to be read."""
    spec = builtin_registry().by_name["PartitionRecord"]
    fields = {field.column_name: default_value(field) for field in spec.fields}
    ids = [bytes([i]) * 16 for i in (1, 2, 1)]
    values = [encode_record(spec, 0, fields | {"topic_id": topic_id}) for topic_id in ids]
    path = tmp_path / segment_name(0)
    path.write_bytes(encode_batch(values))
    records = Records(load_files([str(path)]), builtin_registry())
    found = []
    for library in (None, load.library()):
        names = TopicNames()
        lines = LineWriter(ReadableForm(), Redaction(), names, library)
        parts = [list(lines.lines(records, np.arange(3)))]
        # A name that comes by later is used.
        names.names.update({ids[0]: "orders"} if knows else {})
        found.append([*parts, list(lines.lines(records, np.arange(3)))])
    assert found[0] == found[1]
    assert ["topic=orders" in line for line in found[1][1]] == [knows, False, knows]
    assert all("topicId=" in line for line in found[1][0])


def test_plain_records_are_left_to_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel writes each record of a type without secrets."""
    spec = builtin_registry().by_name["PartitionRecord"]
    fields = {field.column_name: default_value(field) for field in spec.fields}
    values = [encode_record(spec, version, fields) for version in range(3)]
    path = tmp_path / segment_name(0)
    path.write_bytes(encode_batch(values))
    monkeypatch.setattr(LineWriter, "bodies", None)
    records = Records(load_files([str(path)]), builtin_registry())
    lines = json_lines(Redaction()).lines(records, np.arange(3))
    assert 3 == len(lines)
    assert all('"type":"PARTITION_RECORD"' in line for line in lines)
    names = TopicNames(names={bytes(16): "orders"})
    read = readable_lines(Redaction(), names).lines(records, np.arange(3))
    assert all(" PARTITION_RECORD topic=orders partitionId=-1 " in line for line in read)
    assert [lines[1], lines[2]] == list(lines[1:]) == list(lines[-2:])
    assert [lines[0], lines[2]] == list(lines[::2])
    assert 0 == len(lines[3:])
