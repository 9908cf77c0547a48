"""How far a growing log was delivered, and reading what is new behind that.

A `Cursor` stands behind a whole, proven batch, and knows the batch: where that one is gone or
another, the metadata log was truncated or replaced. Everything that keeps the records behind a
cursor from being all of them is a loss, which stops the walk unless losses are let pass.

Compaction rewrites the segments of a coordinator's partition. Offsets stay, on every replica, so a
place is looked for by its offset where its batch is gone. The leader epoch shows a truncation, as
for a consumer (KIP-320): a newer epoch then begins within the delivered offsets.

While compaction puts a segment in the place of others it is called ``.log.swap``, and those are
gone already. So such a segment is read, too.

Source: org.apache.kafka.storage.internals.log.LocalLog.replaceSegments.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.chain import METADATA, Carry, Chain, LogKind
from metashell.log.fault import Fault
from metashell.log.frames import HEADER
from metashell.log.layout import HEADER_BYTES
from metashell.log.names import SegmentName, list_names
from metashell.log.read import WINDOW_BYTES, Loaded, LogFile, opened, windows_of
from metashell.node_files.epoch_checkpoint import EpochStart
from metashell.places.place import Place, StoreEntry, entries_in, file_in, shown
from metashell.places.vanished import VanishedError
from metashell.schema.arena import I64, SLACK, AnyArray, Arena

NO_LIMIT: Final = 1 << 62
_NEWEST: Final = 2
"""The format of batches; messages of those before it have no header of their own."""
_SWAP: Final = ".swap"
_TRIES: Final = 5
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
        """Read the JSON that `to_json` wrote."""
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
        """The batches of a window with one file."""
        (file,) = loaded.files
        at = np.frombuffer(file.chain.positions, dtype=np.int64)
        arena = Arena(loaded.buffer, loaded.size)
        header = arena.gather(f"V{HEADER.itemsize}", at).view(HEADER)
        is_old = header["magic"] < _NEWEST
        # In older formats other fields follow the magic, and the CRC lies where the epoch does.
        last = header["base_offset"] + np.where(is_old, 0, header["last_delta"]).astype(np.int64)
        crc = np.where(is_old, header["epoch"].astype(np.uint32), header["crc"])
        epoch = np.where(is_old, -1, header["epoch"])
        begin = at - file.start
        return cls(begin, begin + 12 + header["length"], last, crc, epoch)

    def __len__(self) -> int:
        return len(self.begin)

    @property
    def size(self) -> I64:
        """int64: its bytes."""
        return self.end - self.begin

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


@dataclass(slots=True)
class ListedLog:
    """The segments of a directory, as they were listed."""

    place: Place
    segments: Sequence[SegmentName]
    """In order, by the names that their files have now."""
    entries: Sequence[StoreEntry]
    """Their files."""

    @classmethod
    def at(cls, place: Place) -> ListedLog:
        """List a directory.

        Raises:
            SourceError: It can't be listed.
        """
        found = {one.name: one for one in entries_in(place) if not one.is_directory}
        names = {name.removesuffix(_SWAP): name for name in found if name.endswith(_SWAP)}
        names |= {name: name for name in found if not name.endswith(_SWAP)}
        listed = list_names(names).segments
        entries = [found[names[segment.name]] for segment in listed]
        pairs = zip(listed, entries, strict=True)
        return cls(place, [SegmentName(s.base_offset, one.name) for s, one in pairs], entries)

    @property
    def shown(self) -> str:
        """The log's name in messages."""
        return shown(str(self.place))

    @property
    def facts(self) -> object:
        """A value that changes when the log is written to."""
        return str(self.place), [(one.name, one.size, one.mtime_ns) for one in self.entries]

    @property
    def starts(self) -> list[Cursor]:
        """The beginning of each segment."""
        return [Cursor(one.name, 0, one.base_offset - 1) for one in self.segments]

    def ends_at(self, cursor: Cursor) -> bool:
        """Whether nothing was behind a cursor when it was listed."""
        last = self.entries[-1] if self.entries else None
        return last is not None and (last.name, last.size) == (cursor.file, cursor.pos)

    def index(self, name: str) -> int | None:
        """Which of the segments a file is."""
        return next((i for i, one in enumerate(self.segments) if one.name == name), None)

    def holding(self, offset: int) -> int | None:
        """The last segment that begins no later than behind an offset; None where none does."""
        found = [i for i, one in enumerate(self.segments) if one.base_offset <= offset + 1]
        return found[-1] if found else None

    def windows(
        self, name: str, begin: int, after: int, kind: LogKind, size: int = WINDOW_BYTES
    ) -> Iterator[Loaded]:
        """Read a segment behind an offset, from a position on.

        Raises:
            VanishedError: It is gone.
        """
        with opened(file_in(self.place, name)) as source:
            yield from windows_of(source, name, Carry(source.size, after, begin), size, kind)

    def holds(self, cursor: Cursor) -> bool:
        """Whether the batch that a cursor stands behind is where it was.

        Raises:
            VanishedError: The file is gone since it was listed.
        """
        if self.index(cursor.file) is None:
            return False
        if cursor.last_pos < 0:
            return True
        size = cursor.pos - cursor.last_pos
        head = bytearray(HEADER_BYTES + SLACK)
        with opened(file_in(self.place, cursor.file)) as source:
            if source.size < cursor.pos:
                return False
            view = memoryview(head)[: min(HEADER_BYTES, size)]
            if source.read_into(view, cursor.last_pos) < len(view):
                return False
        start = -cursor.last_pos
        file = LogFile(cursor.file, start, len(view), Chain(array("q", [0])))
        found = WalkedBatches.of(Loaded(bytes(head), HEADER_BYTES, [file])).cursor(cursor.file, 0)
        # The CRC does not cover the epoch.
        return replace(found, begun=cursor.begun) == cursor


