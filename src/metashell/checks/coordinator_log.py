"""Checks of a coordinator's log: its files, their batches, and what a broker can't load of them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from metashell.checks.finding import FaultPlace, Finding, place_of
from metashell.checks.fsck import CheckedFile, code_of, facts_of_batches
from metashell.dataclass import dataclass
from metashell.findings.kinds.records import UPGRADE
from metashell.image.coordinators.loading import replay_refusals
from metashell.log.chain import OF_TOPIC, Chain
from metashell.log.fault import Fault, FaultCode, FaultKind
from metashell.log.frames import HEADER, as_batches
from metashell.log.names import SegmentName
from metashell.log.partition import PartitionLog
from metashell.log.read import windows
from metashell.node_files.epoch_checkpoint import FILE_NAME as EPOCH_CHECKPOINT
from metashell.node_files.epoch_checkpoint import EpochStart
from metashell.places.place import FileRef
from metashell.records.flaws import Flaw, LoadVerdict
from metashell.records.keyed_records import KeyedRecords
from metashell.records.log_records import MAX_FAULTS
from metashell.schema.arena import Arena

REPLACE_REPLICA: Final = (
    "copy the directory before anything else. Only if another replica is in the ISR: stop this"
    " broker, see that the other one leads, move the partition's directory away and start it. If no"
    " other leads, the records are lost"
)


def check_files(log: PartitionLog, records: KeyedRecords) -> Iterator[Finding]:
    """Find damage of the files, their batches and the offsets."""
    files = log.loaded.files
    last = files[-1].name if files else None
    yield from of_faults([*log.faults, *records.unframed], last)
    for file in files:
        yield from of_zeros(file.name, file.size, file.chain.padding)


def of_faults(faults: Iterable[Fault], last: str | None) -> Iterator[Finding]:
    """The findings about batches of a log that brokers replicate.

    Args:
        faults: Their faults.
        last: The segment that a broker appends to; None for none.
    """
    for fault in faults:
        if fault.kind is FaultKind.TORN and fault.file == last:
            yield Finding(
                "torn-tail",
                f"{fault.reason}: a crash, or a broker that is writing right now",
                **place_of(fault),
            )
        else:
            yield Finding(code_of(fault), fault.reason, REPLACE_REPLICA, **place_of(fault))


def of_zeros(name: str, size: int, padding: int) -> Iterator[Finding]:
    """The finding about the zero bytes with which a segment ends."""
    if padding:
        yield Finding(
            "preallocated-tail",
            f"the last {padding} bytes are zero: a preallocated segment, or what a"
            " crash of the machine leaves",
            file=name,
            pos=size - padding,
        )


def check_records(records: KeyedRecords, partition: int) -> Iterator[Finding]:
    """Find records that a broker refuses or skips.

    Args:
        records: All records of a partition.
        partition: Its number.
    """
    unread, refusal = records.refusal or (-1, None)
    replayed = replay_refusals(records, partition)
    # One record ends the load: the first that a broker can't read or can't replay.
    rows = [row for row, _ in replayed] + ([] if refusal is None else [unread])
    ends = min(rows, default=None)
    flaws = records.flaws()
    for row in (flaws != Flaw.NONE).nonzero()[0][:MAX_FAULTS].tolist():
        is_first = unread == row == ends
        yield _of_record(records, row, refusal.reason if refusal and is_first else None)
    for row, reason in replayed:
        offset = int(records.frames.offset[row])
        code = "load-ends" if row == ends else "record-refused"
        message = f"a broker stops at offset {offset}: {reason}"
        yield Finding(code, message, **_place(records, row))


def _of_record(records: KeyedRecords, row: int, ends_load: str | None) -> Finding:
    verdict, place = records.verdict(row), _place(records, row)
    if ends_load is None and verdict is LoadVerdict.READ:
        return Finding("record-not-decoded", records.reason(row), **place)
    is_newer = records.flaw(row) in (Flaw.UNKNOWN_TYPE, Flaw.UNKNOWN_VERSION)
    action = UPGRADE if is_newer else None
    if ends_load is not None:
        return Finding("load-ends", ends_load, action, **place)
    code = "record-skipped" if verdict is LoadVerdict.SKIPPED else "record-refused"
    return Finding(code, records.reason(row), action, **place)


def _place(records: KeyedRecords, row: int) -> FaultPlace:
    return {
        "file": records.file_of(row).name,
        "pos": records.batch_position(row),
        "offset": int(records.frames.offset[row]),
    }


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
    expected = epochs[np.searchsorted(starts, facts.base[begins], side="right") - 1]
    wrong = np.flatnonzero((expected >= 0) & (expected != facts.epoch[begins]))[:MAX_FAULTS]
    for batch, epoch in zip(begins[wrong].tolist(), expected[wrong].tolist(), strict=True):
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
