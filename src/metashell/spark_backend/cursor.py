"""How far a growing log was delivered, and what is new behind that.

A `Cursor` stands behind a whole, proven batch, and knows the batch: where that one is gone or
another, the log was truncated or replaced. What is cut off at the end of the last segment is left
for later. Everything that keeps the records behind a cursor from being all of them is a `Loss`,
which stops the walk unless losses are let pass.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.chain import METADATA, Carry, Chain, LogKind
from metashell.log.fault import Fault
from metashell.log.header_fields import HEADER
from metashell.log.layout import HEADER_BYTES
from metashell.log.names import Listing, SegmentName
from metashell.log.read import Loaded, LogFile, opened
from metashell.log.window import WINDOW_BYTES, windows_of
from metashell.places.files import FileRef
from metashell.places.vanished import VanishedError
from metashell.schema.arena import I64, SLACK, AnyArray, Arena

NO_LIMIT: Final = 1 << 62
_NEWEST: Final = 2
"""The format of batches; messages of those before it have no header of their own."""

_HINT: Final = "option failOnDataLoss=false goes on behind it"


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a directory's log, behind the last batch that was delivered."""

    file: str
    """The segment."""
    pos: int
    """Where the next batch begins in it, or will."""
    offset: int
    """The last offset before."""
    last_pos: int = -1
    """Position of the batch that ends at `pos`; -1 at the beginning of a segment."""
    crc: int = -1
    """Its CRC."""
    epoch: int = -1
    """Its leader epoch; -1 where it has none."""
    begun: tuple[str, int, int] | None = None
    """File, position and last offset before, where what was passed last did not begin at the cursor
    before: in a new directory, and behind a loss."""

    def to_json(self) -> dict[str, Any]:
        """For Spark's checkpoint."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Cursor:
        """As `to_json` wrote it."""
        begun = value.get("begun")
        return cls(**{**value, "begun": None if begun is None else tuple(begun)})

    @property
    def place(self) -> tuple[str, int, int]:
        """File, position, and last offset before."""
        return self.file, self.pos, self.offset


@dataclass(slots=True)
class WalkedBatches:
    """The sound batches of a window, in order; every array has an element for each."""

    begin: I64
    """int64: where it begins in the file."""
    end: I64
    """int64: where it ends."""
    last_offset: I64
    """int64."""
    crc: AnyArray
    epoch: AnyArray
    """-1 for a message of an older format."""

    @classmethod
    def of(cls, loaded: Loaded) -> WalkedBatches:
        """Those of a window with one file."""
        (file,) = loaded.files
        at = np.frombuffer(file.chain.positions, dtype=np.int64)
        arena = Arena(loaded.buffer, loaded.size)
        header = arena.gather(f"V{HEADER.itemsize}", at).view(HEADER)
        is_old = header["magic"] < _NEWEST
        # What follows on its magic is another thing there, and its CRC lies where the epoch does.
        last = header["base_offset"] + np.where(is_old, 0, header["last_delta"]).astype(np.int64)
        crc = np.where(is_old, header["epoch"].astype(np.uint32), header["crc"])
        epoch = np.where(is_old, -1, header["epoch"])
        begin = at - file.start
        return cls(begin, begin + 12 + header["length"], last, crc, epoch)

    def __len__(self) -> int:
        return len(self.begin)

    def cursor(self, file: str, i: int) -> Cursor:
        """Behind one of them."""
        return Cursor(
            file,
            int(self.end[i]),
            int(self.last_offset[i]),
            int(self.begin[i]),
            int(self.crc[i]),
            int(self.epoch[i]),
        )


@dataclass(frozen=True, slots=True)
class Range:
    """Batches of a segment that are read together: those that begin in ``begin`` to ``end``."""

    file: str
    begin: int
    end: int
    after: int
    """The last offset before them."""


class Segments:
    """The segments of a directory, as they were listed.

    Args:
        shown: What the directory is called in messages.
        listing: Its files.
        ref: Gives what a file is opened by.
    """

    def __init__(self, shown: str, listing: Listing, ref: Callable[[str], FileRef]) -> None:
        self.shown, self.segments, self.ref = shown, listing.segments, ref

    def index(self, name: str) -> int | None:
        """Which of the segments a file is."""
        for i, segment in enumerate(self.segments):
            if segment.name == name:
                return i
        return None

    def size(self, name: str) -> int:
        """Bytes of a file; 0 where it is gone."""
        try:
            with opened(self.ref(name)) as source:
                return source.size
        except VanishedError:
            return 0


class Walk:
    """Goes from a cursor to what is new.

    Args:
        segments: The directory.
        fail: Whether a loss is an error.
        limit: About how many bytes to go, at least one batch.
        until: By segment how many of its bytes count; segments that are not there do not. None for
            all.
        last_offset: The last offset that counts.
        split_bytes: About how far apart the places noted in `cuts` lie.
    """

    kind: LogKind = METADATA
    """Of which log."""

    def __init__(
        self,
        segments: Segments,
        *,
        fail: bool,
        limit: int = NO_LIMIT,
        until: Mapping[str, int] | None = None,
        last_offset: int = NO_LIMIT,
        split_bytes: int = NO_LIMIT,
    ) -> None:
        self._segments, self._fail = segments, fail
        self._limit, self._until, self._split_bytes = limit, until, split_bytes
        self._last_offset = last_offset
        self._is_ended = False
        self.taken = 0
        """Bytes of batches that were passed."""
        self.cuts: list[Cursor] = []
        """Places to cut at, behind a batch each."""

    def run(self, cursor: Cursor | None) -> Cursor | None:
        """The cursor behind what is new; None while there is no segment at all.

        Raises:
            SourceError: Records were lost, and losses are errors; or a file can't be read.
        """
        before = cursor
        if cursor is None:
            names = [s for s in self._segments.segments if self._counts(s.name)]
            if not names:
                return None
            cursor = Cursor(names[0].name, 0, names[0].base_offset - 1)
        else:
            cursor = self._checked(cursor)
        begun = None if before is not None and cursor.place == before.place else cursor.place
        end = self._onwards(cursor)
        if before is not None and end.place == before.place:
            return before
        return replace(end, begun=begun)

    def _counts(self, name: str) -> bool:
        return self._until is None or name in self._until

    def _onwards(self, cursor: Cursor) -> Cursor:
        at = self._segments.index(cursor.file)
        if at is None:
            return cursor
        segments = self._segments.segments[at:]
        for i, segment in enumerate(segments):
            if not self._counts(segment.name):
                break
            if i:
                self._across(cursor, segment)
                cursor = Cursor(segment.name, 0, segment.base_offset - 1, epoch=cursor.epoch)
            cursor = self._through(cursor, is_last=i == len(segments) - 1)
            if self._is_ended or self.taken >= self._limit:
                break
        return cursor

    def _lost(self, what: str) -> None:
        if self._fail:
            raise SourceError(f"{self._segments.shown}: {what}; {_HINT}")

    def _across(self, cursor: Cursor, following: SegmentName) -> None:
        if following.base_offset > cursor.offset + 1:
            missing = f"offsets {cursor.offset + 1} to {following.base_offset - 1}"
            self._lost(f"{missing} are missing between {cursor.file} and {following.name}")

    def _checked(self, cursor: Cursor) -> Cursor:
        """The cursor, if its batch is still there; else where to go on."""
        segments = self._segments.segments
        if self._segments.index(cursor.file) is not None:
            if self.is_there(cursor):
                return cursor
            self._lost(
                f"{cursor.file} is not what it was: the batch that ended at position {cursor.pos},"
                f" offset {cursor.offset}, is gone, so the log was truncated or replaced"
            )
            return self._behind(cursor)
        later = [s for s in segments if s.base_offset > cursor.offset]
        if later and later[0] is segments[0]:
            first = later[0]
            if first.base_offset > cursor.offset + 1:
                self._lost(
                    f"offsets {cursor.offset + 1} to {first.base_offset - 1} were deleted before"
                    " they were read"
                )
            return Cursor(first.name, 0, first.base_offset - 1)
        if not segments:
            self._lost(f"{cursor.file} is gone, and there is no other segment")
            return cursor
        self._lost(f"{cursor.file} is gone, which held offset {cursor.offset}")
        return self._behind(cursor)

    def is_there(self, cursor: Cursor) -> bool:
        """Whether the batch that a cursor stands behind is where it was."""
        if cursor.last_pos < 0:
            return True
        size = cursor.pos - cursor.last_pos
        head = bytearray(HEADER_BYTES + SLACK)
        try:
            with opened(self._segments.ref(cursor.file)) as source:
                if source.size < cursor.pos:
                    return False
                view = memoryview(head)[: min(HEADER_BYTES, size)]
                if source.read_into(view, cursor.last_pos) < len(view):
                    return False
        except VanishedError:
            return False
        start = -cursor.last_pos
        file = LogFile(cursor.file, start, len(view), Chain(array("q", [0])))
        found = WalkedBatches.of(Loaded(bytes(head), HEADER_BYTES, [file])).cursor(cursor.file, 0)
        # The CRC does not cover the epoch.
        return replace(found, begun=cursor.begun) == cursor

    def _behind(self, cursor: Cursor) -> Cursor:
        """Where to go on in a log that changed: behind the offset, else at the log's end."""
        holding = [s for s in self._segments.segments if s.base_offset <= cursor.offset + 1]
        return self._behind_in(holding[-1], cursor)[0] if holding else cursor

    def _behind_in(self, segment: SegmentName, cursor: Cursor) -> tuple[Cursor, bool]:
        """Behind the last batch of a segment up to an offset, and whether another follows there."""
        found = Cursor(segment.name, 0, segment.base_offset - 1, epoch=cursor.epoch)
        for loaded in self._windows(segment.name, 0, -1):
            batches = WalkedBatches.of(loaded)
            n = int(np.searchsorted(batches.last_offset, cursor.offset, side="right"))
            if n:
                found = batches.cursor(segment.name, n - 1)
            if n < len(batches):
                return found, True
        return found, False

    def _through(self, cursor: Cursor, *, is_last: bool) -> Cursor:
        """Pass the batches of a segment from a cursor on."""
        name, cut = cursor.file, cursor.pos
        faults: list[Fault] = []
        try:
            for loaded in self._windows(name, cursor.pos, cursor.offset):
                faults.extend(loaded.faults)
                batches = WalkedBatches.of(loaded)
                n = self._n_that_count(name, batches)
                if n:
                    self._damaged(faults, int(batches.begin[n - 1]))
                    cut = self._cut(cursor, batches, n, cut)
                    self.taken += int((batches.end - batches.begin)[:n].sum())
                    cursor = batches.cursor(name, n - 1)
                if n < len(batches):
                    self._is_ended = True
                    return cursor
        except VanishedError:
            # Deleted between being listed and being opened: the next look tells what that means.
            self._is_ended = True
            return cursor
        if not is_last and self._until is None and faults:
            self._damaged(faults, NO_LIMIT)
        return cursor

    def _n_that_count(self, name: str, batches: WalkedBatches) -> int:
        """How many batches of a window count: of a limit's bytes it is the first that passes it."""
        n = int(np.searchsorted(batches.last_offset, self._last_offset, side="right"))
        if self._until is not None:
            n = min(n, int(np.searchsorted(batches.end, self._until.get(name, 0), side="right")))
        sizes = batches.end - batches.begin
        passed = int(np.searchsorted(np.cumsum(sizes), self._limit - self.taken)) + 1
        return min(n, passed if self.taken < self._limit else 0)

    def _cut(self, before: Cursor, batches: WalkedBatches, n: int, cut: int) -> int:
        """Note where to cut among the first batches of a window; returns the last such place.

        Args:
            before: Behind the batches before.
            batches: Those of the window.
            n: How many count.
            cut: The last such place before.
        """
        at = -1
        while True:
            at = max(int(np.searchsorted(batches.begin[:n], cut + self._split_bytes)), at + 1)
            if at >= n:
                return cut
            self.cuts.append(batches.cursor(before.file, at - 1) if at else before)
            cut = int(batches.begin[at])

    def _damaged(self, faults: list[Fault], before: int) -> None:
        """What a segment lacks in front of a batch that counts is lost."""
        while faults and (faults[0].pos or 0) <= before:
            self._lost(str(faults.pop(0)))

    def _windows(self, name: str, begin: int, after: int) -> Any:
        size = min(WINDOW_BYTES, max(self._limit - self.taken, 1 << 20))
        with opened(self._segments.ref(name)) as source:
            carry = Carry(source.size, after, begin)
            yield from windows_of(source, name, carry, size, self.kind)


