"""Encodes one message: the inverse of `scalar.decode_message`, for the few that we send.

Source: org.apache.kafka.message.MessageDataGenerator.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

from metashell.schema.model import FieldSpec, MessageSpec
from metashell.schema.scalar import STRUCT_FORMATS, default_value

_FORMATS: Final = {"bool": ">?", **STRUCT_FORMATS}


def encode_message(spec: MessageSpec, version: int, fields: Mapping[str, Any]) -> bytes:
    """Encode a message.

    Args:
        spec: Its definition.
        version: The version to write it in, one of the definition's.
        fields: Values by snake_case name, as `scalar.decode_message` gives them. What is missing
            has its default; what the version does not have is left out.

    Raises:
        ValueError: A value does not fit its field.
    """
    out = bytearray()
    try:
        _struct(out, spec.fields, version, fields, flexible=version in spec.flexible)
    except (struct.error, TypeError, AttributeError) as e:
        raise ValueError(f"{spec.name} version {version}: {e}") from e
    return bytes(out)


def encode_uvarint(value: int) -> bytes:
    """An unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _struct(
    out: bytearray,
    specs: Sequence[FieldSpec],
    version: int,
    fields: Mapping[str, Any],
    *,
    flexible: bool,
) -> None:
    tagged: list[tuple[int, bytes]] = []
    for spec in specs:
        if version not in spec.versions:
            continue
        default = default_value(spec)
        value = fields.get(spec.column_name, default)
        if version not in spec.tagged:
            _field(out, spec, version, value, flexible)
        elif value != default:
            assert spec.tag is not None
            tagged.append((spec.tag, _tagged(spec, version, value)))
    if not flexible:
        return
    out += encode_uvarint(len(tagged))
    for tag, data in sorted(tagged):
        out += encode_uvarint(tag) + encode_uvarint(len(data)) + data


def _tagged(spec: FieldSpec, version: int, value: Any) -> bytes:
    """The content of a tag."""
    content = bytearray()
    if spec.is_struct and not spec.is_array and version in spec.nullable:
        # Here a varint says whether the struct is there, and elsewhere a byte.
        content += encode_uvarint(0 if value is None else 1)
        if value is not None:
            _element(content, spec, version, value, flexible=True)
    else:
        _field(content, spec, version, value, flexible=True)
    return bytes(content)


def _field(out: bytearray, spec: FieldSpec, version: int, value: Any, flexible: bool) -> None:
    if not spec.is_array:
        if spec.is_struct and version in spec.nullable:
            out += struct.pack(">b", -1 if value is None else 1)
            if value is None:
                return
        _element(out, spec, version, value, flexible)
        return
    _length(out, ">i", None if value is None else len(value), flexible)
    for element in value or ():
        _element(out, spec, version, element, flexible)


def _element(out: bytearray, spec: FieldSpec, version: int, value: Any, flexible: bool) -> None:
    if spec.is_struct:
        _struct(out, spec.fields, version, value, flexible=flexible)
    elif spec.type == "uuid":
        if len(value) != 16:
            raise ValueError(f"{spec.name}: a uuid has 16 bytes")
        out += value
    elif spec.type in _FORMATS:
        out += struct.pack(_FORMATS[spec.type], value)
    else:
        data = value.encode() if isinstance(value, str) else value
        form = ">h" if spec.type == "string" else ">i"
        _length(out, form, None if data is None else len(data), flexible)
        out += data or b""


def _length(out: bytearray, form: str, length: int | None, flexible: bool) -> None:
    """A length, or that the value is null."""
    if flexible:
        out += encode_uvarint(0 if length is None else length + 1)
    else:
        out += struct.pack(form, -1 if length is None else length)
