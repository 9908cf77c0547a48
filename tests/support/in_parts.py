"""A fold and a search as Spark does them, without Spark: the same functions, in any order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from random import Random

import pyarrow as pa

from metashell.image.condensing import CondensedLog
from metashell.source import Settings
from metashell.spark_backend.find import Finding, Piece, is_for_parts, search_of, shares_of
from metashell.spark_backend.find_tasks import find_in_pieces, join_found
from metashell.spark_backend.fold import job_of
from metashell.spark_backend.tasks import (
    Failure,
    Job,
    condense_items,
    condense_part,
    log_of,
)

_STREAMS_MAX = 3


def make_job(
    place: str | Path, split_bytes: int, n_parts: int, settings: Settings | None = None
) -> Job:
    """Plan a directory; with parts also where it is too small for them."""
    job = job_of(str(place), settings or Settings(), split_bytes)
    return replace(job, n_parts=n_parts)


def pieces_of(jobs: Sequence[Job], rng: Random) -> pa.Table:
    """What is left of all splits, in no order."""
    items = [item for i, job in enumerate(jobs) for item in job.items(i)]
    ids = rng.sample(range(len(items)), len(items))
    return shuffled(pa.Table.from_batches(condense_items(jobs, items, ids)), rng)


def shuffled(table: pa.Table, rng: Random) -> pa.Table:
    """The rows of a table in another order."""
    return table.take(pa.array(rng.sample(range(len(table)), len(table)), pa.int64()))


def groups(pieces: pa.Table, *keys: str) -> Iterator[tuple[tuple[object, ...], pa.Table]]:
    """The rows of each value of some columns."""
    values = list(zip(*(pieces[key].to_pylist() for key in keys), strict=True))
    order = sorted(range(len(values)), key=values.__getitem__)
    for key, rows in groupby(order, key=values.__getitem__):
        yield key, pieces.take(pa.array(list(rows), pa.int64()))


def reduced(jobs: Sequence[Job], pieces: pa.Table, rng: Random) -> pa.Table:
    """The pieces of each part condensed to one."""
    each = groups(pieces, "directory", "part", "active")
    return shuffled(pa.concat_tables([condense_part(jobs, group) for _, group in each]), rng)


def of_job(pieces: pa.Table, number: int) -> pa.Table:
    """The pieces of one directory."""
    return dict(groups(pieces, "directory"))[(number,)]


def folded(job: Job, pieces: pa.Table) -> CondensedLog:
    """The log put together, which must be possible."""
    log = log_of(job, pieces)
    assert not isinstance(log, Failure), log
    return log


@dataclass
class InParts:
    """A source that is searched in parts, as `DelegatedSource` and `DelegatedFleet` are.

    Args:
        jobs: The directories.
        rng: What decides about all that is in no order.
        names: What each is called below ``/clusters``; None for one directory.
    """

    jobs: Sequence[Job]
    rng: Random
    names: Sequence[str] | None = None
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        self.parts = list(groups(pieces_of(self.jobs, self.rng), "directory", "part"))
        self.failures: dict[str, str] = {}
        self.warnings: list[tuple[str, str]] = []

    def find_elsewhere(self, args: Sequence[str], cwd: str, *, escapes: bool) -> Finding | None:
        """Search all parts, and send what they found in several streams of batches."""
        if not is_for_parts(args):
            return None
        search, shares = search_of(args, cwd, escapes=escapes), shares_of(self.jobs, self.names)

        def found() -> Iterator[Piece]:
            tables = []
            for (number, part), pieces in self.parts:
                assert isinstance(number, int)
                assert isinstance(part, int)
                job, share = self.jobs[number], shares(number, part)
                tables.append(find_in_pieces(job, pieces, share, search, self.settings))
            table = pa.concat_tables(self.rng.sample(tables, len(tables)))
            yield from self._joined(table)

        failed = None if self.names is None else self.failures.__setitem__
        return Finding(found, failed, lambda name, text: self.warnings.append((name, text)))

    def _joined(self, table: pa.Table) -> Iterator[Piece]:
        words, components = table["word"].to_pylist(), table["components"].to_pylist()
        order = sorted(range(len(table)), key=lambda i: (words[i], components[i]))
        table, at = table.take(pa.array(order, pa.int64())), 0
        while at < len(table):
            n = self.rng.randint(1, max(1, len(table) // _STREAMS_MAX))
            batches = table.slice(at, n).combine_chunks().to_batches(max_chunksize=max(1, n // 2))
            for batch in join_found(iter(batches)):
                yield from map(Piece.of, batch.to_pylist())
            at += n
