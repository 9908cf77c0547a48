"""`spark.read`: a plan of tasks on the driver, and their rows on the executors.

Unreadable data is left out and reported in the table `faults`: one directory among thousands never
fails a query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from metashell.dataclass import dataclass
from metashell.errors import MetashellError, SourceError
from metashell.image.split_tables import faults_batch
from metashell.log.fault import Fault, FaultKind
from metashell.log.names import SegmentName, parse_name
from metashell.log.splits import Split, Takes, plan_splits, plan_wanted
from metashell.node_files.log_directory import read_log_directory
from metashell.places.place import Place, expand, parent_of
from metashell.read_settings import ReadSettings
from metashell.sources.fleet.reading import Reading
from metashell.sources.node_places import NodePlaces
from metashell.spark_backend import tables
from metashell.spark_backend.failures import within_memory
from metashell.spark_backend.filters import TableFilter
from metashell.spark_backend.options import Options
from metashell.spark_backend.schemas import (
    FAULTS,
    FILES,
    conform,
    coordinator_tables,
    is_of_coordinators,
    is_state,
)
from metashell.spark_backend.sites import (
    BadSite,
    PartitionPiece,
    Site,
    SiteOrigin,
    absolute,
    at_once,
    find_sites,
    log_directory,
    nodes_of,
    numbers_of,
)
from metashell.spark_backend.tasks import FILE_BYTES, packed

_TASKS: Final = 32
"""Tasks that are worth having where there is that much to do."""
_TASKS_MAX: Final = 2048
"""Directories are read together where there are more."""
_WHOLE: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class SplitPiece:
    """A split of a directory."""

    site: Site
    split: Split
    below: int | None = None
    """The first offset that may not be committed, where that is left out."""


@dataclass(frozen=True, slots=True)
class SitePiece:
    """A directory as a whole."""

    site: Site
    is_alone: bool = False
    """Whether it is the only one that was asked for: if it can't be read, there is nothing."""
    told: str | None = None
    """Why not all of it can be read, if `faults` has that already."""
    splits: tuple[Split, ...] = ()
    """For `faults`, of the files that it replays."""


@dataclass(frozen=True, slots=True)
class FaultPiece:
    """Faults that were found while planning."""

    site: Site | BadSite
    faults: tuple[Fault, ...] = ()
    reason: str | None = None
    """Why nothing can be read."""


Piece = SplitPiece | SitePiece | FaultPiece | PartitionPiece


