"""File names of a metadata log, and what a directory of them holds.

========================================  =========================================================
``<base offset, 20 digits>.log``           a segment of record batches
``<end offset>-<epoch, 10>.checkpoint``    a snapshot: the state before that offset
``*.deleted``, ``*.part``                  about to go, or unfinished: ignored
========================================  =========================================================

Other places than a metadata log: how they are recognised, and what a user is told of them.

Owns the refusal of what is surely no metadata log. A place that may be a damaged metadata log is
let pass.

Source: org.apache.kafka.storage.internals.log.LogFileUtils, org.apache.kafka.snapshot.Snapshots.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import NoMetadataLogError, SourceError, TopicLogError
from metashell.log.control import first_key
from metashell.log.crc import crc32c
from metashell.log.layout import HEAD, HEADER_BYTES, MIN_LENGTH
from metashell.node_files.partition_metadata import topics_text
from metashell.places.place import Place, child_of, read_beginning

METADATA_DIRECTORY: Final = "__cluster_metadata-0"
METADATA_TOPIC_ID: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
COORDINATOR_TOPICS: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state")
"""Topics whose partitions are coordinators' logs; see `metashell.schema.coordinators`."""

_SEGMENT: Final = re.compile(r"(\d{20})\.log", re.ASCII)
_MAX_OFFSET: Final = (1 << 63) - 1
_MAX_EPOCH: Final = (1 << 31) - 1
"""No file of Kafka's has a larger number in its name: an int64 and an int32."""
_CHECKPOINT: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)
BOOTSTRAP: Final = "bootstrap.checkpoint"
"""The file beside the logs with which a node that was formatted begins, before Kafka 4.4."""
_TOPIC_PARTITION: Final = re.compile(r"(.+)-(\d+)(?:\.[0-9a-f]{32}-(?:delete|future|stray))?")


@dataclass(frozen=True, slots=True, order=True)
class SegmentName:
    """A segment, by the offset of its first record."""

    base_offset: int
    name: str


@dataclass(frozen=True, slots=True, order=True)
class CheckpointName:
    """A checkpoint, by the first offset that it lacks and the epoch of the last it holds."""

    end_offset: int
    epoch: int
    name: str

    @property
    def is_bootstrap(self) -> bool:
        """The zero checkpoint: what the formatter wrote, not a state of the log."""
        return self.end_offset == 0


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a directory that hold batches, each list in order."""

    segments: tuple[SegmentName, ...]
    checkpoints: tuple[CheckpointName, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read."""
        return not self.segments and not self.checkpoints


def segment_name(base_offset: int) -> SegmentName:
    """The segment that begins with an offset."""
    return SegmentName(base_offset, f"{base_offset:020d}.log")


def checkpoint_name(end_offset: int, epoch: int) -> CheckpointName:
    """The checkpoint of the state before an offset."""
    return CheckpointName(end_offset, epoch, f"{end_offset:020d}-{epoch:010d}.checkpoint")


def parse_name(name: str) -> SegmentName | CheckpointName | None:
    """Tell what a file is by its name; None for files that hold no metadata."""
    if (match := _SEGMENT.fullmatch(name)) and int(match[1]) <= _MAX_OFFSET:
        return SegmentName(int(match[1]), name)
    if match := _CHECKPOINT.fullmatch(name):
        end_offset, epoch = int(match[1]), int(match[2])
        if end_offset <= _MAX_OFFSET and epoch <= _MAX_EPOCH:
            return CheckpointName(end_offset, epoch, name)
    return None


def list_names(names: Iterable[str]) -> Listing:
    """Sort out the names of a directory."""
    parsed = [parse_name(name) for name in names]
    return Listing(
        tuple(sorted(p for p in parsed if isinstance(p, SegmentName))),
        tuple(sorted(p for p in parsed if isinstance(p, CheckpointName))),
    )


def topic_of(directory_name: str) -> tuple[str, int] | None:
    """The topic and partition that a log directory's name means, or None."""
    match = _TOPIC_PARTITION.fullmatch(directory_name)
    return (match[1], int(match[2])) if match else None


_ELSEWHERE: Final = "the metadata log is in another log directory of the node: give that one too"
_LOOKED_BELOW: Final = 16
"""Names in a directory that is looked through for log directories."""
_BEGINNING_BYTES: Final = 1 << 20
_SUMMED: Final = 21
"""Where the bytes of a batch begin that its CRC is of."""
_MAGIC: Final = 2
_LOOKED_INTO: Final = 3
"""Segments whose beginning is read: the first ones may be empty or damaged."""


