"""What runs in executors: splits condensed, and the parts of a directory put together.

A *part* is what can be folded by itself: part 0 has all but the partitions, the others those of
some of the topics each (`metashell.image.condensed.buckets_of`). Nothing here imports pyspark, so
everything can be run, and tested, without it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.errors import MetashellError
from metashell.image.condensed import EVERYWHERE, FileFacts, buckets_of, records_of
from metashell.image.condensing import (
    CondensedLog,
    Condensing,
    Stretch,
    active_order,
    condense_again,
    condense_place,
    condense_split,
    later_facts,
)
from metashell.log.names import Listing
from metashell.log.places import Place
from metashell.log.splits import Plan, Split, SplitError, plan_splits
from metashell.spark_backend.schemas import registry_of

PIECES: Final = pa.schema(
    [
        ("directory", pa.int32()),
        ("part", pa.int32()),
        ("active", pa.bool_()),
        ("split", pa.int32()),
        ("table", pa.binary()),
        ("facts", pa.binary()),
    ]
)
"""Columns of what a split becomes: a row for each part that it has something of."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a split or a directory could not be condensed."""

    message: str
    hint: str | None
    file: str | None = None
    """The file that is to be planned anew, uncut; None where that would not help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A directory to fold."""

    place: Place
    plan: Plan
    how: Condensing
    n_parts: int = 0
    """Parts besides part 0; with none, part 0 has everything."""
    committed_only: bool = False
    """As it was planned."""
    uncut: frozenset[str] = frozenset()
    """Likewise."""
    failure: Failure | None = None
    """Why it could not be planned."""

    @classmethod
    def failed(cls, place: Place, failure: Failure) -> Job:
        """For a directory that can't be planned: it has a piece that says why."""
        plan = Plan(path=str(place), splits=(), listing=Listing((), ()), checkpoint=None)
        return cls(place=place, plan=plan, how=Condensing(), failure=failure)

    def items(self, number: int) -> list[Item]:
        """What is to be condensed of it, as the job of that number; at least one item."""
        return [(number, k) for k in range(len(self.plan.splits))] or [(number, -1)]

    def planned_uncut(self, file: str) -> Job:
        """Plan it again with one more file in one piece.

        Raises:
            SourceError: It can't be read.
        """
        uncut = self.uncut | {file}
        plan = plan_splits(self.place, committed_only=self.committed_only, uncut=uncut)
        how = Condensing.of_plan(plan, show_secrets=self.how.show_secrets, schemas=self.how.schemas)
        how = replace(how, merges=self.how.merges)
        return replace(self, plan=plan, how=how, uncut=uncut)

    @property
    def files(self) -> list[FileFacts]:
        """What the plan knows of the files."""
        last: dict[int, Split] = {split.order: split for split in self.plan.splits}
        return [
            FileFacts(name=s.name, size=s.size, end_offset=s.end_offset, epoch=s.epoch)
            for _, s in sorted(last.items())
        ]


Item: TypeAlias = tuple[int, int]
"""A split: place of its job among the jobs, and its own among the job's; -1 where it has none."""


def condense_items(
    jobs: Sequence[Job], items: Sequence[Item], ids: Iterable[int]
) -> Iterator[pa.RecordBatch]:
    """Condense splits.

    Args:
        jobs: The directories.
        items: All splits.
        ids: Those wanted, by their place in `items`.

    Returns:
        Batches of `PIECES`. A split that can't be read is told of in its facts; it does not end
        the job.
    """
    for i in ids:
        directory, number = items[i]
        job = jobs[directory]
        stretch = _condense(job, number)
        if not isinstance(stretch, Stretch):
            # Each part is told, so that none is shown without the others.
            for part in range(job.n_parts + 1):
                yield _piece(directory, part, False, number, None, stretch)
            continue
        split = job.plan.splits[number]
        active = split.order == active_order(job.plan)
        for part, table in _parts(stretch.table, job):
            facts = stretch.facts if part == 0 else None
            yield _piece(directory, part, active, number, table, facts)


def _condense(job: Job, number: int) -> Stretch | Failure | None:
    """Condense a split; None where there is none."""
    if number < 0:
        return job.failure
    try:
        return condense_split(job.plan.splits[number], job.how, registry_of(job.how.schemas))
    except SplitError as e:
        return Failure(e.message, e.hint, e.file)
    except MetashellError as e:
        return Failure(e.message, e.hint)


