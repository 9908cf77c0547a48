"""How far a growing directory was delivered, and what is new behind that.

A `Cursor` stands behind a whole, proven batch, and knows the batch: where that one is gone or
another, the log was truncated or replaced. What is cut off at the end of the last segment is left
for later. Everything that keeps the records behind a cursor from being all of them is a `Loss`,
which stops the walk unless losses are let pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.chain import HEAD, HEADER_BYTES, Carry, batches
from metashell.log.fault import Fault
from metashell.log.names import Listing, SegmentName
from metashell.log.read import Loaded, opened
from metashell.log.window import WINDOW_BYTES, windows_of
from metashell.places.files import FileRef
from metashell.places.vanished import VanishedError

NO_LIMIT: Final = 1 << 62

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
        split_bytes: About how far apart the places noted in `cuts` lie.
    """

    def __init__(
        self,
        segments: Segments,
        *,
        fail: bool,
        limit: int = NO_LIMIT,
        until: Mapping[str, int] | None = None,
        split_bytes: int = NO_LIMIT,
    ) -> None:
        self._segments, self._fail = segments, fail
        self._limit, self._until, self._split_bytes = limit, until, split_bytes
        self.taken = 0
        """Bytes of batches that were passed."""
        self.cuts: dict[str, list[tuple[int, int]]] = {}
        """By file, places to cut it at: position and last offset before."""

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
                cursor = Cursor(segment.name, 0, segment.base_offset - 1)
            cursor = self._through(cursor, is_last=i == len(segments) - 1)
            if self.taken >= self._limit:
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
            if self._is_there(cursor):
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

    def _is_there(self, cursor: Cursor) -> bool:
        """Whether the batch that a cursor stands behind is where it was."""
        if cursor.last_pos < 0:
            return True
        head = bytearray(HEADER_BYTES)
        try:
            with opened(self._segments.ref(cursor.file)) as source:
                if source.size < cursor.pos:
                    return False
                if source.read_into(memoryview(head), cursor.last_pos) < HEADER_BYTES:
                    return False
        except VanishedError:
            return False
        base, length, _, _, crc, _, delta = HEAD.unpack_from(head)
        end = cursor.last_pos + 12 + length
        return bool(base + delta == cursor.offset and crc == cursor.crc and end == cursor.pos)

    def _behind(self, cursor: Cursor) -> Cursor:
        """Where to go on in a log that changed: behind the offset, else at the log's end."""
        holding = [s for s in self._segments.segments if s.base_offset <= cursor.offset + 1]
        if not holding:
            return cursor
        name = holding[-1].name
        found = Cursor(name, 0, holding[-1].base_offset - 1)
        for loaded in self._windows(name, 0, -1):
            for begin, end, base, last, crc in _batches(loaded):
                if base > cursor.offset:
                    return found
                found = Cursor(name, end, last, begin, crc)
        return found

    def _through(self, cursor: Cursor, *, is_last: bool) -> Cursor:
        """Pass the batches of a segment from a cursor on."""
        name, cut = cursor.file, cursor.pos
        faults: list[Fault] = []
        try:
            for loaded in self._windows(name, cursor.pos, cursor.offset):
                faults.extend(loaded.faults)
                for begin, end, _, last, crc in _batches(loaded):
                    if self._until is not None and end > self._until.get(name, 0):
                        return cursor
                    if self.taken >= self._limit:
                        return cursor
                    if faults and (faults[0].pos or 0) <= begin:
                        self._damaged(faults, begin)
                    if begin - cut >= self._split_bytes:
                        self.cuts.setdefault(name, []).append((begin, cursor.offset))
                        cut = begin
                    self.taken += end - begin
                    cursor = Cursor(name, end, last, begin, crc)
        except VanishedError:
            # Deleted between being listed and being opened: the next look tells what that means.
            return cursor
        if not is_last and self._until is None and faults:
            self._damaged(faults, NO_LIMIT)
        return cursor

    def _damaged(self, faults: list[Fault], before: int) -> None:
        """What a segment lacks in front of a batch that counts is lost."""
        while faults and (faults[0].pos or 0) <= before:
            self._lost(str(faults.pop(0)))

    def _windows(self, name: str, begin: int, after: int) -> Any:
        size = min(WINDOW_BYTES, max(self._limit - self.taken, 1 << 20))
        with opened(self._segments.ref(name)) as source:
            yield from windows_of(source, name, Carry(source.size, after, begin), size)


def _batches(loaded: Loaded) -> Any:
    """Of each batch of a window: begin and end in the file, first and last offset, CRC."""
    (file,) = loaded.files
    view = memoryview(loaded.buffer)
    for begin, end, base, last, _ in batches(view, file.chain.positions):
        crc = HEAD.unpack_from(view, begin)[4]
        yield begin - file.start, end - file.start, base, last, crc


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
