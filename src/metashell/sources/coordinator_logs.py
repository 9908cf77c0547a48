"""The coordinators' logs that a source has: of a node's log directories, or one partition alone.

They are read when somebody asks for them, one partition at a time, and not kept: each may be large,
and a running broker writes to them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.fault import Fault, FaultKind
from metashell.log.partition import CoordinatorPartition, PartitionLog, read_partition
from metashell.node_files.log_directory import LogDirectory
from metashell.node_files.log_name import LogName
from metashell.node_files.offset_checkpoint import OffsetCheckpoint, TopicPartition
from metashell.places.place import Place, shown
from metashell.read_settings import ReadSettings
from metashell.records.keyed_records import KeyedRecords, lost_text
from metashell.schema.coordinators import CoordinatorLog, RecordTypes, load_record_types

if TYPE_CHECKING:
    from metashell.image.image import Image


@dataclass(slots=True)
class CoordinatorRecords:
    """A partition that was read."""

    partition: CoordinatorPartition
    log: PartitionLog
    records: KeyedRecords

    @property
    def lost(self) -> str | None:
        """That the state may lack what compaction removed; None where it can't."""
        offset = self.records.lost_before
        return None if offset is None else lost_text(str(self.partition), offset)

    @property
    def file_faults(self) -> Sequence[Fault]:
        """Faults of its files and batches; not a tail that the broker may be writing."""
        newest = self.log.segments[-1].name
        faults = self.log.faults
        return [f for f in faults if f.kind is not FaultKind.TORN or f.file != newest]

    def faults(self) -> Iterator[Fault]:
        """What of it was not read; not a tail that the broker may be writing.

        Cost: walks the records of every type.
        """
        yield from self.file_faults
        yield from self.records.unframed
        yield from self.records.faults()


class CoordinatorLogs(ABC):
    """The partitions of a coordinators' topic that a source has.

    Args:
        log: Which coordinator's.
        partitions: Those that are here.
        where: Where they are looked for, as it may be shown.
    """

    def __init__(
        self, log: CoordinatorLog, partitions: Sequence[CoordinatorPartition], where: str
    ) -> None:
        self.log, self.where = log, where
        self.partitions = sorted(partitions, key=lambda partition: partition.number)
        """Those that are here, by number."""

    @abstractmethod
    def read(self, partition: CoordinatorPartition) -> CoordinatorRecords:
        """Read one of them, with ``committed_only`` up to the high watermark that is on the disk.

        Raises:
            SourceError: It can't be read, or has no segment.
            SchemaError: A definition of the user's is malformed.
        """

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
    """Those in the log directories of a node.

    Args:
        log: Which coordinator's.
        directories: The log directories, as they were listed.
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
        self._logs: dict[int, tuple[LogDirectory, LogName]] = {}
        self._marks: dict[Place, Mapping[TopicPartition, int]] = {}
        for directory in directories:
            for name in directory.logs_of(log.value):
                self._logs.setdefault(name.partition, (directory, name))
        partitions = [CoordinatorPartition(log, number) for number in self._logs]
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
        directory, name = self._logs[partition.number]
        log = read_partition(directory.place_of(name), partition)
        records = KeyedRecords(log.loaded, types)
        if self.settings.committed_only:
            end = self._high_watermark(directory, partition)
            records = records.until(int(np.searchsorted(records.frames.offset, end)))
        if self._until_ms is not None:
            records = records.until_time(self._until_ms)
        return CoordinatorRecords(partition, log, records)

    def _high_watermark(self, directory: LogDirectory, partition: CoordinatorPartition) -> int:
        """The first offset that may not be committed, as the broker last wrote it."""
        marks = self._marks.get(directory.place)
        if marks is None:
            marks = directory.offsets(OffsetCheckpoint.HIGH_WATERMARK)
            self._marks[directory.place] = marks
        return marks.get(TopicPartition(self.log.value, partition.number), 0)
