"""The tables of coordinators' logs: brokers' log directories in, a task for each partition.

Directories with one cluster id are one cluster, as with ``--join``: each coordinators' partition is
read from the replica that reaches furthest. `producers` has the rows of every node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from metashell.dataclass import dataclass
from metashell.errors import MetashellError, SourceError
from metashell.image.split_tables import faults_batch
from metashell.log.names import COORDINATOR_TOPICS, METADATA_DIRECTORY, topic_of
from metashell.node_files.log_directory import read_log_directory
from metashell.places.place import Place, base_name, expand, parent_of, place_of, shown
from metashell.schema.coordinators import CoordinatorLog
from metashell.sources.coordinator import open_coordinator
from metashell.sources.coordinator_logs import NodeCoordinatorLogs
from metashell.sources.coordinator_tables import SourceTables
from metashell.sources.fleet.reading import Reading
from metashell.sources.node_places import NodePlaces, distinct, nodes_at
from metashell.spark_backend.failures import within_memory
from metashell.spark_backend.options import Options
from metashell.spark_backend.reader import TableReader
from metashell.spark_backend.schemas import conform, coordinator_tables
from metashell.spark_backend.sites import Site, absolute
from metashell.spark_backend.tables import not_read

_BATCH_ROWS = 32_768


@dataclass(frozen=True, slots=True)
class PartitionPiece:
    """A partition of a coordinators' topic; the logs of a node for `producers`."""

    node: NodePlaces
    number: int | None


class CoordinatorTask(InputPartition):
    """What one task reads."""

    def __init__(self, piece: PartitionPiece | None, *, is_alone: bool = False) -> None:
        self.piece, self.is_alone = piece, is_alone


