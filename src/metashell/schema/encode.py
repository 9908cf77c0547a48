"""From field values to the bytes of a message: the inverse of `metashell.schema.scalar`.

Generic and slow: for the few messages that we send, and for what tests and benchmarks make up.
Values are as the scalar decoder gives them: snake_case names, uuids and bytes as ``bytes``, structs
as dicts; a field that is left out holds its default.

Source: org.apache.kafka.message.MessageDataGenerator.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from metashell.dataclass import dataclass
from metashell.schema.model import FieldSpec, MessageSpec
from metashell.schema.scalar import STRUCT_FORMATS, UNKNOWN_TAGS, default_value

_FORMATS: Final = {"bool": ">?", **STRUCT_FORMATS}


def encode_message(
    spec: MessageSpec, version: int, fields: Mapping[str, Any], *, leaves_out: bool = False
) -> bytes:
    """Encode a message.

    Args:
        spec: Its definition.
        version: The version to write it in, one of the definition's.
        fields: Values by snake_case name. ``_unknown_tags``, here and in nested structs, is a list
            of (tag, bytes) to be written beside the known ones.
        leaves_out: Whether what the message or the version does not have is left out and not
            refused.

    Raises:
        ValueError: A name is no field of the message, a value does not fit its field, or the
            version can't carry it.
    """
    writer = _Writer(version, version in spec.flexible, leaves_out)
    try:
        writer.struct(spec.fields, fields)
    except (struct.error, TypeError, AttributeError) as e:
        raise ValueError(f"{spec.name} version {version}: {e}") from e
    return bytes(writer.out)


def encode_record(
    spec: MessageSpec, version: int, fields: Mapping[str, Any], *, frame_version: int = 1
) -> bytes:
    """Encode the value of a metadata record: the frame, then the message.

    Raises:
        ValueError: See `encode_message`.
    """
    assert spec.api_key is not None
    header = encode_uvarint(frame_version) + encode_uvarint(spec.api_key) + encode_uvarint(version)
    return header + encode_message(spec, version, fields)


def encode_control_key(control_type: int, version: int = 0) -> bytes:
    """Encode the key of a control record."""
    return struct.pack(">hh", version, control_type)


def encode_uvarint(value: int) -> bytes:
    """Encode a number that is not negative, seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_varint(value: int) -> bytes:
    """Encode a signed number of up to 64 bits as zigzag varint."""
    return encode_uvarint(value << 1 if value >= 0 else (-value << 1) - 1)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes values of one version."""

    version: int
    is_flexible: bool
    leaves_out: bool
    out: bytearray = field(default_factory=bytearray)

    def struct(self, specs: Sequence[FieldSpec], fields: Mapping[str, Any]) -> None:
        """The fields of a struct, those with tags behind the others."""
        if not self.leaves_out:
            self._check_names(specs, fields)
        tags: dict[int, list[bytes]] = {}
        for spec in specs:
            if self.version not in spec.versions:
                continue
            default = default_value(spec)
            value = fields.get(spec.column_name, default)
            if self.version not in spec.tagged:
                self._field(spec, value)
            elif value != default:
                assert spec.tag is not None
                tags.setdefault(spec.tag, []).append(self._tagged(spec, value))
        for tag, data in fields.get(UNKNOWN_TAGS, ()):
            tags.setdefault(tag, []).append(data)
        if not self.is_flexible:
            if tags:
                raise ValueError(f"version {self.version} has no tagged fields")
            return
        self.out.extend(encode_uvarint(sum(len(contents) for contents in tags.values())))
        for tag in sorted(tags):
            for data in tags[tag]:
                self.out.extend(encode_uvarint(tag) + encode_uvarint(len(data)) + data)

    def _check_names(self, specs: Sequence[FieldSpec], fields: Mapping[str, Any]) -> None:
        by_name = {spec.column_name: spec for spec in specs}
        for name, value in fields.items():
            if name == UNKNOWN_TAGS:
                continue
            if name not in by_name:
                raise ValueError(f"no field `{name}`; there are {', '.join(by_name)}")
            spec = by_name[name]
            if self.version not in spec.versions and value != default_value(spec):
                raise ValueError(f"version {self.version} has no field `{name}`")

    def _tagged(self, spec: FieldSpec, value: Any) -> bytes:
        """The content of a tag."""
        if value is None and spec.is_struct and not spec.is_array and self._may_be_null(spec):
            return b"\x00"
        # A tagged struct that may be null has a varint 1 in front: the byte of an untagged one.
        content = _Writer(self.version, self.is_flexible, self.leaves_out)
        content._field(spec, value)
        return bytes(content.out)

    def _field(self, spec: FieldSpec, value: Any) -> None:
        if value is None and not self._may_be_null(spec):
            raise ValueError(f"`{spec.column_name}` can't be null in version {self.version}")
        if not spec.is_array:
            if spec.is_struct and self._may_be_null(spec):
                self.out.extend(b"\xff" if value is None else b"\x01")
                if value is None:
                    return
            self._element(spec, value)
            return
        self._length(">i", None if value is None else len(value))
        for element in value or ():
            self._element(spec, element)

    def _element(self, spec: FieldSpec, value: Any) -> None:
        if spec.is_struct:
            self.struct(spec.fields, value)
        elif spec.type == "uuid":
            if len(value) != 16:
                raise ValueError(f"`{spec.column_name}`: a uuid has 16 bytes")
            self.out.extend(value)
        elif spec.type in _FORMATS:
            self.out.extend(struct.pack(_FORMATS[spec.type], value))
        else:
            data = value.encode() if isinstance(value, str) else value
            form = ">h" if spec.type == "string" else ">i"
            self._length(form, None if data is None else len(data))
            self.out.extend(data or b"")

    def _length(self, form: str, length: int | None) -> None:
        """A length, or that the value is null."""
        if self.is_flexible:
            self.out.extend(encode_uvarint(0 if length is None else length + 1))
        else:
            self.out.extend(struct.pack(form, -1 if length is None else length))

    def _may_be_null(self, spec: FieldSpec) -> bool:
        return self.version in spec.nullable