def _piece(
    directory: int,
    part: int,
    active: bool,
    number: int,
    table: pa.Table | None,
    facts: FileFacts | Failure | None,
) -> pa.RecordBatch:
    row = {
        "directory": directory,
        "part": part,
        "active": active,
        "split": number,
        "table": None if table is None else to_bytes(table),
        "facts": None if facts is None else pickle.dumps(facts),
    }
    return pa.RecordBatch.from_pylist([row], schema=PIECES)


def _parts(table: pa.Table, job: Job) -> Iterator[tuple[int, pa.Table]]:
    """A split's table cut into parts; part 0 always."""
    if not job.n_parts or not len(table):
        yield 0, table
        return
    records = records_of([table], job.files, registry_of(job.how.schemas))
    rows = np.arange(len(table), dtype=np.int64)
    bucket = buckets_of(records, rows, job.n_parts)
    topics = records.registry.by_name
    of_topics = np.isin(
        records.frames.api_key,
        [topics["TopicRecord"].api_key or 0, topics["RemoveTopicRecord"].api_key or 0],
    )
    yield 0, table.take(pa.array(np.flatnonzero((bucket <= 0) | of_topics)))
    order = np.argsort(bucket, kind="stable")
    bounds = np.searchsorted(bucket[order], np.arange(1, job.n_parts + 2))
    everywhere = np.flatnonzero(bucket == EVERYWHERE)
    for part in range(1, job.n_parts + 1):
        own = order[bounds[part - 1] : bounds[part]]
        if len(own) or len(everywhere):
            yield part, table.take(pa.array(np.sort(np.concatenate([own, everywhere]))))


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


def condense_part(jobs: Sequence[Job], pieces: pa.Table) -> pa.Table:
    """Condense the pieces of one part, of its closed or of its active files, to one piece.

    What is told of the splits is kept, a row each.
    """
    directory, part = pieces["directory"][0].as_py(), pieces["part"][0].as_py()
    active, job = pieces["active"][0].as_py(), jobs[directory]
    tables = tables_of(pieces)
    whole: pa.Table | None = None
    if tables:
        registry = registry_of(job.how.schemas)
        whole = (
            condense_again(tables, registry, job.how)
            if job.how.merges and len(tables) > 1
            else pa.concat_tables(tables)
        )
    out = [_piece(directory, part, active, -1, whole, None)]
    for split, facts in zip(pieces["split"].to_pylist(), pieces["facts"].to_pylist(), strict=True):
        if facts is not None:
            row = {"directory": directory, "part": part, "active": active, "split": split}
            out.append(pa.RecordBatch.from_pylist([{**row, "facts": facts}], schema=PIECES))
    return pa.Table.from_batches(out, schema=PIECES)


def log_of(job: Job, pieces: pa.Table) -> CondensedLog | Failure:
    """The condensed log of a directory, or of one part of it, from its pieces."""
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
    closed, active = (
        [_in_replay_order(tables)] if tables else []
        for tables in (
            tables_of(pieces.filter(pc.invert(pieces["active"]))),
            tables_of(pieces.filter(pieces["active"])),
        )
    )
    registry = registry_of(job.how.schemas)
    numbered = [files[i] for i in range(len(files))]
    return CondensedLog(job.plan, closed, active, numbered, registry)


def log_or_whole(job: Job, pieces: pa.Table) -> tuple[CondensedLog | Failure, bool]:
    """As `log_of`; where a file was not cut well, the directory is condensed here, uncut.

    Returns:
        The log, and whether it is that of the whole directory instead of a part.
    """
    log = log_of(job, pieces)
    if not isinstance(log, Failure) or log.file is None:
        return log, False
    how = job.how
    try:
        whole = condense_place(
            job.place,
            show_secrets=how.show_secrets,
            schemas=how.schemas,
            committed_only=job.committed_only,
            merges=how.merges,
            registry=registry_of(how.schemas),
        )
    except MetashellError as e:
        return Failure(e.message, e.hint), False
    return whole, True


def _in_replay_order(tables: Sequence[pa.Table]) -> pa.Table:
    """Put parts together: every record once, in the order in which they are replayed."""
    table = pa.concat_tables(tables).combine_chunks()
    if len(tables) == 1 or not len(table):
        return table
    file, offset = table["file"].to_numpy(), table["offset"].to_numpy()
    order = np.lexsort((offset, file))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (np.diff(file[order]) != 0) | (np.diff(offset[order]) != 0)
    return table.take(pa.array(order[first]))
