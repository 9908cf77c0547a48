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
_PLAIN: Final = re.compile(rb"version: 0\ntopic_id: (?!A{22})[A-Za-z0-9_-]{21}[AQgw]\n?")
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
    told = []
    for topic in sorted(by_topic)[:_MOST_NAMED]:
        places, known = by_topic[topic], None
        with suppress(SourceError):
            known = read_partition_metadata(places[0])
        topic_id = "" if known is None else f"id {known.topic_id}, "
        told.append(f"{topic} ({topic_id}{len(places)} partition{'s' * (len(places) != 1)})")
    more = len(by_topic) - len(told)
    return ", ".join(told) + (f" and {more} more topics" if more else "")


def parse_partition_metadata(data: bytes, file: str) -> PartitionMetadata:
    """Parse the file's content; `file` names it in errors.

    Raises:
        SourceError: A line is missing or malformed, or the id is zero.
    """
    lines = [*data.decode("latin-1").replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]
    version, topic_id = _VERSION.fullmatch(lines[0]), _TOPIC_ID.fullmatch(lines[1])
    if version is None or int(version[1]) > _INT32_MAX:
        raise SourceError(f"{file}:1: no version: {lines[0][:40]!r}")
    raw = None if topic_id is None else _id_bytes(topic_id[1])
    if raw is None:
        raise SourceError(f"{file}:2: no topic id: {lines[1][:40]!r}")
    if not any(raw):
        raise SourceError(f"{file}:2: the topic id is zero")
    text = base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")
    return PartitionMetadata(int(version[1]), text)


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
    try:
        parse_partition_metadata(data, file)
    except SourceError as error:
        lines = data.decode("latin-1").splitlines()
        n_line = 1 if f"{file}:1:" in error.message else 2
        if len(lines) < n_line:
            return "java.lang.NullPointerException", True
        words = lines[n_line - 1].split()
        if "is zero" in error.message:
            return f"Invalid topic ID in partition metadata file ({file})", False
        if n_line == 2 and len(words) == 2:
            return f"java.lang.IllegalArgumentException: {words[1]}", True
        return f"Malformed line in partition metadata file [{file}]: {lines[n_line - 1]}", False
    return None


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