def ranges_between(
    segments: Segments, start: Cursor | None, end: Cursor, *, fail: bool
) -> list[Range]:
    """What lies between two cursors of a directory, the first None where there was none yet.

    Raises:
        SourceError: Some of it is gone, and losses are errors.
    """
    assert start is not None or end.begun is not None
    file, pos, after = end.begun or start.place  # type: ignore[union-attr]
    names = [s.name for s in segments.segments if file <= s.name <= end.file]
    gone = [name for name in {file, end.file} - set(names) if name != file or _lost(names, after)]
    if gone and fail and (file, pos) != (end.file, end.pos):
        # It was planned by a run of the query that did not finish it.
        raise SourceError(f"{segments.shown}: {min(gone)} was deleted before it was read; {_HINT}")
    found: list[Range] = []
    for name in names:
        begin = pos if name == file else 0
        stop = end.pos if name == end.file else segments.size(name)
        if stop > begin:
            before = after if name == file else base_of(name) - 1
            found.append(Range(name, begin, stop, before))
    return found


def _lost(names: list[str], after: int) -> bool:
    """Whether records are missing between an offset and the segments that are left."""
    return not names or base_of(names[0]) > after + 1


def base_of(name: str) -> int:
    """The base offset in a segment's name."""
    return int(name.partition(".")[0])
