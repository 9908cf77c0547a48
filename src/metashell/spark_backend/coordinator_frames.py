"""Tables of coordinators' logs for ``sql``: each directory's own, as the local engine has them.

Rows come by tasks, one for each partition, and are kept for the statements that follow. Texts on
data that a task could not read come among its rows, so nothing is read twice for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from metashell.errors import MetashellError
from metashell.places.place import place_of
from metashell.read_settings import ReadSettings
from metashell.sources.fleet.reading import Reading
from metashell.sources.node_places import NodePlaces
from metashell.spark_backend.schemas import coordinator_tables, filled, spark_type
from metashell.spark_backend.sites import PartitionPiece, is_partition, numbers_of
from metashell.spark_backend.tables import PartitionReport, partition_batches
from metashell.spark_backend.tasks import FILE_BYTES, Batches, run_packed
from metashell.spark_backend.unread import FAILED, REMARKED, UNREAD, WARNED, Told
from metashell.sql.tables import with_sql_times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CLUSTER: Final = "cluster"
_TOLD: Final = pa.schema(
    [("told_by", pa.int32()), ("told_kind", pa.int32()), ("told", pa.string())]
)
"""Columns in front, as `Told` has them; null in rows of the table."""

_Work = tuple[int, str | None, PartitionPiece]
"""The number of a piece's directory, the name of its cluster, and the piece."""


class CoordinatorFrames:
    """The tables of some directories.

    Args:
        nodes: The log directories of each.
        settings: How they are read and shown.
        names: The name of each one's cluster, for a fleet: a column in front. None for one.
    """

    def __init__(
        self,
        nodes: Sequence[NodePlaces],
        settings: ReadSettings,
        names: Sequence[str] | None = None,
    ) -> None:
        self._nodes, self._settings, self._names = nodes, settings, names
        self._spark: SparkSession | None = None
        self._kept: dict[str, tuple[DataFrame, Sequence[Told]]] = {}
        self._told: dict[str, Sequence[Told]] = {}

    def table(self, spark: SparkSession, name: str) -> DataFrame:
        """The rows of a table."""
        frame = self._frame(spark, name)[0]
        return frame.where(frame["told_by"].isNull()).drop(*_TOLD.names)

    def told(self, spark: SparkSession, name: str) -> Sequence[Told]:
        """The gaps of a table, and remarks for the user, in the order of the local engine.

        Cost: reads all of the table, which is kept.
        """
        frame, told = self._frame(spark, name)
        if name not in self._told:
            rows = frame.where(frame["told_by"].isNotNull()).select(*_TOLD.names).toArrow()
            of_tasks = [tuple(row.values()) for row in rows.to_pylist()]
            found = sorted(of_tasks, key=itemgetter(0))
            self._told[name] = list(dict.fromkeys([*told, *found]))
        return self._told[name]

    def _frame(self, spark: SparkSession, name: str) -> tuple[DataFrame, Sequence[Told]]:
        """Rows and what is told, and what was found out while planning."""
        if self._spark is not spark:
            self._spark, self._kept, self._told = spark, {}, {}
        if name not in self._kept:
            work, told = self._plan(name)
            schema, settings = self._schema(name), self._settings

            def read(one: _Work) -> Batches:
                yield from _piece_batches(one, name, schema, settings)

            weighed = [(FILE_BYTES, one) for one in work]
            self._kept[name] = run_packed(spark, weighed, read, schema).persist(), told
        return self._kept[name]

    def _schema(self, name: str) -> pa.Schema:
        own = coordinator_tables(tuple(self._settings.schemas)).schema(name)
        cluster = [] if self._names is None else [pa.field(_CLUSTER, pa.string())]
        typed = [pa.field(column.name, spark_type(column.type)) for column in own]
        return pa.schema([*_TOLD, *cluster, *typed])

    def _plan(self, name: str) -> tuple[list[_Work], list[Told]]:
        log = coordinator_tables(tuple(self._settings.schemas)).log_of(name)
        work: list[_Work] = []
        told: list[Told] = []
        for number, node in enumerate(self._nodes):
            try:
                if is_partition(place_of(node.path)):
                    log = None
                # Without any it still tells that they are elsewhere.
                found: list[int | None] = [*(numbers_of(node, log) if log else ())] or [None]
            except MetashellError as error:
                told.append((number, FAILED, str(error)))
                continue
            cluster = None if self._names is None else self._names[number]
            work += [(number, cluster, PartitionPiece(node, each)) for each in found]
        return work, told


def _piece_batches(
    one: _Work, name: str, schema: pa.Schema, settings: ReadSettings
) -> Iterator[pa.RecordBatch]:
    """The rows of a piece, then what it tells."""
    number, cluster, piece = one
    report = PartitionReport()
    try:
        for batch in partition_batches(piece, name, Reading(settings=settings), report):
            rows = with_sql_times(batch, report.unread)
            own = dict(zip(rows.schema.names, rows.columns, strict=True))
            n, name_of = rows.num_rows, pa.scalar(cluster, pa.string())
            yield filled(n, {_CLUSTER: pa.repeat(name_of, n), **own}, schema)
        kinds = {
            UNREAD: report.found.faults,
            REMARKED: report.found.remarks,
            WARNED: report.warnings,
        }
        told = [(kind, text) for kind, texts in kinds.items() for text in texts]
    except MetashellError as error:
        told = [(FAILED, str(error))]
    rows = pa.RecordBatch.from_pylist(
        [dict(zip(_TOLD.names, (number, *each), strict=True)) for each in told], _TOLD
    )
    yield filled(len(told), dict(zip(_TOLD.names, rows.columns, strict=True)), schema)
