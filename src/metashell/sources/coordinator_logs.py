"""The coordinators' logs that a source has: of a node's log directories, or one partition alone.

They are read when somebody asks for them, one partition at a time, and not kept: each may be large,
and a running broker writes to them.

Reading all partitions of a coordinators' topic that are here, and telling what was not read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from metashell.answers.coordinator_tables import PartitionState
from metashell.checks.replicas import ReplicaFacts, first_divergence
from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.fault import Fault, FaultKind
from metashell.log.partition import CoordinatorPartition, PartitionLog, read_partition
from metashell.node_files.checkpoint_file import OffsetCheckpoint, TopicPartition
from metashell.node_files.epoch_checkpoint import FILE_NAME as EPOCH_CHECKPOINT
from metashell.node_files.epoch_checkpoint import EpochStart, read_epoch_checkpoint
from metashell.node_files.log_directory import LogDirectory
from metashell.node_files.log_name import LogName
from metashell.places.place import Place, child_of, shown
from metashell.read_settings import ReadSettings
from metashell.records.keyed_records import KeyedRecords, lost_text
from metashell.schema.coordinators import CoordinatorLog, RecordTypes, load_record_types

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.sources.source import Source

_MOST_WARNINGS: Final = 5
"""Faults of a partition that are told one by one."""


class ReadReport(Protocol):
    """Takes what a user should know of an answer."""

    def unread(self, text: str) -> None:
        """Something was not read, so rows may be missing: a sentence without full stop."""

    def remark(self, text: str) -> None:
        """Something else that a user should know."""


def read_each(
    logs: CoordinatorLogs, report: ReadReport, only: int | None = None
) -> Iterator[CoordinatorRecords]:
    """Read every partition that is here, one after the other; those that can't be are told.

    Args:
        logs: The partitions.
        report: Is told.
        only: The number of the only one that is read; None for all.
    """
    for partition in logs.partitions:
        if only is not None and partition.number != only:
            continue
        try:
            found = logs.read(partition)
        except SourceError as error:
            report.unread(error.message)
            continue
        for disagreement in found.disagreements():
            report.unread(f"{partition}: {disagreement}")
        if found.lost is not None:
            report.remark(found.lost)
        yield found


def topic_names(source: Source) -> Callable[[], Mapping[str, str]]:
    """Gives the names of topics by the text of their ids, by which coordinators' records call them.

    It gives none where there is no metadata.
    """

    @cache
    def names() -> Mapping[str, str]:
        if not source.capabilities.has_image:
            return {}
        topics = source.image.topics
        return dict(zip(topics.id_texts, topics.names, strict=True))

    return names


def read_states(
    source: Source, logs: CoordinatorLogs, report: ReadReport, only: int | None = None
) -> Iterator[tuple[CoordinatorRecords, PartitionState]]:
    """Like `read_each`, but each with the state that rows are made from."""
    leaders, topics = logs.leaders, topic_names(source)
    for found in read_each(logs, report, only):
        number, tell = found.partition.number, partial(report_faults, report, str(found.partition))
        leader = leaders.get(number)
        yield found, PartitionState(found.records, number, leader, topics, tell, source.redaction)


def report_faults(report: ReadReport, partition: str, faults: Iterable[Fault]) -> None:
    """Tell what of a partition counts for nothing: the first faults, and how many more there are.

    Args:
        report: Is told.
        partition: The partition's name.
        faults: All of them.
    """
    faults = iter(faults)
    for fault in islice(faults, _MOST_WARNINGS):
        report.unread(f"{partition}: {fault}")
    n_more = sum(1 for _ in faults)
    if n_more:
        report.unread(f"{partition}: {n_more} more faults: see `check`")


def partitions_here(logs: CoordinatorLogs, n_here: int | None = None) -> str:
    """How many partitions of a coordinators' topic are here, such as ``2 of 4``.

    Args:
        logs: The partitions that are here.
        n_here: How many of these count; None for all.
    """
    n_partitions = len(logs.leaders)
    n_here = len(logs.partitions) if n_here is None else n_here
    return f"{n_here} of {n_partitions}" if n_partitions else f"{n_here}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReplica:
    """A replica of a partition that is here, once it was looked at."""

    directory: LogDirectory
    name: LogName
    epoch: int | None = None
    """The newest leader epoch that it knows; None where it can't be read."""
    end: int | None = None
    """The offset behind its last one; None where it can't be read."""
    is_read: bool = False
    """Whether the partition is read from it."""
    diverges_at: int | None = None
    """The first offset at which it differs from the one that is read; None for nowhere."""
    error: str | None = None
    """Why it can't be read."""

    @property
    def place(self) -> Place:
        """Where it is."""
        return self.directory.place_of(self.name)

    @property
    def node_id(self) -> int | None:
        """The id of the node whose log directory has it; None where the directory does not say."""
        identity = self.directory.identity
        return None if identity is None else identity.node_id


