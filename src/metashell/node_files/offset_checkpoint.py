"""The checkpoint files of a log directory that hold an offset for each of its logs.

=================================== ==============================================================
``recovery-point-offset-checkpoint``  what is flushed: a start after a crash recovers from there on
``replication-offset-checkpoint``     high watermarks: what was known to be committed
``log-start-offset-checkpoint``       log starts that are not the first segment's
``cleaner-offset-checkpoint``         up to where each compacted log was cleaned
=================================== ==============================================================

A node writes them every few seconds, so they lag behind the logs. Text as of
`metashell.node_files.epoch_checkpoint`, each entry a line ``topic partition offset``.

Source: org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from metashell.node_files.checkpoint_file import INT32_MAX, INT64_MAX, entry_lines, malformed
from metashell.places.bounded_file import MIB, AnyPlace, child_of, name_of, read_if_present

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
