"""A fold and a search as Spark does them, without Spark: the same functions, in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pyarrow as pa

from metashell.commands.find.parts import WARNED, FindTask, FoundPiece, PartsSearch
from metashell.read_settings import ReadSettings
from metashell.reduced.log import ReducedLog
from metashell.reduced.topic_shards import TopicShards
from metashell.sources.status import Capabilities
from metashell.spark_backend.find import (
    below_names,
    find_in_pieces,
    found_of,
    join_found,
    share_of,
)
from metashell.spark_backend.fold import job_of
from metashell.spark_backend.tasks import (
    Failure,
    FoldJob,
    job_of_pieces,
    log_of,
    reduce_part,
    reduce_records,
)

_STREAMS_MAX = 3


def make_job(
    place: str | Path, split_bytes: int, n_parts: int, settings: ReadSettings | None = None
) -> FoldJob:
    """Plan a directory; with parts also where it is too small for them."""
    job = job_of(str(place), settings or ReadSettings(), split_bytes)
    return replace(job, shards=TopicShards(n_parts))


def pieces_of(jobs: Sequence[FoldJob], rng: Random) -> pa.Table:
    """What is left of all splits, in no order."""
    works = [work for i, job in enumerate(jobs) for work in job.work(i)]
    batches = (batch for work in rng.sample(works, len(works)) for batch in reduce_records(work))
    return shuffled(pa.Table.from_batches(batches), rng)


def shuffled(table: pa.Table, rng: Random) -> pa.Table:
    """The rows of a table in another order."""
    return table.take(pa.array(rng.sample(range(len(table)), len(table)), pa.int64()))


def groups(pieces: pa.Table, *keys: str) -> Iterator[tuple[tuple[object, ...], pa.Table]]:
    """The rows of each value of some columns."""
    values = list(zip(*(pieces[key].to_pylist() for key in keys), strict=True))
    order = sorted(range(len(values)), key=values.__getitem__)
    for key, rows in groupby(order, key=values.__getitem__):
        yield key, pieces.take(pa.array(list(rows), pa.int64()))


def reduced(jobs: Sequence[FoldJob], pieces: pa.Table, rng: Random) -> pa.Table:
    """The pieces of each part reduced to one."""
    each = groups(pieces, "directory", "part")
    reduced = [reduce_part(job_of_pieces(group), group) for _, group in each]
    return shuffled(pa.concat_tables(reduced), rng)


def of_job(pieces: pa.Table, number: int) -> pa.Table:
    """The pieces of one directory."""
    return dict(groups(pieces, "directory"))[(number,)]


def folded(job: FoldJob, pieces: pa.Table) -> ReducedLog:
    """The log put together, which must be possible."""
    log = log_of(job, pieces)
    assert not isinstance(log, Failure), log
    return log


@dataclass
class InParts:
    """A source that is searched in parts, as `DelegatedSource` is.

    Args:
        jobs: The directories.
        rng: What decides about all that is in no order.
        names: What each is called below ``/clusters``; None for one directory.
    """

    jobs: Sequence[FoldJob]
    rng: Random
    names: Sequence[str] | None = None
    settings: ReadSettings = field(default_factory=ReadSettings)
    capabilities: ClassVar[Capabilities] = Capabilities()
    """Those of a source whose image is here: the root given."""

    def __post_init__(self) -> None:
        self.parts = list(groups(pieces_of(self.jobs, self.rng), "directory", "part"))
        self.failures: dict[str, str] = {}
        self.warnings: list[tuple[str, str]] = []

    def delegate(self, command: Callable[[InParts], Any]) -> Any:
        """As `Source.delegate`."""
        return command(self)

    def search(self, args: Sequence[str], cwd: str, *, escapes: bool) -> PartsSearch:
        """Search all parts, and send what they found in several streams of batches."""
        search, jobs = FindTask(args, cwd, escapes), below_names(self.jobs, self.names)

        def found() -> Iterator[FoundPiece]:
            tables = []
            for (number, part), pieces in self.parts:
                assert isinstance(number, int)
                assert isinstance(part, int)
                job, share = jobs[number], share_of(jobs[number], part, is_first=number == 0)
                tables.append(find_in_pieces(job, pieces, share, search, self.settings))
            table = pa.concat_tables(self.rng.sample(tables, len(tables)))
            for piece in self._joined(table):
                told = [(name, text) for kind, name, text in piece.told if kind == WARNED]
                self.warnings += told
                yield piece

        failed = None if self.names is None else self.failures.__setitem__
        return PartsSearch(found, failed)

    def _joined(self, table: pa.Table) -> Iterator[FoundPiece]:
        keys = [table[name].to_pylist() for name in ("word", "components", "piece")]
        order = sorted(range(len(table)), key=lambda i: [key[i] for key in keys])
        table, at = table.take(pa.array(order, pa.int64())), 0
        while at < len(table):
            n = self.rng.randint(1, max(1, len(table) // _STREAMS_MAX))
            batches = table.slice(at, n).combine_chunks().to_batches(max_chunksize=max(1, n // 2))
            for batch in join_found(iter(batches)):
                yield from map(found_of, batch.to_pylist())
            at += n
