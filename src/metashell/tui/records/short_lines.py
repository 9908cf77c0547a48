"""Records as text: lines, values in words, and bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from metashell.image.features import METADATA_VERSION, metadata_version_name
from metashell.image.topics import resource_directory
from metashell.parts.known import all_parts
from metashell.records.records import Records
from metashell.records.window import RecordLine
from metashell.records.words import worded
from metashell.redact import Redaction, hidden_bytes
from metashell.schema.model import snake_case
from metashell.schema.resource_types import ResourceType
from metashell.schema.scalar import UNKNOWN_TAGS, decode_message

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


_MOST: Final = 4096
"""Bytes that are shown."""


def hex_lines(data: bytes, position: int = 0, width: int = 16, most: int = _MOST) -> Iterator[str]:
    """Lines with the bytes in hex and as ASCII.

    Args:
        data: The bytes.
        position: The position written before the first byte.
        width: Bytes in a line.
        most: The largest number of bytes written; a last line counts the others.
    """
    digits = max(len(f"{position + min(len(data), most):x}"), 4)
    for at in range(0, min(len(data), most), width):
        row = data[at : min(at + width, most)]
        half = width // 2
        left, right = row[:half].hex(" "), row[half:].hex(" ")
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        yield f"{position + at:0{digits}x}  {left:<{half * 3 - 1}}  {right:<{half * 3 - 1}}  {text}"
    if len(data) > most:
        yield f"... {len(data) - most} more bytes"


def fitting_width(columns: int) -> int:
    """How many bytes a line of so many columns can show: 16 or 8."""
    return 16 if columns >= 6 + 49 + 2 + 16 else 8


_NAME: Final = "[A-Za-z0-9._-]"
_PARTITION: Final = re.compile(rf"topic=({_NAME}+) partitionId=(?=[0-9]+(?: |$))")
"""The words of a record that name its partition: ``orders-3`` in a list."""
_CONFIG: Final = re.compile(
    rf"resourceType=({'|'.join(each.name for each in ResourceType)})"
    rf' resourceName=(?:"")?({_NAME}*) name=({_NAME}+) value(?==)'
)
"""The words of a record that name its config: ``TOPIC:orders retention.ms=1`` in a list."""
_PARTITION_WORD: Final = re.compile(rf"({_NAME}+)-([0-9]+)")
_CONFIG_WORDS: Final = re.compile(
    rf"(?:({'|'.join(each.name for each in ResourceType)}):({_NAME}+))?"
    rf"(?:(?:^| )({_NAME}+)=([^()]*))?"
)
"""The short words for a config in a search; a group in them would stand twice in the search."""
_MOST_MARKED: Final = 50
"""Matches in a line that are marked."""

Span = tuple[int, int]


def with_short_words(pattern: re.Pattern[str] | None) -> re.Pattern[str] | None:
    """A search in lines of ``log`` that finds a record by the words of the list, too."""
    if pattern is None:
        return None
    if word := _PARTITION_WORD.fullmatch(pattern.pattern):
        other = rf"{word[1]} partitionId={word[2]}\b"
    elif words := _CONFIG_WORDS.fullmatch(pattern.pattern):
        other = _in_a_config(*words.groups())
    else:
        return pattern
    return re.compile(f"{pattern.pattern}|{other}") if other else pattern


def _in_a_config(kind: str | None, name: str, key: str | None, value: str) -> str:
    """A pattern for the records of a config, from the short words for it; empty without any."""
    pair = "" if key is None else f"{key} value={value}"
    if kind is None:
        return pair
    rest = rf" name={pair}" if pair else r"(?=\S* name=\S+ value=)"
    return f"(?<=resourceType={kind} resourceName=){name}{rest}"


def short_line(line: RecordLine, pattern: re.Pattern[str] | None) -> tuple[str, list[Span]]:
    """The text behind a record's type, and the spans to mark in it.

    The text is short, except if only words that the short text leaves out match.

    Args:
        line: The record's line, printed by ``log``.
        pattern: The pattern of the search.
    """
    short = _short(line.summary)
    if pattern is None or (spans := _matches(pattern, short)):
        return short, [] if pattern is None else spans
    spans = _matches(pattern, line.summary)
    return (line.summary, spans) if spans else (short, [])


def _short(summary: str) -> str:
    """A record's text without the words that every such record has."""
    if found := _PARTITION.match(summary):
        return f"{found[1]}-{summary[found.end() :]}"
    if found := _CONFIG.match(summary):
        word, name, key = found.groups()
        where = resource_directory(ResourceType[word].value, name)
        return f"{where} {key}{summary[found.end() :]}"
    return summary


def _matches(pattern: re.Pattern[str], text: str) -> list[Span]:
    """Where a text matches."""
    found = (match.span() for match in islice(pattern.finditer(text), _MOST_MARKED))
    return [(first, behind) for first, behind in found if first < behind]


def hidden_raw(
    records: Records, redaction: Redaction, row: int, data: Mapping[str, object] | None
) -> str | None:
    """The text in place of a record's value; None if its bytes may be shown.

    Args:
        records: The records of its log.
        redaction: The policy for secrets.
        row: The record's row.
        data: Its decoded fields by Kafka's names, None where it can't be decoded.
    """
    frames = records.frames
    spec = records.spec_of_key(int(frames.api_key[row]))
    has_unknown_tags = False
    if spec is not None and data is not None:
        value = frames.arena.slice(int(frames.body[row]), int(frames.stop[row]))
        has_unknown_tags = UNKNOWN_TAGS in decode_message(spec, int(frames.version[row]), value)
    name = None if spec is None else spec.name
    if not redaction.hides_raw(name, data, has_unknown_tags=has_unknown_tags):
        return None
    return hidden_bytes(name, records.raw(row), records.batch_position(row))
