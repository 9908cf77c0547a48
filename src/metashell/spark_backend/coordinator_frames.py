"""Tables of coordinators' logs for ``sql``: each directory's own, as the local engine has them.

Rows come by tasks, one for each partition, and are kept for the statements that follow. Texts on
data that a task could not read come among its rows, so nothing is read twice for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from metashell.errors import MetashellError
from metashell.places.place import place_of
from metashell.read_settings import ReadSettings
from metashell.sources.fleet.reading import Reading
from metashell.sources.node_places import NodePlaces
from metashell.spark_backend.packing import FILE_BYTES, Batches, run_packed
from metashell.spark_backend.schemas import coordinator_tables, filled, spark_type
from metashell.spark_backend.sites import PartitionPiece, is_partition, numbers_of
from metashell.spark_backend.tables import PartitionReport, partition_batches
from metashell.spark_backend.unread import FAILED, REMARKED, UNREAD, WARNED, Told
from metashell.sql.tables import with_sql_times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CLUSTER: Final = "cluster"
_TOLD: Final = (
    pa.field("told_by", pa.int32()),
    pa.field("told_kind", pa.int32()),
    pa.field("told", pa.string()),
)
"""Columns in front: the place of the piece, and what it tells; null in rows of the table."""

_Work = tuple[int, str | None, PartitionPiece]
"""A piece's place, the name of its cluster, and the piece."""


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
        self._kept: dict[str, tuple[SparkSession, DataFrame, Sequence[int], Sequence[Told]]] = {}
        self._told: dict[str, Sequence[Told]] = {}

    def table(self, spark: SparkSession, name: str) -> DataFrame:
        """The rows of a table."""
        frame = self._frame(spark, name)[0]
        return frame.where(frame["told_by"].isNull()).drop(*(field.name for field in _TOLD))

    def told(self, spark: SparkSession, name: str) -> Sequence[Told]:
        """The gaps of a table, and remarks for the user, in the order of the local engine.

        Cost: reads all of the table, which is kept.
        """
        if name not in self._told:
            frame, sites, told = self._frame(spark, name)
            rows = frame.where(frame["told_by"].isNotNull()).select(*(f.name for f in _TOLD))
            found = sorted(rows.toArrow().to_pylist(), key=lambda row: row["told_by"])
            of_tasks = [(sites[r["told_by"]], r["told_kind"], r["told"]) for r in found]
            self._told[name] = list(dict.fromkeys([*told, *of_tasks]))
        return self._told[name]

    def _frame(
        self, spark: SparkSession, name: str
    ) -> tuple[DataFrame, Sequence[int], Sequence[Told]]:
        """Rows and what is told; the directory of each piece; what was found out while planning."""
        kept = self._kept.get(name)
        if kept is None or kept[0] is not spark:
            work, sites, told = self._plan(name)
            schema, settings = self._schema(name), self._settings

            def read(one: _Work) -> Batches:
                yield from _piece_batches(one, name, schema, settings)

            weighed = [(FILE_BYTES, one) for one in work]
            frame = run_packed(spark, weighed, read, schema).persist()
            kept = self._kept[name] = spark, frame, sites, told
            self._told.pop(name, None)
        return kept[1:]

    def _schema(self, name: str) -> pa.Schema:
        own = coordinator_tables(tuple(self._settings.schemas)).schema(name)
        cluster = [] if self._names is None else [pa.field(_CLUSTER, pa.string())]
        typed = [pa.field(column.name, spark_type(column.type)) for column in own]
        return pa.schema([*_TOLD, *cluster, *typed])

    def _plan(self, name: str) -> tuple[list[_Work], list[int], list[Told]]:
        log = coordinator_tables(tuple(self._settings.schemas)).log_of(name)
        work: list[_Work] = []
        sites: list[int] = []
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
            for partition in found:
                work.append((len(work), cluster, PartitionPiece(node, partition)))
                sites.append(number)
        return work, sites, told


def _piece_batches(
    one: _Work, name: str, schema: pa.Schema, settings: ReadSettings
) -> Iterator[pa.RecordBatch]:
    """The rows of a piece, then what it tells."""
    place, cluster, piece = one
    report = PartitionReport()
    try:
        for batch in partition_batches(piece, name, Reading(settings=settings), report):
            rows = with_sql_times(batch, report.unread)
            own = dict(zip(rows.schema.names, rows.columns, strict=True))
            n, name_of = rows.num_rows, pa.scalar(cluster, pa.string())
            yield filled(n, {_CLUSTER: pa.repeat(name_of, n), **own}, schema)
        told = [(UNREAD, text) for text in report.unread_texts]
        told += [(REMARKED, text) for text in report.remarks]
        told += [(WARNED, text) for text in report.warnings]
    except MetashellError as error:
        told = [(FAILED, str(error))]
    if told:
        kinds, texts = zip(*told, strict=True)
        values = ([place] * len(kinds), kinds, texts)
        columns = {f.name: pa.array(v, f.type) for f, v in zip(_TOLD, values, strict=True)}
        yield filled(len(kinds), columns, schema)
