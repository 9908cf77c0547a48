"""The work of executors: reducing splits, and putting the parts of a directory together.

A *part* is what can be folded by itself: part 0 has all but the partitions, the others those of
some of the topics each (`metashell.reduced.table.buckets_of`). Nothing here imports pyspark, so
everything can be run, and tested, without it.

Work packed into tasks, by what it weighs, and run: a task costs something by itself, and carries
only its own work.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.image.fold import stable_order
from metashell.log.names import Listing
from metashell.log.splits import SPLIT_BYTES, Plan, Split, SplitError
from metashell.places.place import Place
from metashell.reduced.log import (
    ReducedLog,
    Reducing,
    Stretch,
    active_order,
    later_facts,
    reduce_again,
    reduce_place,
    reduce_split,
)
from metashell.reduced.table import EVERYWHERE, FileFacts, buckets_of, records_of
from metashell.reduced.topic_shards import TopicShards
from metashell.spark_backend.schemas import registry_of, to_struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
Batches = Iterator[pa.RecordBatch]

FILE_BYTES: Final = 64 << 10
"""The cost of opening a file, as bytes that could be read meanwhile."""
TASKS_PER_CORE: Final = 6
"""Tasks that a core has in turn where there is that much to do: they differ in length."""
_TASKS: Final = pa.schema([("task", pa.int32()), ("work", pa.binary())])
_RESULTS: Final = pa.schema([("number", pa.int32()), ("result", pa.binary())])
_TASK_BYTES: Final = 1 << 20
"""Less is not worth a task of its own."""


def packed(work: Iterable[tuple[int, T]], n_tasks: int) -> list[list[T]]:
    """Pack work into tasks, in its order.

    Args:
        work: Each piece behind its weight in bytes. A task has about `SPLIT_BYTES` at most; a
            heavier piece is alone.
        n_tasks: Tasks that are worth having: where there is less work, they have less each.
    """
    weighed = list(work)
    enough = max(sum(weight for weight, _ in weighed) // max(n_tasks, 1), _TASK_BYTES)
    room = min(SPLIT_BYTES, enough)
    tasks: list[list[T]] = []
    filled = 0
    for weight, piece in weighed:
        if not tasks or filled + weight > room:
            tasks.append([])
            filled = 0
        tasks[-1].append(piece)
        filled += weight
    return tasks


def parallelism(spark: SparkSession) -> int:
    """About how many tasks run at the same time."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:
        # A server of Spark Connect does not tell.
        return 8


def run_tasks(
    spark: SparkSession,
    tasks: Sequence[Sequence[Any]],
    run: Callable[[Any], Batches],
    schema: pa.Schema,
) -> DataFrame:
    """Call a function with each piece of work that is packed into tasks.

    A task gets its own work as data. Variables that a function closes over go to every task.
    """
    rows = [
        pa.RecordBatch.from_pylist([{"task": i, "work": pickle.dumps(list(task))}], schema=_TASKS)
        for i, task in enumerate(tasks or [[]])
    ]

    def run_all(batches: Batches) -> Batches:
        for batch in batches:
            for own in batch["work"].to_pylist():
                for piece in pickle.loads(own):
                    yield from run(piece)

    frame = spark.createDataFrame(pa.Table.from_batches(rows, _TASKS))
    placed = frame.repartitionById(len(rows), "task")
    return placed.mapInArrow(run_all, to_struct(schema))


def run_packed(
    spark: SparkSession,
    work: Iterable[tuple[int, T]],
    run: Callable[[T], Batches],
    schema: pa.Schema,
) -> DataFrame:
    """Call a function with each piece of work behind its weight in bytes; see `run_tasks`."""
    tasks = packed(work, TASKS_PER_CORE * parallelism(spark))
    return run_tasks(spark, tasks, run, schema)


def run_each(
    spark: SparkSession, work: Iterable[tuple[int, T]], function: Callable[[T], object]
) -> DataFrame:
    """The results of a function for each piece of work: rows for `result_of`."""

    def run(numbered: tuple[int, T]) -> Batches:
        number, piece = numbered
        row = {"number": number, "result": pickle.dumps(function(piece))}
        yield pa.RecordBatch.from_pylist([row], schema=_RESULTS)

    numbered = ((weight, (i, piece)) for i, (weight, piece) in enumerate(work))
    return run_packed(spark, numbered, run, _RESULTS)


