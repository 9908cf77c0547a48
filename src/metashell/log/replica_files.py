"""The directory of one replica: how large it is, whose log it says it is, and where that ends.

Names, sizes, ``partition.metadata``, indexes and headers of batches are read, and no record. The
directory is listed once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.log_tail import LogEnd, LogTail
from metashell.node_files.partition_metadata import FILE_NAME as PARTITION_METADATA
from metashell.node_files.partition_metadata import LIMIT_BYTES, parse_partition_metadata
from metashell.places.bounded_file import read_if_present
from metashell.places.files import unreadable
from metashell.places.place import Place, child_of
from metashell.places.vanished import VanishedError


@dataclass(slots=True)
class ReplicaFiles:
    """The facts that the directory of a replica tells."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    """The sizes of its files, by name. A link counts with its own size."""
    n_bytes: int = 0
    """Bytes of its segments, as DescribeLogDirs counts them, and of those that Kafka is about to
    delete. Indexes do not count: they are preallocated, and mostly holes.
    """
    n_segments: int = 0
    topic_id: str | None = None
    """The id in its ``partition.metadata``; None where that is missing or can't be used."""
    is_malformed: bool = False
    """Whether its ``partition.metadata`` is malformed."""
    is_listed: bool = True
    """Whether the directory and its ``partition.metadata`` could be read."""
    tail: LogTail | None = None
    """Its log; None where it has no segment."""
    end: LogEnd | None = None
    """Where its log ends; None where that was not asked for, or can't be read."""
    fault: str | None = None
    """Why something can't be read: a sentence without a full stop."""


def read_replica(place: Place, name: str, *, ends: bool) -> ReplicaFiles:
    """Read the directory of a replica. Never fails: a fault stands for what can't be read.

    Args:
        place: The directory.
        name: The log's name, such as ``orders-3``.
        ends: Whether to look for the end of its log.
    """
    found = ReplicaFiles()
    try:
        found.sizes = _sizes_in(place)
        tail = LogTail(place, name, found.sizes)
        found.n_bytes = sum(size for file, size in found.sizes.items() if ".log" in file)
        found.n_segments = len(tail.segments)
        found.tail = tail if tail.segments else None
        if PARTITION_METADATA in found.sizes:
            _read_identity(place, found)
    except (SourceError, VanishedError) as error:
        found.is_listed, found.fault = False, _text(place, error)
        return found
    if ends and found.tail is not None:
        try:
            found.end = found.tail.end()
        except SourceError as error:
            found.fault = error.message
    return found


def _read_identity(place: Place, found: ReplicaFiles) -> None:
    """Read the topic id; raises where the file can't be read."""
    data = read_if_present(child_of(place, PARTITION_METADATA), limit_bytes=LIMIT_BYTES)
    if data is None:
        return
    try:
        found.topic_id = parse_partition_metadata(data, PARTITION_METADATA).topic_id
    except SourceError:
        found.is_malformed = True


def _text(place: Place, error: SourceError | VanishedError) -> str:
    return error.message if isinstance(error, SourceError) else f"{place}: it is gone"


def _sizes_in(place: Place) -> dict[str, int]:
    """The sizes of the files in a directory, by name; what vanishes meanwhile is left out.

    Raises:
        SourceError: It can't be listed.
        VanishedError: It is gone.
    """
    if not isinstance(place, str):
        return {entry.name: entry.size for entry in place.list() if not entry.is_directory}
    found = {}
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                try:
                    if not entry.is_dir(follow_symlinks=False):
                        found[entry.name] = entry.stat(follow_symlinks=False).st_size
                except FileNotFoundError:
                    continue
    except FileNotFoundError as error:
        raise VanishedError(place) from error
    except OSError as error:
        raise unreadable(place, error) from error
    return found
