"""Message definitions: how they are read, and whether ours make sense."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.errors import SchemaError
from metashell.schema.model import (
    FIXED_SIZES,
    NO_VERSIONS,
    VARIABLE_TYPES,
    FieldSpec,
    MessageSpec,
    Versions,
    builtin_specs,
    parse_message,
    read_definitions,
    snake_case,
)

SPECS = builtin_specs()


def all_fields(fields: tuple[FieldSpec, ...]) -> Iterator[FieldSpec]:
    """Yield fields and those of their structs."""
    for field in fields:
        yield field
        yield from all_fields(field.fields)


def structs(spec: MessageSpec) -> Iterator[tuple[FieldSpec, ...]]:
    """Yield the fields of the message and of each struct in it."""
    yield spec.fields
    yield from (field.fields for field in all_fields(spec.fields) if field.fields)


@pytest.mark.parametrize(
    ("text", "low", "high"), [("3", 3, 3), ("0-2", 0, 2), ("1+", 1, 32767), ("none", 0, -1)]
)
def test_versions(text: str, low: int, high: int) -> None:
    """All forms of version ranges are read."""
    assert Versions(low, high) == Versions.parse(text)


@pytest.mark.parametrize("text", ["", "x", "1-", "-1", "1 +", "0+2"])
def test_versions_refused(text: str) -> None:
    """Other texts are no version ranges."""
    with pytest.raises(SchemaError, match="not a version range"):
        Versions.parse(text)


def test_versions_contain() -> None:
    """Both ends belong to a range, and nothing belongs to none."""
    versions = Versions(1, 2)
    assert [False, True, True, False] == [v in versions for v in range(4)]
    assert 0 not in NO_VERSIONS


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("LastKnownElr", "last_known_elr"),
        ("KRaftVersion", "k_raft_version"),
        ("Id", "id"),
        ("ISRChange", "isr_change"),
    ],
)
def test_snake_case(name: str, expected: str) -> None:
    """Kafka's names become snake_case, a run of capitals one word."""
    assert expected == snake_case(name)


def test_parse_comments() -> None:
    """Comments are left out, but not what looks like one inside a string."""
    spec = parse_message(
        """// A header.
        {"name": "A", "apiKey": 501, "validVersions": "0-1", "flexibleVersions": "0+", // why
         "fields": [{"name": "Url", "type": "string", "versions": "0+", "default": "http://x"}]}"""
    )
    assert "http://x" == spec.fields[0].default
    assert (501, "A") == (spec.api_key, spec.type_name)


def test_parse_common_structs() -> None:
    """A struct may be defined once and used in several fields."""
    spec = parse_message(
        """{"name": "A", "apiKey": 1, "validVersions": "0",
         "commonStructs": [{"name": "P", "versions": "0+", "fields": [
           {"name": "X", "type": "int32", "versions": "0+"}]}],
         "fields": [{"name": "Left", "type": "P", "versions": "0+"},
                    {"name": "Right", "type": "[]P", "versions": "0+"}]}"""
    )
    assert ["x", "x"] == [field.fields[0].column_name for field in spec.fields]
    assert [False, True] == [field.is_array for field in spec.fields]


def test_parse_tagged_versions_alone() -> None:
    """A field that says only in which versions it is tagged is there in those."""
    spec = parse_message(
        """{"name": "A", "validVersions": "0-1", "type": "data",
         "flexibleVersions": "1+", "fields": [
         {"name": "F", "type": "int8", "tag": 0, "taggedVersions": "1+"}]}"""
    )
    assert Versions(1, 32767) == spec.fields[0].versions == spec.fields[0].tagged
    assert ("data", False) == (spec.kind, spec.of_coordinator)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "not a message definition"),
        ("{}", "not a message definition"),
        ('{"name": "A", "validVersions": "x", "fields": []}', "not a version range"),
        (
            '{"name": "A", "validVersions": "0", "fields": '
            '[{"name": "F", "type": "int33", "versions": "0"}]}',
            "F: unknown type `int33`",
        ),
        (
            '{"name": "A", "validVersions": "0", "fields": '
            '[{"name": "F", "type": "int8", "versions": "0", "default": "many"}]}',
            "F: default `many` is no int8",
        ),
        (
            '{"name": "A", "validVersions": "0", "fields": '
            '[{"name": "F", "type": "int8", "versions": "0", "tag": 1}]}',
            "tag and taggedVersions go together",
        ),
        (
            '{"name": "A", "validVersions": "0", "fields": [{"name": "F", "type": "int8"}]}',
            "F: no versions",
        ),
        (
            '{"name": "A", "validVersions": "0", "fields": '
            '[{"name": "F", "type": "int32", "versions": "0", "nullableVersions": "0"}]}',
            "F: int32 can't be null",
        ),
        (
            '{"name": "A", "validVersions": "0", "fields": '
            '[{"name": "F", "type": "uuid", "versions": "0", "default": "null"}]}',
            "F: uuid can't be null",
        ),
    ],
)
def test_parse_refused(text: str, reason: str) -> None:
    """A malformed definition is an error that names the file and the reason."""
    with pytest.raises(SchemaError) as caught:
        parse_message(text, where="vendor.json")
    assert "vendor.json: " in caught.value.message
    assert reason in caught.value.message


def test_read_definitions_refused(tmp_path: Path) -> None:
    """A directory that is missing or holds no definitions is an error."""
    with pytest.raises(SchemaError, match="can't read definitions"):
        read_definitions(tmp_path / "missing")
    with pytest.raises(SchemaError, match=r"no \*\.json definitions"):
        read_definitions(tmp_path)


def test_builtin_kinds() -> None:
    """Each is of a metadata record or of a control record, and has a name of its own."""
    assert all((s.api_key is None) != (s.control_type is None) for s in SPECS)
    assert len(SPECS) == len({s.name for s in SPECS})


def test_builtin_keys() -> None:
    """No two share a key, and there is one for each number but those that never came to be."""
    controls = sorted(s.control_type for s in SPECS if s.control_type is not None)
    assert list(range(controls[0], controls[-1] + 1)) == controls
    keys = sorted(s.api_key for s in SPECS if s.api_key is not None)
    assert [k for k in range(keys[-1] + 1) if k not in {6, 13, 16}] == keys


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.name)
def test_builtin_is_flexible(spec: MessageSpec) -> None:
    """Every version of every record is flexible and versions begin at 0."""
    assert spec.versions.low == 0
    assert all(v in spec.flexible for v in range(spec.versions.high + 1))


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.name)
def test_builtin_names_and_tags(spec: MessageSpec) -> None:
    """Names and tags are unique within a struct, tags without gaps."""
    for fields in structs(spec):
        names = [f.column_name for f in fields]
        assert len(names) == len(set(names))
        tags = sorted(f.tag for f in fields if f.tag is not None)
        assert list(range(len(tags))) == tags


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.name)
def test_builtin_versions_nest(spec: MessageSpec) -> None:
    """A field begins in a version that exists; it is null or tagged only where it is."""
    for field in all_fields(spec.fields):
        assert field.versions.low in spec.versions
        for part in (field.nullable, field.tagged):
            assert part == NO_VERSIONS or (
                field.versions.low <= part.low and part.high <= field.versions.high
            )


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.name)
def test_builtin_types_and_defaults(spec: MessageSpec) -> None:
    """Structs have fields, other types none; a default of null needs to be allowed."""
    for field in all_fields(spec.fields):
        assert field.is_struct == (field.type not in FIXED_SIZES.keys() | VARIABLE_TYPES)
        assert bool(field.fields) == field.is_struct
        if field.default is None:
            assert field.versions == field.nullable
