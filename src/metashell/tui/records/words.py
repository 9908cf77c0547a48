"""Kafka's words for the codes in a record's fields, as `cat` and `changes` have them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from metashell.image.features import METADATA_VERSION, metadata_version_name
from metashell.parts.forms import SECURITY_PROTOCOLS, code_names
from metashell.parts.known import all_parts
from metashell.parts.spec import NamedCodes
from metashell.schema.model import snake_case

_LEVEL: Final = "featureLevel"
_PROTOCOL: Final = "securityProtocol"


def with_words(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """A record's fields with words for codes: ``TOPIC (2)`` in place of ``2``.

    Args:
        kind: The type of the record, as ``log`` has it.
        data: Its fields by Kafka's names, secrets hidden. A code without a name stays a number.
    """
    codes = _codes(kind)
    found = {name: _worded(value, codes.get(snake_case(name))) for name, value in data.items()}
    level = data.get(_LEVEL)
    if data.get("name") == METADATA_VERSION and isinstance(level, int):
        found[_LEVEL] = f"{metadata_version_name(level)} ({level})"
    return found


def _worded(value: Any, names: Mapping[int, str] | None) -> Any:
    """A value, or what is in it, with the names of its codes."""
    if isinstance(value, list):
        return [_worded(one, None) for one in value]
    if isinstance(value, dict):
        return {
            name: _worded(one, SECURITY_PROTOCOLS if name == _PROTOCOL else None)
            for name, one in value.items()
        }
    if names is None or not isinstance(value, int) or value not in names:
        return value
    return f"{names[value]} ({value})"


@lru_cache(maxsize=64)
def _codes(kind: str) -> Mapping[str, Mapping[int, str]]:
    """The names of the codes in a type of records, by column."""
    return {
        field.column: code_names(field.form)
        for part in all_parts()
        if any(snake_case(event.message).upper() == kind for event in part.events)
        for field in (*part.key, *part.fields)
        if isinstance(field.form, NamedCodes)
    }