def refuse_other_logs(path: Place, name: str, names: Sequence[str], topic_id: str | None) -> None:
    """Let a renamed copy of a metadata log pass; raise for what is surely none.

    Args:
        path: The directory.
        name: Its own name.
        names: The names in it.
        topic_id: That of its ``partition.metadata``; None without one.

    Raises:
        SourceError: It is surely no metadata log; the message says what it is instead.
    """
    topic = topic_of(name)
    hint = f"give a node's {METADATA_DIRECTORY} directory, or the log dir that holds it"
    listing = list_names(names)
    if topic is not None and (
        topic_id is not None or (not listing.is_empty and not listing.checkpoints)
    ):
        known = f" (topic id {topic_id})" if topic_id else ""
        error: type[SourceError] = TopicLogError
        if topic[0] in COORDINATOR_TOPICS:
            error = SourceError
            hint = "`metashell -d DIR log` prints the records there, and `check` finds damage"
        raise error(
            f"{path}: the log of topic `{topic[0]}`, partition {topic[1]}{known},"
            " not the cluster's metadata log",
            hint=hint,
        )
    if not listing.is_empty:
        if not listing.checkpoints and _segments_have_keys(path, listing):
            raise keyed_error(path)
        return
    logs = [(found[0], child_of(path, one)) for one in names if (found := topic_of(one))]
    if "meta.properties" in names or any(topic in COORDINATOR_TOPICS for topic, _ in logs):
        hint, bootstrap = _ELSEWHERE, None
        if logs:
            hint += f"; logs of topics lie here: {topics_text(logs)}"
        elif BOOTSTRAP in names:
            file = child_of(path, BOOTSTRAP)
            bootstrap = file if isinstance(file, str) else file.uri
            hint = (
                "no node has started on it, or its metadata log is in another directory or gone: "
                f"`metashell -s {shlex.quote(str(file))}` shows what it was formatted with"
            )
        raise NoMetadataLogError(
            f"{path}: a log directory without a metadata log", hint=hint, bootstrap=bootstrap
        )
    below = log_directories_below(path, names)
    if below:
        words = " ".join(f"-d {shlex.quote(place)}" for place in below)
        hint = f"log directories are below it: `metashell {words}`"
    elif "(id " in (told := topics_text(logs)):
        hint = f"{_ELSEWHERE}; logs of topics lie here: {told}"
    raise SourceError(f"{path}: no segment or checkpoint there", hint=hint)


def log_directories_below(path: Place, names: Sequence[str]) -> list[str]:
    """The log directories in a directory of this machine with these names, if they are few."""
    if not isinstance(path, str) or len(names) > _LOOKED_BELOW:
        return []
    places = [os.path.join(path, name) for name in sorted(names)]
    return [place for place in places if os.path.isfile(os.path.join(place, "meta.properties"))]


def _segments_have_keys(path: Place, listing: Listing) -> bool:
    for segment in listing.segments[:_LOOKED_INTO]:
        content = read_beginning(child_of(path, segment.name), _BEGINNING_BYTES) or b""
        if has_keys(memoryview(content)):
            return True
    return False


def has_keys(view: memoryview) -> bool:
    """Whether the first sound batch of data at the beginning of a segment has a key.

    No record of a metadata log has one, so it is the log of a topic. A batch that is damaged or cut
    off proves nothing.

    Args:
        view: The segment, or its beginning.
    """
    pos = 0
    while pos + HEADER_BYTES <= len(view):
        _, length, _, magic, crc, _, _ = HEAD.unpack_from(view, pos)
        end = pos + 12 + length
        if length < MIN_LENGTH or end > len(view) or magic != _MAGIC:
            return False
        if crc32c(view[pos + _SUMMED : end]) == crc:
            key = first_key(view[:end], pos)
            if key is not None and not key.is_control:
                return key.n_bytes >= 0
        pos = end
    return False


def keyed_error(place: Place) -> SourceError:
    """The error for a place whose records have keys, and whose name tells no topic."""
    return SourceError(
        f"{place}: its records have keys: the log of a topic, not the cluster's metadata log",
        hint="call its directory as the broker does, TOPIC-PARTITION, such as"
        " `__consumer_offsets-0`: `metashell -d DIR log` reads a coordinator's log by this name",
    )