class Walk:
    """Goes from a cursor to what is new in a metadata log.

    Args:
        log: The directory.
        kind: The kind of the log.
        fail: Whether a loss is an error.
        limit: About how many bytes to go, at least one batch.
        last_offset: The last offset that counts.
        split_bytes: About how far apart the places noted in `cuts` lie.
    """

    def __init__(
        self,
        log: ListedLog,
        kind: LogKind = METADATA,
        *,
        fail: bool,
        limit: int = NO_LIMIT,
        last_offset: int = NO_LIMIT,
        split_bytes: int = NO_LIMIT,
    ) -> None:
        self._log, self._kind, self._fail = log, kind, fail
        self._limit, self._last_offset, self._split_bytes = limit, last_offset, split_bytes
        self._is_ended = False
        self._cut_at = 0
        """How much was passed up to the last of `cuts`."""
        self.taken = 0
        """Bytes of batches that were passed."""
        self.cuts: list[Cursor] = []
        """Places to cut at, behind a batch each."""

    def run(self, cursor: Cursor | None) -> Cursor | None:
        """The cursor behind what is new, or the same one; None where there was no batch yet.

        Raises:
            SourceError: Records were lost, and losses are errors; or a file can't be read.
        """
        try:
            start = next(iter(self._log.starts), None) if cursor is None else self._checked(cursor)
            end = None if start is None else self._onwards(start)
        except VanishedError:
            # Deleted since it was listed: the next look tells what that means.
            return cursor
        if start is None or end is None or (cursor is None and not self.taken):
            return cursor
        # It never goes back: segments overlap for a moment where one takes the place of others.
        if end.offset < start.offset or (cursor is not None and end.offset == cursor.offset):
            return cursor
        is_same = cursor is not None and start.place == cursor.place
        return replace(end, begun=None if is_same else start.place)

    def _onwards(self, cursor: Cursor) -> Cursor:
        at = self._log.index(cursor.file)
        segments = [] if at is None else self._log.segments[at:]
        for i, segment in enumerate(segments):
            if i:
                self._across(cursor, segment)
                cursor = Cursor(segment.name, 0, segment.base_offset - 1, epoch=cursor.epoch)
            cursor = self._through(cursor, is_last=i == len(segments) - 1)
            if self._is_ended or self.taken >= self._limit:
                break
        return cursor

    def _lost(self, what: str) -> None:
        if self._fail:
            raise SourceError(f"{self._log.shown}: {what}; {_HINT}")

    def _across(self, cursor: Cursor, following: SegmentName) -> None:
        first, end = cursor.offset + 1, following.base_offset
        if end > first and not self._kind.offsets_may_be_missing:
            missing = f"offsets {first} to {end - 1} are missing"
            self._lost(f"{missing} between {cursor.file} and {following.name}")

    def _checked(self, cursor: Cursor) -> Cursor:
        """The cursor, if its batch is still there; else where to go on."""
        log = self._log
        if log.holds(cursor):
            return cursor
        if log.index(cursor.file) is not None:
            self._lost(
                f"{cursor.file} is not what it was: the batch that ended at position {cursor.pos},"
                f" offset {cursor.offset}, is gone, so the log was truncated or replaced"
            )
        elif not log.segments:
            self._lost(f"{cursor.file} is gone, and there is no other segment")
        elif (first := log.starts[0]).offset >= cursor.offset:
            if first.offset > cursor.offset:
                missing = f"offsets {cursor.offset + 1} to {first.offset}"
                self._lost(f"{missing} were deleted before they were read")
            return first
        else:
            self._lost(f"{cursor.file} is gone, which held offset {cursor.offset}")
        # Behind the offset, or at the log's end.
        at = log.holding(cursor.offset)
        return cursor if at is None else self._behind_in(log.segments[at], cursor)[0]

    def _behind_in(self, segment: SegmentName, cursor: Cursor) -> tuple[Cursor, bool]:
        """Behind the last batch of a segment up to an offset, and whether another follows there."""
        found = Cursor(segment.name, 0, segment.base_offset - 1, epoch=cursor.epoch)
        for loaded in self._log.windows(segment.name, 0, -1, self._kind):
            batches = WalkedBatches.of(loaded)
            n = int(np.searchsorted(batches.last_offset, cursor.offset, side="right"))
            if n:
                found = batches.cursor(segment.name, n - 1)
            if n < len(batches):
                return found, True
        return found, False

    def _through(self, cursor: Cursor, *, is_last: bool) -> Cursor:
        """Pass the batches of a segment from a cursor on."""
        name = cursor.file
        faults: list[Fault] = []
        size = min(WINDOW_BYTES, max(self._limit - self.taken, 1 << 20))
        for loaded in self._log.windows(name, cursor.pos, cursor.offset, self._kind, size):
            faults.extend(loaded.faults)
            batches = WalkedBatches.of(loaded)
            n = self._n_that_count(batches)
            if n:
                self._damaged(faults, int(batches.begin[n - 1]))
                self._cut(cursor, batches, n)
                cursor = batches.cursor(name, n - 1)
            if n < len(batches):
                self._is_ended = True
                return cursor
        if not is_last and faults:
            self._damaged(faults, NO_LIMIT)
        return cursor

    def _n_that_count(self, batches: WalkedBatches) -> int:
        """How many batches of a window count: of a limit's bytes it is the first that passes it."""
        n = int(np.searchsorted(batches.last_offset, self._last_offset, side="right"))
        passed = int(np.searchsorted(np.cumsum(batches.size), self._limit - self.taken)) + 1
        return min(n, passed if self.taken < self._limit else 0)

    def _cut(self, before: Cursor, batches: WalkedBatches, n: int) -> None:
        """Pass the first batches of a window behind a cursor, and note where to cut among them."""
        ends = self.taken + np.cumsum(batches.size[:n])
        begins = ends - batches.size[:n]
        at = -1
        while True:
            wanted = int(np.searchsorted(begins, self._cut_at + self._split_bytes))
            at = max(wanted, at + 1)
            if at >= n:
                break
            self.cuts.append(batches.cursor(before.file, at - 1) if at else before)
            self._cut_at = int(begins[at])
        self.taken = int(ends[-1])

    def _damaged(self, faults: list[Fault], before: int) -> None:
        """Report damage in front of a batch that counts as a loss."""
        while faults and (faults[0].pos or 0) <= before:
            self._lost(str(faults.pop(0)))


