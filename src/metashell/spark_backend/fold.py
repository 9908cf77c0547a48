"""The fold, distributed: splits condensed in parallel, then each part of a directory folded.

What folds is what folds here: the functions of `metashell.image`, on the records that are left of
all splits. So the rows are the local engine's.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from metashell.errors import MetashellError, SourceError
from metashell.image.arrow import TABLES
from metashell.image.condensing import CondensedLog, Condensing
from metashell.image.image import Image
from metashell.log.directory import find_metadata_directory
from metashell.log.places import Place
from metashell.log.splits import SPLIT_BYTES, plan_splits
from metashell.redact import Redaction
from metashell.source import Settings
from metashell.spark_backend.filters import Wanted
from metashell.spark_backend.schemas import ORIGIN, conform, from_struct, to_struct, with_origin
from metashell.spark_backend.sites import BadSite, Site, find_sites
from metashell.spark_backend.tables import state_schema
from metashell.spark_backend.tasks import (
    PIECES,
    Failure,
    Item,
    Job,
    condense_items,
    condense_part,
    log_of,
    log_or_whole,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PARTS_PER_CORE = 6
_PART_BYTES = 32 << 20
"""Bytes of a log for which one more part is made."""
_OF_PARTS = ("partitions", "topics")
"""Tables that are folded in parts; the others come from part 0."""
_REASONS = pa.schema([("reason", pa.string())])
_COUNTS = pa.schema([("table", pa.string()), ("rows", pa.int64())])

Batches = Iterator[pa.RecordBatch]


@dataclass(slots=True)
class Fold:
    """Directories that are folded together.

    Use as::

        fold = fold_directories(spark, ["/backups/*/__cluster_metadata-0"])
        fold.table("partitions").groupBy("cluster_id").count().show()
    """

    spark: SparkSession
    sites: Sequence[Site]
    jobs: Sequence[Job]
    settings: Settings = field(default_factory=Settings)
    bad: Sequence[BadSite] = ()
    """Places that are no metadata directory, or could not be read."""
    _kept: DataFrame | None = field(default=None, init=False)

    def table(self, name: str) -> DataFrame:
        """A table of the image of every directory, behind the columns that name it.

        Raises:
            KeyError: There is no such table (`metashell.image.arrow.TABLES`).
        """
        schema = from_struct(to_struct(with_origin(state_schema(name))))
        jobs, origins, make = self.jobs, [site.origin for site in self.sites], TABLES[name]
        redaction, in_parts = Redaction(self.settings.show_secrets), name in _OF_PARTS

        def fold(_: Any, pieces: pa.Table) -> pa.Table:
            number, part = pieces["directory"][0].as_py(), pieces["part"][0].as_py()
            log, is_whole = log_or_whole(jobs[number], pieces)
            if isinstance(log, Failure) or (is_whole and part > 1):
                return schema.empty_table()
            own = make(Image(log.records), redaction)
            batches = [conform(batch, schema, origins[number]) for batch in own.to_batches()]
            return pa.Table.from_batches(batches, schema=schema)

        pieces = self.pieces()
        # What has no parts of its own is folded whole.
        whole = [i for i, job in enumerate(jobs) if not job.n_parts]
        if in_parts:
            wanted = (pieces["part"] > 0) | pieces["directory"].isin(whole)
        else:
            wanted = pieces["part"] == 0
        grouped = self.spread(pieces.where(wanted), "directory", "part")
        folded: DataFrame = grouped.applyInArrow(fold, to_struct(schema))
        return folded

    def counts(self) -> DataFrame:
        """How many rows each table has of each directory: everything folded, and nothing sent.

        Columns: cluster_id, node_id, directory, table, rows.
        """
        schema = from_struct(to_struct(with_origin(_COUNTS)))
        jobs, origins = self.jobs, [site.origin for site in self.sites]
        redaction = Redaction(self.settings.show_secrets)

        def fold(key: Any, pieces: pa.Table) -> pa.Table:
            number, part = (value.as_py() for value in key)
            log, is_whole = log_or_whole(jobs[number], pieces)
            if isinstance(log, Failure) or (is_whole and part):
                return schema.empty_table()
            image = Image(log.records)
            in_parts = jobs[number].n_parts > 0 and not is_whole
            rows = [
                {"table": name, "rows": len(make(image, redaction))}
                for name, make in TABLES.items()
                if not in_parts or (name in _OF_PARTS) == (part > 0)
            ]
            own = pa.RecordBatch.from_pylist(rows, schema=_COUNTS)
            return pa.Table.from_batches([conform(own, schema, origins[number])])

        grouped = self.spread(self.pieces(), "directory", "part")
        of_parts: DataFrame = grouped.applyInArrow(fold, to_struct(schema))
        return (
            of_parts.groupBy(*ORIGIN.names, "table")
            .sum("rows")
            .withColumnRenamed("sum(rows)", "rows")
        )

    def failures(self) -> DataFrame:
        """Directories that could not be read after all, and why; no table has rows of them.

        Columns: cluster_id, node_id, directory, reason. What could not be planned is in `bad`.
        """
        schema = from_struct(to_struct(with_origin(_REASONS)))
        jobs, origins = self.jobs, [site.origin for site in self.sites]

        def fold(key: Any, pieces: pa.Table) -> pa.Table:
            number = key[0].as_py()
            log, _ = log_or_whole(jobs[number], pieces)
            if not isinstance(log, Failure):
                return schema.empty_table()
            own = pa.RecordBatch.from_pylist([{"reason": log.message}], schema=_REASONS)
            return pa.Table.from_batches([conform(own, schema, origins[number])])

        pieces = self.pieces()
        grouped = self.spread(pieces.where(pieces["part"] == 0), "directory")
        failed: DataFrame = grouped.applyInArrow(fold, to_struct(schema))
        return failed

    def persist(self) -> Fold:
        """Keep what is left of the splits, for who asks for several tables; see `unpersist`."""
        self._kept = self.pieces().persist()
        return self

    def unpersist(self) -> None:
        """Keep it no longer."""
        if self._kept is not None:
            self._kept.unpersist()
            self._kept = None

    def logs(self) -> list[CondensedLog | Failure]:
        """The condensed log of each directory, put together here.

        A file that was not cut well is read again, uncut.
        """
        found: dict[int, CondensedLog | Failure] = {}
        jobs, left = list(self.jobs), list(range(len(self.jobs)))
        while left:
            again = []
            for number, log in self._logs_of(jobs, left):
                found[number] = log
                file = log.file if isinstance(log, Failure) else None
                if file is not None and file not in jobs[number].uncut:
                    with _as_failure(found, number):
                        jobs[number] = jobs[number].planned_uncut(file)
                        again.append(number)
            left = again
        self.jobs = jobs
        return [found[i] for i in range(len(jobs))]

    def _logs_of(
        self, jobs: Sequence[Job], numbers: Sequence[int]
    ) -> Iterator[tuple[int, CondensedLog | Failure]]:
        pieces = self.pieces(jobs, numbers)
        if any(jobs[i].n_parts for i in numbers):

            def condense(_: Any, group: pa.Table) -> pa.Table:
                return condense_part(jobs, group)

            grouped = self.spread(pieces, "directory", "part", "active")
            pieces = grouped.applyInArrow(condense, to_struct(PIECES))
        found = pieces.toArrow().cast(PIECES)
        for i in numbers:
            yield i, log_of(jobs[i], found.filter(pc.equal(found["directory"], i)))

    def pieces(
        self, jobs: Sequence[Job] | None = None, numbers: Sequence[int] | None = None
    ) -> DataFrame:
        """What is left of every split, by part; columns as `PIECES`."""
        if jobs is None and self._kept is not None:
            return self._kept
        jobs = self.jobs if jobs is None else jobs
        chosen = range(len(jobs)) if numbers is None else numbers
        items = [item for i in chosen for item in jobs[i].items(i)]
        return run_items(self.spark, items, _condensing(jobs, items), PIECES)

    def spread(self, pieces: DataFrame, *keys: str) -> Any:
        """Group pieces, over more tasks than there are cores: parts differ in size."""
        n_parts = sum(job.n_parts + 1 for job in self.jobs)
        n_tasks = max(1, min(n_parts, _PARTS_PER_CORE * parallelism(self.spark)))
        return pieces.repartition(n_tasks, *keys).groupBy(*keys)


def _condensing(jobs: Sequence[Job], items: Sequence[Item]) -> Callable[[Batches], Batches]:
    def run(batches: Batches) -> Batches:
        for batch in batches:
            yield from condense_items(jobs, items, batch.column(0).to_pylist())

    return run


@contextmanager
def _as_failure(found: dict[int, CondensedLog | Failure], number: int) -> Iterator[None]:
    try:
        yield
    except MetashellError as e:
        found[number] = Failure(e.message, e.hint)


def run_items(
    spark: SparkSession,
    items: Sequence[Any],
    run: Callable[[Batches], Batches],
    schema: pa.Schema,
) -> DataFrame:
    """Run a function over the numbers of items, a task each."""
    n = max(1, len(items))
    return spark.range(0, len(items), 1, n).mapInArrow(run, to_struct(schema))


def parallelism(spark: SparkSession) -> int:
    """About how many tasks run at the same time."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:
        # A server of Spark Connect does not tell.
        return 8


