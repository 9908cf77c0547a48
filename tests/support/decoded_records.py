"""Values of metadata records, decoded one at a time: what the columns are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metashell.errors import DecodeError
from metashell.schema.dump import fields_json
from metashell.schema.model import MessageSpec, Registry
from metashell.schema.scalar import decode_frame, decode_message


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedRecord:
    """The value of a metadata record, as far as it can be read."""

    api_key: int | None
    """None where the frame can't be read."""
    version: int | None
    """The message's version; None where the frame can't be read."""
    spec: MessageSpec | None
    """None where the api key is unknown."""
    fields: dict[str, object] | None
    """None where the message can't be decoded."""
    raw: bytes
    """The whole value."""
    error: str | None
    """Why `fields` is None."""


def decode_record(registry: Registry, value: bytes | None) -> DecodedRecord:
    """Decode the value of a metadata record; never raises.

    Args:
        registry: The definitions to decode by.
        value: The record's value, or None for a record without one.
    """
    raw = b"" if value is None else bytes(value)
    api_key = version = spec = fields = error = None
    try:
        if value is None:
            raise DecodeError("the record has no value", pos=0)
        _, api_key, version, start = decode_frame(raw)
        spec = registry.metadata.get(api_key)
        if spec is None:
            error = f"unknown api key {api_key}"
        elif version not in spec.versions:
            error = f"unknown version {version} of {spec.name}"
        else:
            fields = decode_message(spec, version, raw, start, len(raw))
    except DecodeError as e:
        error = e.message
    return DecodedRecord(
        api_key=api_key, version=version, spec=spec, fields=fields, raw=raw, error=error
    )


def record_json(spec: MessageSpec, version: int, fields: Mapping[str, object]) -> dict[str, object]:
    """Give a metadata record as kafka-dump-log does: ``type``, ``version`` and ``data``."""
    return {"type": spec.type_name, "version": version, "data": fields_json(spec, version, fields)}