class PartitionWalk(Walk):
    """Goes from a cursor to what is new in a coordinator's log; see `Walk`.

    Args:
        log: The partition's directory.
        kind: The kind of the log.
        epochs: Gives where its leader epochs begin, as far as the broker says.
        limits: The other arguments of `Walk`.
    """

    def __init__(
        self,
        log: ListedLog,
        kind: LogKind,
        epochs: Callable[[], Sequence[EpochStart]],
        **limits: Any,
    ) -> None:
        super().__init__(log, kind, **limits)
        self._epochs = epochs

    def _checked(self, cursor: Cursor) -> Cursor:
        """Where to go on: behind the cursor's batch, or where its offset is now."""
        is_there = self._log.holds(cursor)
        if is_there and cursor.last_pos >= 0:
            return cursor
        for start in self._epochs():
            if start.epoch > cursor.epoch >= 0 and start.start_offset <= cursor.offset:
                self._lost(
                    f"leader epoch {start.epoch} begins at offset {start.start_offset}, and records"
                    f" of epoch {cursor.epoch} up to offset {cursor.offset} were read: the log was"
                    " truncated or replaced"
                )
                break
        return cursor if is_there else self._by_offset(cursor)

    def _by_offset(self, cursor: Cursor) -> Cursor:
        segments = self._log.segments
        if not segments:
            self._lost("there is no segment any more")
            return cursor
        at = self._log.holding(cursor.offset)
        if at is None:
            # Records deleted from the front count no more, like records that compaction removed.
            return replace(self._log.starts[0], epoch=cursor.epoch)
        found, is_followed = self._behind_in(segments[at], cursor)
        end = max(found.offset, segments[-1].base_offset - 1)
        if end < cursor.offset and not is_followed:
            self._lost(
                f"the log ends at offset {end}, but offset {cursor.offset} was read: it was"
                " truncated, or another replica was read"
            )
            return found
        if found.offset == cursor.offset:
            return found
        # Compaction may have removed the last ones.
        return Cursor(found.file, found.pos, cursor.offset, epoch=cursor.epoch)


