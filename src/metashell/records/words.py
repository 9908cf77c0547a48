"""A record's fields where people read them: Kafka's words for codes, and who and what first.

Derived from the declarations of parts. JSON has the codes, in Kafka's order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from metashell.parts.forms import SECURITY_PROTOCOLS, code_names
from metashell.parts.known import all_parts
from metashell.parts.spec import NamedCodes
from metashell.schema.model import MessageSpec, snake_case

_PROTOCOL: Final = "securityProtocol"


@lru_cache(maxsize=64)
def codes_of(message: str) -> Mapping[str, Mapping[int, str]]:
    """The names of the codes in a metadata record, by column."""
    return {
        field.column: code_names(field.form)
        for part in all_parts()
        for event in part.events
        if event.message == message
        for field in (*part.key, *part.fields, *getattr(event, "codes", ()))
        if isinstance(field.form, NamedCodes)
    }


@lru_cache(maxsize=256)
def in_reading_order(spec: MessageSpec) -> MessageSpec:
    """The definition with those fields first that say who and what."""
    parts = [part for part in all_parts() if any(e.message == spec.name for e in part.events)]
    first = [column for part in parts for column in part.line]
    if not first:
        return spec
    place = {column: i for i, column in enumerate(first)}
    fields = sorted(spec.fields, key=lambda field: place.get(field.column_name, len(place)))
    return replace(spec, fields=tuple(fields))


def worded(message: str, data: Mapping[str, Any], form: str = "{word}") -> dict[str, Any]:
    """A record's fields with words for codes; a code without a name stays a number.

    Args:
        message: The name of the record's definition.
        data: Its fields by Kafka's names, secrets hidden.
        form: How a code is shown; ``{code}`` in it is the number.
    """
    codes = codes_of(message)
    return {name: _worded(value, codes.get(snake_case(name)), form) for name, value in data.items()}


def _worded(value: Any, names: Mapping[int, str] | None, form: str) -> Any:
    """A value, or what is in it, with the names of its codes."""
    if isinstance(value, list):
        return [_worded(one, None, form) for one in value]
    if isinstance(value, dict):
        return {
            name: _worded(one, SECURITY_PROTOCOLS if name == _PROTOCOL else None, form)
            for name, one in value.items()
        }
    if names is None or not isinstance(value, int) or value not in names:
        return value
    return form.format(word=names[value], code=value)
