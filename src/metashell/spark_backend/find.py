"""``find`` as a Spark query: parts are searched in executors, and what they found is sorted by the
names on the way to its first node, which is the order of a walk, and streamed back.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.fs.path import CLUSTERS
from metashell.log.splits import SPLIT_BYTES
from metashell.sources.engine import bytes_to_decode, is_remote
from metashell.sources.fleet.source import OPENING_BYTES
from metashell.spark_backend.find_tasks import (
    COUNTED,
    FAILED,
    FOUND,
    LACKING,
    FindTask,
    Share,
    find_in_pieces,
    find_in_place,
)
from metashell.spark_backend.fold import fold_sites
from metashell.spark_backend.schemas import to_struct
from metashell.spark_backend.sites import Site, absolute
from metashell.spark_backend.tasks import FoldJob, run_packed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from metashell.read_settings import ReadSettings
    from metashell.sources.fleet.member import FleetMember
    from metashell.sources.fleet.reading import Reading
    from metashell.spark_backend.fold import Fold, LogPart

_ORDER: Final = ("word", "components", "piece")
_WHOLE_BYTES: Final = 2 * SPLIT_BYTES
"""A directory with no more to decode is searched by one task."""
_SORTED_BYTES: Final = 16 << 20
"""About how much of what was found is sorted by a task, and sent at a time."""
_ROW_BYTES: Final = 64
"""The size of a row besides its text."""


def join_found(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The printed text, in few pieces; nothing behind the first row that ends the search.

    Args:
        batches: Batches of `FOUND`, sorted.

    Returns:
        Batches of `JOINED`.
    """
    for batch in batches:
        rows = batch.to_pylist()
        told = [
            (r["word"], *map(_decoded, (r["components"][0], r["text"])))
            for r in rows
            if r["word"] < 0
        ]
        own = [row for row in rows if row["word"] >= 0]
        end = next((i for i, row in enumerate(own) if row["quits"]), None)
        own = own if end is None else own[: end + 1]
        text = _decoded(b"".join(row["text"] for row in own))
        words = list(dict.fromkeys(row["word"] for row in own))
        found = FoundRow(text, words, end is not None, told)
        yield pa.RecordBatch.from_pylist([{"found": pickle.dumps(found)}], schema=JOINED)
        if found.quits:
            return


JOINED: Final = pa.schema([("found", pa.binary())])


@dataclass(frozen=True, slots=True)
class FoundRow:
    """Some of what a search found."""

    text: str
    words: Sequence[int]
    """Starts that are there."""
    quits: bool
    """Whether the search ends here."""
    told: Sequence[tuple[int, str, str]] = ()
    """A word of `metashell.spark_backend.find_tasks.FOUND`, what a directory is called, and what is
    to be said of it."""

    @staticmethod
    def of(row: Any) -> FoundRow:
        """Read a row of `JOINED`."""
        found: FoundRow = pickle.loads(row["found"])
        return found


def _decoded(data: bytes) -> str:
    return bytes(data).decode("utf-8", "surrogatepass")


@dataclass(slots=True)
class SparkSearch:
    """A search: iterate over it for the text to print; then `matched` are the starts there are.

    Raises:
        SourceError: While iterating: the directory can't be read, and nobody wants to be told.
    """

    pieces: Callable[[], Iterator[FoundRow]]
    failed: Callable[[str, str], None] | None = None
    """Told the name of each directory that can't be read, and why."""
    warned: Callable[[str, str], None] | None = None
    """Told what a user should know of a directory."""
    matched: set[int] = field(default_factory=set)
    missing: dict[str, None] = field(default_factory=dict)
    """Nodes that can't be looked at, each with why."""

    def __iter__(self) -> Iterator[str]:
        count: int | None = None
        for piece in self.pieces():
            for kind, name, text in piece.told:
                if kind == FAILED and self.failed is None:
                    raise SourceError(text)
                if kind == COUNTED:
                    count = (count or 0) + int(text)
                    continue
                if kind == LACKING:
                    self.missing[text] = None
                    continue
                tell = self.failed if kind == FAILED else self.warned
                if tell is not None:
                    tell(name, text)
            self.matched.update(piece.words)
            if piece.text:
                yield piece.text
            if piece.quits:
                # Rows behind this one were not searched.
                self.matched.update(range(max(piece.words), 1 << 16))
                return
        if count is not None:
            yield f"{count}\n"


