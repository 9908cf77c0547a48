"""Hypothesis strategies: fields for any definition, records, damaged bytes, definitions.

Fields are drawn as the scalar decoder gives them, complete with the defaults of what a version
lacks, so that decoding what was encoded gives back the same dict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, lru_cache

from hypothesis import strategies as st

from metashell.schema.coordinators import CoordinatorLog, data_message, load_record_types
from metashell.schema.encode import encode_record
from metashell.schema.model import (
    NO_VERSIONS,
    FieldSpec,
    MessageSpec,
    Registry,
    Versions,
    load_registry,
)
from metashell.schema.scalar import UNKNOWN_TAGS, default_value

Fields = dict[str, object]

_INTEGERS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}

_LONG = st.sampled_from([126, 127, 128, 129, 300, 16_383, 16_384])
"""Lengths about where their varint grows; the length on the wire is one more."""

_LATEST = 32_767

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""What UTF-8 encodes. To list that, as Hypothesis does by default, takes seconds in a new clone."""


@dataclass(frozen=True)
class DrawnRecord:
    """A metadata record before it is encoded."""

    spec: MessageSpec
    version: int
    fields: Fields

    @property
    def value(self) -> bytes:
        """The record's value: frame and message."""
        return encode_record(self.spec, self.version, self.fields)


@cache
def builtin_registry() -> Registry:
    """Read our definitions, once."""
    return load_registry()


@cache
def coordinator_specs() -> tuple[MessageSpec, ...]:
    """Read the definitions of all that coordinators write, once."""
    types = [t for log in CoordinatorLog for t in load_record_types(log).by_number.values()]
    data = ("ConsumerProtocolAssignment", "ConsumerProtocolSubscription", "EndTxnMarker")
    specs = [spec for record_type in types for spec in (record_type.key, record_type.value)]
    return (*specs, *(data_message(name) for name in (*data, "ProducerSnapshot")))


