"""The records of a coordinator's log in offset order, a window at a time, in bounded memory.

Owns which windows are read for a selection, and what is told about damage on the way. The same for
metadata logs, which have more to select by, is `metashell.records.stream`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.log.fault import Fault
from metashell.log.partition import PartitionLog
from metashell.log.read import not_read
from metashell.log.window import WINDOW_BYTES, windows
from metashell.places.vanished import VanishedError
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.arena import I64, Bools
from metashell.schema.coordinators import RecordTypes

MAX_OFFSET: Final = (1 << 63) - 1
_MAX_EPOCH: Final = (1 << 31) - 1
_BLOCK_ROWS: Final = 16_384
"""Records handed on together: few enough that the first are shown at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedSelection:
    """Which records are asked for; every condition has to hold."""

    first_offset: int = 0
    last_offset: int = MAX_OFFSET
    since_ms: int | None = None
    until_ms: int | None = None
    first_epoch: int = -1
    last_epoch: int = _MAX_EPOCH
    key_types: frozenset[int] | None = None
    """Types, those of control records as `metashell.log.keyed_frames.control_key_type` has them;
    None for all."""
    not_key_types: frozenset[int] = frozenset()
    control: bool = False
    """Whether only control records are meant."""

    def rows(self, records: KeyedRecords) -> I64:
        """int64: the rows that are asked for, ascending."""
        frames = records.frames
        every = np.arange(records.n_rows)
        mask: Bools = (frames.offset >= self.first_offset) & (frames.offset <= self.last_offset)
        if self.since_ms is not None or self.until_ms is not None:
            times = frames.timestamps(every)
            mask &= times >= (0 if self.since_ms is None else self.since_ms)
            mask &= times <= (MAX_OFFSET if self.until_ms is None else self.until_ms)
        if self.first_epoch > -1 or self.last_epoch < _MAX_EPOCH:
            epochs = frames.epochs(every)
            mask &= (epochs >= self.first_epoch) & (epochs <= self.last_epoch)
        if self.key_types is not None:
            mask &= np.isin(frames.key_type, [*self.key_types])
        if self.not_key_types:
            mask &= ~np.isin(frames.key_type, [*self.not_key_types])
        if self.control:
            mask &= frames.is_control
        return np.flatnonzero(mask)


@dataclass(frozen=True, slots=True)
class KeyedBlock:
    """Some records of one window that were asked for."""

    records: KeyedRecords
    rows: I64
    """Ascending."""


class KeyedStream:
    """Streams the records asked for.

    Args:
        log: The partition.
        types: Definitions of its records.
        selection: What is asked for.
        on_fault: Called with what is wrong, and whether it is the end of the last file.
        poll: Called before each window is looked at; may raise.
        window_bytes: How much is read at a time.
    """

    def __init__(
        self,
        log: PartitionLog,
        types: RecordTypes,
        selection: KeyedSelection,
        on_fault: Callable[[Fault, bool], None],
        *,
        poll: Callable[[], None] = lambda: None,
        window_bytes: int = WINDOW_BYTES,
    ) -> None:
        self._log, self._types, self._selection = log, types, selection
        self._on_fault, self._poll, self._window_bytes = on_fault, poll, window_bytes
        self._last_offset = -1

    @property
    def segments(self) -> Sequence[str]:
        """Names of the segments that may hold what is asked for, in offset order."""
        segments = self._log.segments
        if self._log.is_file:
            return [file.name for file in self._log.loaded.files]
        ends = [*(segment.base_offset for segment in segments[1:]), MAX_OFFSET + 1]
        first, last = self._selection.first_offset, self._selection.last_offset
        return [
            segment.name
            for segment, end in zip(segments, ends, strict=True)
            if segment.base_offset <= last and end > first
        ]

    def blocks(self) -> Iterator[KeyedBlock]:
        """The records of all segments, in their order."""
        self._last_offset = -1
        names = self.segments
        for name in names:
            yield from self.blocks_of(name, self._last_offset, is_last=name == names[-1])

    def blocks_of(
        self, name: str, after: int = -1, *, is_last: bool = True
    ) -> Iterator[KeyedBlock]:
        """The records of one segment.

        Args:
            name: The segment's name.
            after: Offset behind which its batches must lie: the last of the segment before.
            is_last: Whether it is the last of those that are read.
        """
        chainer = self._log.partition.chainer
        path = self._log.path_of(name)
        try:
            for window in windows(path, self._window_bytes, after, chainer=chainer):
                self._poll()
                chain = window.files[0].chain
                for fault in chain.faults:
                    self._on_fault(fault, is_last)
                self._last_offset = max(self._last_offset, chain.last_offset)
                records = KeyedRecords(window, self._types)
                for fault in records.unframed:
                    self._on_fault(fault, False)
                rows = self._selection.rows(records)
                for first in range(0, len(rows), _BLOCK_ROWS):
                    yield KeyedBlock(records, rows[first : first + _BLOCK_ROWS])
                if chain.last_offset >= self._selection.last_offset:
                    return
        except (VanishedError, SourceError) as e:
            self._on_fault(not_read(name, e), False)
