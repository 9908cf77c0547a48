"""The fold, distributed: splits reduced in parallel, then each part of a directory folded.

Folding is done by the functions of `metashell.image`, on the records that are left of all splits.
So the rows are the local engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from metashell.dataclass import dataclass
from metashell.errors import MetashellError, SourceError
from metashell.image.arrow import image_table, table_names
from metashell.image.image import Image
from metashell.log.directory import find_metadata_directory
from metashell.log.splits import SPLIT_BYTES, plan_splits
from metashell.parts.known import all_parts
from metashell.places.place import Place
from metashell.read_settings import ReadSettings
from metashell.redact import Redaction
from metashell.reduced.log import ReducedLog, Reducing, even_shards
from metashell.spark_backend.filters import TableFilter
from metashell.spark_backend.schemas import (
    ORIGIN,
    conform,
    registry_of,
    to_struct,
    with_origin,
)
from metashell.spark_backend.sites import BadSite, Site, find_sites
from metashell.spark_backend.tasks import (
    NOT_SPREAD,
    PIECES,
    TASKS_PER_CORE,
    WHOLE,
    Batches,
    Failure,
    FoldJob,
    Work,
    job_of_pieces,
    log_or_whole,
    parallelism,
    reduce_part,
    reduce_records,
    results,
    run_packed,
)
from metashell.sql.tables import state_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PART_BYTES = 32 << 20
"""Bytes of a log for which one more part is made."""
_PLANNING_BYTES = 1 << 20
"""The memory for planning a directory, which opens its files and reads its checkpoint through."""
_REASONS = pa.schema([("reason", pa.string())])
_COUNTS = pa.schema([("table", pa.string()), ("rows", pa.int64())])
_JOB = PIECES.get_field_index("job")


def tables_in_parts() -> frozenset[str]:
    """Tables that are folded in parts; the others come from part 0."""
    return frozenset(part.table_name for part in all_parts() if part.by_topic)


@dataclass(frozen=True, slots=True)
class Parts:
    """Which parts of a directory that is spread are wanted."""

    condition: str
    """A condition of Spark SQL on the columns of `PIECES`."""


ALL_PARTS, PART_0, PARTS_OF_TOPICS = Parts("true"), Parts("part = 0"), Parts("part > 0")


@dataclass(slots=True)
class Fold:
    """Directories that are folded together.

    Use as::

        fold = fold_directories(spark, ["/backups/*/__cluster_metadata-0"])
        fold.table("partitions").groupBy("cluster_id").count().show()
    """

    spark: SparkSession
    sites: Sequence[Site]
    jobs: Sequence[FoldJob]
    settings: ReadSettings = field(default_factory=ReadSettings)
    bad: Sequence[BadSite] = ()
    """Places that are no metadata directory, or could not be read."""
    _kept: DataFrame | None = field(default=None, init=False)

    def table(self, name: str) -> DataFrame:
        """A table of the image of every directory, behind the columns that name it.

        Raises:
            KeyError: There is no such table (`metashell.image.arrow.table_names`).
        """
        schema = with_origin(state_schema(registry_of(()), name))
        redaction = Redaction(self.settings.show_secrets)

        def fold(job: FoldJob, part: LogPart, pieces: pa.Table) -> pa.Table:
            log, is_whole = log_or_whole(job, pieces)
            if isinstance(log, Failure) or (is_whole and part.number > 1):
                return schema.empty_table()
            own = image_table(name, Image(log.records), redaction)
            batches = [conform(batch, schema, job.origin) for batch in own.to_batches()]
            return pa.Table.from_batches(batches, schema=schema)

        return self.each(fold, schema, PARTS_OF_TOPICS if name in tables_in_parts() else PART_0)

    def counts(self) -> DataFrame:
        """How many rows each table has of each directory: everything folded, and nothing sent.

        Columns: cluster_id, node_id, directory, table, rows.
        """
        schema = with_origin(_COUNTS)
        redaction = Redaction(self.settings.show_secrets)

        def fold(job: FoldJob, part: LogPart, pieces: pa.Table) -> pa.Table:
            log, is_whole = log_or_whole(job, pieces)
            if isinstance(log, Failure) or (is_whole and part.number):
                return schema.empty_table()
            image = Image(log.records)
            in_parts, by_topic = job.n_parts > 0 and not is_whole, tables_in_parts()
            rows = [
                {"table": name, "rows": len(image_table(name, image, redaction))}
                for name in table_names()
                if not in_parts or (name in by_topic) == (part.number > 0)
            ]
            own = pa.RecordBatch.from_pylist(rows, schema=_COUNTS)
            return pa.Table.from_batches([conform(own, schema, job.origin)])

        return (
            self.each(fold, schema)
            .groupBy(*ORIGIN.names, "table")
            .sum("rows")
            .withColumnRenamed("sum(rows)", "rows")
        )

    def failures(self) -> DataFrame:
        """Directories that could not be read after all, and why; no table has rows of them.

        Columns: cluster_id, node_id, directory, reason. Directories that could not be planned are
        in `bad`.
        """
        schema = with_origin(_REASONS)

        def fold(job: FoldJob, part: LogPart, pieces: pa.Table) -> pa.Table:
            del part
            log, _ = log_or_whole(job, pieces)
            if not isinstance(log, Failure):
                return schema.empty_table()
            own = pa.RecordBatch.from_pylist([{"reason": log.message}], schema=_REASONS)
            return pa.Table.from_batches([conform(own, schema, job.origin)])

        return self.each(fold, schema, PART_0)

    def persist(self) -> Fold:
        """Keep what is left of the splits, for who asks for several tables; see `unpersist`."""
        self._kept = self.pieces().persist()
        return self

    def unpersist(self) -> None:
        """Keep it no longer."""
        if self._kept is not None:
            self._kept.unpersist()
            self._kept = None

    def logs(self) -> list[ReducedLog | Failure]:
        """The reduced log of each directory, put together here.

        A directory with a file that was not cut well is reduced here, uncut.
        """

        def reduce_all(job: FoldJob, part: LogPart, pieces: pa.Table) -> pa.Table:
            del part
            pieces = pieces.set_column(_JOB, PIECES.field(_JOB), pa.nulls(len(pieces), pa.binary()))
            return reduce_part(job, pieces) if job.n_parts else pieces

        found = self.each(reduce_all, PIECES).toArrow().cast(PIECES)
        own = (found.filter(pc.equal(found["directory"], i)) for i in range(len(self.jobs)))
        return [log_or_whole(*one)[0] for one in zip(self.jobs, own, strict=True)]

    def pieces(self) -> DataFrame:
        """The reduced records of every split, by part; columns as `PIECES`."""
        if self._kept is not None:
            return self._kept
        works, _ = self._works()
        return self._run(works, reduce_records, PIECES)

    def each(
        self,
        function: PartFunction,
        schema: pa.Schema,
        parts: Parts = ALL_PARTS,
    ) -> DataFrame:
        """Call a function with the pieces of each part of each directory.

        A directory that is not spread is reduced and handed over by one task; of one that is, a
        task has the pieces of a part, from all that reduced some.

        Args:
            function: Makes rows of a part.
            schema: Their columns.
            parts: Which parts of directories that are spread; the others are handed over whole.
        """
        works, n_groups = self._works()
        alone = [work for work in works if not work.n_parts]
        shards = [work for work in works if work.n_parts]
        frames = []
        if alone or not shards:
            if self._kept is None:
                frames.append(self._run(alone, _at_once(function), schema))
            else:
                whole = self._kept.where(f"`group` = {WHOLE}")
                frames.append(whole.mapInArrow(_in_turn(function), to_struct(schema)))
        if shards:
            pieces = self._run(shards, reduce_records, PIECES) if self._kept is None else self._kept
            chosen = pieces.where(f"`group` <> {WHOLE}").where(parts.condition)
            together = chosen.repartitionById(n_groups, "group")
            frames.append(together.mapInArrow(_together(function), to_struct(schema)))
        return reduce(lambda one, other: one.unionAll(other), frames)

    def _works(self) -> tuple[list[Work], int]:
        """The work of reducing splits, and the number of parts that are spread."""
        works: list[Work] = []
        n_groups = 0
        for i, job in enumerate(self.jobs):
            works += job.work(i, n_groups)
            n_groups += job.n_parts + 1 if job.n_parts else 0
        return works, n_groups

    def _run(
        self, works: Sequence[Work], run: Callable[[Work], Batches], schema: pa.Schema
    ) -> DataFrame:
        return run_packed(self.spark, heaviest_first(works), run, schema)


def heaviest_first(works: Sequence[Work]) -> list[tuple[int, Work]]:
    """Work behind its weight."""
    return sorted([(work.weight, work) for work in works], key=lambda one: -one[0])


@dataclass(frozen=True, slots=True)
class LogPart:
    """A part of a directory."""

    directory: int
    """Its number among the directories."""
    number: int
    """0 for all but the partitions, or for all where the directory is not spread."""


PartFunction: TypeAlias = Callable[[FoldJob, LogPart, pa.Table], pa.Table]
"""Makes rows of the pieces of a part."""


def _at_once(function: PartFunction) -> Callable[[Work], Batches]:
    """Reduce a whole directory and hand it over."""

    def run(work: Work) -> Batches:
        assert work.job is not None
        pieces = pa.Table.from_batches(reduce_records(work), PIECES)
        yield from function(work.job, LogPart(work.directory, 0), pieces).to_batches()

    return run


def _in_turn(function: PartFunction) -> Callable[[Batches], Batches]:
    """Hand over whole directories, of which the pieces come one after the other."""

    def run(batches: Batches) -> Batches:
        rows = (batch.slice(i, 1) for batch in batches for i in range(batch.num_rows))
        for _, own in groupby(rows, key=lambda row: row["directory"][0].as_py()):
            yield from _of_part(function, own)

    return run


def _together(function: PartFunction) -> Callable[[Batches], Batches]:
    """Hand over a part, of which a task has all pieces."""

    def run(batches: Batches) -> Batches:
        return _of_part(function, batches)

    return run


def _of_part(function: PartFunction, batches: Iterable[pa.RecordBatch]) -> Batches:
    pieces = pa.Table.from_batches([batch.cast(PIECES) for batch in batches], PIECES)
    if len(pieces):
        part = LogPart(pieces["directory"][0].as_py(), pieces["part"][0].as_py())
        yield from function(job_of_pieces(pieces), part, pieces).to_batches()


def fold_directories(
    spark: SparkSession,
    paths: str | Iterable[str],
    settings: ReadSettings | None = None,
    *,
    split_bytes: int = SPLIT_BYTES,
) -> Fold:
    """Plan the fold of all directories that paths and globs mean.

    Args:
        spark: A session.
        paths: Metadata directories or log dirs that hold one; URIs too.
        settings: How they are read; `ReadSettings.strict` is not possible.
        split_bytes: About how much one task decodes at a time, which bounds its memory.

    Raises:
        SourceError: None of them can be read.
        MetashellError: A glob matches nothing.
    """
    sites, bad = find_sites([paths] if isinstance(paths, str) else paths, TableFilter())
    return fold_sites(spark, sites, bad, settings or ReadSettings(), split_bytes)


def fold_sites(
    spark: SparkSession,
    sites: Sequence[Site],
    bad: Sequence[BadSite],
    settings: ReadSettings,
    split_bytes: int = SPLIT_BYTES,
    *,
    keeps_bad: bool = False,
) -> Fold:
    """Fold directories that are found already, see `fold_directories`.

    Args:
        spark: A session.
        sites: The directories.
        bad: Places that are none.
        settings: See `fold_directories`.
        split_bytes: Likewise.
        keeps_bad: Have a job for those too that can't be planned, which says why.
    """
    planned: list[tuple[Site, FoldJob]] = []
    failed = list(bad)
    n_cores = parallelism(spark)

    def plan(site: Site) -> FoldJob | Failure:
        try:
            return job_of(site.place, settings, split_bytes, n_cores)
        except MetashellError as e:
            return Failure(e.message, e.hint)

    # The weight of a directory is not known yet: its checkpoints are read to find it.
    jobs = results(spark, [(_PLANNING_BYTES, site) for site in sites], plan)
    for site, job in zip(sites, jobs, strict=True):
        if isinstance(job, Failure) and keeps_bad:
            planned.append((site, FoldJob.failed(site.place, job)))
        elif isinstance(job, Failure):
            failed.append(BadSite(site.directory, job.message))
        else:
            planned.append((site, replace(job, origin=site.origin)))
    if not planned and failed:
        raise SourceError(failed[0].reason)
    return Fold(spark, [site for site, _ in planned], [job for _, job in planned], settings, failed)


def job_of(
    place: Place, settings: ReadSettings, split_bytes: int = SPLIT_BYTES, n_cores: int = 1
) -> FoldJob:
    """Plan one directory, or the one in a log dir; errors as `plan_splits`."""
    place = find_metadata_directory(place)
    plan = plan_splits(place, split_bytes, settings=settings)
    how = Reducing.of_plan(plan, settings)
    size = sum(split.end - split.begin for split in plan.splits)
    shards = NOT_SPREAD
    if size > 2 * split_bytes:  # more than a task has room for
        n_parts = min(TASKS_PER_CORE * n_cores, size // _PART_BYTES + 1)
        shards = even_shards(plan, n_parts, registry_of(settings.schemas))
    return FoldJob(
        place=place,
        plan=plan,
        how=how,
        shards=shards,
    )
