"""The scalar decoder: what it accepts, what it refuses and how it says so."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.errors import DecodeError
from metashell.schema.encode import encode_message, encode_record, encode_uvarint, encode_varint
from metashell.schema.model import MessageSpec, parse_message
from metashell.schema.scalar import (
    UNKNOWN_TAGS,
    decode_frame,
    decode_message,
    decode_utf8,
    default_value,
    read_uvarint,
    read_varint,
    read_varlong,
)
from support.decoded_records import decode_record
from support.seeds import examples
from support.strategies import (
    DrawnRecord,
    builtin_registry,
    damaged_values,
    definitions,
    field_values,
    records,
)

REGISTRY = builtin_registry()
CHANGE = REGISTRY.by_name["PartitionChangeRecord"]
CONFIG = REGISTRY.by_name["ConfigRecord"]
BROKER = REGISTRY.by_name["RegisterBrokerRecord"]


def spec_of(fields: str, *, flexible: str = "0+", versions: str = "0-3") -> MessageSpec:
    """Make a definition of fields in Kafka's form."""
    return parse_message(
        f'{{"name": "MadeUpRecord", "apiKey": 501, "validVersions": "{versions}",'
        f' "flexibleVersions": "{flexible}", "fields": [{fields}]}}'
    )


def failure(spec: MessageSpec, version: int, data: bytes) -> tuple[str, int | None]:
    """Give message and position of the error that decoding ends in."""
    with pytest.raises(DecodeError) as caught:
        decode_message(spec, version, data)
    return caught.value.message, caught.value.pos


@given(records())
def test_round_trip(record: DrawnRecord) -> None:
    """Every record of every version decodes to what was encoded."""
    decoded = decode_record(REGISTRY, record.value)
    assert decoded.error is None
    assert (record.spec, record.version) == (decoded.spec, decoded.version)
    assert record.fields == decoded.fields


@given(definitions(), st.data())
def test_round_trip_of_made_up_definitions(spec: MessageSpec, data: st.DataObject) -> None:
    """The same holds for any definition: nested structs, versions not flexible, tags, nulls."""
    version = data.draw(st.integers(0, spec.versions.high))
    fields = data.draw(field_values(spec, version))
    assert fields == decode_message(spec, version, encode_message(spec, version, fields))


@given(st.one_of(st.binary(max_size=60), damaged_values()))
def test_random_bytes(value: bytes) -> None:
    """Random and damaged bytes give fields or an error, never an exception."""
    decoded = decode_record(REGISTRY, value)
    assert (decoded.error is None) == (decoded.fields is not None)
    assert value == decoded.raw


@settings(max_examples=examples(30))
@given(records(unknown_tags=False))
def test_truncated(record: DrawnRecord) -> None:
    """A record cut off anywhere is an error whose position is within what is left."""
    whole = encode_message(record.spec, record.version, record.fields)
    for stop in range(min(len(whole), 300)):
        with pytest.raises(DecodeError) as caught:
            decode_message(record.spec, record.version, whole[:stop])
        assert caught.value.pos is not None
        assert caught.value.pos <= stop


def test_part_of_a_buffer() -> None:
    """A message is read between two positions of a buffer, and positions in errors are its own."""
    message = encode_message(CONFIG, 0, {"name": "k", "value": "v"})
    data = memoryview(b"xxx" + message + b"yy")
    assert "k" == decode_message(CONFIG, 0, data, 3, 3 + len(message))["name"]
    with pytest.raises(DecodeError) as caught:
        decode_message(CONFIG, 0, data, 3, 2 + len(message))
    assert 2 + len(message) == caught.value.pos


def test_left_over() -> None:
    """Bytes after the message are an error."""
    message = encode_message(CONFIG, 0, {})
    assert ("2 bytes left over after the message", len(message)) == failure(
        CONFIG, 0, message + b"\0\0"
    )


def test_defaults() -> None:
    """What is absent holds the definition's default, fields of other versions too."""
    fields = decode_message(CHANGE, 0, bytes(20) + b"\x00")
    assert {
        "partition_id": 0,
        "topic_id": bytes(16),
        "isr": None,
        "leader": -2,
        "replicas": None,
        "removing_replicas": None,
        "adding_replicas": None,
        "leader_recovery_state": -1,
        "directories": None,
        "eligible_leader_replicas": None,
        "last_known_elr": None,
    } == fields


