"""The log of a coordinator's partition: its segments, read in order into one buffer.

Owns which files are read of a directory such as ``__consumer_offsets-3``, and what is odd about
them. Must not know what a record means. A running broker cleans and deletes segments: what vanishes
between listing and opening is listed again.

Source: org.apache.kafka.storage.internals.log.LogSegments, LocalLog.parseTopicPartitionName.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.chain import COMPACTED, UNCOMPACTED, LogKind
from metashell.log.changed import DirectoryState, Signature, list_directory
from metashell.log.directory import find_gaps, note_of
from metashell.log.fault import Fault
from metashell.log.names import SegmentName, list_names, topic_of
from metashell.log.read import Loaded, ReadProgress, load
from metashell.places.archives import HEAD_BYTES, UNPACK_HINT, archive_format
from metashell.places.place import FileRef, Place, base_name, file_at, file_in, name_of, parent_of
from metashell.places.vanished import VanishedError
from metashell.schema.coordinators import CoordinatorLog, coordinator_log

_LISTING_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class CoordinatorPartition:
    """A partition of a coordinator's topic."""

    log: CoordinatorLog
    number: int

    def __str__(self) -> str:
        """The name that Kafka writes: ``__consumer_offsets-3``."""
        return f"{self.log}-{self.number}"

    @property
    def kind(self) -> LogKind:
        """The log's properties for the walk over its batches: share state is never compacted."""
        return UNCOMPACTED if self.log is CoordinatorLog.SHARE else COMPACTED


@dataclass(slots=True)
class PartitionLog:
    """Files of a partition, and what was found out on the way to them."""

    partition: CoordinatorPartition
    place: Place
    """The directory, or the one file that was asked for."""
    loaded: Loaded
    segments: tuple[SegmentName, ...]
    is_file: bool = False
    """Whether `place` is one file, opened by itself."""
    faults: list[Fault] = field(default_factory=list)
    """The faults of files; faults of records come from decoding."""
    notes: list[str] = field(default_factory=list)
    """Remarks for the user, a sentence each."""
    signature: Signature = ()
    """The directory's `metashell.log.changed.signature` before its files were read."""

    @property
    def first_offset(self) -> int:
        """Where the files begin: the base offset of the first; -1 without a segment."""
        return self.segments[0].base_offset if self.segments else -1

    @property
    def last_offset(self) -> int:
        """The last offset in the files; -1 without a sound batch."""
        return max((file.chain.last_offset for file in self.loaded.files), default=-1)

    def path_of(self, name: str) -> FileRef:
        """Where a segment is read from."""
        return file_at(self.place) if self.is_file else file_in(self.place, name)


def partition_of(name: str) -> CoordinatorPartition | None:
    """The coordinator's partition that a directory's name means, None for every other name."""
    topic = topic_of(name)
    log = None if topic is None else coordinator_log(topic[0])
    return None if log is None or topic is None else CoordinatorPartition(log, topic[1])


def partition_at(place: Place, *, is_file: bool = False) -> CoordinatorPartition | None:
    """The partition whose directory is at a place, or whose segment; None for any other place."""
    return partition_of(base_name(parent_of(place) if is_file else place))


def read_partition(
    place: Place | DirectoryState,
    partition: CoordinatorPartition | None = None,
    progress: ReadProgress | None = None,
) -> PartitionLog:
    """Read the log of a coordinator's partition.

    Args:
        place: Its directory, perhaps as it was listed.
        partition: Which it is; None where the directory's name says.
        progress: Called while bytes are read.

    Raises:
        SourceError: It can't be read, has no segment, or nothing says which partition it is.
    """
    state = place if isinstance(place, DirectoryState) else list_directory(place)
    place = state.place
    partition = partition or partition_of(base_name(place))
    if partition is None:
        raise _not_a_coordinators(place)
    for attempt in range(_LISTING_TRIES):
        if attempt:
            state = list_directory(place)
        segments = state.listing.segments
        if not segments:
            raise SourceError(f"{place}: no segment of {partition} there")
        # Never an endless chase after a broker that deletes faster than we read.
        with suppress(VanishedError):
            paths = [file_in(place, segment.name) for segment in segments]
            loaded = load(paths, progress, partition.kind)
            log = PartitionLog(partition, place, loaded, segments, signature=state.signature)
            return _finished(log)
    raise SourceError(f"{place}: its files keep vanishing while they are opened", hint="try again")


def read_segment(
    place: Place,
    partition: CoordinatorPartition | None = None,
    progress: ReadProgress | None = None,
) -> PartitionLog:
    """Read one segment alone; as `read_partition`, whose directory's name says which it is of.

    Raises:
        SourceError: It can't be read, is no segment, or nothing says of which partition it is.
    """
    partition = partition or partition_at(place, is_file=True)
    if partition is None:
        raise _not_a_coordinators(place)
    file = file_at(place)
    try:
        loaded = load([file], progress, partition.kind)
    except VanishedError as e:
        raise SourceError(f"{place}: no such segment") from e
    chain = loaded.files[0].chain
    if not chain.positions and not chain.padding:
        what = archive_format(bytes(loaded.buffer[: min(HEAD_BYTES, loaded.size)]))
        if what is not None:
            raise SourceError(f"{place}: {what}", hint=UNPACK_HINT)
        reason = chain.faults[0].reason if chain.faults else "it is empty"
        raise SourceError(f"{place}: not a segment of {partition}: {reason}")
    segments = list_names([name_of(file)]).segments
    return _finished(PartitionLog(partition, place, loaded, segments, is_file=True))


def _not_a_coordinators(place: Place) -> SourceError:
    topics = ", ".join(f"{log}-N" for log in CoordinatorLog)
    return SourceError(
        f"{place}: not the log of a coordinator's partition",
        hint=f"their directories are called {topics}",
    )


def _finished(log: PartitionLog) -> PartitionLog:
    """Look at how the files fit together."""
    found = log.loaded.faults
    log.faults.extend(found)
    if not log.partition.kind.offsets_may_be_missing:
        spans = [(f.name, f.chain.first_offset, f.chain.last_offset) for f in log.loaded.files]
        log.faults.extend(_gaps(spans))
    log.notes.extend(note_of(fault, fault is found[-1]) for fault in found)
    return log


def _gaps(spans: Sequence[tuple[str, int, int]]) -> list[Fault]:
    """Offsets that are missing between files; those before the first were deleted."""
    first = next((offset for _, offset, _ in spans if offset >= 0), None)
    return find_gaps(spans, first)[0]
