"""The coordinators' logs of a broker, beside the metadata log in its log directory.

They are read when somebody asks for them, one partition at a time, and not kept: each may be large,
and a running broker writes to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from metashell.errors import SourceError
from metashell.log.fault import Fault, FaultKind
from metashell.log.keyed_chain import KeyedChainer
from metashell.log.names import list_names, topic_of
from metashell.log.read import load
from metashell.places.place import Place, child_of, file_in, names_in, parent_of
from metashell.places.vanished import VanishedError
from metashell.read_settings import ReadSettings
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog, load_record_types

_TRIES: Final = 3
"""A broker that compacts a log replaces segments while we read."""


@dataclass(frozen=True, slots=True)
class CoordinatorPartition:
    """A partition of a coordinators' topic that is here."""

    log: CoordinatorLog
    partition: int
    place: Place

    def __str__(self) -> str:
        return f"{self.log}-{self.partition}"


def coordinator_partitions(
    metadata_directory: Place, log: CoordinatorLog
) -> list[CoordinatorPartition]:
    """The partitions of a topic in the log directory that a metadata log lies in, by number.

    Raises:
        SourceError: The directory can't be listed.
    """
    place = parent_of(metadata_directory)
    found = []
    for name in names_in(place):
        topic = topic_of(name)
        if topic is not None and topic[0] == log:
            found.append(CoordinatorPartition(log, topic[1], child_of(place, name)))
    return sorted(found, key=lambda each: each.partition)


def read_partition(partition: CoordinatorPartition, settings: ReadSettings) -> KeyedRecords:
    """Read all segments of a partition.

    Raises:
        SourceError: One can't be read, or it has none.
        SchemaError: A definition of the user's is malformed.
    """
    types = load_record_types(partition.log, settings.schemas)
    for last in (False,) * (_TRIES - 1) + (True,):
        segments = list_names(names_in(partition.place)).segments
        if not segments:
            raise SourceError(f"{partition}: no segment there")
        files = [file_in(partition.place, segment.name) for segment in segments]
        try:
            return KeyedRecords(load(files, chainer=KeyedChainer), types)
        except VanishedError:
            if last:
                raise
    raise AssertionError


def faults_of(records: KeyedRecords) -> Iterator[Fault]:
    """What of a partition was not read; not a tail that the broker may be writing.

    Cost: walks the records of every type.
    """
    files: Sequence[Fault] = [f for file in records.loaded.files for f in file.chain.faults]
    newest = records.loaded.files[-1].name
    for fault in files:
        if fault.kind is not FaultKind.TORN or fault.file != newest:
            yield fault
    yield from records.unframed
    yield from records.faults()
