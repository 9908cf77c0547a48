"""``find`` as a Spark query: parts are searched in executors, and what they found is sorted by the
names on the way to its first node, which is the order of a walk, and streamed back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.find.parser import parse
from metashell.commands.framework.command_line import Word
from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.fs.path import CLUSTERS
from metashell.spark_backend.find_tasks import (
    FAILED,
    FOUND,
    LACKING,
    FindTask,
    Share,
    find_in_pieces,
)
from metashell.spark_backend.schemas import to_struct
from metashell.spark_backend.tasks import FoldJob

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metashell.spark_backend.fold import Fold, LogPart

_ORDER: Final = ("word", "components", "piece")
_SORTED_BYTES: Final = 16 << 20
"""About how much of what was found is sorted by a task, and sent at a time."""
_ROW_BYTES: Final = 64
"""What a row takes besides its text."""


def join_found(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What is printed, in few pieces; nothing behind the first row that ends the search.

    Args:
        batches: Of `FOUND`, sorted.

    Returns:
        Batches of `JOINED`.
    """
    for batch in batches:
        is_told = pc.less(batch.column("word"), 0)
        told = [
            {"word": row["word"], "name": row["components"][0], "text": row["text"]}
            for row in batch.filter(is_told).to_pylist()
        ]
        batch = batch.filter(pc.invert(is_told))  # noqa: PLW2901
        quits = batch.column("quits").to_pylist()
        end = quits.index(True) + 1 if True in quits else len(quits)
        words = batch.column("word").slice(0, end).unique().to_pylist()
        text = b"".join(batch.column("text").slice(0, end).to_pylist())
        row = {
            "text": text,
            "words": words,
            "quits": end > 0 and bool(quits[end - 1]),
            "told": told,
        }
        yield pa.RecordBatch.from_pylist([row], schema=JOINED)
        if row["quits"]:
            return


_TOLD: Final = pa.struct([("word", pa.int32()), ("name", pa.binary()), ("text", pa.binary())])

JOINED: Final = pa.schema(
    [
        ("text", pa.binary()),
        ("words", pa.list_(pa.field("element", pa.int32()))),
        ("quits", pa.bool_()),
        ("told", pa.list_(pa.field("element", _TOLD))),
    ]
)


@dataclass(frozen=True, slots=True)
class FoundRow:
    """Some of what a search found: a row of `JOINED`."""

    text: str
    words: Sequence[int]
    """Starts that are there."""
    quits: bool
    """Whether the search ends here."""
    told: Sequence[tuple[int, str, str]] = ()
    """`FAILED`, `WARNED` or `LACKING`, what a directory is called, and what is to be said of it."""

    @classmethod
    def of(cls, row: Any) -> FoundRow:
        """Of a row."""
        return cls(
            text=_decoded(row["text"]),
            words=row["words"],
            quits=row["quits"],
            told=[(t["word"], _decoded(t["name"]), _decoded(t["text"])) for t in row["told"]],
        )


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
        for piece in self.pieces():
            for kind, name, text in piece.told:
                if kind == FAILED and self.failed is None:
                    raise SourceError(text)
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
                # What comes behind was not looked at.
                self.matched.update(range(max(piece.words), 1 << 16))
                return


def is_for_parts(args: Sequence[str]) -> bool:
    """Whether parts of a file system can be searched apart: a start that leads up again can begin
    in one and be in all.
    """
    return not any(".." in start.split("/") for start in parse(args).starts)


def search_of(args: Sequence[str], cwd: str, *, escapes: bool) -> FindTask:
    """The words of a ``find``, to be sent."""
    words = tuple(
        (str(arg), arg.pattern, arg.wild) if isinstance(arg, Word) else (str(arg), None, False)
        for arg in args
    )
    return FindTask(words=words, cwd=cwd, escapes=escapes)


def find(fold: Fold, search: FindTask, names: Sequence[str] | None = None) -> SparkSearch:
    """Search the directories of a fold.

    Args:
        fold: The directories.
        search: What for.
        names: What each is called below ``/clusters``; None where there is one directory, which
            is the root.
    """
    settings, named = fold.settings, replace(fold, jobs=below_names(fold.jobs, names))

    def run(job: FoldJob, part: LogPart, pieces: pa.Table) -> pa.Table:
        share = share_of(job, part.directory, part.number)
        return find_in_pieces(job, pieces, share, search, settings)

    def pieces() -> Iterator[FoundRow]:
        # It is sorted once it is known how much it is: the search should not run twice for that.
        found = named.each(run, FOUND).persist()
        try:
            in_order = found.repartitionByRange(_tasks_for(found), *_ORDER)
            joined = in_order.sortWithinPartitions(*_ORDER).mapInArrow(
                join_found, to_struct(JOINED)
            )
            for row in joined.toLocalIterator(prefetchPartitions=True):
                yield FoundRow.of(row)
        finally:
            # After ^C the line to Java may be broken; that is not what is to be told.
            with suppress(Exception):
                found.unpersist()

    return SparkSearch(pieces)


def _tasks_for(found: DataFrame) -> int:
    """Tasks that sort what was found: this process gets what one of them has at a time."""
    ((n_bytes,),) = found.selectExpr(f"sum(octet_length(text) + {_ROW_BYTES})").collect()
    return int((n_bytes or 0) // _SORTED_BYTES) + 1


def below_names(jobs: Sequence[FoldJob], names: Sequence[str] | None) -> list[FoldJob]:
    """Directories as they are called below ``/clusters``; as they are where there are no names."""
    if names is None:
        return list(jobs)
    return [replace(job, above=(CLUSTERS, name)) for job, name in zip(jobs, names, strict=True)]


def share_of(job: FoldJob, number: int, part: int) -> Share:
    """What a part of a directory is a part of, given their numbers."""
    return Share(above=job.above, part=part, n_parts=job.n_parts, is_first=number == 0)
