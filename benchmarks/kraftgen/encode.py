"""From field values to the bytes of a message: the inverse of `metashell.schema.scalar`.

Owns the encoding of one message, generic and slow. Values are as the scalar decoder gives them:
snake_case names, uuids and bytes as ``bytes``, structs as dicts; a field that is left out holds its
default.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Final

from metashell.schema.model import FieldSpec, MessageSpec
from metashell.schema.scalar import UNKNOWN_TAGS, default_value

_FORMATS: Final = {
    "bool": ">?",
    "int8": ">b",
    "int16": ">h",
    "uint16": ">H",
    "int32": ">i",
    "uint32": ">I",
    "int64": ">q",
    "float64": ">d",
}


def uvarint(value: int) -> bytes:
    """Encode a number that is not negative, seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint(value: int) -> bytes:
    """Encode a signed number of up to 64 bits as zigzag varint."""
    return uvarint(value << 1 if value >= 0 else (-value << 1) - 1)


def encode_record(
    spec: MessageSpec, version: int, fields: Mapping[str, object], *, frame_version: int = 1
) -> bytes:
    """Encode the value of a metadata record: the frame, then the message."""
    assert spec.api_key is not None
    header = uvarint(frame_version) + uvarint(spec.api_key) + uvarint(version)
    return header + encode_message(spec, version, fields)


def encode_control_key(control_type: int, version: int = 0) -> bytes:
    """Encode the key of a control record."""
    return struct.pack(">hh", version, control_type)


def encode_message(spec: MessageSpec, version: int, fields: Mapping[str, object]) -> bytes:
    """Encode a message.

    Args:
        spec: Its definition.
        version: The version to write.
        fields: Values by snake_case name. ``_unknown_tags``, here and in nested structs, is a list
            of (tag, bytes) to be written beside the known ones.

    Raises:
        ValueError: A name is no field of the message, or the version can't carry a value.
    """
    out = bytearray()
    _write_struct(out, spec.fields, version, version in spec.flexible, fields)
    return bytes(out)


def _write_struct(
    out: bytearray,
    specs: Sequence[FieldSpec],
    version: int,
    flexible: bool,
    fields: Mapping[str, object],
) -> None:
    _check_names(specs, version, fields)
    tags: dict[int, list[bytes]] = {}
    for spec in specs:
        if version not in spec.versions:
            continue
        value = fields.get(spec.column_name, default_value(spec))
        if version not in spec.tagged:
            _write_field(out, spec, version, flexible, value)
        elif value != default_value(spec):
            content = bytearray()
            if value is None and spec.is_struct and not spec.is_array and version in spec.nullable:
                content += b"\x00"
            else:
                # A tagged nullable struct has 1 in front as a varint: the byte of an untagged one.
                _write_field(content, spec, version, flexible, value)
            assert spec.tag is not None
            tags.setdefault(spec.tag, []).append(bytes(content))
    unknown = fields.get(UNKNOWN_TAGS, ())
    assert isinstance(unknown, Sequence)
    for tag, data in unknown:
        tags.setdefault(tag, []).append(data)
    if flexible:
        out += uvarint(sum(len(contents) for contents in tags.values()))
        for tag in sorted(tags):
            for data in tags[tag]:
                out += uvarint(tag) + uvarint(len(data)) + data
    elif tags:
        raise ValueError(f"version {version} has no tagged fields")


def _check_names(specs: Sequence[FieldSpec], version: int, fields: Mapping[str, object]) -> None:
    by_name = {spec.column_name: spec for spec in specs}
    for name, value in fields.items():
        if name == UNKNOWN_TAGS:
            continue
        if name not in by_name:
            raise ValueError(f"no field `{name}`; there are {', '.join(by_name)}")
        spec = by_name[name]
        if version not in spec.versions and value != default_value(spec):
            raise ValueError(f"version {version} has no field `{name}`")


def _write_field(
    out: bytearray, spec: FieldSpec, version: int, flexible: bool, value: object
) -> None:
    if value is None and version not in spec.nullable:
        raise ValueError(f"`{spec.column_name}` can't be null in version {version}")
    if not spec.is_array:
        if spec.is_struct and version in spec.nullable:
            out += b"\xff" if value is None else b"\x01"
            if value is None:
                return
        _write_element(out, spec, version, flexible, value)
    elif value is None:
        out += b"\x00" if flexible else struct.pack(">i", -1)
    else:
        assert isinstance(value, Sequence)
        out += uvarint(len(value) + 1) if flexible else struct.pack(">i", len(value))
        for element in value:
            _write_element(out, spec, version, flexible, element)


def _write_element(
    out: bytearray, spec: FieldSpec, version: int, flexible: bool, value: object
) -> None:
    if spec.is_struct:
        assert isinstance(value, Mapping)
        _write_struct(out, spec.fields, version, flexible, value)
    elif spec.type == "uuid":
        assert isinstance(value, bytes)
        if len(value) != 16:
            raise ValueError(f"`{spec.column_name}`: a uuid has 16 bytes")
        out += value
    elif spec.type in _FORMATS:
        out += struct.pack(_FORMATS[spec.type], value)
    else:
        assert value is None or isinstance(value, str | bytes)
        data = value.encode() if isinstance(value, str) else value
        if flexible:
            out += uvarint(0 if data is None else len(data) + 1)
        else:
            out += struct.pack(
                ">h" if spec.type == "string" else ">i", -1 if data is None else len(data)
            )
        out += data or b""
