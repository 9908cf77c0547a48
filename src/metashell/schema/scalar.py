"""Decodes one message at a time, slow and obvious: the reference for `columnar`.

Owns how bytes are read by a definition, field after field. Must never be on a hot path, and must
never trust a length: each is checked against what is left before it is used.

It accepts the same bytes as Kafka's generated readers, but is stricter in three points that no
Kafka writer reaches: a varint beyond 31 bits (Kafka reads a negative length, so null), a known tag
whose content does not take exactly its stated size, and a version above the definition's range.

Source: org.apache.kafka.message.MessageDataGenerator, AbstractApiMessageSerde.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Sequence
from typing import Final

from metashell.errors import DecodeError
from metashell.schema.model import FIXED_SIZES, FieldSpec, MessageSpec

UNKNOWN_TAGS: Final = "_unknown_tags"
"""Key of the tags that the definition lacks, a list of (tag, bytes); there only if any came."""

FRAME_VERSION: Final = 1
"""The only version of a metadata record's frame since Kafka 3.0."""

EARLY_ACCESS: Final = (
    "frame version 0: the directory was written by Kafka 2.8's early-access KRaft"
    " and cannot be read (KIP-746)"
)

_MAX_INT32: Final = 2**31 - 1
_MAX_INT16: Final = 2**15 - 1
_MAX_STRING_BYTES: Final = 0x7FFF

STRUCT_FORMATS: Final = {
    "int8": ">b",
    "int16": ">h",
    "uint16": ">H",
    "int32": ">i",
    "uint32": ">I",
    "int64": ">q",
    "float64": ">d",
}
"""How `struct` calls the numbers; a bool is an int8 of which any but zero is true."""

_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def decode_frame(value: bytes | memoryview) -> tuple[int, int, int, int]:
    """Read the frame of a metadata record's value.

    Returns:
        (frame version, api key, version, position of the message).

    Raises:
        DecodeError: The frame is cut short, a number in it is above int16, or its version is not 1.
    """
    stop = len(value)
    frame_version, pos = _read_frame_number("frame version", value, 0, stop)
    if frame_version == 0:
        raise DecodeError(EARLY_ACCESS, pos=0)
    if frame_version != FRAME_VERSION:
        raise DecodeError(f"unknown frame version {frame_version}", pos=0)
    api_key, pos = _read_frame_number("api key", value, pos, stop)
    version, pos = _read_frame_number("version", value, pos, stop)
    return frame_version, api_key, version, pos


def decode_message(
    spec: MessageSpec,
    version: int,
    data: bytes | memoryview,
    start: int = 0,
    stop: int | None = None,
) -> dict[str, object]:
    """Decode a message that fills ``data[start:stop]``.

    Args:
        spec: Its definition.
        version: The version it was written in.
        data: Bytes that hold it.
        start: Where it begins.
        stop: Where it ends; None for the end of `data`.

    Returns:
        Values by snake_case name, in the definition's order: uuid and bytes as ``bytes``, structs
        as dicts, arrays as lists; fields that are absent hold their defaults. Unknown tags are
        under `UNKNOWN_TAGS`.

    Raises:
        DecodeError: The bytes are not such a message; names the field and the position.
    """
    stop = len(data) if stop is None else stop
    fields, pos = decode_prefix(spec, version, data, start, stop)
    if pos < stop:
        raise DecodeError(f"{stop - pos} bytes left over after the message", pos=pos)
    return fields


def decode_prefix(
    spec: MessageSpec,
    version: int,
    data: bytes | memoryview,
    start: int = 0,
    stop: int | None = None,
) -> tuple[dict[str, object], int]:
    """Decode a message that ``data[start:stop]`` begins with.

    Returns:
        (the values, the position behind the message); arguments and errors as `decode_message`.
    """
    reader = _Reader(data, start, len(data) if stop is None else stop)
    fields = reader.read_struct(spec.fields, version, flexible=version in spec.flexible)
    return fields, reader.pos


def unknown_tags(
    spec: MessageSpec, version: int, data: bytes | memoryview, start: int = 0
) -> list[tuple[int, int]]:
    """Find the content of the tags that the definition lacks, in a message that decodes.

    Returns:
        (its first byte, its end) of each; other arguments and errors as `decode_message`.
    """
    reader = _Reader(data, start, len(data))
    reader.read_struct(spec.fields, version, flexible=version in spec.flexible)
    return reader.unknown


