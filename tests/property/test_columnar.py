"""The columnar decoder gives what the scalar one gives, on whole bytes and on damaged ones."""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.errors import DecodeError
from metashell.schema import columnar
from metashell.schema.arena import Arena
from metashell.schema.columnar import default_columns
from metashell.schema.columns import Columns, constant, is_constant
from metashell.schema.decoding import decode
from metashell.schema.encode import encode_message, encode_uvarint
from metashell.schema.model import NO_VERSIONS, FieldSpec, MessageSpec, Versions
from metashell.schema.rows import to_rows
from metashell.schema.scalar import UNKNOWN_TAGS, decode_message, decode_prefix, default_value
from support.seeds import examples
from support.strategies import (
    builtin_registry,
    coordinator_specs,
    damaged,
    definitions,
    field_values,
)

pytestmark = pytest.mark.usefixtures("implementation")

MESSAGES = [
    (spec, version)
    for spec in builtin_registry().by_name.values()
    for version in range(spec.versions.low, spec.versions.high + 1)
]

every_message = pytest.mark.parametrize(
    ("spec", "version"), MESSAGES, ids=[f"{s.name}-{v}" for s, v in MESSAGES]
)


def plain(value: object) -> object:
    """Make values comparable: without unknown tags, floats by their bits (NaN equals NaN)."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items() if name != UNKNOWN_TAGS}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return struct.pack(">d", value) if isinstance(value, float) else value


def scalar_rows(
    spec: MessageSpec, version: int, messages: Sequence[bytes], *, trailing: bool = False
) -> list[object]:
    """Decode one message at a time; None for those that are refused."""
    rows: list[object] = []
    for data in messages:
        try:
            whole = decode_prefix if trailing else decode_message
            decoded = whole(spec, version, data)
            rows.append(plain(decoded[0] if isinstance(decoded, tuple) else decoded))
        except DecodeError:
            rows.append(None)
    return rows


def decode_all(
    spec: MessageSpec,
    version: int,
    messages: Sequence[bytes],
    fields: Collection[str] | None = None,
    block_rows: int | None = None,
    *,
    trailing: bool = False,
) -> Columns:
    """Decode messages that lie in one arena, with other messages' bytes around each."""
    data, starts, stops = bytearray(b"\xff\x01\x80"), [], []
    for message in messages:
        starts.append(len(data))
        data += message
        stops.append(len(data))
    block = (
        nullcontext() if block_rows is None else patch.object(columnar, "BLOCK_ROWS", block_rows)
    )
    with block:
        return decode(
            Arena.from_bytes(data),
            spec,
            version,
            np.array(starts, dtype=np.int64),
            np.array(stops, dtype=np.int64),
            fields,
            trailing=trailing,
        )


def columnar_rows(columns: Columns) -> list[object]:
    """Take columns apart; None for rows that are refused."""
    good = np.flatnonzero(columns.ok)
    rows: list[object] = [None] * columns.n
    for row, value in zip(good.tolist(), to_rows(columns.take(good)), strict=True):
        rows[row] = plain(value)
    return rows


@st.composite
def message_lists(draw: st.DrawFn, spec: MessageSpec, version: int) -> list[bytes]:
    """Draw messages of one type, some of them damaged, some a mere handful of bytes."""
    whole = field_values(spec, version).map(lambda fields: encode_message(spec, version, fields))
    messages = draw(st.lists(st.one_of(whole, damaged(whole)), min_size=1, max_size=7))
    return messages + draw(st.lists(st.binary(max_size=40), max_size=2))


def check(spec: MessageSpec, version: int, data: st.DataObject) -> None:
    """Compare both decoders on a list of messages, whole, in small blocks, and for some fields."""
    messages = data.draw(message_lists(spec, version))
    expected = scalar_rows(spec, version, messages)

    assert expected == columnar_rows(decode_all(spec, version, messages))
    assert expected == columnar_rows(decode_all(spec, version, messages, block_rows=3))

    longer = [message + data.draw(st.binary(max_size=3)) for message in messages]
    assert scalar_rows(spec, version, longer, trailing=True) == columnar_rows(
        decode_all(spec, version, longer, trailing=True)
    )

    names = [field.column_name for field in spec.fields]
    wanted = data.draw(st.sets(st.sampled_from(names)) if names else st.just(set()))
    some = decode_all(spec, version, messages, wanted)
    assert [row is not None for row in expected] == some.ok.tolist()
    assert wanted == set(some.fields)
    kept = [
        {name: part for name, part in row.items() if name in wanted}
        for row in expected
        if isinstance(row, dict)
    ]
    assert kept == [row for row in columnar_rows(some) if row is not None]


