"""Any records of a log of any length: what lies where, which match a filter, and how they read.

The log's segments are cut into pieces of about a megabyte, each of which is read and looked at by
itself: who wants the records in the middle reads nothing of what is before them. Pieces of files
that are in memory are known at once; a segment that nobody has read is one piece until it is
looked through.

Which records have a line that a regular expression matches: for ``log --grep`` and whoever
else searches records by what they say.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import pairwise
from threading import RLock
from typing import Any, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.chain import batches
from metashell.log.directory import MetadataLog
from metashell.log.read import Loaded, LogFile, windows
from metashell.places.place import FileRef
from metashell.places.vanished import VanishedError
from metashell.records.filter import (
    MAX_OFFSET,
    Selection,
    TopicNames,
    in_memory,
    of_batches,
    select_batches,
    select_rows,
)
from metashell.records.lines import json_lines, readable_lines
from metashell.records.records import Records
from metashell.records.rows import RecordRows
from metashell.records.stream import records_with_names
from metashell.records.written_lines import WrittenLines, bounds, whole
from metashell.redact import Redaction
from metashell.schema.arena import I64
from metashell.schema.model import Registry

GREP_CHARS: Final = 65_536
"""Characters of a line that are looked at."""
_WITHIN_A_LINE: Final = re.compile(
    r"(?: [^\\^$(+\x00-\x1f] | \\[^\w\s] | \\[dwSb] | \((?!\?) | (?<![*+?}])\+ )*", re.VERBOSE
)
"""Patterns that match no newline, and match in a line whatever stands around it: without anchors,
assertions, complements, and repetitions that give nothing back."""


def matching_rows(
    lines_of: Callable[[I64], Sequence[str]], rows: I64, pattern: re.Pattern[str]
) -> I64:
    """The rows whose line matches.

    Args:
        lines_of: Makes the lines of rows.
        rows: int64, ascending.
        pattern: The pattern to look for, in the first `GREP_CHARS` characters of a line.
    """
    if not len(rows):
        return rows
    return rows[np.fromiter(matching(lines_of(rows), pattern), dtype=np.int64)]


def matching(lines: Sequence[str], pattern: re.Pattern[str]) -> Iterator[int]:
    """Which lines match, ascending; none of them has a newline."""
    if lines and pattern.flags == re.UNICODE and _WITHIN_A_LINE.fullmatch(pattern.pattern):
        return _among(lines, pattern)
    search = pattern.search
    return (i for i, line in enumerate(lines) if search(line, 0, GREP_CHARS))


def _among(lines: Sequence[str], pattern: re.Pattern[str]) -> Iterator[int]:
    """Which lines match, looked for in many of them at once; they are one at least.

    A search keeps other threads waiting, so it takes no more than the longest line would.
    """
    in_lines, data = _searched(lines, pattern)
    begins, first = bounds(lines), 0
    while first < len(lines):
        behind = max(bisect_right(begins, begins[first] + GREP_CHARS) - 1, first + 1)
        at, end = begins[first], min(begins[behind], begins[first] + GREP_CHARS)
        while (found := in_lines.search(data, at, end)) is not None and found.start() < end:
            i = bisect_right(begins, found.start()) - 1
            yield i
            at = begins[i + 1]
        first = behind


def _searched(lines: Sequence[str], pattern: re.Pattern[str]) -> tuple[re.Pattern[Any], Any]:
    """The text to search, as bytes or as characters, and the pattern for it."""
    text = pattern.pattern
    if isinstance(lines, WrittenLines) and lines.is_ascii and text.isascii():
        # Bytes that are there take no copy. In ASCII they match as characters do: of those that
        # differ, control characters, a line has none.
        return re.compile(text.encode()), lines.raw
    return pattern, whole(lines)


PIECE_BYTES: Final = 1 << 20
_MOST_PIECES: Final = 10_000
"""News make small pieces; from so many on the log is cut anew."""
_KEPT: Final = 4
"""Pieces whose records are kept."""
_NO_OFFSETS: Final[I64] = np.empty(0, dtype=np.int64)

Cancelled = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class LogPiece:
    """Batches of one file that lie side by side."""

    name: str
    """The file's."""
    begin: int
    """Position of the first one in the file."""
    size: int
    """Bytes; 0 for up to the file's end."""
    first_offset: int
    last_offset: int
    """The last offset; in a piece of unknown size, the last that may be in it."""
    after: int
    """The last offset before it."""
    mark: int = 0
    """CRC of the last batch: tells it from one of another log at the same place."""

    @property
    def is_open(self) -> bool:
        """Whether it ends with its file, wherever that is."""
        return self.size == 0