def default_value(spec: FieldSpec) -> object:
    """Give the value that a field holds where it is absent."""
    if spec.default is None:
        return None
    if spec.is_array:
        return []
    if spec.is_struct:
        return {child.column_name: default_value(child) for child in spec.fields}
    if spec.type == "uuid":
        return base64.urlsafe_b64decode(str(spec.default) + "==")
    if spec.type == "bytes":
        return str(spec.default).encode()
    return spec.default


def decode_utf8(data: bytes) -> str:
    """Decode text as Java does, with U+FFFD for what is no UTF-8.

    Python and Java differ in one point: of an encoded surrogate (``ED A0 80``) Python replaces each
    byte, Java the whole.
    """
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(b"\xff", data).decode(errors="replace")


def read_uvarint(data: bytes | memoryview, pos: int, stop: int) -> tuple[int, int]:
    """Read an unsigned varint of up to five bytes and 31 bits.

    Returns:
        (value, position after it).

    Raises:
        DecodeError: It is cut short, longer, or larger.
    """
    value, after = _read_base128(data, pos, stop, max_bytes=5)
    if value > _MAX_INT32:
        raise DecodeError(f"varint {value} is over 31 bits", pos=pos)
    return value, after


def read_varint(data: bytes | memoryview, pos: int, stop: int) -> tuple[int, int]:
    """Read a zigzag varint of up to five bytes; bits above 32 are dropped. See `read_uvarint`."""
    value, after = _read_base128(data, pos, stop, max_bytes=5)
    return _from_zigzag(value & 0xFFFFFFFF), after


def read_varlong(data: bytes | memoryview, pos: int, stop: int) -> tuple[int, int]:
    """Read a zigzag varint of up to ten bytes; bits above 64 are dropped. See `read_uvarint`."""
    value, after = _read_base128(data, pos, stop, max_bytes=10)
    return _from_zigzag(value & 0xFFFFFFFFFFFFFFFF), after


def _read_base128(
    data: bytes | memoryview, pos: int, stop: int, *, max_bytes: int
) -> tuple[int, int]:
    value = 0
    for i in range(max_bytes):
        if pos + i >= stop:
            raise DecodeError("the bytes end within a varint", pos=pos + i)
        byte = data[pos + i]
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value, pos + i + 1
    raise DecodeError(f"a varint is longer than {max_bytes} bytes", pos=pos)


