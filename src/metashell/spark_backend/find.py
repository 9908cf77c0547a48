"""``find`` of a directory as a Spark query: its parts are searched in executors.

Their findings are streamed back in the order of a walk: sorted by the names on the way to the first
node of each.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from metashell.commands.find.parts import (
    FAILED,
    LACKING,
    WARNED,
    FindTask,
    FoundPiece,
    PartRow,
    PartsSearch,
    Share,
    find_part,
)
from metashell.commands.framework.targets import line_of
from metashell.errors import MetashellError
from metashell.fs.node import Directory, Node
from metashell.fs.path import CLUSTERS
from metashell.sources.reduced import source_of
from metashell.spark_backend.schemas import to_struct
from metashell.spark_backend.tasks import Failure, FoldJob, log_or_whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metashell.read_settings import ReadSettings
    from metashell.spark_backend.fold import Fold, LogPart

FOUND: Final = pa.schema(
    [
        ("word", pa.int32()),
        ("components", pa.list_(pa.field("element", pa.binary()))),
        ("piece", pa.int32()),
        ("text", pa.binary()),
        ("quits", pa.bool_()),
    ]
)
"""A `metashell.commands.find.parts.PartRow` in columns.

A diagnostic has a word such as `FAILED`, and the directory's name as its component."""
JOINED: Final = pa.schema([("found", pa.binary())])
_ORDER: Final = ("word", "components", "piece")
_SORTED_BYTES: Final = 16 << 20
"""About how much of what was found is sorted by a task, and sent at a time."""
_ROW_BYTES: Final = 64
"""The size of a row besides its text."""


def find_in_pieces(
    job: FoldJob, pieces: pa.Table, share: Share, search: FindTask, settings: ReadSettings
) -> pa.Table:
    """Search what the pieces of a part hold; a table of `FOUND`."""
    log, is_whole = log_or_whole(job, pieces)
    if isinstance(log, Failure) or is_whole:
        if share.part:
            return FOUND.empty_table()
        share = replace(share, n_parts=0)
    if isinstance(log, Failure):
        unread = _Unread()
        rows = find_part(unread, share, search)
        return _table_of(share, rows, [(FAILED, log.message)] if unread.was_asked else [])
    source = source_of(log, settings, job.place)
    lines = dict[str, None]()

    def failed(path: str, error: MetashellError) -> None:
        lines[line_of(path, error)] = None

    rows = find_part(source.root, share, search, failed)
    told = [(LACKING, line) for line in lines]
    if not share.part:
        _ = source.reduced  # what is wrong with files is known now
        told += [(WARNED, text) for text in source.warnings]
    return _table_of(share, rows, told)


def _table_of(share: Share, rows: Sequence[PartRow], told: Sequence[tuple[int, str]]) -> pa.Table:
    name = (share.above[-1] if share.above else "",)
    rows = [*rows, *((word, name, 0, text, False) for word, text in told)]
    columns = [
        (word, [*map(_encoded, way)], piece, _encoded(text), quits)
        for word, way, piece, text, quits in rows
    ]
    by_name = zip(*columns, strict=True) if columns else [[]] * len(FOUND)
    arrays = [pa.array(c, type=f.type) for c, f in zip(by_name, FOUND, strict=True)]
    return pa.Table.from_arrays(arrays, schema=FOUND)


class _Unread(Directory):
    """The root of a directory that can't be read."""

    was_asked = False

    def names(self) -> Sequence[str]:
        self.was_asked = True
        return ()

    def child(self, name: str) -> Node | None:
        self.was_asked = True
        return None


def join_found(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The text of each start, in few pieces; nothing behind the first row that ends the search.

    Args:
        batches: Batches of `FOUND`, sorted.

    Returns:
        Batches of `JOINED`.
    """
    for batch in batches:
        for word, rows in groupby(batch.to_pylist(), key=lambda row: int(row["word"])):
            found = _joined(word, list(rows))
            yield pa.RecordBatch.from_pylist([{"found": pickle.dumps(found)}], schema=JOINED)
            if found.quits:
                return


def _joined(word: int, rows: Sequence[dict[str, Any]]) -> FoundPiece:
    """Rows of `FOUND` that have one word."""
    if word < 0:
        return FoundPiece(
            "", told=[(word, _decoded(r["components"][0]), _decoded(r["text"])) for r in rows]
        )
    end = next((i for i, row in enumerate(rows) if row["quits"]), len(rows))
    text = _decoded(b"".join(row["text"] for row in rows[: end + 1]))
    return FoundPiece(text, [word], quits=end < len(rows))


def found_of(row: Any) -> FoundPiece:
    """Read a row of `JOINED`."""
    found: FoundPiece = pickle.loads(row["found"])
    return found


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(data: bytes) -> str:
    return bytes(data).decode("utf-8", "surrogatepass")


def find(
    fold: Fold, search: FindTask, names: Sequence[str] | None = None, *, is_first: bool = True
) -> PartsSearch:
    """Search the directories of a fold.

    Args:
        fold: The directories.
        search: The search.
        names: The name of each below ``/clusters``; None where there is one directory, which is the
            root.
        is_first: Whether the first of them tells of what stands above all.
    """
    settings, named = fold.settings, replace(fold, jobs=below_names(fold.jobs, names))
    first = names[0] if names and is_first else ""

    def run(job: FoldJob, part: LogPart, pieces: pa.Table) -> pa.Table:
        share = share_of(job, part.number, is_first=job.above[1:] in ((), (first,)))
        return find_in_pieces(job, pieces, share, search, settings)

    def pieces() -> Iterator[FoundPiece]:
        # Kept: it is sorted once it is known how much it is.
        kept = named.each(run, FOUND).persist()
        try:
            in_order = kept.repartitionByRange(_tasks_for(kept), *_ORDER)
            joined = in_order.sortWithinPartitions(*_ORDER).mapInArrow(
                join_found, to_struct(JOINED)
            )
            yield from map(found_of, joined.toLocalIterator(prefetchPartitions=True))
        finally:
            # After ^C the line to Java may be broken; that is not what is to be told.
            with suppress(Exception):
                kept.unpersist()

    return PartsSearch(pieces)


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
