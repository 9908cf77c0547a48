"""A partition of a coordinator's topic: its log, of which the records can be shown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from metashell.errors import SourceError
from metashell.fs.node import Directory, FixedDirectory
from metashell.fs.nodes.extra import log_node
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
from metashell.places.place import shown
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog, RecordTypes, load_record_types
from metashell.sources.coordinator_logs import CoordinatorLogs, CoordinatorRecords
from metashell.sources.source import Source
from metashell.sources.status import Capabilities

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.log.read import ReadProgress
    from metashell.places.place import Place
    from metashell.read_settings import ReadSettings


class CoordinatorSource(Source):
    """The log of a coordinator's partition. It has records and no image.

    Args:
        log: The files of the partition.
        settings: How they are read and shown.
    """

    capabilities = Capabilities(has_image=False)

    def __init__(self, log: PartitionLog, settings: ReadSettings) -> None:
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

    @property
    def of_coordinator(self) -> CoordinatorSource:
        return self

    def coordinator_logs(self, log: CoordinatorLog) -> CoordinatorLogs | None:
        return _OneLog(self) if log is self.partition_log.partition.log else None

    @lazy
    def record_types(self) -> RecordTypes:
        """Definitions of its records, the user's included."""
        return load_record_types(self.partition_log.partition.log, self.settings.schemas)

    @lazy
    def keyed_records(self) -> KeyedRecords:
        """Its records, decoded by type when asked for."""
        return KeyedRecords(self.log.loaded, self.record_types)

    @lazy
    def image(self) -> Image:
        """It has none.

        Raises:
            SourceError: Always.
        """
        raise SourceError(
            f"{self.path}: {self.partition_log.partition} is a coordinator's log,"
            " and has no cluster metadata",
            hint="`log` prints its records, and `check` finds damage",
        )

    @lazy
    def root(self) -> Directory:
        """The root of the file system: what is known of the files."""
        return FixedDirectory({"log": lambda: log_node(self.log, self.all_faults)})

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
        """What a user should know, a sentence each."""
        return list(self.log.notes)


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
    if settings.strict:
        raise SourceError(
            f"{place}: --strict needs a cluster's state; a coordinator's log has records only"
        )
    if settings.committed_only:
        raise SourceError(f"{place}: nothing there says which records are committed")
    read = read_segment if is_file else read_partition
    return CoordinatorSource(read(place, partition, progress), settings)
