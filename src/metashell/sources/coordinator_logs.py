"""The coordinators' logs of a broker, beside the metadata log in its log directory.

They are read when somebody asks for them, one partition at a time, and not kept: each may be large,
and a running broker writes to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metashell.log.fault import Fault, FaultKind
from metashell.log.partition import CoordinatorPartition, PartitionLog, read_partition
from metashell.node_files.log_directory import LogDirectory, read_log_directory
from metashell.node_files.offset_checkpoint import OffsetCheckpoint, TopicPartition
from metashell.places.place import Place, parent_of
from metashell.read_settings import ReadSettings
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog, RecordTypes, load_record_types


@dataclass(slots=True)
class CoordinatorRecords:
    """A partition that was read."""

    partition: CoordinatorPartition
    log: PartitionLog
    records: KeyedRecords

    def faults(self) -> Iterator[Fault]:
        """What of it was not read; not a tail that the broker may be writing.

        Cost: walks the records of every type.
        """
        newest = self.log.segments[-1].name
        for fault in self.log.faults:
            if fault.kind is not FaultKind.TORN or fault.file != newest:
                yield fault
        yield from self.records.unframed
        yield from self.records.faults()


class CoordinatorLogs:
    """The partitions of a coordinators' topic in a broker's log directory.

    Args:
        metadata_directory: The metadata log in the same log directory.
        log: Which coordinator's.
        settings: How they are read.

    Raises:
        SourceError: The log directory can't be listed, or its ``meta.properties`` is malformed.
    """

    def __init__(
        self, metadata_directory: Place, log: CoordinatorLog, settings: ReadSettings
    ) -> None:
        self.log, self.settings = log, settings
        self.directory: LogDirectory = read_log_directory(parent_of(metadata_directory))
        logs = self.directory.logs_of(log.value)
        self.partitions = [CoordinatorPartition(log, name.partition) for name in logs]
        """Those that are there, by number."""
        self._places = {name.partition: self.directory.place_of(name) for name in logs}

    @cached_property
    def _types(self) -> RecordTypes:
        return load_record_types(self.log, self.settings.schemas)

    @cached_property
    def _high_watermarks(self) -> Mapping[TopicPartition, int]:
        return self.directory.offsets(OffsetCheckpoint.HIGH_WATERMARK)

    def read(self, partition: CoordinatorPartition) -> CoordinatorRecords:
        """Read one of them, with ``committed_only`` up to the high watermark that is on the disk.

        Raises:
            SourceError: It can't be read, or has no segment.
            SchemaError: A definition of the user's is malformed.
        """
        types = self._types
        log = read_partition(self._places[partition.number], partition)
        records = KeyedRecords(log.loaded, types)
        if self.settings.committed_only:
            end = self._high_watermarks.get(TopicPartition(self.log.value, partition.number), 0)
            records = records.until(int(np.searchsorted(records.frames.offset, end)))
        return CoordinatorRecords(partition, log, records)