@dataclass(slots=True)
class CoordinatorRecords:
    """A partition that was read."""

    partition: CoordinatorPartition
    log: PartitionLog
    records: KeyedRecords
    replicas: Sequence[LogReplica] = ()
    """The compared replicas, the one that was read among them; empty where it is the only one."""

    @property
    def lost(self) -> str | None:
        """The sentence on state that compaction may have removed; None where it can't have."""
        offset = self.records.lost_before
        return None if offset is None else lost_text(str(self.partition), offset)

    @property
    def file_faults(self) -> Sequence[Fault]:
        """Faults of its files and batches; not a tail that the broker may be writing."""
        newest = self.log.segments[-1].name
        faults = self.log.faults
        return [f for f in faults if f.kind is not FaultKind.TORN or f.file != newest]

    def faults(self) -> Iterator[Fault]:
        """The parts of it that were not read, but not a tail that the broker may be writing.

        Cost: walks the records of every type.
        """
        yield from self.file_faults
        yield from self.records.unframed
        if self.records.stopped_by is not None:
            yield self.records.stopped_by
        yield from self.records.faults()

    def disagreements(self) -> Iterator[str]:
        """The trouble with the other replicas, a sentence without a full stop each."""
        return disagreements_of(self.replicas)


def disagreements_of(replicas: Sequence[LogReplica]) -> Iterator[str]:
    """The trouble with the replicas of a partition beside the one that is read."""
    chosen = next((replica for replica in replicas if replica.is_read), None)
    for replica in replicas:
        if replica.error is not None:
            yield f"a replica can't be read: {replica.error}"
        elif replica.diverges_at is not None and chosen is not None:
            yield (
                f"{shown(str(replica.place))} is another log from offset {replica.diverges_at} on"
                f" than {shown(str(chosen.place))}, which is read"
            )


class CoordinatorLogs(ABC):
    """The partitions of a coordinators' topic in a source.

    Args:
        log: The coordinator's log.
        partitions: The partitions that are here.
        where: The place where they are looked for, as it may be shown.
    """

    def __init__(
        self, log: CoordinatorLog, partitions: Sequence[CoordinatorPartition], where: str
    ) -> None:
        self.log, self.where = log, where
        self.partitions = sorted(partitions, key=lambda partition: partition.number)
        """The partitions that are here, by number."""

    @abstractmethod
    def read(self, partition: CoordinatorPartition) -> CoordinatorRecords:
        """Read one of them, with ``committed_only`` up to the high watermark that is on the disk.

        Raises:
            SourceError: It can't be read, or has no segment.
            SchemaError: A definition of the user's is malformed.
        """

    def replicas(self, partition: CoordinatorPartition) -> Sequence[LogReplica]:
        """Look at the replicas of a partition, in the order of their nodes.

        Cost: reads all of them.
        """
        del partition
        return ()

    @property
    def leaders(self) -> Mapping[int, int | None]:
        """The leader of each partition that the topic has, here or not; None for no leader.

        Empty where no metadata tells which there are.
        """
        return {}

    @property
    def missing(self) -> Sequence[int]:
        """The partitions that the topic has and that are not here, as far as that is known."""
        return sorted(self.leaders.keys() - {partition.number for partition in self.partitions})


