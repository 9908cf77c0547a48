"""The jobs of the records view: they search a log, find records, and export them. No widget."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from metashell.commands.log.output import TABLES
from metashell.commands.rows.columns import Column
from metashell.commands.rows.stream import table_of_values
from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.records.filter import Selection
from metashell.records.window import Filter, LogPiece, LogReader, PieceMatches, RecordLine
from metashell.schema.arena import I64
from metashell.tui.records.detail import RecordDetail
from metashell.tui.records.filters import Chip, context_of, filter_of
from metashell.tui.text import error_message

if TYPE_CHECKING:
    from metashell.sources.source import Source
    from metashell.tui.jobs import Job

_TELL_S: Final = 0.25
_TELL_LATER_S: Final = 1.0
"""How often what was found is handed on; the longer it takes, the more seldom."""
_MOST_EXPORTED: Final = 100_000
_MOST_AT_ONCE: Final = 4
"""Pieces of news that are looked through before they are shown."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A log that can be looked at."""

    reader: LogReader
    wanted: Filter
    found: tuple[PieceMatches, ...]
    """The matches in the new part of the log."""


def open_log(job: Job, source: Source, earlier: LogReader | None, chips: Sequence[Chip]) -> Opened:
    """Open the files of a log; if the log only grew, search the new part at once.

    Args:
        job: The job that this runs in.
        source: The end of the log.
        earlier: The reader of the same log before.
        chips: The filters of the records.
    """
    context = context_of(source)
    exact = context.needs_source()
    reader = LogReader(exact.log, exact.registry, exact.redaction, earlier)
    wanted = filter_of(context, chips)
    if earlier is None:
        return Opened(reader, wanted, ())
    known = frozenset(earlier.pieces)
    new = [piece for piece in reader.pieces if piece not in known and not piece.is_open]
    if len(new) > _MOST_AT_ONCE:
        return Opened(reader, wanted, ())
    names = reader.topic_names(wanted.selection, job.cancelled)
    found = [one for piece in new for one in reader.search(piece, wanted, names, job.cancelled)]
    return Opened(reader, wanted, tuple(found))


def look_through(
    job: Job,
    reader: LogReader,
    wanted: Filter,
    pieces: Sequence[LogPiece],
    near: Callable[[], int],
    tell: Callable[[list[PieceMatches]], object],
) -> None:
    """Search pieces of a log; the pieces nearest to the shown offset come first.

    Args:
        job: The job that this runs in.
        reader: The reader of the log.
        wanted: The filter of the records.
        pieces: The pieces to search.
        near: Gives the offset that the user looks at.
        tell: Called with the matches, in the thread that draws.
    """
    names = reader.topic_names(wanted.selection, job.cancelled)
    todo, found, told = list(pieces), list[PieceMatches](), 0.0
    began = time.monotonic()
    n_bytes, done = sum(piece.size for piece in todo), 0
    while todo and not job.cancelled():
        piece = take_nearest(todo, near())
        for one in reader.search(piece, wanted, names, job.cancelled):
            found.append(one)
            now = time.monotonic()
            if now - told >= min(max((now - began) / 2, _TELL_S), _TELL_LATER_S):
                job.tell(tell, found)
                found, told = [], now
        done += piece.size
        job.progress = (done, n_bytes)
    if found:
        job.tell(tell, found)


def take_nearest(pieces: list[LogPiece], offset: int) -> LogPiece:
    """Take out the piece that an offset is in, or the one nearest to it.

    Args:
        pieces: One at least, in offset order.
        offset: The offset that the user looks at.
    """
    behind = bisect_right(pieces, offset, key=lambda piece: piece.first_offset)
    before = max(behind - 1, 0)
    to_the_left = offset - pieces[before].last_offset
    if behind < len(pieces) and pieces[behind].first_offset - offset < to_the_left:
        return pieces.pop(behind)
    return pieces.pop(before)


def lines_of(job: Job, reader: LogReader, rows: Sequence[tuple[LogPiece, I64]]) -> list[RecordLine]:
    """A line for each record; those that can't be read any more say so."""
    found: list[RecordLine] = []
    for piece, offsets in rows:
        if job.cancelled():
            break
        try:
            lines, why = reader.lines(piece, offsets), "it is gone"
        except SourceError as error:
            lines, why = [], error_message(error)
        gone = set(offsets.tolist()).difference(line.offset for line in lines)
        found += lines
        found += [RecordLine(offset, "", "", "GONE", why, True) for offset in sorted(gone)]
    return found


def find_next(
    job: Job,
    reader: LogReader,
    wanted: Filter,
    pieces: Sequence[LogPiece],
    like: RecordDetail,
    by: int,
    limit: int | None,
) -> int | None:
    """Offset of the next record (by 1) or the previous one (by -1) like another.

    Like it is one of the same topic, or where it is about none one of the same type.
    """
    selection, last = _like(wanted.selection, like), wanted.selection.last_offset
    low, high = like.offset + 1, last if limit is None else limit
    if by < 0:
        low, high = 0, like.offset - 1
    selection = replace(
        selection,
        first_offset=max(selection.first_offset, low),
        last_offset=min(last, high),
    )
    narrowed = replace(wanted, selection=selection)
    names = reader.topic_names(selection, job.cancelled)
    for piece in pieces[::by]:
        if job.cancelled():
            break
        if narrowed.may_match(piece):
            found = reader.search(piece, narrowed, names, job.cancelled)
            offsets = (each.offsets for each in found if len(each.offsets))
            for one in offsets if by > 0 else reversed([*offsets]):
                return int(one[0 if by > 0 else -1])
    return None


def _like(selection: Selection, like: RecordDetail) -> Selection:
    if like.topic is not None:
        return replace(selection, topic=like.topic.__eq__)
    return replace(selection, keys=frozenset({like.api_key}))


def around(n_rows: int, cursor: int, most: int = _MOST_EXPORTED) -> tuple[int, int]:
    """(first row, row behind the last) of at most so many rows around one."""
    first = min(max(cursor - most // 2, 0), max(n_rows - most, 0))
    return first, min(first + most, n_rows)


def rows_table(job: Job, reader: LogReader, rows: Sequence[tuple[LogPiece, I64]]) -> pa.Table:
    """Records as the rows that ``log -o`` writes."""
    fields: Sequence[Column] = TABLES[0].columns
    columns: list[list[Any]] = [[] for _ in fields]
    names = [field.name for field in fields]
    for piece, offsets in rows:
        if job.cancelled():
            break
        for column, values in zip(
            columns, zip(*reader.values(piece, offsets, names), strict=True), strict=False
        ):
            column.extend(values)
    return table_of_values(fields, dict(zip(names, columns, strict=True)))
