"""Kafka message definitions: the model and its JSON form.

A definition is JSON as Kafka writes its own (comments with ``//`` allowed): name, valid versions
and fields, each with type, versions, nullable versions, tag and default. ``messages/`` holds ours,
one message a file, ``coordinator_messages/`` those of the coordinators' logs; a user's directory
(``--schemas``) is read by the same code, so that the next Kafka release, or a vendor's own record
types, are new files and no new code.

Owns what a definition *says*. How bytes are read by it is in `scalar` and `columnar`.

Decode plans: what a message's definition means for one version, resolved once.

A plan lists the fields that the version has, in wire order, with everything the decoder would
otherwise look up for each block: element dtype and size, nullability, defaults, tags.

Which message a key means: our definitions, and a user's beside them.

A user's definition of a key that we have too replaces ours, so that a newer Kafka's records can be
read before metashell knows them.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import SchemaError
from metashell.redact import name_fields
from metashell.shipped import shipped

DTYPES: Final = {
    "bool": "u1",
    "int8": "i1",
    "int16": ">i2",
    "uint16": ">u2",
    "int32": ">i4",
    "uint32": ">u4",
    "int64": ">i8",
    "float64": ">f8",
    "uuid": "V16",
}
"""Element dtype on the wire. A bool is a byte; any but 0 is true (as in Kafka's reader)."""


ELEMENT: Final = "element"
"""Name of the one column in the items of an array of strings."""


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """How one field is read."""

    name: str
    """The column's name."""
    spec: FieldSpec
    dtype: str
    """The dtype of an element on the wire: ``u1`` for strings and bytes, empty for structs."""
    size: int
    """Bytes of one element; 0 for strings, bytes and structs."""
    nullable: bool
    default: object
    """For fixed-size fields the value in numpy's terms; for others None (null) or empty."""
    struct: StructPlan | None


@dataclass(frozen=True, slots=True)
class StructPlan:
    """How a message, or a struct in one, is read in one version."""

    specs: tuple[FieldSpec, ...]
    flexible: bool
    """Compact lengths instead of fixed-size ones."""
    has_tags: bool
    """Tagged fields follow the others; false only for the elements of ``[]string``."""
    fields: tuple[FieldPlan, ...]
    """In wire order, without the tagged ones."""
    tags: dict[int, FieldPlan]
    wrong_tags: frozenset[int]
    """Tags that the definition has in other versions only; one of them here is an error."""
    absent: tuple[FieldPlan, ...]
    """Fields that this version does not have: they take their defaults."""


@cache
def message_plan(spec: MessageSpec, version: int) -> StructPlan:
    """The plan of a message in a version.

    Raises:
        SchemaError: The definition does not have that version.
    """
    if version not in spec.versions:
        raise SchemaError(f"{spec.name}: no version {version}")
    return _struct_plan(spec.fields, version, version in spec.flexible)


def _struct_plan(specs: tuple[FieldSpec, ...], version: int, flexible: bool) -> StructPlan:
    fields, tags, absent = [], {}, []
    for spec in specs:
        plan = _field_plan(spec, version, flexible)
        if version not in spec.versions:
            absent.append(plan)
        elif version in spec.tagged and spec.tag is not None:
            tags[spec.tag] = plan
        else:
            fields.append(plan)
    wrong = frozenset(s.tag for s in specs if s.tag is not None) - tags.keys()
    return StructPlan(specs, flexible, flexible, tuple(fields), tags, wrong, tuple(absent))


def _field_plan(spec: FieldSpec, version: int, flexible: bool) -> FieldPlan:
    size = FIXED_SIZES.get(spec.type, 0)
    struct = None
    if spec.is_struct:
        struct = _struct_plan(spec.fields, version, flexible)
    elif spec.is_array and not size:
        # An array of strings is one of structs with a single field and no tags behind it.
        inner = replace(spec, name=ELEMENT, is_array=False, nullable=NO_VERSIONS, default="")
        element = _field_plan(inner, version, flexible)
        struct = StructPlan((inner,), flexible, False, (element,), {}, frozenset(), ())
    default: object = spec.default
    if size and not spec.is_array and spec.type == "uuid":
        default = base64.urlsafe_b64decode(str(spec.default) + "==")
    return FieldPlan(
        name=spec.column_name,
        spec=spec,
        dtype="" if struct else DTYPES.get(spec.type, "u1"),
        size=size,
        nullable=version in spec.nullable,
        default=default,
        struct=struct,
    )


FIXED_SIZES: Final[Mapping[str, int]] = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}
"""Bytes that a value of each fixed-size type takes."""

VARIABLE_TYPES: Final = frozenset({"string", "bytes"})
"""Types with a length in front of their bytes."""