def _from_zigzag(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


def _read_frame_number(what: str, data: bytes | memoryview, pos: int, stop: int) -> tuple[int, int]:
    try:
        value, after = read_uvarint(data, pos, stop)
    except DecodeError as e:
        raise DecodeError(f"{what}: {e.message}", pos=e.pos) from e
    if value > _MAX_INT16:
        raise DecodeError(f"{what}: {value} is too large", pos=pos)
    return value, after


class _Reader:
    """A cursor over the bytes of one message."""

    def __init__(self, data: bytes | memoryview, pos: int, stop: int) -> None:
        self._data = data
        self.pos = pos
        self._stop = stop
        self._path: list[str] = []
        """Steps to where it reads; what fails leaves them for the error to tell."""
        self.unknown: list[tuple[int, int]] = []
        """Where the content of unknown tags lies."""

    @property
    def left(self) -> int:
        return self._stop - self.pos

    def fail(self, reason: str, *, pos: int | None = None) -> DecodeError:
        path = "".join(self._path).removeprefix(".")
        return DecodeError(
            f"{path}: {reason}" if path else reason, pos=self.pos if pos is None else pos
        )

    def read_struct(
        self, specs: Sequence[FieldSpec], version: int, *, flexible: bool
    ) -> dict[str, object]:
        fields = {spec.column_name: default_value(spec) for spec in specs}
        for spec in specs:
            if version in spec.versions and version not in spec.tagged:
                self._path.append(f".{spec.column_name}")
                fields[spec.column_name] = self._read_field(spec, version, flexible)
                self._path.pop()
        if flexible:
            self._read_tags(specs, version, fields)
        return fields

    def _read_tags(
        self, specs: Sequence[FieldSpec], version: int, fields: dict[str, object]
    ) -> None:
        known = {spec.tag: spec for spec in specs if spec.tag is not None}
        unknown: list[tuple[int, bytes]] = []
        for _ in range(self._read_uvarint("number of tags")):
            tag = self._read_uvarint("tag")
            size = self._read_uvarint(f"size of tag {tag}")
            if size > self.left:
                raise self.fail(f"tag {tag} of {size} bytes, but {self.left} are left")
            if tag not in known:
                self.unknown.append((self.pos, self.pos + size))
                unknown.append((tag, self._read_bytes(size)))
                continue
            spec = known[tag]
            self._path.append(f".{spec.column_name}")
            if version not in spec.versions or version not in spec.tagged:
                raise self.fail(f"tag {tag} is not valid in version {version}")
            fields[spec.column_name] = self._read_tagged(spec, version, size)
            self._path.pop()
        if unknown:
            fields[UNKNOWN_TAGS] = unknown

    def _read_tagged(self, spec: FieldSpec, version: int, size: int) -> object:
        outer, self._stop = self._stop, self.pos + size
        # A varint, not a byte, says whether a tagged nullable struct is present.
        if spec.is_struct and not spec.is_array and version in spec.nullable:
            present = self._read_uvarint("presence") > 0
            value = self._read_element(spec, version, True, nullable=False) if present else None
        else:
            value = self._read_field(spec, version, flexible=True)
        if self.left:
            raise self.fail(f"tag {spec.tag} has {size} bytes, {self.left} more than its value")
        self._stop = outer
        return value

    def _read_field(self, spec: FieldSpec, version: int, flexible: bool) -> object:
        if not spec.is_array:
            if spec.is_struct and version in spec.nullable and self._read_fixed("int8") < 0:
                return None
            return self._read_element(spec, version, flexible, version in spec.nullable)
        count = self._read_length("int32", flexible)
        if count is None:
            if version not in spec.nullable:
                raise self.fail("null, but it is not nullable")
            return None
        if count > self.left:
            raise self.fail(f"{count} elements, but {self.left} bytes are left")
        elements = []
        for i in range(count):
            self._path.append(f"[{i}]")
            elements.append(self._read_element(spec, version, flexible, nullable=False))
            self._path.pop()
        return elements

    def _read_element(
        self, spec: FieldSpec, version: int, flexible: bool, nullable: bool
    ) -> object:
        if spec.is_struct:
            return self.read_struct(spec.fields, version, flexible=flexible)
        if spec.type == "uuid":
            return self._read_bytes(16)
        if spec.type == "bool":
            return self._read_fixed("int8") != 0
        if spec.type in FIXED_SIZES:
            return self._read_fixed(spec.type)
        length = self._read_length("int16" if spec.type == "string" else "int32", flexible)
        if length is None:
            if not nullable:
                raise self.fail("null, but it is not nullable")
            return None
        if spec.type == "bytes":
            return self._read_bytes(length)
        if length > _MAX_STRING_BYTES:
            raise self.fail(f"a string of {length} bytes; the most is {_MAX_STRING_BYTES}")
        return decode_utf8(self._read_bytes(length))

    def _read_length(self, plain_type: str, flexible: bool) -> int | None:
        length = self._read_uvarint("length") - 1 if flexible else self._read_fixed(plain_type)
        return int(length) if length >= 0 else None

    def _read_uvarint(self, what: str) -> int:
        try:
            value, self.pos = read_uvarint(self._data, self.pos, self._stop)
        except DecodeError as e:
            raise self.fail(f"{what}: {e.message}", pos=e.pos) from e
        return value

    def _read_fixed(self, type_name: str) -> int | float:
        data = self._read_bytes(FIXED_SIZES[type_name])
        value: int | float = struct.unpack(STRUCT_FORMATS[type_name], data)[0]
        return value

    def _read_bytes(self, size: int) -> bytes:
        if size > self.left:
            raise self.fail(f"needs {size} bytes, but {self.left} are left")
        start, self.pos = self.pos, self.pos + size
        return bytes(self._data[start : self.pos])
