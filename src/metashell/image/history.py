"""The history of a directory: its records from the oldest state on, and the images in between.

An image as of an offset is folded from the records before a row; whatever has been decoded of the
same files is used again. Nothing here knows of paths or of how a point in time is written.
"""

from __future__ import annotations

from threading import RLock
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import NotCoveredError
from metashell.image.image import Image
from metashell.lazy import lazy
from metashell.log.directory import MetadataLog, read_history, read_until
from metashell.log.frames import Batches
from metashell.log.time_spec import LogClock, TimeSpec, behind_hint, time_spec_text
from metashell.records.records import Records
from metashell.schema.arena import I64
from metashell.schema.timestamps import iso_time

_KEPT: Final = 2
"""Earlier states whose files are kept, besides the newest and the oldest."""


@dataclass(frozen=True, slots=True)
class CoveredPoint:
    """A point that the files cover, and the records before it."""

    log: MetadataLog
    """The files that the image is folded from."""
    records: Records
    offset: int
    """The last offset that the image was to hold."""
    notes: tuple[str, ...]
    """Remarks on how the point was found, a sentence each."""
    timestamp_ms: int | None = None
    """The last ms of the time that was asked for, since the epoch; None where an offset was."""


class History:
    """Images of a directory at any offset that its files cover.

    Args:
        log: The files of the newest image.
        newest: Their records.
    """

    def __init__(self, log: MetadataLog, newest: Records) -> None:
        self.lock = RLock()
        self._newest = (log, newest)
        self._nearest: list[tuple[MetadataLog, Records]] = []

    @lazy
    def oldest(self) -> tuple[MetadataLog, Records]:
        """The files from the oldest state that leads up to the end without a gap, and their
        records. Cost: reads them, where they are not the newest image's own.
        """
        log, records = self._newest
        found = read_history(log)
        return self._newest if found is log else (found, Records(found.loaded, records.registry))

    def range(self) -> tuple[int, int]:
        """First and last offset whose state can be shown."""
        log, _ = self._newest
        listing = log.listing
        lows = [c.end_offset - 1 for c in listing.checkpoints if not c.is_bootstrap]
        if listing.segments and (listing.segments[0].base_offset == 0 or not lows):
            lows.append(listing.segments[0].base_offset)
        files = log.loaded.files
        highs = [f.chain.last_offset for f in files if not f.is_checkpoint]
        highs += [f.end_offset - 1 for f in files if f.end_offset is not None]
        return min(lows, default=0), max(highs, default=-1)

    def whole_from(self) -> tuple[int, int] | None:
        """Offset and time (ms) from which on every change is known, where older states are here and
        offsets behind them are missing or damaged; None where none are.
        """
        log, records = self.oldest
        checkpoint = log.checkpoint
        if checkpoint is None or checkpoint.is_bootstrap:
            return None
        if checkpoint.end_offset - 1 <= self.range()[0]:
            return None
        return checkpoint.end_offset, records.checkpoint_time_ms or 0

    def at(
        self, time_spec: TimeSpec, clock: LogClock | None, *, record: bool = False
    ) -> CoveredPoint:
        """Find the records that make up the state at a point.

        Args:
            time_spec: An included offset, or a time. A time means up to the last batch before
                the first one whose maxTimestamp is later.
            clock: Where the log ends; needed unless the point is an offset.
            record: If the offset lies in a batch, take its records up to the offset. Else a batch
                counts whole or not at all, as when Kafka replays it.

        Raises:
            NotCoveredError: The files do not cover it; the message gives the range.
        """
        notes: list[str] = []
        is_age = time_spec.before_ms is not None
        if clock is not None:
            time_spec = clock.resolve(time_spec)
        if time_spec.offset is not None:
            offset = time_spec.offset
        else:
            assert clock is not None
            offset = self._offset_at(time_spec, clock, notes, is_age=is_age)
        low, high = self.range()
        if not low <= offset <= high:
            raise NotCoveredError(
                f"offset {offset} is not covered: the files hold the states at offsets"
                f" {low} to {high}"
            )
        log, records = self._covering(offset)
        row, inside = end_row(records, offset, record=record)
        if inside is not None:
            first, last = inside
            notes.append(
                f"offset {offset} lies inside the batch of offsets {first} to {last}, which counts"
                f" whole or not at all: shown is the state after offset {first - 1}"
            )
            offset = first - 1
        return CoveredPoint(log, records.until(row), offset, tuple(notes), time_spec.last_ms)

    def whole_image(self, moment: CoveredPoint | None) -> Image | None:
        """The image at a moment (None for the newest) folded from the oldest state, whose rows
        remember most; None where that is no other than the image itself.
        """
        log, records = self.oldest
        if moment is None:
            return None if log is self._newest[0] else Image(records)
        if moment.log is log or not _covers(log, moment.offset):
            return None
        row, _ = end_row(records, moment.offset, record=True)
        return Image(records.until(row))

    def records_until(self, moment: CoveredPoint | None) -> Records:
        """Records from the oldest state up to a moment, None for the end of the log."""
        log, records = self.oldest
        if moment is None:
            return records
        if not _covers(log, moment.offset):
            return moment.records
        return records.until(end_row(records, moment.offset, record=True)[0])

    def _covering(self, offset: int) -> tuple[MetadataLog, Records]:
        """Files that the state at an offset can be folded from: read ones where there are."""
        known = [self._newest, *self._nearest]
        if History.oldest.is_known(self):
            known.append(self.oldest)
        for pair in known:
            if _covers(pair[0], offset):
                return pair
        log, records = self._newest
        if self._nearest and _covers(self.oldest[0], offset):
            # Who jumps about is served from one set of files.
            return self.oldest
        found = read_until(log, offset)
        pair = (found, Records(found.loaded, records.registry))
        self._nearest = [pair, *self._nearest][:_KEPT]
        return pair

    def _offset_at(
        self, time_spec: TimeSpec, clock: LogClock, notes: list[str], *, is_age: bool
    ) -> int:
        """The last offset before the first batch that is later than a time.

        An age that is older than the files means the oldest state that they have.
        """
        starts_ms, last_ms = time_spec.timestamp_ms, time_spec.last_ms
        assert starts_ms is not None
        assert last_ms is not None
        _, records = self.oldest
        batches = records.frames.batches
        at = _log_batches(records)
        times = batches.header["max_timestamp"][at].astype(np.int64)
        base = batches.header["base_offset"][at].astype(np.int64)
        later = np.flatnonzero(times > last_ms)
        low, high = self.range()
        begins = _first_time(records, times)
        ends = max(int(times.max(initial=-1)), -1 if begins is None else begins)
        limit = max(ends, clock.now_ms) if clock.is_live else ends
        is_early = not len(later) or later[0] == 0
        is_early = is_early and (begins is None or last_ms < begins)
        first_time, last_time = ("?" if t is None or t < 0 else iso_time(t) for t in (begins, ends))
        if is_early and is_age and begins is not None:
            notes.append(
                f"{time_spec_text(time_spec)} is before the log: shown is its oldest state, of"
                f" {first_time}"
            )
            held = [f.end_offset for f in records.loaded.files if f.end_offset]
            return max(held) - 1 if held else int(base[0] + batches.header["last_delta"][at[0]])
        if is_early or starts_ms > limit:
            raise NotCoveredError(
                f"{time_spec_text(time_spec)} is not covered: the files reach from {first_time}"
                f" to {last_time}, offsets {low} to {high}",
                hint=None if is_early else behind_hint(time_spec, clock),
            )
        if not later.size:
            return high
        first = int(later[0])
        back = first + np.flatnonzero(times[first:] <= last_ms)
        if back.size:
            notes.append(
                f"the clock went back: {len(back)} later batches, the first at offset"
                f" {int(base[back[0]])}, have times up to then as well"
            )
        return max(int(base[first]) - 1, low)