def test_default_values() -> None:
    """Each type's default has the form of its values; arrays and structs are made anew."""
    spec = spec_of(
        '{"name": "U", "type": "uuid", "versions": "0+", "default": "AAAAAAAAAAAAAAAAAAAAAQ"},'
        '{"name": "B", "type": "bytes", "versions": "0+"},'
        '{"name": "A", "type": "[]string", "versions": "0+"},'
        '{"name": "S", "type": "P", "versions": "0+", "fields": ['
        '  {"name": "X", "type": "int8", "versions": "0+", "default": "0x7f"}]}'
    )
    values = [default_value(field) for field in spec.fields]
    assert [bytes(15) + b"\x01", b"", [], {"x": 127}] == values
    assert default_value(spec.fields[2]) is not values[2]


def test_unknown_tags_are_kept() -> None:
    """Tags that the definition lacks are kept as bytes, in structs too."""
    endpoint = {"name": "A", "host": "b", "port": 65535, "security_protocol": -1}
    fields = {UNKNOWN_TAGS: [(9, b"x")], "end_points": [endpoint | {UNKNOWN_TAGS: [(0, b"")]}]}
    decoded: dict[str, Any] = decode_message(BROKER, 4, encode_message(BROKER, 4, fields))
    assert [(9, b"x")] == decoded[UNKNOWN_TAGS]
    assert [endpoint | {UNKNOWN_TAGS: [(0, b"")]}] == decoded["end_points"]


def test_tags_in_any_order_and_twice() -> None:
    """Tags need no order; of two with the same number the last counts, as in Kafka."""
    leader = b"\x01\x04" + struct.pack(">i", 7)
    data = bytes(20) + b"\x03" + leader + b"\x00\x01\x01" + b"\x01\x04" + struct.pack(">i", 8)
    fields = decode_message(CHANGE, 0, data)
    assert (8, []) == (fields["leader"], fields["isr"])


def test_tag_with_its_default() -> None:
    """A tagged field may hold its default all the same."""
    assert -2 == decode_message(CHANGE, 0, bytes(20) + b"\x01\x01\x04\xff\xff\xff\xfe")["leader"]


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (b"\x01\x01\x05\0\0\0\0\0", "leader: tag 1 has 5 bytes, 1 more than its value"),
        (b"\x01\x01\x03\0\0\0\0", "leader: needs 4 bytes, but 3 are left"),
        (b"\x01\x01\x04\0\0\0", "tag 1 of 4 bytes, but 3 are left"),
        (b"\x01\x63\xff\xff\xff\xff\x07", "tag 99 of 2147483647 bytes, but 0 are left"),
        (b"\x01\x06\x01\x01", "eligible_leader_replicas: tag 6 is not valid in version 1"),
        (b"\x02\x63\x00", "tag: the bytes end within a varint"),
        (b"\x80\x80\x80\x80\x80\x00", "number of tags: a varint is longer than 5 bytes"),
        (b"\x80\x80\x80\x80\x08", "number of tags: varint 2147483648 is over 31 bits"),
        (b"\xff\xff\xff\xff\x07", "tag: the bytes end within a varint"),
        (b"", "number of tags: the bytes end within a varint"),
    ],
)
def test_bad_tags(tail: bytes, reason: str) -> None:
    """A tagged field that is cut off, of another size, or of another version is an error."""
    assert reason == failure(CHANGE, 1, bytes(20) + tail)[0]


@pytest.mark.parametrize(
    ("data", "reason", "pos"),
    [
        (b"", "resource_type: needs 1 bytes, but 0 are left", 0),
        (b"\x02\x00", "resource_name: null, but it is not nullable", 2),
        (b"\x02\x03x", "resource_name: needs 2 bytes, but 1 are left", 2),
        (b"\x02\xff\xff\xff\xff\x07", "resource_name: a string of 2147483646 bytes", 6),
        (b"\x02\xff\xff\xff\xff\x0f", "resource_name: length: varint 4294967295 is over 31", 1),
        (b"\x02\x80", "resource_name: length: the bytes end within a varint", 2),
    ],
)
def test_bad_strings(data: bytes, reason: str, pos: int) -> None:
    """A length is checked against what is left; a null needs to be allowed."""
    message, at = failure(CONFIG, 0, data)
    assert message.startswith(reason)
    assert pos == at