COORDINATOR_MESSAGES = [
    (spec, version)
    for spec in coordinator_specs()
    for version in range(spec.versions.low, spec.versions.high + 1)
]


@pytest.mark.cases(22)
@every_message
@settings(max_examples=examples(4))
@given(data=st.data())
def test_every_message(spec: MessageSpec, version: int, data: st.DataObject) -> None:
    """Of every message in every version the same values are decoded, and the same bytes refused."""
    check(spec, version, data)


@pytest.mark.cases(23)
@pytest.mark.parametrize(
    ("spec", "version"),
    COORDINATOR_MESSAGES,
    ids=[f"{s.name}-{v}" for s, v in COORDINATOR_MESSAGES],
)
@settings(max_examples=3)
@given(data=st.data())
def test_every_message_of_a_coordinator(
    spec: MessageSpec, version: int, data: st.DataObject
) -> None:
    """So it is with what coordinators write, in versions that are not flexible too."""
    check(spec, version, data)


@pytest.mark.parametrize("spec", [spec for spec, _ in COORDINATOR_MESSAGES], ids=lambda s: s.name)
def test_defaults(spec: MessageSpec) -> None:
    """Columns without messages hold the default of each field."""
    columns = default_columns(Arena.from_bytes(b""), spec, 2)
    defaults = {field.column_name: default_value(field) for field in spec.fields}

    assert [plain(defaults)] * 2 == columnar_rows(columns)


@given(spec=definitions(), data=st.data())
def test_made_up_definitions(spec: MessageSpec, data: st.DataObject) -> None:
    """Definitions with any types, nesting, nullability and tags are decoded alike."""
    check(spec, data.draw(st.integers(0, spec.versions.high)), data)