@dataclass(frozen=True, slots=True)
class Filter:
    """Which records are wanted."""

    selection: Selection = field(default_factory=Selection)
    grep: re.Pattern[str] | None = None
    hide: int | None = None
    """Api key of records that are left out and counted; None for none."""

    def may_match(self, piece: LogPiece) -> bool:
        """Whether a piece may hold something wanted, by its offsets."""
        return (
            piece.first_offset <= self.selection.last_offset
            and piece.last_offset >= self.selection.first_offset
        )


@dataclass(frozen=True, slots=True)
class PieceMatches:
    """The matches of a piece."""

    piece: LogPiece
    rest: LogPiece | None
    """The unsearched rest of an open piece."""
    offsets: I64
    """int64: ascending."""
    hidden: I64
    """int64: those of records that are left out and counted, ascending."""
    n_faults: int
    """Batches and stretches of bytes in it that can't be read."""
    batches: I64
    """int64: the base offset of each one's batch."""


@dataclass(frozen=True, slots=True)
class RecordLine:
    """A record in one line."""

    offset: int
    time: str
    epoch: str
    type: str
    summary: str
    is_bad: bool
    """Whether it can't be decoded."""


def plan(
    log: MetadataLog, earlier: Sequence[LogPiece] = (), piece_bytes: int = PIECE_BYTES
) -> list[LogPiece]:
    """The pieces of a log, in offset order; of a file by itself those of the file.

    Args:
        log: The files.
        earlier: The pieces of the same log before, which are cut out again where they are there.
        piece_bytes: About so large.
    """
    borders: dict[str, list[int]] = {}
    for piece in earlier if len(earlier) < _MOST_PIECES else ():
        borders.setdefault(piece.name, []).extend((piece.begin, piece.begin + piece.size))
    loaded = {f.name: f for f in log.loaded.files if log.is_file or not f.is_checkpoint}
    if log.is_file:
        (file,) = log.loaded.files
        return list(_cut(log.loaded, file, -1, piece_bytes, borders.get(file.name, ())))
    pieces: list[LogPiece] = []
    segments, after = log.listing.segments, -1
    for i, segment in enumerate(segments):
        known = loaded.get(segment.name)
        if known is not None:
            pieces += _cut(log.loaded, known, after, piece_bytes, borders.get(known.name, ()))
        else:
            end = segments[i + 1].base_offset if i + 1 < len(segments) else MAX_OFFSET
            if end > segment.base_offset:
                pieces.append(LogPiece(segment.name, 0, 0, segment.base_offset, end - 1, after))
        after = max(after, pieces[-1].last_offset) if pieces else after
    return pieces


def _cut(
    loaded: Loaded, file: LogFile, after: int, piece_bytes: int, borders: Sequence[int] = ()
) -> Iterator[LogPiece]:
    """The pieces of a file in memory; their borders stay where they are while it grows."""
    positions = file.chain.positions
    pos = np.frombuffer(positions, dtype=np.int64)
    steps = np.arange(file.start, file.start + file.size, piece_bytes)
    steps = np.union1d(steps, np.array(borders, dtype=np.int64) + file.start)
    cuts = np.unique(np.searchsorted(pos, steps)).tolist()
    for first, behind in pairwise([*cuts, len(pos)]):
        if first >= behind:
            continue
        ends = [positions[first], positions[behind - 1]]
        head, tail = batches(loaded.buffer, ends)
        size = tail[1] - head[0]
        mark = int.from_bytes(loaded.buffer[tail[0] + 17 : tail[0] + 21], "big")
        yield LogPiece(file.name, head[0] - file.start, size, head[2], tail[3], after, mark)
        after = tail[3]