def end_row(records: Records, offset: int, *, record: bool) -> tuple[int, tuple[int, int] | None]:
    """The row before which the state after an offset ends.

    Returns:
        (row, None), or where the offset lies inside a batch that is then left out (the batch's
        first row, (its first offset, its last)).
    """
    frames = records.frames
    batches, at = frames.batches, _log_batches(records)
    base = batches.header["base_offset"][at].astype(np.int64)
    last = base + batches.header["last_delta"][at]
    k = int(np.searchsorted(last, offset, side="right"))
    if k == len(at):
        return len(frames), None
    row, following = (int(r) for r in batches.first_row[at[k] : at[k] + 2])
    if int(base[k]) > offset:
        return row, None
    if record:
        within = frames.offset[row:following]
        return row + int(np.searchsorted(within, offset, side="right")), None
    return row, (int(base[k]), int(last[k]))


def _log_batches(records: Records) -> I64:
    """Indexes of the batches that are the log's own, behind the state replay begins with."""
    batches: Batches = records.frames.batches
    files = records.loaded.files
    is_log = np.array([not f.is_checkpoint for f in files], dtype=np.bool_)[batches.file]
    ends = [f.end_offset for f in files if f.end_offset is not None]
    return np.flatnonzero(is_log & (batches.header["base_offset"] >= max(ends, default=0)))


def _covers(log: MetadataLog, offset: int) -> bool:
    """Whether the state at an offset can be folded from files read."""
    files = log.loaded.files
    begin = max((f.end_offset for f in files if f.end_offset is not None), default=0)
    end = max([f.chain.last_offset for f in files if not f.is_checkpoint], default=-1)
    return begin - 1 <= offset <= max(end, begin - 1)


def _first_time(records: Records, times: I64) -> int | None:
    """The earliest time that a state is known at: of the checkpoint, else of the first batch."""
    if not any(f.end_offset for f in records.loaded.files):
        return int(times[0]) if len(times) else None
    return records.checkpoint_time_ms
