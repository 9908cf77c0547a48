"""Kafka's checkpoint files of text: a version, a number of entries, and an entry a line.

Owns what all of them have in common; what an entry is say those who know the file. Source:
org.apache.kafka.server.common.CheckpointFile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from metashell.errors import SourceError
from metashell.places.bounded_file import MIB, AnyPlace, child_of, name_of, read_if_present

INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1

_VERSION: Final = 0
_ENTRIES_MAX: Final = 1_000_000
"""More than any broker has logs."""
_NUMBER: Final = re.compile(r"[0-9]{1,19}")
_SHOWN: Final = 40


def entry_lines(data: bytes, file: str) -> list[str]:
    """The lines of the entries, one after the other from the file's third line on.

    A file that ends before the number of entries has none, as in Kafka: a power cut leaves such.

    Args:
        data: The file's content. Bytes that are no ASCII stay, one character each.
        file: Its name, for errors.

    Raises:
        SourceError: The version is unknown, or the number of entries is another than announced.
    """
    if not data:
        return []
    if not data.strip(b"\0"):
        raise SourceError(f"{file}: nothing but zero bytes")
    if data.count(b"\n") > _ENTRIES_MAX:
        raise SourceError(f"{file}: more than {_ENTRIES_MAX:,} entries")
    # Latin-1 never fails; who reads an entry refuses what does not belong there.
    lines = data.decode("latin-1").removesuffix("\n").split("\n")
    (version,) = numbers_of(lines[0], (INT32_MAX,), f"{file}:1", "a number")
    if version != _VERSION:
        raise SourceError(f"{file}:1: version {version} is unknown")
    if len(lines) == 1:
        return []
    (count,) = numbers_of(lines[1], (INT32_MAX,), f"{file}:2", "a number")
    if count != len(lines) - 2:
        raise SourceError(f"{file}:2: {count} entries announced, {len(lines) - 2} found")
    return lines[2:]


def numbers_of(line: str, limits: tuple[int, ...], place: str, what: str) -> tuple[int, ...]:
    """The numbers of a line, each from 0 to its limit.

    Args:
        line: The line.
        limits: The largest that each may be.
        place: File and line, for errors.
        what: The kind of line that it should be, for errors.

    Raises:
        SourceError: It is something else.
    """
    words = line.split()
    if len(words) == len(limits) and all(_NUMBER.fullmatch(word) for word in words):
        numbers = tuple(int(word) for word in words)
        if all(number <= limit for number, limit in zip(numbers, limits, strict=True)):
            return numbers
    raise malformed(line, place, what)


def malformed(line: str, place: str, what: str) -> SourceError:
    """The error for a line that is something else than it should be."""
    return SourceError(f"{place}: not {what}: {line[:_SHOWN]!r}")


_LIMIT_BYTES: Final = 64 * MIB
_ENTRY: Final = re.compile(r"\s*([A-Za-z0-9._-]{1,249})\s+([0-9]{1,10})\s+(-?[0-9]{1,19})\s*")
"""Kafka lets a topic have no other characters."""


class OffsetCheckpoint(StrEnum):
    """A file of this kind, by its name."""

    RECOVERY_POINT = "recovery-point-offset-checkpoint"
    HIGH_WATERMARK = "replication-offset-checkpoint"
    LOG_START = "log-start-offset-checkpoint"
    CLEANER = "cleaner-offset-checkpoint"


class TopicPartition(NamedTuple):
    """A partition of a topic by its name."""

    topic: str
    partition: int


def read_offset_checkpoint(
    directory: AnyPlace, which: OffsetCheckpoint
) -> Mapping[TopicPartition, int] | None:
    """Read a file of a log directory; None where there is none.

    Raises:
        SourceError: It can't be read or is malformed.
    """
    place = child_of(directory, which)
    data = read_if_present(place, limit_bytes=_LIMIT_BYTES)
    return None if data is None else parse_offset_checkpoint(data, name_of(place))


def parse_offset_checkpoint(data: bytes, file: str) -> Mapping[TopicPartition, int]:
    """Parse the file's content; of two entries for a log the last counts, as in Kafka.

    Args:
        data: The content.
        file: Its name, for errors.

    Raises:
        SourceError: A line is malformed, of an unknown version or missing.
    """
    found: dict[TopicPartition, int] = {}
    for i, line in enumerate(entry_lines(data, file), 3):
        match = _ENTRY.fullmatch(line)
        if match is not None:
            partition, offset = int(match[2]), int(match[3])
            if partition <= INT32_MAX and -INT64_MAX - 1 <= offset <= INT64_MAX:
                found[TopicPartition(match[1], partition)] = offset
                continue
        raise malformed(line, f"{file}:{i}", "a topic, a partition and an offset")
    return found