class LogReader:
    """Reads the pieces of one log; may be asked by several threads.

    Args:
        log: The files.
        registry: Message definitions.
        redaction: Says what may be shown.
        earlier: A reader of the same log when it was shorter, whose names of topics are used.
    """

    def __init__(
        self,
        log: MetadataLog,
        registry: Registry,
        redaction: Redaction,
        earlier: LogReader | None = None,
    ) -> None:
        self.log, self.registry, self.redaction = log, registry, redaction
        self.pieces: list[LogPiece] = plan(log, () if earlier is None else earlier.pieces)
        """The pieces of the plan; open ones are cut where they are searched."""
        elsewhere = records_with_names(log, registry, segments_too=True)
        self.names = TopicNames(iter(()) if log.is_file else elsewhere)
        self._learnt: frozenset[LogPiece] = frozenset()
        """Pieces whose topics are known, once all are."""
        if earlier is not None:
            self.names.names.update(earlier.names.names)
            names = {piece.name for piece in self.pieces}
            if any(piece.name in names for piece in earlier.pieces):
                self._learnt = earlier._learnt
            # Else it goes on behind a checkpoint, which knows the topics made in the gap.
        self._writer = readable_lines(redaction, self.names)
        self._json = json_lines(redaction, self.names)
        self._lock = RLock()
        self._kept: dict[LogPiece, Records] = {}

    # Reading.

    def records(self, piece: LogPiece) -> Records:
        """The records of a piece that is not open.

        Raises:
            SourceError: It can't be read, or is not there any more.
        """
        with self._lock:
            kept = self._kept.get(piece)
            if kept is not None:
                return kept
        loaded = self._in_memory(piece)
        if loaded is None:
            path = self.log.path_of(piece.name)
            loaded = next(_windows(path, piece, piece.size), None)
        if loaded is None:
            raise SourceError(f"{piece.name}: position {piece.begin} is not there any more")
        records = Records(loaded, self.registry)
        with self._lock:
            while len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[piece] = records
        return records

    def _in_memory(self, piece: LogPiece) -> Loaded | None:
        """A piece of a file that is read already; None where it is not, or is compressed."""
        whole = self.log.loaded
        found = in_memory(whole, piece.name, piece.begin, piece.begin + piece.size)
        return of_batches(whole, *found) if found is not None and len(found[1]) else None

    def _read(self, piece: LogPiece) -> Iterator[tuple[LogPiece, LogPiece | None, Loaded]]:
        """Pieces of a piece, what is left behind each, and their batches."""
        if not piece.is_open:
            yield piece, None, self.records(piece).loaded
            return
        rest = piece
        for loaded in _windows(self.log.path_of(piece.name), piece, PIECE_BYTES):
            (file,) = loaded.files
            cut = list(_cut(loaded, file, rest.after, 1 << 62))
            if cut:
                (done,) = cut
                begin = done.begin + done.size
                rest = replace(
                    rest, begin=begin, first_offset=done.last_offset + 1, after=done.last_offset
                )
                yield done, rest, loaded

    # Searching.

    def search(
        self,
        piece: LogPiece,
        wanted: Filter,
        names: TopicNames,
        cancelled: Cancelled = lambda: False,
    ) -> Iterator[PieceMatches]:
        """The matches of a piece; an open one is told in parts. Ends early where cancelled."""
        rest: LogPiece | None = piece
        try:
            for done, behind, loaded in self._read(piece):
                if cancelled():
                    return
                rest = behind
                yield self._search(done, behind, loaded, wanted, names)
        except SourceError:
            # A node deletes old segments: what is gone, or can't be read, is a fault.
            yield PieceMatches(rest or piece, None, _NO_OFFSETS, _NO_OFFSETS, 1, _NO_OFFSETS)
            return
        if rest is not None:
            yield PieceMatches(rest, None, _NO_OFFSETS, _NO_OFFSETS, 0, _NO_OFFSETS)

    def _search(
        self,
        piece: LogPiece,
        rest: LogPiece | None,
        loaded: Loaded,
        wanted: Filter,
        names: TopicNames,
    ) -> PieceMatches:
        n_faults = len(loaded.files[0].chain.faults)
        loaded = select_batches(loaded, wanted.selection)
        if not loaded.files[0].chain.positions:
            return PieceMatches(piece, rest, _NO_OFFSETS, _NO_OFFSETS, n_faults, _NO_OFFSETS)
        records = Records(loaded, self.registry)
        frames = records.frames
        n_faults += len(records.unframed)
        with self._lock:
            self.names.learn(records)
            if names.matcher is not None:
                names.learn(records)
        rows = select_rows(records, wanted.selection, names)
        hidden = _NO_OFFSETS
        if wanted.hide is not None:
            is_kept = frames.api_key[rows] != wanted.hide
            # A search can't tell which hidden records it would match.
            if wanted.grep is None:
                hidden = frames.offset[rows[~is_kept]].astype(np.int64)
            rows = rows[is_kept]
        if wanted.grep is not None and len(rows):
            with self._lock:
                rows = matching_rows(partial(self._writer.lines, records), rows, wanted.grep)
        offsets = frames.offset[rows].astype(np.int64)
        batches = frames.batches.header["base_offset"][frames.batch[rows]].astype(np.int64)
        if np.array_equal(offsets, batches):
            batches = offsets  # kept once
        return PieceMatches(piece, rest, offsets, hidden, n_faults, batches)

    def topic_names(self, wanted: Selection, cancelled: Cancelled = lambda: False) -> TopicNames:
        """Names of topics for a search; where it is by topic, all that the log knows."""
        if wanted.topic is None:
            return TopicNames()
        self._learn_all(cancelled)
        matcher = wanted.topic
        with self._lock:
            known = dict(self.names.names)
        names = TopicNames(matcher=matcher, names=known)
        names.matching.update(i for i, name in known.items() if matcher(name))
        return names

    def _learn_all(self, cancelled: Cancelled) -> None:
        if not self._learnt and not self.log.is_file:
            for source in records_with_names(self.log, self.registry, segments_too=False):
                self._learn(source, cancelled)
        for piece in self.pieces:
            if piece in self._learnt:
                continue
            try:
                self._learn((Records(part[2], self.registry) for part in self._read(piece)),
                            cancelled)  # fmt: skip
            except SourceError:
                continue
        if not cancelled():
            self._learnt = frozenset(self.pieces)

    def _learn(self, source: Any, cancelled: Cancelled) -> None:
        for records in source:
            if cancelled():
                return
            with self._lock:
                self.names.learn(records)

    # Showing.

    def rows_at(self, records: Records, offsets: I64) -> I64:
        """Rows of the records at these offsets, without those that are not there."""
        there = records.frames.offset
        rows = np.searchsorted(there, offsets)
        rows = rows[rows < len(there)]
        return rows[np.isin(there[rows], offsets)].astype(np.int64)

    def lines(self, piece: LogPiece, offsets: I64) -> list[RecordLine]:
        """The records at these offsets of a piece, a line each."""
        records = self.records(piece)
        rows = self.rows_at(records, offsets)
        if not len(rows):
            return []
        with self._lock:
            bodies = self._writer.bodies(records, rows)
            lines = self._writer.lines(records, rows)
        return [
            RecordLine(int(offset), *_parts(line), body is None)
            for offset, line, body in zip(offsets_of(records, rows), lines, bodies, strict=True)
        ]

    def json_line(self, records: Records, rows: I64) -> str:
        """A record as ``log --json`` writes it."""
        with self._lock:
            return self._json.lines(records, rows)[0]

    def topic_name(self, topic_id: Any) -> dict[bytes, str]:
        """The name of a topic by its id; empty where none is known."""
        with self._lock:
            name = self.names.names.get(topic_id)
        return {} if name is None else {topic_id: name}

    def values(
        self, piece: LogPiece, offsets: I64, columns: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        """The rows of these records: values of columns as `RecordRows` has them."""
        records = self.records(piece)
        rows = self.rows_at(records, offsets)
        with self._lock:
            writer = RecordRows(self.names, self.redaction, columns)
            return writer.rows(records, rows) if len(rows) else []


def _windows(file: FileRef, piece: LogPiece, size: int) -> Iterator[Loaded]:
    """A file from where a piece begins."""
    try:
        yield from windows(file, size, piece.after, piece.begin)
    except VanishedError as e:
        raise SourceError(f"{piece.name} is gone: it was there when the log was listed") from e


def offsets_of(records: Records, rows: I64) -> list[int]:
    """Offsets of rows."""
    found: list[int] = records.frames.offset[rows].tolist()
    return found


def _parts(line: str) -> tuple[str, str, str, str]:
    """Time, epoch, type and the rest of a line."""
    _, time, epoch, kind, *rest = line.split(" ", 4)
    return time, epoch, kind, rest[0] if rest else ""