def test_longest_string() -> None:
    """A string has at most 32,767 bytes, as in Kafka's readers."""
    fields = {"value": "x" * 32_767}
    assert fields["value"] == decode_message(CONFIG, 0, encode_message(CONFIG, 0, fields))["value"]
    too_long = encode_message(CONFIG, 0, {"value": "x" * 32_768})
    assert "value: a string of 32768 bytes; the most is 32767" == failure(CONFIG, 0, too_long)[0]


def test_path_of_a_nested_field() -> None:
    """An error names the field down to the element."""
    endpoint = {"name": "A", "host": "b", "port": 1, "security_protocol": 0}
    whole = encode_message(BROKER, 0, {"end_points": [endpoint, endpoint | {"host": "zz"}]})
    at = whole.index(b"\x03zz")
    message, pos = failure(BROKER, 0, whole[: at + 2])
    assert "end_points[1].host: needs 2 bytes, but 1 are left" == message
    assert at + 1 == pos


def test_array_count_is_checked() -> None:
    """A count beyond what is left is an error before anything is made of it."""
    data = bytes(20) + b"\x01\x00\x05" + encode_uvarint(2**31 - 1)
    assert failure(CHANGE, 0, data)[0].startswith("isr: 2147483646 elements, but 0 bytes")


@pytest.mark.parametrize("flexible", [True, False])
def test_null_element(flexible: bool) -> None:
    """A null among the strings of an array is an error."""
    spec = spec_of(
        '{"name": "Names", "type": "[]string", "versions": "0+", "nullableVersions": "0+"}',
        flexible="0+" if flexible else "none",
    )
    data = b"\x03\x01\x00\x00" if flexible else struct.pack(">ihh", 2, 0, -1)
    assert "names[1]: null, but it is not nullable" == failure(spec, 0, data)[0]


def test_plain_versions() -> None:
    """Versions that are not flexible have int16 and int32 lengths and no tags."""
    spec = spec_of(
        '{"name": "S", "type": "string", "versions": "0+", "nullableVersions": "0+"},'
        '{"name": "B", "type": "bytes", "versions": "0+"},'
        '{"name": "A", "type": "[]int16", "versions": "0+", "nullableVersions": "0+"}',
        flexible="1+",
    )
    data = struct.pack(">h2sibi2h", 2, b"hi", 1, 5, 2, 8, 9)
    expected = {"s": "hi", "b": b"\x05", "a": [8, 9]}
    assert expected == decode_message(spec, 0, data)
    assert data == encode_message(spec, 0, expected)
    data = struct.pack(">hii", -1, 0, -1)
    assert {"s": None, "b": b"", "a": None} == decode_message(spec, 0, data)
    assert expected == decode_message(spec, 1, b"\x03hi\x02\x05\x03\0\x08\0\x09\0")


def test_nullable_struct() -> None:
    """A nullable struct has a byte in front (null: below 0), a tagged one a varint (null: 0)."""
    spec = spec_of(
        '{"name": "P", "type": "Q", "versions": "0+", "nullableVersions": "0+",'
        ' "taggedVersions": "1+", "tag": 0, "default": "null",'
        ' "fields": [{"name": "X", "type": "int8", "versions": "0+"}]}'
    )
    assert None is decode_message(spec, 0, b"\xff\x00")["p"]
    assert {"x": 5} == decode_message(spec, 0, b"\x01\x05\x00\x00")["p"]
    assert None is decode_message(spec, 1, b"\x00")["p"]
    assert None is decode_message(spec, 1, b"\x01\x00\x01\x00")["p"]
    assert {"x": 5} == decode_message(spec, 1, b"\x01\x00\x03\x01\x05\x00")["p"]


