"""kafka-dump-log's JSON of records."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.schema.dump import fields_json, java_double, json_text
from metashell.schema.scalar import decode_message
from support.decoded_records import decode_record, record_json
from support.fixtures import fixture, fixture_names
from support.plain_batches import PlainRecord, read_records
from support.strategies import CHARACTERS, builtin_registry

REGISTRY = builtin_registry()


def dumped(record: PlainRecord) -> dict[str, object]:
    """Give a record in the form of the golden lines; those of undecodable ones end at the size."""
    out: dict[str, object] = {
        "offset": record.offset,
        "createTime": record.timestamp,
        "epoch": record.batch.leader_epoch,
        "valueSize": -1 if record.value is None else len(record.value),
    }
    if record.batch.is_control:
        assert record.key is not None
        assert record.value is not None
        spec = REGISTRY.control[int.from_bytes(record.key[2:], "big")]
        version = int.from_bytes(record.value[:2], "big")
        fields = decode_message(spec, version, record.value)
        return out | {"data": fields_json(spec, version, fields)}
    decoded = decode_record(REGISTRY, record.value)
    if decoded.fields is None or decoded.spec is None or decoded.version is None:
        return out
    return out | record_json(decoded.spec, decoded.version, decoded.fields)


@pytest.mark.cases(21)
@pytest.mark.parametrize("name", fixture_names())
def test_golden(name: str) -> None:
    """Every record of every fixture is as kafka-dump-log gives it, in the order of its fields."""
    case = fixture(name)
    paths = {path.name: path for path in case.data_files()}
    lines = case.golden.dump()
    files = dict.fromkeys(line["file"] for line in lines)
    actual = [
        json.dumps({"file": file} | dumped(record))
        for file in files
        for record in read_records(paths[file].read_bytes())
    ]
    expected = [
        json.dumps({k: v for k, v in line.items() if k not in {"text", "control"}})
        for line in lines
    ]
    assert expected == actual


def test_tagged_default_is_left_out() -> None:
    """A tagged field shows only where it holds another value than its default."""
    spec = REGISTRY.by_name["PartitionChangeRecord"]
    fields = decode_message(spec, 2, bytes(20) + b"\x01\x00\x01\x01")
    assert ["partitionId", "topicId", "isr"] == list(fields_json(spec, 2, fields))
    assert [] == fields_json(spec, 2, fields)["isr"]


def test_field_of_another_version_is_left_out() -> None:
    """A field shows only in versions that have it."""
    spec = REGISTRY.by_name["LeaderChangeMessage"]
    voter = {"voter_id": 1, "voter_directory_id": bytes(16)}
    fields = {"version": 0, "leader_id": 1, "voters": [voter], "granting_voters": []}
    assert [{"voterId": 1}] == fields_json(spec, 0, fields)["voters"]
    with_id = {"voterId": 1, "voterDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA"}
    assert [with_id] == fields_json(spec, 1, fields)["voters"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (100.0, "100.0"),
        (-2.25, "-2.25"),
        (0.1, "0.1"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (0.0009660529561520462, "9.660529561520462E-4"),
        (9999999.0, "9999999.0"),
        (1234567.875, "1234567.875"),
        (1e7, "1.0E7"),
        (123456789.0, "1.23456789E8"),
        (123456789.125, "1.23456789125E8"),
        (1048576e9, "1.048576E15"),
        (9007199254740992.0, "9.007199254740992E15"),
        (1e23, "1.0E23"),
        (2e-44, "2.0E-44"),
        (5e-324, "4.9E-324"),
        (1e-323, "9.9E-324"),
        (2.2250738585072014e-308, "2.2250738585072014E-308"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_java_double(value: float, text: str) -> None:
    """Doubles are written as Java writes them."""
    assert text == java_double(value)


@given(st.floats(allow_nan=False))
def test_java_double_is_exact(value: float) -> None:
    """No double loses anything in Java's notation."""
    assert value == float(java_double(value))


def test_json_text() -> None:
    """JSON is compact, with Java's doubles and escapes, other characters as they are."""
    value = {"é": [1e7, None, True, 2**62], "b": {"c": '"\\\n\x1f\x7f😀'}, "d": math.nan}
    expected = '{"é":[1.0E7,null,true,4611686018427387904],"b":{"c":"\\"\\\\\\n\\u001F\x7f😀"}'
    assert expected + ',"d":"NaN"}' == json_text(value)


def test_json_text_keeps_backslashes() -> None:
    """Text that looks like an escape stays what it is."""
    assert r'"\\u001f"' == json_text(r"\u001f")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(CHARACTERS), st.lists))
def test_json_text_is_json(value: object) -> None:
    """What is written reads back the same."""
    assert value == json.loads(json_text(value))