def find(fold: Fold, search: FindTask, names: Sequence[str] | None = None) -> SparkSearch:
    """Search the directories of a fold.

    Args:
        fold: The directories.
        search: The search.
        names: The name of each below ``/clusters``; None where there is one directory, which is the
            root.
    """
    first = names[0] if names else ""

    def pieces() -> Iterator[FoundRow]:
        with _kept(_found_in_parts(fold, search, names, first)) as found:
            yield from _in_order(found)

    return SparkSearch(pieces)


def _found_in_parts(
    fold: Fold, search: FindTask, names: Sequence[str] | None, first: str
) -> DataFrame:
    """Rows of `FOUND` of the directories of a fold; `first` is the one that tells of the root."""
    settings, named = fold.settings, replace(fold, jobs=below_names(fold.jobs, names))

    def run(job: FoldJob, part: LogPart, pieces: pa.Table) -> pa.Table:
        share = share_of(job, part.number, is_first=job.above[1:] in ((), (first,)))
        return find_in_pieces(job, pieces, share, search, settings)

    return named.each(run, FOUND)


def find_in_fleet(
    spark: SparkSession, members: Sequence[FleetMember], search: FindTask, settings: ReadSettings
) -> Iterator[FoundRow]:
    """Search the members of a fleet, each whole by one task; large ones in parts.

    Args:
        spark: A session.
        members: The members, of which an executor gets the path and how it is read.
        search: The search.
        settings: How large members are read.
    """
    first = members[0].name

    def run(member: tuple[str, str, Reading]) -> Iterator[pa.RecordBatch]:
        name, path, reading = member
        share = Share(above=(CLUSTERS, name), is_first=name == first)
        yield from find_in_place(path, reading, share, search).to_batches()

    small, large = [], []
    for member in members:
        n_bytes = bytes_of(member)
        if n_bytes > _WHOLE_BYTES:
            large.append(member)
        else:
            work = (member.name, absolute(member.path), member.reading)
            small.append((OPENING_BYTES + n_bytes, work))
    found = run_packed(spark, small, run, FOUND)
    if large:
        sites = [Site(member.path, opened_by=absolute(member.path)) for member in large]
        fold = fold_sites(spark, sites, [], settings, keeps_bad=True)
        names = [member.name for member in large]
        found = found.unionAll(_found_in_parts(fold, search, names, first))
    with _kept(found) as kept:
        yield from _in_order(kept)


def bytes_of(member: FleetMember) -> int:
    """About how many bytes opening a member decodes; one in a store is not listed for it."""
    return member.weight() if is_remote(member.path) else bytes_to_decode([member.path])


@contextmanager
def _kept(found: DataFrame) -> Iterator[DataFrame]:
    """Keep rows of `FOUND`: they are sorted once it is known how much they are."""
    kept = found.persist()
    try:
        yield kept
    finally:
        # After ^C the line to Java may be broken; that is not what is to be told.
        with suppress(Exception):
            kept.unpersist()


def _in_order(found: DataFrame) -> Iterator[FoundRow]:
    """Rows of `FOUND` in the order of a walk, joined."""
    in_order = found.repartitionByRange(_tasks_for(found), *_ORDER)
    joined = in_order.sortWithinPartitions(*_ORDER).mapInArrow(join_found, to_struct(JOINED))
    for row in joined.toLocalIterator(prefetchPartitions=True):
        yield FoundRow.of(row)


def _tasks_for(found: DataFrame) -> int:
    """Tasks that sort what was found: this process gets what one of them has at a time."""
    ((n_bytes,),) = found.selectExpr(f"sum(octet_length(text) + {_ROW_BYTES})").collect()
    return int((n_bytes or 0) // _SORTED_BYTES) + 1


def below_names(jobs: Sequence[FoldJob], names: Sequence[str] | None) -> list[FoldJob]:
    """Directories as they are called below ``/clusters``; as they are where there are no names."""
    if names is None:
        return list(jobs)
    return [replace(job, above=(CLUSTERS, name)) for job, name in zip(jobs, names, strict=True)]


def share_of(job: FoldJob, part: int, *, is_first: bool) -> Share:
    """The share of a part of a directory; see `Share`."""
    return Share(above=job.above, part=part, n_parts=job.n_parts, is_first=is_first)