def records_between(
    place: Place, kind: LogKind, start: Cursor, last: int, *, fail: bool
) -> Iterator[Loaded]:
    """Read the batches behind a cursor up to an offset, a window at a time.

    Records that compaction removed meanwhile are not among them.

    Args:
        place: The log's directory.
        kind: The kind of the log.
        start: The cursor; its file and position only spare a search.
        last: The last offset, of a whole batch.
        fail: Whether damage among them, or a log that lacks some, is an error.

    Raises:
        SourceError: It is; or a file can't be read.
    """
    after = start.offset
    for _ in range(_TRIES):
        log = ListedLog.at(place)
        try:
            for window in _windows(log, kind, start, after, last, fail=fail):
                (file,) = window.files
                batches = WalkedBatches.of(window)
                low, high = np.searchsorted(batches.last_offset, [after, last], side="right")
                for fault in file.chain.faults if fail else ():
                    if fault.offset is not None and after < fault.offset <= last:
                        raise SourceError(f"{log.shown}: {fault}; {_HINT}")
                if high > low:
                    after = int(batches.last_offset[high - 1])
                    positions = file.chain.positions[low:high]
                    chain = Chain(array("q", positions))
                    files = [LogFile(file.name, file.start, file.size, chain)]
                    yield Loaded(window.buffer, window.size, files)
                if after >= last or high < len(batches):
                    return
        except VanishedError:
            continue
        if fail and (not log.segments or max(after, log.segments[-1].base_offset - 1) < last):
            reason = f"it ends before offset {last}, up to which it was to be read"
            raise SourceError(f"{log.shown}: {reason}; {_HINT}")
        return
    raise SourceError(f"{shown(str(place))}: its files keep vanishing while they are opened")


def _windows(
    log: ListedLog, kind: LogKind, start: Cursor, after: int, last: int, *, fail: bool
) -> Iterator[Loaded]:
    """The windows of segments in which batches can lie."""
    first = log.holding(after)
    if first is None and fail and not kind.has_keys:
        # It was planned by a run of the query that did not finish it.
        raise SourceError(f"{log.shown}: {start.file} was deleted before it was read; {_HINT}")
    for one in log.segments[first or 0 :]:
        if one.base_offset > last:
            return
        pos, before = 0, one.base_offset - 1
        # Without the batch before it a position is not sure.
        is_start = (one.name, after) == (start.file, start.offset) and start.last_pos >= 0
        if is_start and log.holds(start):
            pos, before = start.pos, start.offset
        yield from log.windows(one.name, pos, before, kind)