def result_of(row: Any) -> tuple[int, Any]:
    """The place of a piece of work, and what the function returned for it."""
    return row["number"], pickle.loads(row["result"])


def results(
    spark: SparkSession, work: Sequence[tuple[int, T]], function: Callable[[T], Any]
) -> list[Any]:
    """The results of a function for each piece of work, in the order of the work.

    A single piece is done here.
    """
    if len(work) <= 1:
        return [function(piece) for _, piece in work]
    found = dict(map(result_of, run_each(spark, work, function).toArrow().to_pylist()))
    return [found[i] for i in range(len(work))]


PIECES: Final = pa.schema(
    [
        ("group", pa.int32()),
        ("directory", pa.int32()),
        ("part", pa.int32()),
        ("active", pa.bool_()),
        ("split", pa.int32()),
        ("job", pa.binary()),
        ("table", pa.binary()),
        ("facts", pa.binary()),
    ]
)
"""Columns of what a split becomes: a row for each part that it has something of.

``group`` numbers the parts of all directories that are shards, and is `WHOLE` for the others;
``job`` is what folds the part, in one row of each."""

WHOLE: Final = -1
NOT_SPREAD: Final = TopicShards()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a split or a directory could not be reduced."""

    message: str
    hint: str | None
    file: str | None = None
    """The file that was not cut well; None where reading it uncut would not help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldJob:
    """A directory to fold."""

    place: Place
    plan: Plan
    how: Reducing
    shards: TopicShards = NOT_SPREAD
    """Parts besides part 0; with none, part 0 has everything, and one task does all."""
    origin: tuple[str | None, int | None, str] = (None, None, "")
    """The first columns of its rows, which tell where they come from."""
    above: tuple[str, ...] = ()
    """Names above the directory's own root: ``("clusters", "c1")`` in a fleet."""
    failure: Failure | None = None
    """Why it could not be planned."""

    @classmethod
    def failed(cls, place: Place, failure: Failure) -> FoldJob:
        """For a directory that can't be planned: it has a piece that says why."""
        plan = Plan(path=str(place), splits=(), listing=Listing((), ()), checkpoint=None)
        return cls(place=place, plan=plan, how=Reducing(), failure=failure)

    @property
    def n_parts(self) -> int:
        """Parts besides part 0."""
        return self.shards.n_parts

    def work(self, number: int, group: int = WHOLE) -> list[Work]:
        """The work of reducing it: all at once, or each split where it has parts.

        Args:
            number: Its own, among the directories.
            group: That of part 0, where it has parts.
        """
        splits = list(enumerate(self.plan.splits))
        together = [splits] if not self.n_parts else [[split] for split in splits] or [[]]
        return [
            Work(
                directory=number,
                group=group if self.n_parts else WHOLE,
                shards=self.shards,
                how=self.how,
                n_files=len(self.files),
                active=active_order(self.plan),
                splits=tuple(own),
                # Once for each part: a plan grows with the number of splits.
                job=self if i == 0 else None,
            )
            for i, own in enumerate(together)
        ]

    @property
    def files(self) -> list[FileFacts]:
        """The facts about the files that the plan has."""
        last: dict[int, Split] = {split.order: split for split in self.plan.splits}
        return [
            FileFacts(name=s.name, size=s.size, end_offset=s.end_offset, epoch=s.epoch)
            for _, s in sorted(last.items())
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Splits of a directory that are reduced one after the other, and what that takes."""

    directory: int
    group: int
    shards: TopicShards
    how: Reducing
    n_files: int
    active: int
    """The order of the active files, see `active_order`."""
    splits: tuple[tuple[int, Split], ...]
    """Each behind its number."""
    job: FoldJob | None
    """The job that goes on with the first of these; None where it goes on with others."""

    @property
    def n_parts(self) -> int:
        """Parts besides part 0."""
        return self.shards.n_parts

    @property
    def weight(self) -> int:
        """About how much there is to do, in bytes."""
        return FILE_BYTES + sum(FILE_BYTES + split.end - split.begin for _, split in self.splits)


def reduce_records(work: Work) -> Iterator[pa.RecordBatch]:
    """Reduce splits.

    Returns:
        Batches of `PIECES`. A split that can't be read is told of in its facts; it does not end
        the job.
    """
    job = None if work.job is None else pickle.dumps(work.job)
    if not work.splits:
        failure = None if work.job is None else work.job.failure
        for part in range(work.n_parts + 1):
            yield _piece(work, part, -1, job=job, facts=failure)
    for number, split in work.splits:
        stretch = _reduce(split, work.how)
        if isinstance(stretch, Failure):
            # Each part is told, so that none is shown without the others.
            for part in range(work.n_parts + 1):
                yield _piece(work, part, number, job=job, facts=stretch)
        else:
            active = split.order == work.active
            for part, table in _parts(stretch.table, work):
                facts = stretch.facts if part == 0 else None
                if job is not None or len(table) or facts is not None:
                    yield _piece(work, part, number, active, job=job, table=table, facts=facts)
        job = None


def _reduce(split: Split, how: Reducing) -> Stretch | Failure:
    try:
        return reduce_split(split, how, registry_of(how.settings.schemas))
    except SplitError as e:
        return Failure(e.message, e.hint, e.file)
    except MetashellError as e:
        return Failure(e.message, e.hint)


def _piece(
    work: Work,
    part: int,
    number: int,
    active: bool = False,
    *,
    job: bytes | None = None,
    table: pa.Table | None = None,
    facts: FileFacts | Failure | None = None,
) -> pa.RecordBatch:
    row = {
        "group": work.group + part if work.n_parts else WHOLE,
        "directory": work.directory,
        "part": part,
        "active": active,
        "split": number,
        "job": job,
        "table": None if table is None else to_bytes(table),
        "facts": None if facts is None else pickle.dumps(facts),
    }
    return pa.RecordBatch.from_pylist([row], schema=PIECES)


def _parts(table: pa.Table, work: Work) -> Iterator[tuple[int, pa.Table]]:
    """A split's table cut into parts, of which some may be empty."""
    if not work.n_parts or not len(table):
        yield 0, table
        for part in range(1, work.n_parts + 1):
            yield part, table
        return
    files = [FileFacts(name="", size=0)] * work.n_files
    records = records_of([table], files, registry_of(work.how.settings.schemas))
    rows = np.arange(len(table), dtype=np.int64)
    bucket = buckets_of(records, rows, work.shards)
    topics = records.registry.by_name
    of_topics = np.isin(
        records.frames.api_key.narrow,
        [topics["TopicRecord"].api_key or 0, topics["RemoveTopicRecord"].api_key or 0],
    )
    order = stable_order(bucket)
    bounds = np.searchsorted(bucket[order], np.arange(1, work.n_parts + 2))
    everywhere = np.flatnonzero(bucket == EVERYWHERE)
    chosen = [np.flatnonzero((bucket <= 0) | of_topics)]
    for begin, end in itertools.pairwise(bounds):
        own = order[begin:end]
        chosen.append(np.sort(np.concatenate([own, everywhere])) if len(everywhere) else own)
    # One large take costs a fraction of many.
    together, at = table.take(pa.array(np.concatenate(chosen))), 0
    for part, own in enumerate(chosen):
        yield part, together.slice(at, len(own))
        at += len(own)


def to_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    out: bytes = sink.getvalue().to_pybytes()
    return out


def from_bytes(data: bytes) -> pa.Table:
    """The table of an Arrow stream."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_all()


def tables_of(pieces: pa.Table) -> list[pa.Table]:
    """The tables of a part's pieces, in the order of their splits."""
    rows = pieces.select(["split", "table"]).sort_by("split").to_pydict()["table"]
    return [from_bytes(data) for data in rows if data is not None]


def job_of_pieces(pieces: pa.Table) -> FoldJob:
    """The directory that the pieces of a part are of."""
    job = pickle.loads(pieces["job"].drop_null()[0].as_py())
    assert isinstance(job, FoldJob)
    return job


def reduce_part(job: FoldJob, pieces: pa.Table) -> pa.Table:
    """Reduce the pieces of a part: those of its closed files to one, of its active ones to one.

    The texts about splits are kept, a row each.
    """
    registry = registry_of(job.how.settings.schemas)
    names = ("group", "directory", "part")
    same = {name: pieces[name][0].as_py() for name in names}
    out = []
    for active in (False, True):
        tables = tables_of(pieces.filter(pc.equal(pieces["active"], active)))
        if tables:
            whole = (
                reduce_again(tables, registry, job.how)
                if job.how.merges and len(tables) > 1
                else pa.concat_tables(tables)
            )
            row = {**same, "active": active, "split": -1, "table": to_bytes(whole)}
            out.append(pa.RecordBatch.from_pylist([row], schema=PIECES))
    told = pieces.filter(pc.is_valid(pieces["facts"])).select(["split", "active", "facts"])
    out += [
        pa.RecordBatch.from_pylist([{**same, **facts}], schema=PIECES) for facts in told.to_pylist()
    ]
    return pa.Table.from_batches(out, schema=PIECES)


def log_of(job: FoldJob, pieces: pa.Table) -> ReducedLog | Failure:
    """The reduced log of a directory, or of one part of it, from its pieces."""
    files = dict(enumerate(job.files))
    told = pieces.select(["split", "facts"]).sort_by("split").to_pydict()
    for number, data in zip(told["split"], told["facts"], strict=True):
        if data is None:
            continue
        facts = pickle.loads(data)
        if isinstance(facts, Failure):
            return facts
        order = job.plan.splits[number].order
        files[order] = later_facts(files[order], facts)
    is_of_parts = len(pieces["part"].unique()) > 1
    closed, active = (
        [_in_replay_order(tables, is_of_parts=is_of_parts)] if tables else []
        for tables in (
            tables_of(pieces.filter(pc.invert(pieces["active"]))),
            tables_of(pieces.filter(pieces["active"])),
        )
    )
    registry = registry_of(job.how.settings.schemas)
    numbered = [files[i] for i in range(len(files))]
    return ReducedLog(job.plan, closed, active, numbered, registry)


def log_or_whole(job: FoldJob, pieces: pa.Table) -> tuple[ReducedLog | Failure, bool]:
    """The log of the pieces; where a file was not cut well, the directory is reduced here, uncut.

    Returns:
        The log, and whether it is that of the whole directory instead of a part.
    """
    log = log_of(job, pieces)
    if not isinstance(log, Failure) or log.file is None:
        return log, False
    how = job.how
    try:
        whole = reduce_place(
            job.place,
            how.settings,
            merges=how.merges,
            registry=registry_of(how.settings.schemas),
        )
    except MetashellError as e:
        return Failure(e.message, e.hint), False
    return whole, True


def _in_replay_order(tables: Sequence[pa.Table], *, is_of_parts: bool) -> pa.Table:
    """Put tables together in the order of the replay.

    Args:
        tables: The tables of splits, in their order.
        is_of_parts: Whether they are of several parts: then a record that several parts need is
            taken once. Damage apart, offsets say how parts of a batch stand to each other.
    """
    table = pa.concat_tables(tables).combine_chunks()
    if not is_of_parts or len(tables) == 1 or not len(table):
        return table
    whose = np.repeat(np.arange(len(tables)), [len(one) for one in tables])
    file, offset = table["file"].to_numpy(), table["offset"].to_numpy()
    order = np.lexsort((offset, file))
    table, file, offset, whose = (
        table.take(pa.array(order)),
        file[order],
        offset[order],
        whose[order],
    )
    same = (np.diff(file) == 0) & (np.diff(offset) == 0) & (np.diff(whose) != 0)
    # Only damage has different records at one offset.
    value = table["value"].combine_chunks()
    same &= pc.equal(value[1:], value[:-1]).to_numpy(zero_copy_only=False)
    return table.filter(pa.array(np.append(True, ~same)))