def texts() -> st.SearchStrategy[str]:
    """Draw text: empty, of any script, with control characters, a few of them long."""
    short = st.text(CHARACTERS, max_size=12)
    names = st.text("abcXYZ019._-/ ü😀\n", max_size=20)
    return st.one_of(short, names, st.builds(lambda n: "é" * (n // 2) + "x" * (n % 2), _LONG))


def blobs() -> st.SearchStrategy[bytes]:
    """Draw bytes, a few of them long."""
    return st.one_of(st.binary(max_size=12), st.builds(lambda n: b"\xff" * n, _LONG))


def uuids() -> st.SearchStrategy[bytes]:
    """Draw uuids, often one of Kafka's reserved ones."""
    reserved = st.sampled_from([(i).to_bytes(16, "big") for i in range(3)])
    return st.one_of(reserved, st.binary(min_size=16, max_size=16))


def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    small = st.integers(max(low, -2), min(high, 130))
    return st.one_of(small, st.integers(low, high), st.sampled_from([low, high]))


_IN_EIGHT = st.integers(0, 7)
_SCALARS: Mapping[str, st.SearchStrategy[object]] = {
    "bool": st.booleans(),
    # NaN is not equal to itself; what becomes of it is for tests of their own.
    "float64": st.floats(allow_nan=False),
    "uuid": uuids(),
    "string": texts(),
    "bytes": blobs(),
    **{name: _integers(*limits) for name, limits in _INTEGERS.items()},
}


def field_values(
    spec: MessageSpec,
    version: int,
    *,
    unknown_tags: bool = True,
    fixed: Mapping[str, st.SearchStrategy[object]] | None = None,
) -> st.SearchStrategy[Fields]:
    """Draw the fields of a message.

    Args:
        spec: Its definition.
        version: The version that must be able to carry them.
        unknown_tags: Whether tags that the definition lacks may come along, in structs too.
        fixed: Strategies for fields of the message itself, by snake_case name, instead of ours.
            Fields that the version lacks keep their default all the same.
    """
    if fixed is None:
        return _fields_of(spec, version, unknown_tags)
    return _struct(spec.fields, version, unknown_tags and version in spec.flexible, fixed)


@lru_cache(maxsize=512)
def _fields_of(spec: MessageSpec, version: int, unknown_tags: bool) -> st.SearchStrategy[Fields]:
    # To make a strategy costs more than to draw from it, and each message is drawn many times.
    return _struct(spec.fields, version, unknown_tags and version in spec.flexible, {})


def records(
    specs: Sequence[MessageSpec] | None = None, *, unknown_tags: bool = True
) -> st.SearchStrategy[DrawnRecord]:
    """Draw metadata records of any type and version.

    Args:
        specs: The types to draw from; None for all of ours.
        unknown_tags: As in `field_values`.
    """
    chosen = tuple(specs or builtin_registry().metadata.values())
    versions = [(s, v) for s in chosen for v in range(s.versions.low, s.versions.high + 1)]
    return st.sampled_from(versions).flatmap(
        lambda pair: st.builds(
            DrawnRecord,
            st.just(pair[0]),
            st.just(pair[1]),
            field_values(*pair, unknown_tags=unknown_tags),
        )
    )


def record_lists(
    specs: Sequence[MessageSpec] | None = None,
    *,
    min_size: int = 0,
    max_size: int = 12,
    unknown_tags: bool = True,
) -> st.SearchStrategy[list[DrawnRecord]]:
    """Draw lists of records; see `records`."""
    return st.lists(records(specs, unknown_tags=unknown_tags), min_size=min_size, max_size=max_size)


@st.composite
def damaged(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """Draw bytes and then cut, extend, or overwrite them in a few places."""
    data = bytearray(draw(whole))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(["cut", "drop", "insert", "set", "flip"])):
            case "cut":
                del data[at:]
            case "drop":
                del data[at : at + draw(st.integers(1, 4))]
            case "insert":
                data[at:at] = draw(st.binary(min_size=1, max_size=4))
            case "set":
                data[at : at + 1] = bytes([draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))])
            case _:
                if at < len(data):
                    data[at] ^= 1 << draw(st.integers(0, 7))
    return bytes(data)


def damaged_values(
    specs: Sequence[MessageSpec] | None = None,
) -> st.SearchStrategy[bytes]:
    """Draw record values that were whole before something happened to them."""
    return damaged(records(specs).map(lambda record: record.value))


@st.composite
def definitions(draw: st.DrawFn) -> MessageSpec:
    """Draw the definition of a made-up metadata record, of versions 0 to 3."""
    high = draw(st.integers(0, 3))
    flexible = draw(st.sampled_from([NO_VERSIONS, Versions(0, _LATEST), Versions(1, _LATEST)]))
    return MessageSpec(
        name="MadeUpRecord",
        api_key=draw(st.sampled_from([0, 127, 128, 501, 20_000])),
        control_type=None,
        versions=Versions(0, high),
        flexible=flexible,
        fields=draw(_field_specs(flexible, high, depth=0)),
    )


@st.composite
def _field_specs(
    draw: st.DrawFn, flexible: Versions, high: int, depth: int
) -> tuple[FieldSpec, ...]:
    types = [*_INTEGERS, "bool", "float64", "uuid", "string", "bytes"] + ["Part"] * (depth < 2)
    fields = []
    # A struct without fields takes no bytes in versions that are not flexible; Kafka has none.
    for i in range(draw(st.integers(depth > 0, 5 - depth))):
        type_name = draw(st.sampled_from(types))
        is_array = draw(st.booleans())
        first = 0 if i == 0 and depth > 0 else draw(st.integers(0, high))
        versions = Versions(first, _LATEST)
        nullable = NO_VERSIONS
        if is_array or type_name in {"string", "bytes", "Part"}:
            nullable = draw(st.sampled_from([NO_VERSIONS, versions, Versions(high, _LATEST)]))
        taggable = flexible != NO_VERSIONS and (i > 0 or depth == 0)
        tagged = NO_VERSIONS
        if taggable and draw(st.integers(0, 2)) == 0:
            tagged = Versions(max(first, flexible.low), _LATEST)
        null_default = nullable == versions and draw(st.booleans())
        fields.append(
            FieldSpec(
                name=f"Field{i}",
                type=type_name,
                is_array=is_array,
                versions=versions,
                nullable=nullable,
                tagged=tagged,
                # Descending, so that the order of tags is not that of fields.
                tag=None if tagged == NO_VERSIONS else 9 - i,
                default=None if null_default else _plain_default(type_name, is_array),
                fields=draw(_field_specs(flexible, high, depth + 1)) if type_name == "Part" else (),
            )
        )
    return tuple(fields)


def _plain_default(type_name: str, is_array: bool) -> bool | int | float | str:
    if is_array or type_name in {"string", "bytes", "Part"}:
        return ""
    if type_name == "uuid":
        return "AAAAAAAAAAAAAAAAAAAAAQ"
    if type_name == "bool":
        return True
    return -2.5 if type_name == "float64" else 7


@st.composite
def _structs(
    draw: st.DrawFn,
    defaults: Mapping[str, object],
    values: Mapping[str, st.SearchStrategy[object]],
    unknown_tags: st.SearchStrategy[list[tuple[int, bytes]]] | None,
) -> Fields:
    fields = {name: deepcopy(value) for name, value in defaults.items()}
    for name, value in values.items():
        fields[name] = draw(value)
    if unknown_tags is not None and draw(_IN_EIGHT) == 0:
        fields[UNKNOWN_TAGS] = sorted(draw(unknown_tags), key=lambda pair: pair[0])
    return fields


def _struct(
    specs: Sequence[FieldSpec],
    version: int,
    unknown_tags: bool,
    fixed: Mapping[str, st.SearchStrategy[object]],
) -> st.SearchStrategy[Fields]:
    known = {spec.tag for spec in specs}
    tags = st.sampled_from([t for t in (0, 10, 11, 127, 128, 2**31 - 1) if t not in known])
    pairs = st.tuples(tags, st.binary(max_size=9))
    return _structs(
        {spec.column_name: default_value(spec) for spec in specs},
        {
            spec.column_name: fixed.get(spec.column_name) or _values(spec, version, unknown_tags)
            for spec in specs
            if version in spec.versions
        },
        st.lists(pairs, min_size=1, max_size=3) if unknown_tags else None,
    )


def _values(spec: FieldSpec, version: int, unknown_tags: bool) -> st.SearchStrategy[object]:
    values: st.SearchStrategy[object] = _elements(spec, version, unknown_tags)
    if spec.is_array:
        values = st.lists(values, max_size=4)
    if version in spec.nullable:
        values = st.one_of(st.none(), values)
    if version in spec.tagged:
        values = st.one_of(st.builds(default_value, st.just(spec)), values)
    return values


def _elements(spec: FieldSpec, version: int, unknown_tags: bool) -> st.SearchStrategy[object]:
    if spec.is_struct:
        return _struct(spec.fields, version, unknown_tags, {})
    return _SCALARS[spec.type]


def damage_bytes(draw: st.DrawFn, data: bytearray) -> None:
    """Do to a file what disks and crashes do, at one place of it."""
    at = draw(st.integers(0, len(data)))
    match draw(st.sampled_from(["cut", "drop", "zeros", "noise", "flip", "again"])):
        case "cut":
            del data[at:]
        case "drop":
            del data[at : at + draw(st.integers(1, 80))]
        case "zeros":
            data[at:at] = bytes(draw(st.integers(1, 300)))
        case "noise":
            data[at:at] = draw(st.binary(min_size=1, max_size=80))
        case "again":
            data += data[at : at + 300]
        case _:
            if at < len(data):
                data[at] ^= 1 << draw(st.integers(0, 7))
