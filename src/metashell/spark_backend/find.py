"""``find`` as a Spark query: parts are searched in executors, and what they found is sorted by the
components of its paths, which is the order of a walk, and streamed back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from metashell.commands.find_parser import parse
from metashell.commands.words import Word
from metashell.errors import SourceError
from metashell.spark_backend.find_tasks import (
    FAILED,
    FOUND,
    JOINED,
    Search,
    Share,
    find_in_pieces,
    join_found,
)
from metashell.spark_backend.schemas import to_struct
from metashell.spark_backend.tasks import Job

if TYPE_CHECKING:
    from metashell.spark_backend.fold import Fold


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of what a search found: a row of `JOINED`."""

    text: str
    words: Sequence[int]
    """Starts that are there."""
    quits: bool
    """Whether the search ends here."""
    told: Sequence[tuple[int, str, str]] = ()
    """`FAILED` or `WARNED`, what a directory is called, and what is to be said of it."""

    @classmethod
    def of(cls, row: Any) -> Piece:
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
class Finding:
    """A search: iterate over it for the text to print; then `matched` are the starts there are.

    Raises:
        SourceError: While iterating: the directory can't be read, and nobody wants to be told.
    """

    pieces: Callable[[], Iterator[Piece]]
    failed: Callable[[str, str], None] | None = None
    """Told the name of each directory that can't be read, and why."""
    warned: Callable[[str, str], None] | None = None
    """Told what a user should know of a directory."""
    matched: set[int] = field(default_factory=set)

    def __iter__(self) -> Iterator[str]:
        for piece in self.pieces():
            for kind, name, text in piece.told:
                if kind == FAILED and self.failed is None:
                    raise SourceError(text)
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


def search_of(args: Sequence[str], cwd: str, *, escapes: bool) -> Search:
    """The words of a ``find``, to be sent."""
    words = tuple(
        (str(arg), arg.pattern, arg.wild) if isinstance(arg, Word) else (str(arg), None, False)
        for arg in args
    )
    return Search(words=words, cwd=cwd, escapes=escapes)


def find(fold: Fold, search: Search, names: Sequence[str] | None = None) -> Finding:
    """Search the directories of a fold.

    Args:
        fold: The directories.
        search: What for.
        names: What each is called below ``/clusters``; None where there is one directory, which
            is the root.
    """
    jobs, settings, shares = fold.jobs, fold.settings, shares_of(fold.jobs, names)

    def run(key: Any, pieces: pa.Table) -> pa.Table:
        number, part = (value.as_py() for value in key)
        return find_in_pieces(jobs[number], pieces, shares(number, part), search, settings)

    def pieces() -> Iterator[Piece]:
        found = fold.spread(fold.pieces(), "directory", "part").applyInArrow(run, to_struct(FOUND))
        # Sorting samples first: the search should not run twice for it.
        found = found.persist()
        try:
            joined = found.orderBy("word", "components").mapInArrow(join_found, to_struct(JOINED))
            for row in joined.toLocalIterator(prefetchPartitions=True):
                yield Piece.of(row)
        finally:
            # After ^C the line to Java may be broken; that is not what is to be told.
            with suppress(Exception):
                found.unpersist()

    return Finding(pieces)


def shares_of(jobs: Sequence[Job], names: Sequence[str] | None) -> Callable[[int, int], Share]:
    """What a part of a job is a part of."""
    n_parts = [job.n_parts for job in jobs]

    def share(number: int, part: int) -> Share:
        return Share(
            above=() if names is None else ("clusters", names[number]),
            part=part,
            n_parts=n_parts[number],
            is_first=number == 0,
        )

    return share