class Task(InputPartition):
    """The work of one task."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = tuple(pieces)


class PushFilters:
    """Takes filters for a reader.

    Where a session does not push filters down, Spark refuses readers that define `pushFilters`. It
    does not call it then, and this source is right without: so it looks undefined.
    """

    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __init__(self, wanted: TableFilter) -> None:
        self._wanted = wanted

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        self._wanted.take(filters)
        return filters


class KRaftReader(DataSourceReader):
    """Reads a table.

    Args:
        options: The options of the query.
        schema: The columns wanted, as Spark expects them.
    """

    def __init__(self, options: Options, schema: pa.Schema) -> None:
        self._options, self.schema = options, schema
        self.wanted = TableFilter()
        """The filter that remains for the reader."""
        self.pushFilters = PushFilters(self.wanted)  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        # It is sent with each task, which has directories of its own.
        return {**self.__dict__, "_options": replace(self._options, paths=())}

    def partitions(self) -> Sequence[InputPartition]:
        """The tasks."""
        # Spark would make up a partition of its own where there is none.
        return self._tasks() or [Task(())]

    def _tasks(self) -> list[InputPartition]:
        if self.wanted.is_nothing:
            return []
        options = self._options
        if is_of_coordinators(options):
            return [Task([piece]) for piece in self._partitions()]
        sites, bad = find_sites(options.paths, self.wanted)
        if bad and not sites and options.table != FAULTS:
            raise SourceError(bad[0].reason)
        if is_state(options.table):
            return _together([SitePiece(site, is_alone=len(sites) == 1) for site in sites])
        found: list[tuple[int, Piece]] = []
        told: list[Piece] = [FaultPiece(one, reason=one.reason) for one in bad]
        plans = [partial(self._plan, site) for site in sites]
        for pieces in at_once(plans, [site.opened_by for site in sites]):
            for piece in pieces:
                if isinstance(piece, SplitPiece):
                    split = piece.split
                    cost = split.end - split.begin + (0 if split.begin else FILE_BYTES)
                    found.append((cost, piece))
                    continue
                told.append(piece)
                reason = piece.reason if isinstance(piece, FaultPiece) else None
                if reason is not None and len(sites) == 1 and options.table != FAULTS:
                    raise SourceError(reason)
        tasks = map(Task, packed(found, _TASKS))
        return [*_together(told), *tasks] if options.table == FAULTS else [*tasks]

    def _partitions(self) -> list[PartitionPiece]:
        """Each partition of the coordinators' topic of each cluster.

        Raises:
            SourceError: No directory can be listed, or has such a log.
        """
        options = self._options
        log = coordinator_tables(options.settings.schemas).log_of(options.table)
        places = [absolute(one) for path in options.paths for one in expand(path)]
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
            here = [n for n in numbers if only is None or f"{log}-{n}" in only]
            pieces += [PartitionPiece(node, n, len(nodes) == 1) for n in here]
        if errors and (not pieces or len(nodes) == 1):
            raise SourceError(errors[0])
        return pieces

    def _plan(self, site: Site) -> list[Piece]:
        """The pieces to read of a directory, or the reason why it can't be read."""
        options = self._options
        # A file is described by who reads it whole.
        split_bytes = _WHOLE if options.table == FILES else options.split_bytes
        try:
            if options.table == FAULTS:
                return self._plan_faults(site)
            below = _committed_end(site) if options.settings.committed_only else None
            splits = plan_wanted(site.place, split_bytes, self._takes(below))
            return list(_pieces(site, splits, below))
        except MetashellError as e:
            return [FaultPiece(site, reason=str(e))]

    def _plan_faults(self, site: Site) -> list[Piece]:
        """The directory as it is replayed, then what its other files hold."""
        options = self._options
        try:
            every = plan_splits(site.place, options.split_bytes, every=True)
            if tables.replays_apart(options):
                replayed = replace(every, splits=(), faults=())
            else:
                replayed = plan_splits(site.place, options.split_bytes, settings=options.settings)
        except MetashellError as e:
            return [FaultPiece(site, reason=str(e)), SitePiece(site, told=str(e))]
        # Who replays has said what is wrong with a checkpoint, and its task says it once.
        judged = {fault.file for fault in replayed.faults if fault.kind is not FaultKind.GAP}
        others = tuple(
            fault
            for fault in every.faults
            if fault not in replayed.faults and fault.file not in judged
        )
        more = [split for split in every.splits if split.name in judged]
        names = {split.name for split in (*replayed.splits, *more)}
        return [
            SitePiece(site, splits=(*replayed.splits, *more)),
            FaultPiece(site, others),
            *_pieces(site, (split for split in every.splits if split.name not in names), None),
        ]

    def _takes(self, below: int | None) -> Takes:
        """Which files can hold rows that are wanted, by their names."""
        wanted = self.wanted
        if self._options.table in {FILES, FAULTS}:
            return lambda name, first, end: wanted.may_be("file", name)
        low, high = wanted.range_of("offset")
        if below is not None:
            high = min(high, below - 1)

        def takes(name: str, first: int, end: int | None) -> bool:
            is_near = name.endswith(".checkpoint") or (first <= high and (end is None or end > low))
            return is_near and wanted.may_be("file", name)

        return takes

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task."""
        assert isinstance(partition, Task)
        with within_memory():
            for piece in partition.pieces:
                if isinstance(piece, PartitionPiece):
                    rows = self._of_partition(piece)
                else:
                    rows = ((own, piece.site.origin) for own in self._own(piece))
                for own, origin in rows:
                    batch = self.wanted.rows(conform(own, self.schema, origin))
                    if batch.num_rows:
                        yield batch

    def _of_partition(self, piece: PartitionPiece) -> Iterator[tuple[pa.RecordBatch, SiteOrigin]]:
        """The table's own columns of a partition, and where they are from."""
        options, node, report = self._options, piece.node, tables.PartitionReport()
        reading = Reading(settings=options.settings, at=options.at)
        origins: dict[Place | None, SiteOrigin] = {}
        try:
            for own in tables.partition_batches(piece, options.table, reading, report):
                if report.place not in origins:
                    origins[report.place] = _origin(node, report.place)
                yield own, origins[report.place]
            if report.place is None:
                for text in report.found.faults:
                    raise SourceError(text)
        except MetashellError:
            # One cluster among many never fails a query.
            if piece.is_alone:
                raise

    def _own(self, piece: SplitPiece | SitePiece | FaultPiece) -> Iterator[pa.RecordBatch]:
        """The table's own columns of a piece."""
        options = self._options
        if isinstance(piece, FaultPiece):
            yield faults_batch(piece.faults)
            if piece.reason is not None:
                yield tables.not_read(piece.reason)
        elif isinstance(piece, SplitPiece):
            try:
                yield from self._of_split(piece)
            except MetashellError as e:
                if options.table == FAULTS:
                    yield tables.not_read(str(e), piece.split.name)
        elif options.table == FAULTS:
            yield from tables.site_faults(piece.site, options, piece.splits, piece.told)
            if not tables.replays_apart(options):
                yield from tables.coordinator_faults(piece.site, options)
        else:
            try:
                yield from tables.state_batches(piece.site, options, self.wanted)
            except MetashellError:
                # Told in `faults`, as is everything that keeps a directory from being opened.
                if piece.is_alone:
                    raise

    def _of_split(self, piece: SplitPiece) -> Iterator[pa.RecordBatch]:
        options = self._options
        if options.table == FILES:
            yield tables.file_rows((piece.split,), options)
            return
        where = tables.row_filter(self.wanted, options, piece.below)
        values = "value" in self.schema.names
        yield from tables.split_batches(piece.split, options, where, values=values)


def _origin(node: NodePlaces, place: Place | None) -> SiteOrigin:
    """The origin of rows from a partition at a place; None for a node's own directory."""
    directory = log_directory(node.path) if place is None else parent_of(place)
    identity = read_log_directory(directory).identity
    node_id = None if identity is None else identity.node_id
    return node.cluster_id, node_id, str(directory)


def _pieces(site: Site, splits: Iterable[Split], below: int | None) -> Iterator[Piece]:
    for split in splits:
        is_segment = isinstance(parse_name(split.name), SegmentName)
        yield SplitPiece(site, split, below if is_segment else None)


def _committed_end(site: Site) -> int:
    """The first offset that may not be committed: the end of the newest whole checkpoint."""
    newest = plan_splits(site.place, settings=ReadSettings(committed_only=True)).checkpoint
    return 0 if newest is None else newest.end_offset


def _together(pieces: Sequence[Piece]) -> list[InputPartition]:
    """A task for each, or for several where there are very many."""
    step = -(-len(pieces) // _TASKS_MAX) or 1
    return [Task(pieces[at : at + step]) for at in range(0, len(pieces), step)]
