"""`partition.metadata`: which topic, by its id, a log belongs to.

Text of two lines, ``version: 0`` and ``topic_id: <base64>``; a later version is read by the same
lines. A node takes a log without this file for a stray, and takes the whole log directory offline
where the file is malformed or names the zero id.

Source: org.apache.kafka.storage.internals.checkpoint.PartitionMetadataReadBuffer, Uuid.fromString.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.places.bounded_file import AnyPlace, child_of, name_of, read_if_present

FILE_NAME: Final = "partition.metadata"
LIMIT_BYTES: Final = 4096
"""A larger file is refused."""
_MOST_NAMED: Final = 5
_VERSION: Final = re.compile(r"version:\s+\+?([0-9]{1,10})")
_TOPIC_ID: Final = re.compile(r"topic_id:\s+([A-Za-z0-9_=-]{1,24})")
_PLAIN: Final = re.compile(rb"version: 0\ntopic_id: (?!A{22})([A-Za-z0-9_-]{21}[AQgw])\n?")
"""A file as Kafka writes it."""
_INT32_MAX: Final = 2**31 - 1
_ID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """The content of ``partition.metadata``."""

    version: int
    topic_id: str
    """The id in Kafka's form: base64 for URLs, without padding; never the zero id."""


def read_partition_metadata(directory: AnyPlace) -> PartitionMetadata | None:
    """Read the file of a log's directory; None where there is none.

    Raises:
        SourceError: It can't be read or is malformed.
    """
    place = child_of(directory, FILE_NAME)
    data = read_if_present(place, limit_bytes=LIMIT_BYTES)
    return None if data is None else parse_partition_metadata(data, name_of(place))


def topics_text(logs: Iterable[tuple[str, AnyPlace]]) -> str:
    """Topics whose logs lie somewhere, with their ids, such as ``orders (id X, 3 partitions)``.

    Cost: reads a file of each of the first topics.

    Args:
        logs: Topic and place of each log.
    """
    by_topic: dict[str, list[AnyPlace]] = {}
    for topic, place in logs:
        by_topic.setdefault(topic, []).append(place)
    topics = []
    for topic in sorted(by_topic)[:_MOST_NAMED]:
        places, known = by_topic[topic], None
        with suppress(SourceError):
            known = read_partition_metadata(places[0])
        topic_id = "" if known is None else f"id {known.topic_id}, "
        topics.append(f"{topic} ({topic_id}{len(places)} partition{'s' * (len(places) != 1)})")
    more = len(by_topic) - len(topics)
    return ", ".join(topics) + (f" and {more} more topics" if more else "")


def parse_partition_metadata(data: bytes, file: str) -> PartitionMetadata:
    """Parse the file's content; `file` names it in errors.

    Raises:
        SourceError: A line is missing or malformed, or the id is zero.
    """
    plain = _PLAIN.fullmatch(data)
    if plain is not None:
        return PartitionMetadata(0, plain[1].decode("ascii"))
    first, second, version, raw = _fields(data)
    if version is None:
        raise SourceError(f"{file}:1: no version: {first[:40]!r}")
    if raw is None:
        raise SourceError(f"{file}:2: no topic id: {second[:40]!r}")
    if not any(raw):
        raise SourceError(f"{file}:2: the topic id is zero")
    text = base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")
    return PartitionMetadata(version, text)


def _fields(data: bytes) -> tuple[str, str, int | None, bytes | None]:
    """The first two lines, the version and the topic id; None for what is malformed."""
    lines = [*data.decode("latin-1").replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]
    version, topic_id = _VERSION.fullmatch(lines[0]), _TOPIC_ID.fullmatch(lines[1])
    number = None if version is None else int(version[1])
    return (
        lines[0],
        lines[1],
        None if number is None or number > _INT32_MAX else number,
        None if topic_id is None else _id_bytes(topic_id[1]),
    )


def refusal_of(data: bytes, file: str) -> tuple[str, bool] | None:
    """Kafka's text about a file that it refuses; None for one that it takes.

    Args:
        data: The file's content.
        file: Its path.

    Returns:
        The text, and whether the node stops: with an error that it does not expect. Else it takes
        the log directory offline.
    """
    if _PLAIN.fullmatch(data):
        return None
    _, _, version, raw = _fields(data)
    if version is not None and raw is not None:
        zero = f"Invalid topic ID in partition metadata file ({file})"
        return None if any(raw) else (zero, False)
    lines, at = data.decode("latin-1").splitlines(), 0 if version is None else 1
    if len(lines) <= at:
        return "java.lang.NullPointerException", True
    words = lines[at].split()
    if version is not None and len(words) == 2:
        return f"java.lang.IllegalArgumentException: {words[1]}", True
    return f"Malformed line in partition metadata file [{file}]: {lines[at]}", False


def _id_bytes(text: str) -> bytes | None:
    """The sixteen bytes of an id's text, with its padding or without."""
    bare = text.rstrip("=")
    if "=" in bare or (bare != text and len(text) % 4):
        return None
    try:
        raw = base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == _ID_BYTES else None