class NodeCoordinatorLogs(CoordinatorLogs):
    """The partitions in the log directories of a node, or of joined nodes of a cluster.

    If a partition has several replicas, the one that reaches furthest in the newest leader epoch is
    read: no leader of that epoch had a record that it lacks. Among equal ones it is the leader's.

    Args:
        log: The coordinator's log.
        directories: The listed log directories.
        settings: How the logs are read.
        image: Gives the cluster's metadata; None where there is none.
        until_ms: The time up to which they are read, ms since the epoch; None for their end.
    """

    def __init__(
        self,
        log: CoordinatorLog,
        directories: Sequence[LogDirectory],
        settings: ReadSettings,
        image: Callable[[], Image] | None = None,
        *,
        until_ms: int | None = None,
    ) -> None:
        self.settings, self._image, self._until_ms = settings, image, until_ms
        self._found: dict[int, list[LogReplica]] = {}
        for directory in directories:
            for name in directory.logs_of(log.value):
                replica = LogReplica(directory=directory, name=name)
                self._found.setdefault(name.partition, []).append(replica)
        self._found = {number: by_node(replicas) for number, replicas in self._found.items()}
        self._marks: dict[Place, Mapping[TopicPartition, int]] = {}
        partitions = [CoordinatorPartition(log, number) for number in self._found]
        super().__init__(log, partitions, ", ".join(shown(str(d.place)) for d in directories))

    @cached_property
    def leaders(self) -> Mapping[int, int | None]:
        if self._image is None:
            return {}
        from metashell.image.coordinators.placement import leaders_of

        return leaders_of(self._image(), self.log.value)

    @cached_property
    def _types(self) -> RecordTypes:
        return load_record_types(self.log, self.settings.schemas)

    def read(self, partition: CoordinatorPartition) -> CoordinatorRecords:
        types = self._types
        found = self._found[partition.number]
        replicas: Sequence[LogReplica] = ()
        if len(found) == 1:
            log = read_partition(found[0].place, partition)
        else:
            log, replicas = self._furthest(partition)
        records = KeyedRecords(log.loaded, types)
        if self.settings.committed_only:
            end = max(self._high_watermark(one.directory, partition) for one in found)
            if end < 0:
                raise nothing_committed(str(partition))
            records = records.until(int(np.searchsorted(records.frames.offset.narrow, end)))
        if self._until_ms is not None:
            records = records.until_time(self._until_ms)
        if self.settings.strict:
            from metashell.image.coordinators.loading import loaded_by_a_broker

            records = loaded_by_a_broker(records)
        return CoordinatorRecords(partition, log, records, replicas)

    def replicas(self, partition: CoordinatorPartition) -> Sequence[LogReplica]:
        return self._look_at(partition)[1]

    def _furthest(self, partition: CoordinatorPartition) -> tuple[PartitionLog, list[LogReplica]]:
        """Read the replica that reaches furthest.

        Raises:
            SourceError: None can be read.
        """
        log, replicas = self._look_at(partition)
        if log is None:
            reasons = "; ".join(str(replica.error) for replica in replicas)
            raise SourceError(f"{partition}: no replica can be read: {reasons}")
        return log, replicas

    def _look_at(
        self, partition: CoordinatorPartition
    ) -> tuple[PartitionLog | None, list[LogReplica]]:
        """Read all replicas of a partition, and compare them with the one that reaches furthest."""
        leader = self.leaders.get(partition.number)
        best: tuple[PartitionLog, ReplicaFacts, bool] | None = None
        facts: list[ReplicaFacts | str] = []
        for replica in self._found[partition.number]:
            try:
                log, its = _read_replica(replica.place, partition)
            except SourceError as error:
                facts.append(error.message)
                continue
            facts.append(its)
            # No more than two logs are in memory at the same time.
            leads = leader is not None and replica.node_id == leader
            if best is None or (its.reach, leads) > (best[1].reach, best[2]):
                best = log, its, leads
            del log
        chosen = None if best is None else best[1]
        judged = [
            _judged(replica, its, chosen)
            for replica, its in zip(self._found[partition.number], facts, strict=True)
        ]
        return (None if best is None else best[0]), judged

    def _high_watermark(self, directory: LogDirectory, partition: CoordinatorPartition) -> int:
        """The first offset that may not be committed, as the broker last wrote it; -1 where it
        wrote none.
        """
        marks = self._marks.get(directory.place)
        if marks is None:
            marks = directory.offsets(OffsetCheckpoint.HIGH_WATERMARK)
            self._marks[directory.place] = marks
        return marks.get(TopicPartition(self.log.value, partition.number), -1)


def nothing_committed(what: str) -> SourceError:
    """The error of a log of which nothing tells which records are committed."""
    return SourceError(
        f"{what}: nothing there says which records are committed",
        hint=f"a broker writes it to {OffsetCheckpoint.HIGH_WATERMARK} in its log directory",
    )


def by_node(replicas: Iterable[LogReplica]) -> list[LogReplica]:
    """Replicas in the order of their nodes: of equal ones the first is read."""
    return sorted(replicas, key=lambda one: -1 if one.node_id is None else one.node_id)


def _read_replica(
    place: Place, partition: CoordinatorPartition
) -> tuple[PartitionLog, ReplicaFacts]:
    """Read a replica, and what it is compared by.

    Raises:
        SourceError: It can't be read, or has no segment.
    """
    log = read_partition(place, partition)
    starts: tuple[EpochStart, ...] | None = None
    with suppress(SourceError):  # The log itself tells the epochs of what is written.
        starts = read_epoch_checkpoint(child_of(place, EPOCH_CHECKPOINT))
    entries = [(start.epoch, start.start_offset) for start in starts or ()]
    return log, ReplicaFacts.of(log.loaded, entries, log.segments[-1].base_offset)


def _judged(
    replica: LogReplica, facts: ReplicaFacts | str, chosen: ReplicaFacts | None
) -> LogReplica:
    if isinstance(facts, str) or chosen is None:
        return replace(replica, error=str(facts))
    is_read = facts is chosen
    diverges_at = None if is_read else first_divergence(facts, chosen)
    epoch, end = facts.reach
    return replace(replica, epoch=epoch, end=end, is_read=is_read, diverges_at=diverges_at)
