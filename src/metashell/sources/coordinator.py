"""A partition of a coordinator's topic: its log, of which the records can be shown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from metashell.errors import NotCoveredError, SourceError
from metashell.fs.node import Directory
from metashell.fs.nodes.extra import log_node
from metashell.fs.nodes.root import RootDirectory
from metashell.image.coordinators.loading import loaded_by_a_broker
from metashell.lazy import lazy
from metashell.log.directory import MetadataLog
from metashell.log.fault import Fault
from metashell.log.names import Listing
from metashell.log.partition import (
    CoordinatorPartition,
    PartitionLog,
    partition_at,
    read_partition,
    read_segment,
)
from metashell.log.time_spec import Point, TimeSpec, time_spec_of, time_spec_text
from metashell.node_files.checkpoint_file import (
    OffsetCheckpoint,
    TopicPartition,
    read_offset_checkpoint,
)
from metashell.places.place import Place, parent_of, shown
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog, RecordTypes, load_record_types
from metashell.sources.coordinator_logs import (
    CoordinatorLogs,
    CoordinatorRecords,
    nothing_committed,
)
from metashell.sources.log_clock import clock_of
from metashell.sources.status import Capabilities, Status
from metashell.sources.without_image import SourceWithoutImage

if TYPE_CHECKING:
    from metashell.log.read import ReadProgress
    from metashell.read_settings import ReadSettings
    from metashell.sources.coordinator_tables import SourceTables


class CoordinatorSource(SourceWithoutImage):
    """The log of a coordinator's partition. It has records and no image.

    Args:
        log: The files of the partition.
        settings: How they are read and shown.
        end: The first offset that is left out; None for the end of the log.
    """

    capabilities = Capabilities(has_image=False)

    def __init__(self, log: PartitionLog, settings: ReadSettings, end: int | None = None) -> None:
        place = log.place
        files = MetadataLog(
            str(place),
            log.loaded,
            Listing(log.segments, ()),
            None,
            log.faults,
            log.notes,
            is_file=log.is_file,
            remote=None if isinstance(place, str) else place,
            signature=log.signature,
        )
        directory = os.path.abspath(place) if isinstance(place, str) else place
        super().__init__(files, settings, directory=None if log.is_file else directory)
        self.partition_log = log
        """The files of the partition."""
        self._time_spec = TimeSpec()
        self.end = end
        """The first offset that is left out, as it may not be committed; None for none."""

    @property
    def of_coordinator(self) -> CoordinatorSource:
        return self

    @property
    def has_coordinator_logs(self) -> bool:
        return True

    @lazy
    def coordinator_tables(self) -> SourceTables:
        """The tables of its log."""
        from metashell.sources.coordinator_tables import SourceTables

        return SourceTables(self, self.partition_log.partition.log)

    def coordinator_logs(self, log: CoordinatorLog) -> CoordinatorLogs | None:
        return _OneLog(self) if log is self.partition_log.partition.log else None

    @lazy
    def record_types(self) -> RecordTypes:
        """Definitions of its records, the user's included."""
        return load_record_types(self.partition_log.partition.log, self.settings.schemas)

    @lazy
    def keyed_records(self) -> KeyedRecords:
        """Its records, decoded by type when asked for."""
        if self._newest is not None:
            assert isinstance(self._newest, CoordinatorSource)
            newest = self._newest.keyed_records
            time_spec = self._time_spec
            if time_spec.offset is not None:
                return newest.until_offset(time_spec.offset)
            assert time_spec.last_ms is not None
            return newest.until_time(time_spec.last_ms)
        records = KeyedRecords(self.log.loaded, self.record_types)
        if self.end is not None:
            records = records.until_offset(self.end - 1)
        if self.settings.strict:
            return loaded_by_a_broker(records)
        return records

    def at(self, point: Point, *, record: bool = False) -> CoordinatorSource:
        """The partition as it was at an offset of its log, or at a time.

        Raises:
            UsageError: The point can't be read.
            NotCoveredError: The files do not cover it.
        """
        made = CoordinatorSource(self.partition_log, self.settings, self.end)
        made._newest = self.newest
        made._time_spec = clock_of(self.newest).covered(time_spec_of(point))
        if not made.keyed_records.n_rows:
            raise NotCoveredError(
                f"{time_spec_text(made._time_spec)} is not covered: the log begins with offset"
                f" {self.partition_log.first_offset}"
            )
        return made

    @property
    def moment_offset(self) -> int | None:
        if self._newest is None:
            return None
        records = self.keyed_records
        return int(records.frames.offset[records.n_rows - 1])

    def status(self) -> Status:
        """Where the log ends, or the state that it shows."""
        records = self.keyed_records
        if not records.n_rows:
            return super().status()
        last, frames = np.array([records.n_rows - 1]), records.frames
        return Status(
            offset=int(frames.offset[last[0]]),
            epoch=int(frames.epochs(last)[0]),
            timestamp_ms=int(frames.timestamps(last)[0]),
            metadata_version=None,
            notes=super().status().notes,
        )

    @property
    def no_image(self) -> SourceError:
        return SourceError(
            f"{self.path}: {self.partition_log.partition} is a coordinator's log,"
            " and has no cluster metadata",
            hint="`log` prints its records, and `check` finds damage",
        )

    @lazy
    def root(self) -> Directory:
        """The root of the file system: what is known of the files, and the state."""
        return RootDirectory(
            {"log": lambda: log_node(self.log, self.all_faults)},
            lambda: self.coordinator_directories,
        )

    @property
    def faults(self) -> Sequence[Fault]:
        """Faults of the files."""
        return list(self.log.faults)

    def all_faults(self) -> Sequence[Fault]:
        """Every fault, of batches and records too. Cost: decodes all."""
        records = self.keyed_records
        return [*self.log.faults, *records.unframed, *records.faults()]

    @property
    def warnings(self) -> Sequence[str]:
        """Sentences that the user should read."""
        return [*self.log.notes, *self._coordinator_remarks()]


class _OneLog(CoordinatorLogs):
    """The partition of a source, as it was read."""

    def __init__(self, source: CoordinatorSource) -> None:
        partition = source.partition_log.partition
        super().__init__(partition.log, [partition], shown(source.path))
        self._source = source

    def read(self, partition: CoordinatorPartition) -> CoordinatorRecords:
        source = self._source
        return CoordinatorRecords(partition, source.partition_log, source.keyed_records)


def open_coordinator(
    place: Place, settings: ReadSettings, progress: ReadProgress | None, *, is_file: bool
) -> CoordinatorSource | None:
    """Open the log of a coordinator's partition, or a segment of one.

    Returns:
        The source; None where the place is, by its name, of no coordinator.

    Raises:
        SourceError: It can't be read.
    """
    partition = partition_at(place, is_file=is_file)
    if partition is None:
        return None
    read = read_segment if is_file else read_partition
    end = None
    if settings.committed_only:
        directory = parent_of(place) if is_file else place
        end = committed_end(directory, TopicPartition(partition.log.value, partition.number))
    return CoordinatorSource(read(place, partition, progress), settings, end)


def committed_end(directory: Place, partition: TopicPartition) -> int:
    """The first offset of a log that may not be committed, as the broker last wrote it.

    Raises:
        SourceError: Nothing there says so.
    """
    marks = read_offset_checkpoint(parent_of(directory), OffsetCheckpoint.HIGH_WATERMARK)
    if marks is None or partition not in marks:
        raise nothing_committed(str(directory))
    return marks[partition]