def fold_directories(
    spark: SparkSession,
    paths: str | Iterable[str],
    settings: Settings | None = None,
    *,
    split_bytes: int = SPLIT_BYTES,
) -> Fold:
    """Plan the fold of all directories that paths and globs mean.

    Args:
        spark: A session.
        paths: Metadata directories or log dirs that hold one; URIs too.
        settings: How they are read; `Settings.strict` is not possible.
        split_bytes: About how much one task decodes at a time, which bounds its memory.

    Raises:
        SourceError: None of them can be read.
        MetashellError: A glob matches nothing.
    """
    sites, bad = find_sites([paths] if isinstance(paths, str) else paths, Wanted())
    return fold_sites(spark, sites, bad, settings or Settings(), split_bytes)


def fold_sites(
    spark: SparkSession,
    sites: Sequence[Site],
    bad: Sequence[BadSite],
    settings: Settings,
    split_bytes: int = SPLIT_BYTES,
    *,
    keeps_bad: bool = False,
) -> Fold:
    """As `fold_directories`, of directories that are found already.

    Args:
        spark: A session.
        sites: The directories.
        bad: Places that are none.
        settings: As for `fold_directories`.
        split_bytes: Likewise.
        keeps_bad: Have a job for those too that can't be planned, which says why.
    """
    planned: list[tuple[Site, Job]] = []
    failed = list(bad)
    n_cores = parallelism(spark)
    for site, job in zip(sites, _plan(spark, sites, settings, split_bytes, n_cores), strict=True):
        if isinstance(job, Failure) and keeps_bad:
            planned.append((site, Job.failed(site.place, job)))
        elif isinstance(job, Failure):
            failed.append(BadSite(site.directory, job.message))
        else:
            planned.append((site, job))
    if not planned and failed:
        raise SourceError(failed[0].reason)
    return Fold(spark, [site for site, _ in planned], [job for _, job in planned], settings, failed)


