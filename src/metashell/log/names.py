"""File names of a metadata log, and what a directory of them holds.

========================================  =========================================================
``<base offset, 20 digits>.log``           a segment of record batches
``<end offset>-<epoch, 10>.checkpoint``    a snapshot: the state before that offset
``*.deleted``, ``*.part``                  about to go, or unfinished: ignored
========================================  =========================================================

Source: org.apache.kafka.storage.internals.log.LogFileUtils, org.apache.kafka.snapshot.Snapshots.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from metashell.dataclass import dataclass

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