def test_fixed_types() -> None:
    """Numbers are big-endian; any byte but 0 is true; uint16 and uint32 have no sign."""
    spec = spec_of(
        ",".join(
            f'{{"name": "F{i}", "type": "{t}", "versions": "0+"}}'
            for i, t in enumerate(
                ("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "uuid")
            )
        )
    )
    data = b"\x02" + b"\xff" * 21 + struct.pack(">d", -0.5) + bytes(range(16)) + b"\x00"
    expected = [True, -1, -1, 65535, -1, 2**32 - 1, -1, -0.5, bytes(range(16))]
    assert expected == list(decode_message(spec, 0, data).values())


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"a\xe2\x82b", "a\ufffdb"),
        (b"\xf0\x9f\x98", "\ufffd"),
        (b"\xc0\x80", "\ufffd\ufffd"),
        (b"\xe0\x80\x80", "\ufffd\ufffd\ufffd"),
        (b"\xed\xa0\x80", "\ufffd"),
        (b"\xed\xa0\xbd\xed\xb8\x80", "\ufffd\ufffd"),
        (b"\xed\xa0", "\ufffd"),
        (b"\xed\xa0A", "\ufffdA"),
        (b"\xed\x9f\xbf", "\ud7ff"),
        (b"\xf4\x90\x80\x80", "\ufffd" * 4),
    ],
)
def test_invalid_utf8(data: bytes, text: str) -> None:
    """What is no UTF-8 is replaced as Java replaces it (checked against a JVM)."""
    assert text == decode_utf8(data)


@given(st.integers(0, 2**31 - 1))
def test_uvarint(value: int) -> None:
    """Unsigned varints read back, and say where they end."""
    data = encode_uvarint(value)
    assert (value, len(data) + 1) == read_uvarint(b"\xff" + data + b"\xff", 1, len(data) + 1)


@given(st.integers(-(2**63), 2**63 - 1))
def test_varlong(value: int) -> None:
    """Zigzag varints read back, in 64 bits and in 32."""
    data = encode_varint(value)
    assert (value, len(data)) == read_varlong(data, 0, len(data))
    if -(2**31) <= value < 2**31:
        assert (value, len(data)) == read_varint(data, 0, len(data))


def test_varint_bounds() -> None:
    """Five bytes hold a varint and ten a varlong; bits above the type's are dropped."""
    assert (-1, 5) == read_varint(b"\x81\x80\x80\x80\x70", 0, 5)
    assert (-(2**63), 10) == read_varlong(b"\xff" * 9 + b"\x7f", 0, 10)
    for read, size in ((read_uvarint, 5), (read_varint, 5), (read_varlong, 10)):
        with pytest.raises(DecodeError, match=f"longer than {size} bytes"):
            read(b"\x80" * 20, 0, 20)


def test_frame() -> None:
    """A frame is three unsigned varints, then the message."""
    assert (1, 501, 300, 5) == decode_frame(b"\x01\xf5\x03\xac\x02\x00")


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, "the record has no value"),
        (b"", "frame version: the bytes end within a varint"),
        (b"\x02\x02\x00", "unknown frame version 2"),
        (b"\x01", "api key: the bytes end within a varint"),
        (b"\x01\x80\x80\x80\x80\x80\x00", "api key: a varint is longer than 5 bytes"),
        (b"\x01\xff\xff\x03\x00", "api key: 65535 is too large"),
        (b"\x01\x02", "version: the bytes end within a varint"),
    ],
)
def test_bad_frame(value: bytes | None, error: str) -> None:
    """A frame that can't be read leaves nothing known but the reason."""
    decoded = decode_record(REGISTRY, value)
    assert (None, None, None, None) == (
        decoded.api_key,
        decoded.version,
        decoded.spec,
        decoded.fields,
    )
    assert error == decoded.error


def test_early_access_frame() -> None:
    """Frame version 0 says who wrote the directory and that it can't be read."""
    decoded = decode_record(REGISTRY, encode_record(CONFIG, 0, {}, frame_version=0))
    assert decoded.error is not None
    assert "Kafka 2.8's early-access KRaft" in decoded.error
    assert "KIP-746" in decoded.error


def test_unknown_records() -> None:
    """Unknown keys and versions are kept raw, with the reason."""
    value = b"\x01\xf5\x03\x00abc"
    decoded = decode_record(REGISTRY, value)
    assert (501, 0, None, None, value) == (
        decoded.api_key,
        decoded.version,
        decoded.spec,
        decoded.fields,
        decoded.raw,
    )
    assert "unknown api key 501" == decoded.error
    newer = decode_record(REGISTRY, b"\x01\x02\x01abc")
    assert (2, 1, None) == (newer.api_key, newer.version, newer.fields)
    assert "unknown version 1 of TopicRecord" == newer.error
