"""Checks of the log of any topic's partition: its batches, leader epochs, and what recovery cuts.

The bytes of a batch are summed for its CRC; no record is read. A segment is looked at a window at a
time, and little of it is kept.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from metashell.checks.coordinator_log import REPLACE_REPLICA
from metashell.checks.finding import FaultPlace, Finding
from metashell.checks.fsck import CheckedFile, facts_of_batches
from metashell.dataclass import dataclass
from metashell.log.chain import OF_TOPIC, Chain
from metashell.log.fault import FaultCode
from metashell.log.frames import HEADER, as_batches
from metashell.log.names import SegmentName
from metashell.log.read import windows
from metashell.node_files.epoch_checkpoint import FILE_NAME as EPOCH_CHECKPOINT
from metashell.node_files.epoch_checkpoint import EpochStart
from metashell.places.place import FileRef
from metashell.records.log_records import MAX_FAULTS
from metashell.schema.arena import Arena

_UNSOUND: Final = (
    *(FaultCode.CRC_MISMATCH, FaultCode.BAD_MAGIC, FaultCode.BAD_LENGTH, FaultCode.CUT_OFF),
    FaultCode.BATCH_DAMAGED,
)
"""Faults of bytes that a broker takes for no batch when it recovers a segment."""


def read_batches(
    file: FileRef, segment: SegmentName, after: int, poll: Callable[[], None]
) -> CheckedFile:
    """Read a segment, and sum the bytes of its batches.

    Args:
        file: The segment.
        segment: Its name.
        after: The last offset of the segments before.
        poll: Called before each window is looked at; may raise.

    Raises:
        VanishedError: It is gone.
        SourceError: It can't be read.
    """
    whole, size = Chain(array("q")), 0
    found = [(np.empty(0, np.int64), np.empty(0, HEADER))]
    for window in windows(file, after=max(after, segment.base_offset - 1), kind=OF_TOPIC):
        poll()
        (read,) = window.files
        whole.faults += read.chain.faults
        whole.padding, size = read.chain.padding, read.size - read.start
        pos = np.frombuffer(read.chain.positions, dtype=np.int64)
        raw = Arena(window.buffer, window.size).gather(f"V{HEADER.itemsize}", pos)
        found.append((pos - read.start, as_batches(raw.view(HEADER))))
    pos, header = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return facts_of_batches(segment.name, size, whole, pos, header)


def check_epochs(facts: CheckedFile, entries: Sequence[EpochStart]) -> Iterator[Finding]:
    """Find batches of another leader epoch than ``leader-epoch-checkpoint`` has for their offset.

    Args:
        facts: A segment.
        entries: The file's, in order.
    """
    begins = np.flatnonzero(np.diff(facts.epoch, prepend=-2))
    begins = begins[facts.epoch[begins] >= 0]
    # In front of the file's first entry any epoch may be.
    starts = np.array([-1, *(entry.start_offset for entry in entries)], dtype=np.int64)
    epochs = np.array([-1, *(entry.epoch for entry in entries)], dtype=np.int64)
    told = epochs[np.searchsorted(starts, facts.base[begins], side="right") - 1]
    wrong = np.flatnonzero((told >= 0) & (told != facts.epoch[begins]))[:MAX_FAULTS]
    for batch, epoch in zip(begins[wrong].tolist(), told[wrong].tolist(), strict=True):
        offset, own = int(facts.base[batch]), int(facts.epoch[batch])
        text = f"the batch of offset {offset} has leader epoch {own}, by this file it is {epoch}"
        place: FaultPlace = {"file": EPOCH_CHECKPOINT, "offset": offset}
        yield Finding("epoch-entry", text, REPLACE_REPLICA, **place)


@dataclass(slots=True)
class RecoveryCut:
    """Where a broker that recovers a log cuts it, which it does after a stop that was not clean.

    Source: org.apache.kafka.storage.internals.log.LogSegment.recover, LogLoader.recoverLog.
    """

    recovery_point: int
    """The offset up to which all is flushed: segments that end before it are not recovered."""
    stopped_cleanly: bool
    """Whether ``.kafka_cleanshutdown`` is there: then none is."""
    place: FaultPlace | None = None
    """Where it is cut; None for nowhere."""
    n_bytes: int = 0
    """Bytes that are cut off the segment."""
    n_segments: int = 0
    """Segments behind it, which are deleted."""
    end_offset: int = 0
    """One behind the last offset of a sound batch that goes."""

    def add(self, facts: CheckedFile, next_base: int | None) -> None:
        """Take in the next segment of the log.

        Args:
            facts: The segment.
            next_base: The base offset of the one behind it; None for the last.
        """
        end = facts.end_offset or 0
        if self.place is not None:
            self.n_segments, self.end_offset = self.n_segments + 1, max(self.end_offset, end)
            return
        if next_base is not None and next_base <= self.recovery_point:
            return
        unsound = [fault.pos or 0 for fault in facts.faults if fault.code in _UNSOUND]
        unsound += [facts.size - facts.padding] if facts.padding else []
        # A batch of another magic is sound all the same.
        positions = np.setdiff1d(unsound, facts.pos)
        if len(positions):
            pos = int(positions[0])
            behind = facts.base[facts.pos > pos]
            offset = int(behind[0]) if len(behind) else end
            self.place = {"file": facts.name, "pos": pos, "offset": offset}
            self.n_bytes, self.end_offset = facts.size - pos, end

    def finding(self) -> Iterator[Finding]:
        """The finding that sound batches go; none where a torn tail at most does."""
        if self.place is None or self.end_offset <= (self.place["offset"] or 0):
            return
        behind = f" and {self.n_segments} segments behind it" if self.n_segments else ""
        text = (
            f"a start after an unclean stop cuts the log here: {self.n_bytes} bytes of this segment"
            f"{behind}, with sound batches up to offset {self.end_offset - 1}"
        )
        if self.stopped_cleanly:
            text += "; this broker stopped cleanly, and its next start cuts nothing"
        yield Finding("recovery-cut", text, **self.place)
