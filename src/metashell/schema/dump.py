"""Decoded fields as the JSON that kafka-dump-log prints for a record.

Owns names and forms: lowerCamelCase, uuids as base64 url without padding, bytes as base64, tagged
fields only where they hold another value than their default. Must not hide anything: secrets are
redacted by the caller.

JSON that the program prints: the one writer, which knows no NaN and no Infinity.

JSON has no such numbers, and many readers refuse a document that has them. They are written as the
texts that nodes print for them (``"NaN"``, ``"Infinity"``, ``"-Infinity"``), as Kafka's own JSON
has them. Cells of rows, whose columns have types, and exported documents have null
instead (`null`).

Source: org.apache.kafka.message.JsonConverterGenerator, DumpLogSegments.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from json import JSONEncoder
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Final, TypeAlias

from metashell.schema.model import FieldSpec, MessageSpec
from metashell.schema.scalar import default_value
from metashell.schema.uuids import uuid_text

_encode: Final = JSONEncoder(ensure_ascii=False).encode
_ESCAPE: Final = re.compile(r"\\(?:u00[01][0-9a-f]|.)")


def fields_json(spec: MessageSpec, version: int, fields: Mapping[str, object]) -> dict[str, object]:
    """Give the fields of a message as a JSON object.

    Args:
        spec: The message's definition.
        version: The version it was written in; fields of other versions are left out.
        fields: Values as `scalar.decode_message` gives them.
    """
    return _struct_json(spec.fields, version, fields)


def json_text(value: object) -> str:
    """Write JSON as Jackson does: compact, doubles in Java's notation, unicode as it is."""
    match value:
        case str():
            text: str = encode_basestring(value)
            # Jackson's escapes of control characters have capital digits.
            return _ESCAPE.sub(_with_capitals, text) if "\\" in text else text
        case dict():
            items = (f"{json_text(k)}:{json_text(v)}" for k, v in value.items())
            return "{" + ",".join(items) + "}"
        case list():
            return "[" + ",".join(json_text(v) for v in value) + "]"
        case float():
            return java_double(value) if math.isfinite(value) else f'"{java_double(value)}"'
        case _:
            return _encode(value)


def _with_capitals(escape: re.Match[str]) -> str:
    return escape[0][:2] + escape[0][2:].upper()


def java_double(value: float) -> str:
    """Write a double as Java's ``Double.toString`` does since JDK 19.

    The digits are the shortest that give the same double, and two of them at least, those nearest
    to it: ``1.0E7``, ``4.9E-324``. From 0.001 up to 10,000,000 there is no exponent.
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "-Infinity" if value < 0 else "Infinity"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    magnitude = abs(value)
    if magnitude == 0:
        return f"{sign}0.0"
    if 1e-3 <= magnitude < 1e7:
        text = format(magnitude, ".1f") if magnitude.is_integer() else repr(magnitude)
        return sign + text
    mantissa, _, exponent = f"{Decimal(repr(magnitude)).normalize():e}".partition("e")
    if "." not in mantissa:
        two_digits = format(magnitude, ".1e")
        if float(two_digits) == magnitude:
            mantissa, _, exponent = two_digits.partition("e")
        else:
            mantissa += ".0"
    return f"{sign}{mantissa}E{int(exponent)}"


def _struct_json(
    specs: Sequence[FieldSpec], version: int, fields: Mapping[str, object]
) -> dict[str, object]:
    out: dict[str, object] = {}
    for spec in specs:
        if version not in spec.versions:
            continue
        value = fields[spec.column_name]
        if version in spec.tagged and value == default_value(spec):
            continue
        out[spec.json_name] = _field_json(spec, version, value)
    return out


def _field_json(spec: FieldSpec, version: int, value: object) -> object:
    if value is None:
        return None
    if spec.is_array:
        assert isinstance(value, Sequence)
        return [_element_json(spec, version, element) for element in value]
    return _element_json(spec, version, value)


def _element_json(spec: FieldSpec, version: int, value: object) -> object:
    if spec.is_struct:
        assert isinstance(value, Mapping)
        return _struct_json(spec.fields, version, value)
    if isinstance(value, bytes):
        return uuid_text(value) if spec.type == "uuid" else base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return java_double(value)
    return value


_Default: TypeAlias = Callable[[object], object]

text_to_json: Final[Callable[[str], str]] = encode_basestring_ascii
"""A text as JSON, in ASCII."""


def to_json(
    value: object,
    *,
    ascii_only: bool = False,
    indent: int | None = None,
    default: _Default | None = None,
    stand_in: Callable[[float], str | None] = java_double,
) -> str:
    """A value as JSON, on one line without `indent`.

    Args:
        value: A value of JSON's types, which may hold numbers that JSON lacks.
        ascii_only: Whether all else is escaped: a name may hold a lone surrogate, which no encoding
            can write.
        indent: Spaces of a level.
        default: Gives a value that can be written for one that can't.
        stand_in: Gives the value to write for a number that JSON lacks, see `finite`.

    Raises:
        TypeError: It holds something else.
        RecursionError: It is too deep.
    """
    write = _encoder(ascii_only, indent, default)
    try:
        return write(value)
    except (TypeError, ValueError):
        return write(finite(value, stand_in))


def finite(value: object, stand_in: Callable[[float], str | None] = java_double) -> object:
    """A value of plain types in which another stands for each number that JSON has not."""
    if isinstance(value, float):
        return value if math.isfinite(value) else stand_in(value)
    if value is None or isinstance(value, (str, int, bytes)):
        # To ask an abstract class of each takes longer than all else.
        return value
    if isinstance(value, Mapping):
        return {name: finite(part, stand_in) for name, part in value.items()}
    if isinstance(value, Sequence):
        return [finite(part, stand_in) for part in value]
    return value


def null(number: float) -> None:
    """Stands for such a number where null says that there is none."""


@cache
def _encoder(
    ascii_only: bool, indent: int | None, default: _Default | None
) -> Callable[[object], str]:
    return JSONEncoder(
        ensure_ascii=ascii_only, allow_nan=False, indent=indent, default=default
    ).encode