@dataclass(frozen=True, slots=True)
class Versions:
    """An inclusive range of versions; empty when ``low > high``."""

    low: int
    high: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.low <= version <= self.high

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Read ``3``, ``0-2``, ``1+`` or ``none``.

        Raises:
            SchemaError: The text has another form.
        """
        if text == "none":
            return NO_VERSIONS
        match = re.fullmatch(r"(\d+)(?:(\+)|-(\d+))?", text)
        if match is None:
            raise SchemaError(f"not a version range: `{text}`")
        low = int(match[1])
        if match[2]:
            return cls(low, 32767)
        return cls(low, int(match[3]) if match[3] else low)


NO_VERSIONS: Final = Versions(0, -1)

COORDINATOR_KEY: Final = "coordinator-key"
COORDINATOR_VALUE: Final = "coordinator-value"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSpec:
    """One field of a message or of a struct in it."""

    name: str
    """Kafka's name, in UpperCamelCase."""
    type: str
    """The element's type: a key of `FIXED_SIZES`, ``string``, ``bytes`` or a struct's name."""
    is_array: bool
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int | None
    default: bool | int | float | str | None
    """The value where the field is absent: None for null, ``""`` for empty strings and bytes, the
    base64 form for a uuid; arrays and structs have None for null and ``""`` for empty."""
    fields: tuple[FieldSpec, ...]
    """The fields of the struct; empty for other types."""

    @property
    def json_name(self) -> str:
        """The name in kafka-dump-log's JSON: lowerCamelCase."""
        return self.name[0].lower() + self.name[1:]

    @property
    def column_name(self) -> str:
        """The name in tables: snake_case (``LastKnownElr`` gives ``last_known_elr``)."""
        return snake_case(self.name)

    @property
    def is_struct(self) -> bool:
        """True where the element is a struct with fields of its own."""
        return self.type not in FIXED_SIZES and self.type not in VARIABLE_TYPES


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSpec:
    """One message: a metadata record, the value of a control record, or a coordinator's."""

    name: str
    api_key: int | None
    """The type of a metadata record or a coordinator's record; None for control records."""
    control_type: int | None
    """The type of a control record; None for metadata records."""
    versions: Versions
    flexible: Versions
    fields: tuple[FieldSpec, ...]
    kind: str = ""
    """The definition's ``type``, such as ``metadata`` or ``coordinator-key``."""

    def __hash__(self) -> int:
        """Leaves the fields out: plans are looked up by definition, and all fields take long."""
        return hash((self.name, self.api_key, self.kind, self.versions.high, self.flexible.low))

    @property
    def of_coordinator(self) -> bool:
        """Whether it is the key or the value of a coordinator's record."""
        return self.kind in (COORDINATOR_KEY, COORDINATOR_VALUE)

    @property
    def type_name(self) -> str:
        """The name in kafka-dump-log's JSON: ``PARTITION_CHANGE_RECORD``."""
        return snake_case(self.name).upper()