def _plan(
    spark: SparkSession,
    sites: Sequence[Site],
    settings: Settings,
    split_bytes: int,
    n_cores: int,
) -> list[Job | Failure]:
    """Plan directories: one here, several in executors, as it reads their checkpoints."""

    def plan(site: Site) -> Job | Failure:
        try:
            return job_of(site.place, settings, split_bytes, n_cores)
        except MetashellError as e:
            return Failure(e.message, e.hint)

    if len(sites) <= 1:
        return [plan(site) for site in sites]
    schema = pa.schema([("site", pa.int32()), ("job", pa.binary())])

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for i in batch.column(0).to_pylist():
                row = {"site": i, "job": pickle.dumps(plan(sites[i]))}
                yield pa.RecordBatch.from_pylist([row], schema=schema)

    found = run_items(spark, sites, run, schema).toArrow().to_pydict()
    jobs = dict(zip(found["site"], map(pickle.loads, found["job"]), strict=True))
    return [jobs[i] for i in range(len(sites))]


def job_of(
    place: Place, settings: Settings, split_bytes: int = SPLIT_BYTES, n_cores: int = 1
) -> Job:
    """Plan one directory, or the one in a log dir; errors as `plan_splits`."""
    place = find_metadata_directory(place)
    plan = plan_splits(place, split_bytes, committed_only=settings.committed_only)
    how = Condensing.of_plan(plan, show_secrets=settings.show_secrets, schemas=settings.schemas)
    size = sum(split.end - split.begin for split in plan.splits)
    n_parts = (
        0 if len(plan.splits) <= 2 else min(_PARTS_PER_CORE * n_cores, size // _PART_BYTES + 1)
    )
    return Job(
        place=place,
        plan=plan,
        how=how,
        n_parts=n_parts,
        committed_only=settings.committed_only,
    )
