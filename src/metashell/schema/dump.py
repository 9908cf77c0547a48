"""Decoded fields as the JSON that kafka-dump-log prints for a record.

Owns names and forms: lowerCamelCase, uuids as base64 url without padding, bytes as base64, tagged
fields only where they hold another value than their default. Must not hide anything: secrets are
redacted by the caller.

Source: org.apache.kafka.message.JsonConverterGenerator, DumpLogSegments.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from json import JSONEncoder
from json.encoder import encode_basestring
from typing import Final

from metashell.schema.model import FieldSpec, MessageSpec
from metashell.schema.scalar import default_value
from metashell.schema.uuids import uuid_text

_encode: Final = JSONEncoder(ensure_ascii=False).encode
_ESCAPE: Final = re.compile(r"\\(?:u00[01][0-9a-f]|.)")


def record_json(spec: MessageSpec, version: int, fields: Mapping[str, object]) -> dict[str, object]:
    """Give a metadata record as kafka-dump-log does: ``type``, ``version`` and ``data``."""
    return {"type": spec.type_name, "version": version, "data": fields_json(spec, version, fields)}


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