@cache
def snake_case(name: str) -> str:
    """Turn ``UpperCamelCase`` into ``upper_camel_case``; a run of capitals is one word.

    Source: Kafka's MessageGenerator.toSnakeCase, by which enum constants are named.
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def parse_message(text: str, *, where: str = "definition") -> MessageSpec:
    """Read one definition.

    Args:
        text: JSON, with ``//`` comments allowed on lines of their own or after a value.
        where: The file's name, for errors.

    Raises:
        SchemaError: Not JSON, or a field lacks what it must have, or a type is unknown.
    """
    try:
        if "//" in text:
            text = re.sub(r'(?m)("(?:[^"\\\n]|\\.)*")|//.*$', r"\1", text)
        raw = json.loads(text)
        spec = MessageSpec(
            name=raw["name"],
            api_key=raw.get("apiKey"),
            control_type=raw.get("controlType"),
            versions=Versions.parse(raw["validVersions"]),
            flexible=Versions.parse(raw.get("flexibleVersions", "none")),
            fields=_parse_fields(raw["fields"], _common_structs(raw)),
            kind=str(raw.get("type", "")),
        )
        name_fields(spec.name, {field.json_name: _names_in(field) for field in spec.fields})
        return spec
    except json.JSONDecodeError as e:
        raise SchemaError(f"{where}: line {e.lineno}: not JSON: {e.msg}") from e
    except SchemaError as e:
        raise SchemaError(f"{where}: {e.message}") from e
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as e:
        raise SchemaError(f"{where}: not a message definition: {e!r}") from e


def _names_in(field: FieldSpec) -> list[str]:
    """Names of all fields in a struct."""
    return [name for one in field.fields for name in (one.json_name, *_names_in(one))]


def read_definitions(directory: Path) -> list[MessageSpec]:
    """Read every ``*.json`` of a directory, in the order of their names.

    Raises:
        SchemaError: The directory can't be read, or a file in it is no definition.
    """
    try:
        found = (p for p in directory.iterdir() if p.suffix == ".json")
        paths = sorted(found, key=lambda p: p.name)
        texts = [(p, p.read_text(encoding="utf-8")) for p in paths]
    except OSError as e:
        raise SchemaError(f"{directory}: can't read definitions: {e.strerror or e}") from e
    except UnicodeDecodeError as e:
        raise SchemaError(f"{directory}: a definition in it is not UTF-8") from e
    if not texts:
        raise SchemaError(f"{directory}: no *.json definitions there")
    return [parse_message(text, where=str(path)) for path, text in texts]


def _common_structs(raw: Mapping[str, object]) -> dict[str, list[dict[str, object]]]:
    structs = raw.get("commonStructs", [])
    assert isinstance(structs, Iterable)
    return {s["name"]: s["fields"] for s in structs}


def _parse_fields(
    raws: Iterable[dict[str, object]], common: Mapping[str, list[dict[str, object]]]
) -> tuple[FieldSpec, ...]:
    return tuple(_parse_field(raw, common) for raw in raws)


def _parse_field(
    raw: dict[str, object], common: Mapping[str, list[dict[str, object]]]
) -> FieldSpec:
    name, type_text = str(raw["name"]), str(raw["type"])
    is_array = type_text.startswith("[]")
    element = type_text.removeprefix("[]")
    is_struct = element not in FIXED_SIZES and element not in VARIABLE_TYPES
    children = raw.get("fields", common.get(element)) if is_struct else ()
    if children is None or not element or element.startswith("[]"):
        raise SchemaError(f"{name}: unknown type `{type_text}`")
    assert isinstance(children, Iterable)
    tag = raw.get("tag")
    tagged = Versions.parse(str(raw.get("taggedVersions", "none")))
    if (tag is None) != (tagged == NO_VERSIONS):
        raise SchemaError(f"{name}: tag and taggedVersions go together")
    if "versions" not in raw and tagged == NO_VERSIONS:
        raise SchemaError(f"{name}: no versions")
    nullable = Versions.parse(str(raw.get("nullableVersions", "none")))
    if element in FIXED_SIZES and not is_array and nullable != NO_VERSIONS:
        raise SchemaError(f"{name}: {element} can't be null, so it has no nullableVersions")
    return FieldSpec(
        name=name,
        type=element,
        is_array=is_array,
        versions=Versions.parse(str(raw["versions"])) if "versions" in raw else tagged,
        nullable=nullable,
        tagged=tagged,
        tag=int(str(tag)) if tag is not None else None,
        default=_parse_default(name, element, is_array or is_struct, raw.get("default")),
        fields=_parse_fields(children, common),
    )


def _parse_default(
    name: str, element: str, is_composite: bool, raw: object
) -> bool | int | float | str | None:
    if raw == "null":
        if element in FIXED_SIZES and not is_composite:
            raise SchemaError(f"{name}: {element} can't be null, so that is no default")
        return None
    if is_composite or element in VARIABLE_TYPES:
        return "" if raw is None else str(raw)
    if element == "uuid":
        return "AAAAAAAAAAAAAAAAAAAAAA" if raw is None else str(raw)
    if raw is None:
        return False if element == "bool" else 0.0 if element == "float64" else 0
    try:
        if element == "bool":
            return {"true": True, "false": False}[str(raw).lower()]
        return float(str(raw)) if element == "float64" else int(str(raw), 0)
    except (KeyError, ValueError) as e:
        raise SchemaError(f"{name}: default `{raw}` is no {element}") from e


class Registry:
    """Message definitions by metadata api key, by control type and by name."""

    def __init__(self, specs: Iterable[MessageSpec]) -> None:
        self.metadata: dict[int, MessageSpec] = {}
        """Metadata records by api key."""
        self.control: dict[int, MessageSpec] = {}
        """Control records by type."""
        self.by_name: dict[str, MessageSpec] = {}
        """Both kinds by message name, such as ``PartitionRecord``."""
        for spec in specs:
            if spec.of_coordinator:
                # Its numbers are types of another log's records: see `schema.coordinators`.
                continue
            if spec.api_key is not None:
                self.metadata[spec.api_key] = spec
            elif spec.control_type is not None:
                self.control[spec.control_type] = spec
            else:
                raise SchemaError(f"{spec.name}: neither apiKey nor controlType")
            self.by_name[spec.name] = spec

    def type_name(self, api_key: int) -> str:
        """Name a metadata record type as kafka-dump-log does; ``UNKNOWN(501)`` for unknown keys."""
        spec = self.metadata.get(api_key)
        return spec.type_name if spec is not None else f"UNKNOWN({api_key})"


@cache
def builtin_specs() -> tuple[MessageSpec, ...]:
    """Read the definitions that ship with metashell, once per process."""
    return tuple(read_definitions(shipped(__file__, "messages")))


def load_registry(extra: Iterable[Path] = ()) -> Registry:
    """Read our definitions, then those of the directories given, later ones winning.

    Raises:
        SchemaError: A file is no definition.
    """
    specs = list(builtin_specs())
    for directory in extra:
        specs.extend(read_definitions(directory))
    return Registry(specs)
