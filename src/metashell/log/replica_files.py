"""The directory of one replica: how large it is, whose log it says it is, and where that ends.

Names, sizes, ``partition.metadata``, indexes and headers of batches are read, and no record. The
directory is listed once.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.log_tail import LogEnd, LogTail
from metashell.node_files.partition_metadata import FILE_NAME as PARTITION_METADATA
from metashell.node_files.partition_metadata import LIMIT_BYTES, parse_partition_metadata
from metashell.places.bounded_file import read_if_present
from metashell.places.place import Place, child_of, entries_in, unreadable

_SEGMENT: Final = ".log"
"""In the names of segments, also of those that Kafka is about to swap or delete."""


@dataclass(slots=True)
class ReplicaFiles:
    """The facts that the directory of a replica tells."""

    place: Place = ""
    """The directory; empty where it is not looked into."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Its files, with the sizes of its segments. A link counts with its own size."""
    n_bytes: int = -1
    """Bytes of its segments, as DescribeLogDirs counts them, and of those that Kafka is about to
    delete. Indexes do not count: they are preallocated, and mostly holes.
    """
    n_segments: int = -1
    """Both -1 where the directory can't be listed."""
    topic_id: str | None = None
    """The id in its ``partition.metadata``; None where that is missing or can't be used."""
    is_malformed: bool = False
    """Whether its ``partition.metadata`` is malformed."""
    identity: bytes | None = None
    """The content of its ``partition.metadata``; None where that is missing."""
    is_listed: bool = False
    """Whether the directory and its ``partition.metadata`` could be read."""
    tail: LogTail | None = None
    """Its log; None where it has no segment."""
    end: LogEnd | None = None
    """Where its log ends; None where that was not asked for, or can't be read."""
    fault: str | None = None
    """Why something can't be read: a sentence without a full stop."""

    def recovery(self, point: int) -> tuple[int, int]:
        """Segments and bytes that a broker reads to recover the log after a kill.

        Args:
            point: The recovery point; the segment that holds it is read too.
        """
        segments = () if self.tail is None else self.tail.segments
        first = bisect_right(segments, point, key=lambda one: one.base_offset) - 1
        unflushed = segments[max(first, 0) :]
        return len(unflushed), sum(self.sizes.get(segment.name, 0) for segment in unflushed)


def read_replica(place: Place, name: str, *, ends: bool) -> ReplicaFiles:
    """Read the directory of a replica. Never fails: a fault stands for what can't be read.

    Args:
        place: The directory.
        name: The log's name, such as ``orders-3``.
        ends: Whether to look for the end of its log.
    """
    found = ReplicaFiles(place)
    try:
        found.sizes = _sizes_in(place)
        tail = LogTail(place, name, found.sizes)
        found.n_bytes = sum(size for file, size in found.sizes.items() if _SEGMENT in file)
        found.n_segments = len(tail.segments)
        found.tail = tail if tail.segments else None
        if PARTITION_METADATA in found.sizes:
            _read_identity(place, found)
        found.is_listed = True
        if ends and found.tail is not None:
            found.end = found.tail.end()
    except SourceError as error:
        found.fault = error.message
    return found


def _read_identity(place: Place, found: ReplicaFiles) -> None:
    """Read the topic id; raises where the file can't be read."""
    data = read_if_present(child_of(place, PARTITION_METADATA), limit_bytes=LIMIT_BYTES)
    if data is None:
        return
    found.identity = data
    try:
        found.topic_id = parse_partition_metadata(data, PARTITION_METADATA).topic_id
    except SourceError:
        found.is_malformed = True


def _sizes_in(place: Place) -> dict[str, int]:
    """The files in a directory, with the sizes of segments. A file that vanishes is left out.

    Raises:
        SourceError: It can't be listed.
    """
    if not isinstance(place, str):
        return {entry.name: entry.size for entry in entries_in(place) if not entry.is_directory}
    found = {}
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                try:
                    if _SEGMENT not in entry.name:
                        found[entry.name] = 0
                    elif not entry.is_dir(follow_symlinks=False):
                        found[entry.name] = entry.stat(follow_symlinks=False).st_size
                except FileNotFoundError:
                    continue
    except OSError as error:
        raise unreadable(place, error) from error
    return found
