"""Decode plans: what a message's definition means for one version, resolved once.

A plan lists the fields that the version has, in wire order, with everything the decoder would
otherwise look up for each block: element dtype and size, nullability, defaults, tags.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from functools import cache
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import SchemaError
from metashell.schema.model import FIXED_SIZES, NO_VERSIONS, FieldSpec, MessageSpec

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