@given(
    st.lists(
        st.lists(
            st.tuples(
                st.sampled_from([0, 1, 2, 3, 5, 8, 9, 200]),
                st.sampled_from(
                    [b"", b"\x00", b"\x01", b"\x00\x00\x00\x07", b"\x02\x00\x00\x00\x01"]
                ),
            ),
            max_size=40,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_tags_in_any_order(rows: list[list[tuple[int, bytes]]]) -> None:
    """Tags that repeat, come unsorted, or are very many mean the same to both."""
    spec = builtin_registry().by_name["PartitionChangeRecord"]
    messages = [
        bytes(20)
        + encode_uvarint(len(tags))
        + b"".join(
            encode_uvarint(tag) + encode_uvarint(len(content)) + content for tag, content in tags
        )
        for tags in rows
    ]

    assert scalar_rows(spec, 1, messages) == columnar_rows(decode_all(spec, 1, messages))


def test_one_value_is_told_from_many() -> None:
    """A column of one value takes the memory of one, and is known by that."""
    one = constant(np.int64(-1), 1_000)
    assert (True, False) == (is_constant(one), is_constant(np.array(one)))


def test_no_rows() -> None:
    """Of no messages come columns with no rows, but with every field."""
    for spec, version in MESSAGES:
        columns = decode_all(spec, version, [])

        assert (0, []) == (columns.n, to_rows(columns)), spec.name
        assert {field.column_name for field in spec.fields} == set(columns.fields)


@pytest.mark.cases(1)
@pytest.mark.parametrize("flexible", [False, True])
def test_too_many_structs(flexible: bool) -> None:
    """Arrays of structs above the limit are the one thing that only the scalar decoder reads."""
    spec = _array_of_structs(flexible)
    element = {"a": 7}
    messages = [
        encode_message(spec, 0, {"parts": [element] * n})
        for n in (columnar.MAX_STRUCTS, columnar.MAX_STRUCTS + 1)
    ]
    with patch.object(columnar, "MAX_STRUCTS", 64):
        small = [encode_message(spec, 0, {"parts": [element] * n}) for n in (64, 65)]
        assert [True, False] == decode_all(spec, 0, small).ok.tolist()

    assert all(row is not None for row in scalar_rows(spec, 0, messages))
    assert [False] == decode_all(spec, 0, messages[1:]).ok.tolist()


@pytest.mark.parametrize("steps", [0, 1, 5, 6, 7, 12])
@pytest.mark.parametrize("wanted", [None, ()])
def test_too_many_nested_structs(steps: int, wanted: Collection[str] | None) -> None:
    """Arrays in arrays are found in a bounded number of steps; a record beyond is refused whole."""
    spec = builtin_registry().by_name["VotersRecord"]
    endpoint = {"name": "n", "host": "h", "port": 1}

    def voters(*counts: int) -> bytes:
        made = [{"voter_id": i, "endpoints": [endpoint] * n} for i, n in enumerate(counts)]
        return encode_message(spec, 0, {"voters": made})

    messages = [voters(), voters(0, 0, 0), voters(2, 2, 2)]
    with patch.object(columnar, "MAX_NESTED_STEPS", steps):
        columns = decode_all(spec, 0, messages, wanted)

    assert [True, True, steps >= 6] == columns.ok.tolist()
    if wanted is None:
        read = [row for row in columnar_rows(columns) if row is not None]
        assert scalar_rows(spec, 0, messages)[: len(read)] == read


@pytest.mark.parametrize("flexible", [False, True])
def test_string_lengths_at_the_limit(flexible: bool) -> None:
    """A string of 32,767 bytes is read, a longer one refused, in an array too."""
    text = _field("Text", "string")
    texts = _field("Texts", "string", is_array=True)
    spec = _message((text, texts), flexible)
    messages = []
    for size in (32_767, 32_768):
        if flexible:
            long = encode_uvarint(size + 1) + b"x" * size
            messages += [long + b"\x01\x00", b"\x01\x02" + long + b"\x00"]
        else:
            long = struct.pack(">H", size) + b"x" * size
            messages += [long + bytes(4), bytes(2) + struct.pack(">i", 1) + long]
    expected = scalar_rows(spec, 0, messages)

    assert [True, True, False, False] == [row is not None for row in expected]
    assert expected == columnar_rows(decode_all(spec, 0, messages))


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 40])
def test_many_tags(n: int) -> None:
    """Rows with more tags than vector steps are walked alone, to the same result."""
    spec = builtin_registry().by_name["PartitionChangeRecord"]
    unknown = [(1000 + i, bytes(i % 3)) for i in range(n)]
    fields = {"partition_id": 3, "leader": 9, "isr": [1, 2], UNKNOWN_TAGS: unknown}
    messages = [
        encode_message(spec, 2, fields),
        encode_message(spec, 2, {"partition_id": 1, "leader": -1}),
    ]

    assert scalar_rows(spec, 2, messages) == columnar_rows(decode_all(spec, 2, messages))


def test_wide_message() -> None:
    """Fixed-size fields that add up to more than the arena's slack stay inside the arena."""
    spec = _message(tuple(_field(f"F{i}", "uuid") for i in range(200)), flexible=True)
    whole = bytes(range(16)) * 200 + b"\x00"
    messages = [whole, whole[:-1], whole[:100], b"", whole + b"\x00"]

    assert scalar_rows(spec, 0, messages) == columnar_rows(decode_all(spec, 0, messages))


@pytest.mark.parametrize("count", [2**31 - 1, 2**31 - 2, 2**20, 300, -5, -(2**31)])
@pytest.mark.parametrize("type_name", ["uuid", "string", "Part", "int8", "bytes"])
@pytest.mark.parametrize("flexible", [False, True])
def test_lying_counts(type_name: str, count: int, flexible: bool) -> None:
    """An array that claims more than the record holds is refused and allocates nothing."""
    inner = (_field("A", "int32"),) if type_name == "Part" else ()
    spec = _message((_field("Items", type_name, is_array=True, fields=inner),), flexible)
    size = encode_uvarint(max(count, -1) + 1 & 0x7FFFFFFF) if flexible else struct.pack(">i", count)
    messages = [size + bytes(40), size]
    expected = scalar_rows(spec, 0, messages)

    assert expected == columnar_rows(decode_all(spec, 0, messages))


def _field(
    name: str, type_name: str, *, is_array: bool = False, fields: tuple[FieldSpec, ...] = ()
) -> FieldSpec:
    return FieldSpec(
        name=name,
        type=type_name,
        is_array=is_array,
        versions=Versions(0, 32_767),
        nullable=NO_VERSIONS,
        tagged=NO_VERSIONS,
        tag=None,
        default="AAAAAAAAAAAAAAAAAAAAAA" if type_name == "uuid" and not is_array else "",
        fields=fields,
    )


def _message(fields: tuple[FieldSpec, ...], flexible: bool) -> MessageSpec:
    return MessageSpec(
        name="MadeUpRecord",
        api_key=501,
        control_type=None,
        versions=Versions(0, 0),
        flexible=Versions(0, 32_767) if flexible else NO_VERSIONS,
        fields=fields,
    )


def _array_of_structs(flexible: bool) -> MessageSpec:
    inner = (_field("A", "int32"),)
    return _message((_field("Parts", "Part", is_array=True, fields=inner),), flexible)
