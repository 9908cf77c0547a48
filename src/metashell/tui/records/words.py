"""Kafka's words for the codes in a record's fields, as `cat` and `changes` have them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from metashell.image.features import METADATA_VERSION, metadata_version_name
from metashell.parts.known import all_parts
from metashell.records.words import worded
from metashell.schema.model import snake_case

_LEVEL: Final = "featureLevel"
_BOTH: Final = "{word} ({code})"


def with_words(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """A record's fields with words for codes: ``TOPIC (2)`` in place of ``2``.

    Args:
        kind: The type of the record, as ``log`` has it.
        data: Its fields by Kafka's names, secrets hidden. A code without a name stays a number.
    """
    messages = (event.message for part in all_parts() for event in part.events)
    found = worded(next((m for m in messages if snake_case(m).upper() == kind), kind), data, _BOTH)
    level = data.get(_LEVEL)
    if data.get("name") == METADATA_VERSION and isinstance(level, int):
        found[_LEVEL] = _BOTH.format(word=metadata_version_name(level), code=level)
    return found