class CoordinatorTableReader(TableReader):
    """Reads a table of coordinators' logs."""

    def partitions(self) -> Sequence[InputPartition]:
        """The tasks: one for each partition of the coordinators' topic of each cluster.

        Raises:
            SourceError: No directory can be listed, or has such a log.
        """
        if self.wanted.is_nothing:
            return [CoordinatorTask(None)]
        log = coordinator_tables(self._options.settings.schemas).log_of(self._options.table)
        places = [absolute(one) for path in self._options.paths for one in expand(path)]
        nodes, only = nodes_of(places, joins=log is not None)
        nodes = [node for node in nodes if self.wanted.may_be("cluster_id", node.cluster_id)]
        pieces: list[PartitionPiece] = []
        errors: list[str] = []
        for node in nodes:
            try:
                numbers = [None] if log is None else numbers_of(node, log)
            except MetashellError as error:
                errors.append(str(error))
                continue
            pieces.extend(
                PartitionPiece(node, n) for n in numbers if only is None or f"{log}-{n}" in only
            )
        if errors and (not pieces or len(nodes) == 1):
            raise SourceError(errors[0])
        tasks = [CoordinatorTask(piece, is_alone=len(nodes) == 1) for piece in pieces]
        return tasks or [CoordinatorTask(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task."""
        assert isinstance(partition, CoordinatorTask)
        if partition.piece is None:
            return
        with within_memory():
            try:
                yield from self._rows(partition.piece, is_alone=partition.is_alone)
            except MetashellError:
                # One cluster among many never fails a query.
                if partition.is_alone:
                    raise

    def _rows(self, piece: PartitionPiece, *, is_alone: bool) -> Iterator[pa.RecordBatch]:
        options, node = self._options, piece.node
        with tables_of(piece, Reading(settings=options.settings, at=options.at)) as tables:
            columns = tables.schema(options.table).names
            told = _Told()
            for batch in tables.read(options.table, columns, lambda: None, told):
                place = tables.place
                directory = log_directory(node.path) if place is None else parent_of(place)
                origin = (node.cluster_id, _node_id(directory), str(directory))
                for first in range(0, batch.num_rows, _BATCH_ROWS):
                    own = conform(batch.slice(first, _BATCH_ROWS), self._schema, origin)
                    rows = self.wanted.rows(own)
                    if rows.num_rows:
                        yield rows
            if told.texts and tables.place is None and is_alone:
                raise SourceError(told.texts[0])


@contextmanager
def tables_of(piece: PartitionPiece, reading: Reading) -> Iterator[SourceTables]:
    """The tables of a partition.

    Raises:
        MetashellError: The node's directory can't be read.
    """
    place = place_of(piece.node.path)
    if is_partition(place):
        alone = open_coordinator(place, reading.settings, None, is_file=False)
        assert alone is not None
        yield SourceTables(alone, alone.partition_log.partition.log)
        return
    with reading.with_log_dirs(piece.node.log_dirs).open(piece.node.path) as source:
        yield SourceTables(source, only=piece.number)


class _Told:
    """Keeps what could not be read; the table `faults` has it, too."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def unread(self, text: str) -> None:
        """Keep it."""
        self.texts.append(text)

    def remark(self, text: str) -> None:
        """Nothing: rows say where they are from."""


def nodes_of(
    places: Sequence[str], *, joins: bool
) -> tuple[list[NodePlaces], Collection[str] | None]:
    """The nodes, or joined clusters, that directories are of.

    Returns:
        These, and the names of the partitions that are meant alone; None for all.

    Raises:
        SourceError: Some are partitions alone, and some are not.
    """
    names = [base_name(place_of(path)) for path in places]
    of_one = [is_partition(place_of(path)) for path in places]
    if any(of_one) and not all(of_one):
        one = shown(places[of_one.index(True)])
        raise SourceError(
            f"{one}: one partition, beside whole log directories",
            hint="give log directories alone, or partitions alone",
        )
    whole = [_parent(path) if one else path for path, one in zip(places, of_one, strict=True)]
    return nodes_at(distinct(whole), joins=joins), {*names} if all(of_one) else None


def is_partition(place: Place) -> bool:
    """Whether a directory is, by its name, of one partition of a coordinators' topic."""
    topic = topic_of(base_name(place))
    return topic is not None and topic[0] in COORDINATOR_TOPICS


def numbers_of(node: NodePlaces, log: CoordinatorLog) -> list[int]:
    """The partitions of a coordinators' topic that lie in the log directories of a node.

    Raises:
        SourceError: One can't be listed.
    """
    found: set[int] = set()
    for path in (node.path, *node.log_dirs):
        directory = read_log_directory(log_directory(path))
        found.update(name.partition for name in directory.logs_of(log.value))
    return sorted(found)


def log_directory(path: str) -> Place:
    """The log directory that a path means, which may be that of its metadata log."""
    place = place_of(path)
    return parent_of(place) if base_name(place) == METADATA_DIRECTORY else place


def _parent(path: str) -> str:
    place = parent_of(place_of(path))
    return place if isinstance(place, str) else place.uri


def _node_id(place: Place) -> int | None:
    identity = read_log_directory(place).identity
    return None if identity is None else identity.node_id


def coordinator_faults(site: Site, options: Options) -> Iterator[pa.RecordBatch]:
    """What is wrong with the coordinators' logs beside a metadata log, as rows of `faults`.

    The column ``file`` has the partition in front of the segment.
    """
    if base_name(site.place) != METADATA_DIRECTORY:
        return  # A copy: the directory around it may be anybody's.
    try:
        directory = read_log_directory(parent_of(site.place))
    except MetashellError:
        return  # The metadata directory may be all that can be listed.
    for log in CoordinatorLog:
        logs = NodeCoordinatorLogs(log, [directory], options.settings)
        for partition in logs.partitions:
            try:
                found = logs.read(partition)
            except MetashellError as error:
                yield not_read(str(error), str(partition))
                continue
            faults = [replace(one, file=f"{partition}/{one.file}") for one in found.faults()]
            for first in range(0, len(faults), _BATCH_ROWS):
                yield faults_batch(faults[first : first + _BATCH_ROWS])
