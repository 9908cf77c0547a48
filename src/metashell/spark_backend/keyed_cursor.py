"""How far the log of a coordinator's partition was delivered, and reading what is behind that.

Compaction rewrites segments, so a position means little there, and the batch that was delivered
last may be gone. Offsets stay, on every replica. So a cursor is sure where its batch is where it
was; else its place is looked for by its offset. As a consumer does (KIP-320), the leader epoch
tells a log that was truncated: no newer epoch begins in what was delivered.

While compaction puts a segment in the place of others it is called ``.log.swap``, and those are
gone already. So such a segment is read, too.

Source: org.apache.kafka.storage.internals.log.LocalLog.replaceSegments.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.chain import Carry, Chain
from metashell.log.names import Listing, SegmentName, list_names
from metashell.log.partition import CoordinatorPartition
from metashell.log.read import Loaded, LogFile, opened
from metashell.log.window import WINDOW_BYTES, windows_of
from metashell.node_files.epoch_checkpoint import EpochStart
from metashell.places.place import Place, StoreEntry, entries_in, file_in, shown
from metashell.places.vanished import VanishedError
from metashell.spark_backend.cursor import Cursor, Segments, Walk, WalkedBatches

_SWAP: Final = ".swap"
_TRIES: Final = 5
_HINT: Final = "option failOnDataLoss=false goes on behind it"


@dataclass(slots=True)
class ListedLog:
    """The directory of a partition, as it was listed."""

    place: Place
    entries: Sequence[StoreEntry]
    """Its segments alone, in order."""

    @classmethod
    def at(cls, place: Place) -> ListedLog:
        """List it.

        Raises:
            SourceError: It can't be listed.
        """
        found = {one.name: one for one in entries_in(place) if not one.is_directory}
        names = {name.removesuffix(_SWAP): name for name in found if name.endswith(_SWAP)}
        names |= {name: name for name in found if not name.endswith(_SWAP)}
        segments = list_names(names).segments
        return cls(place, [found[names[segment.name]] for segment in segments])

    @property
    def segments(self) -> Segments:
        """Its segments."""
        names = tuple(
            SegmentName(one.base_offset, entry.name)
            for entry in self.entries
            for one in list_names([entry.name.removesuffix(_SWAP)]).segments
        )
        place = self.place
        return Segments(shown(str(place)), Listing(names, ()), lambda name: file_in(place, name))

    @property
    def facts(self) -> object:
        """What changes with what is written."""
        return str(self.place), [(one.name, one.size, one.mtime_ns) for one in self.entries]


class KeyedWalk(Walk):
    """Goes from a cursor to what is new in a coordinator's log; see `Walk`.

    Args:
        segments: The partition's directory.
        partition: Which it is.
        epochs: Gives where its leader epochs begin, as far as the broker says.
        limits: As of `Walk`.
    """

    def __init__(
        self,
        segments: Segments,
        partition: CoordinatorPartition,
        epochs: Callable[[], Sequence[EpochStart]] = tuple,
        **limits: Any,
    ) -> None:
        super().__init__(segments, **limits)
        self.kind, self._epochs = partition.kind, epochs

    def run(self, cursor: Cursor | None) -> Cursor | None:
        """The cursor behind what is new, or the same one; None where there was no batch yet.

        Raises:
            SourceError: The log was truncated or is damaged, and losses are errors; or a file can't
                be read.
        """
        try:
            end = super().run(cursor)
        except VanishedError:
            # Compaction took it away since it was listed: the next look finds what came instead.
            return cursor
        if end is None or (cursor is None and not self.taken):
            return None
        if cursor is None or end.offset == cursor.offset:
            return cursor or end
        # It never goes back: segments overlap for a moment where one takes the place of others.
        begun = cursor.offset if end.begun is None else end.begun[2]
        return cursor if end.offset < begun else end

    def _across(self, cursor: Cursor, following: SegmentName) -> None:
        if not self.kind.offsets_may_be_missing:
            super()._across(cursor, following)

    def _checked(self, cursor: Cursor) -> Cursor:
        """Where to go on: behind the cursor's batch, or where its offset is now."""
        is_there = self._segments.index(cursor.file) is not None and self.is_there(cursor)
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
        segments = self._segments.segments
        if not segments:
            self._lost("there is no segment any more")
            return cursor
        holding = [one for one in segments if one.base_offset <= cursor.offset + 1]
        if not holding:
            # What was deleted from the front counts no more, as what compaction removes.
            first = segments[0]
            return Cursor(first.name, 0, first.base_offset - 1, epoch=cursor.epoch)
        found, is_followed = self._behind_in(holding[-1], cursor)
        end = max(found.offset, segments[-1].base_offset - 1)
        if end >= cursor.offset or is_followed:
            return _with_offset(found, cursor)
        self._lost(
            f"the log ends at offset {end}, but offset {cursor.offset} was read: it was truncated,"
            " or another replica was read"
        )
        return found


def _with_offset(found: Cursor, cursor: Cursor) -> Cursor:
    """A place behind a cursor's offset, of which compaction may have removed the last ones."""
    if found.offset == cursor.offset:
        return found
    return Cursor(found.file, found.pos, cursor.offset, epoch=cursor.epoch)


def records_between(
    place: Place, partition: CoordinatorPartition, start: Cursor, last: int, *, fail: bool
) -> Iterator[Loaded]:
    """Read the batches behind a cursor up to an offset, a window at a time.

    What compaction removed meanwhile is not among them.

    Args:
        place: The partition's directory.
        partition: Which it is.
        start: The cursor; its file and position only spare a search.
        last: The last offset, of a whole batch.
        fail: Whether damage among them, or a log that ends before, is an error.

    Raises:
        SourceError: It is; or a file can't be read.
    """
    after = start.offset
    for _ in range(_TRIES):
        segments = ListedLog.at(place).segments
        try:
            for window in _windows(segments, partition, start, after, last):
                (file,) = window.files
                batches = WalkedBatches.of(window)
                low, high = np.searchsorted(batches.last_offset, [after, last], side="right")
                for fault in file.chain.faults if fail else ():
                    if fault.offset is not None and after < fault.offset <= last:
                        raise SourceError(f"{segments.shown}: {fault}", hint=_HINT)
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
        names = segments.segments
        if fail and (not names or max(after, names[-1].base_offset - 1) < last):
            reason = f"it ends before offset {last}, up to which it was to be read"
            raise SourceError(f"{segments.shown}: {reason}", hint=_HINT)
        return
    raise SourceError(f"{shown(str(place))}: its files keep vanishing while they are opened")


def _windows(
    segments: Segments, partition: CoordinatorPartition, start: Cursor, after: int, last: int
) -> Iterator[Loaded]:
    """The windows of segments in which batches can lie."""
    names = segments.segments
    walk = KeyedWalk(segments, partition, fail=False)
    before = [i for i, one in enumerate(names) if one.base_offset <= after + 1]
    for one in names[before[-1] if before else 0 :]:
        if one.base_offset > last:
            return
        begin = (one.base_offset - 1, 0)
        # Without the batch before it a position is not sure.
        if (one.name, after) == (start.file, start.offset) and start.last_pos >= 0:
            begin = (start.offset, start.pos) if walk.is_there(start) else begin
        with opened(segments.ref(one.name)) as source:
            carry = Carry(source.size, *begin)
            yield from windows_of(source, one.name, carry, WINDOW_BYTES, partition.kind)
