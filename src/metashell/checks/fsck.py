"""Checks of a metadata log's files, each on its own: batches, their records, names.

`facts_of` keeps what later checks need of a file, so that files need not stay in memory together;
how they fit together is `metashell.checks.fsck_order`, their indexes `metashell.checks.fsck_index`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from metashell.checks.finding import Finding, place_of
from metashell.dataclass import dataclass
from metashell.findings.kinds.files import NO_CUT, REMOVE_CHECKPOINT, REPLACE_SEGMENT
from metashell.log.chain import Chain
from metashell.log.control import CHECKPOINT_ENDS, first_control_type
from metashell.log.fault import Fault, FaultCode, FaultKind
from metashell.log.frames import Frames
from metashell.log.layout import LOG_APPEND_TIME
from metashell.log.names import CheckpointName, SegmentName, parse_name
from metashell.log.read import Loaded
from metashell.schema.arena import I64, AnyArray

_BLOCK: Final = 1 << 18

_NOTHING_LOST: Final = (
    FaultCode.EPOCH_FALLS,
    FaultCode.BAD_OFFSET_RANGE,
    FaultCode.OUT_OF_ORDER,
)
"""Damage of a header alone: no bytes are passed over."""


@dataclass(slots=True)
class CheckedFile:
    """The facts about a checked file; arrays have one element a sound batch."""

    name: str
    size: int
    parsed: SegmentName | CheckpointName | None
    faults: list[Fault]
    padding: int
    named_offset: int | None
    """Base offset in the first 61 bytes, None where no batch begins there."""
    types: tuple[int | None, int | None]
    """Control types of the first and the last batch."""
    pos: I64
    """int64: position in the file."""
    base: I64
    """int64: first offset."""
    last: I64
    """int64: last offset."""
    epoch: I64
    """int64: leader epoch."""
    first_time: I64
    """int64: base timestamp, ms."""
    max_time: I64
    """int64: largest timestamp, ms."""
    n_records: int

    @property
    def is_whole_checkpoint(self) -> bool:
        """Whether it is sound from its header to its footer."""
        return not self.faults and self.types == tuple(kind for kind, _ in CHECKPOINT_ENDS)

    @property
    def first_fault(self) -> int:
        """Position of the first byte that is not sound."""
        positions = [fault.pos for fault in self.faults if fault.pos is not None]
        return min(positions, default=self.size)

    @property
    def end_offset(self) -> int | None:
        """The offset behind its last sound batch, None without one."""
        return int(self.last[-1]) + 1 if len(self.last) else None


def facts_of(loaded: Loaded, index: int, frames: Frames) -> CheckedFile:
    """Gather the facts about one of the files loaded.

    In a reduced log, the known offsets and epochs appear as one batch for each epoch.
    """
    file = loaded.files[index]
    first, stop = _batch_range(frames, index)
    pos, header = frames.batches.pos[first:stop], frames.batches.header[first:stop]
    view = memoryview(loaded.buffer)
    head = view[file.start : file.start + 61]
    has_head = len(head) >= min(file.size, 61) >= 61 and head[16] == 2
    ends = pos[[0, -1]].tolist() if len(pos) and loaded.size else ()
    facts = facts_of_batches(file.name, file.size, file.chain, pos - file.start, header)
    if file.epochs is not None:
        facts.epoch, facts.base, end = np.array(file.epochs, dtype=np.int64).reshape(-1, 3).T
        facts.last = end - 1
    facts.named_offset = int.from_bytes(head[:8], "big", signed=True) if has_head else None
    if ends:
        facts.types = first_control_type(view, ends[0]), first_control_type(view, ends[1])
    facts.n_records = int(frames.batches.first_row[stop] - frames.batches.first_row[first])
    return facts


def facts_of_batches(name: str, size: int, chain: Chain, pos: I64, header: AnyArray) -> CheckedFile:
    """Gather the facts that headers tell.

    Args:
        name: The file's.
        size: Its size.
        chain: Its faults and zeros.
        pos: int64[n]: where each sound batch begins.
        header: `metashell.log.frames.HEADER` of each.
    """
    base = header["base_offset"].astype(np.int64)
    return CheckedFile(
        name=name,
        size=size,
        parsed=parse_name(name),
        faults=chain.faults,
        padding=chain.padding,
        named_offset=None,
        types=(None, None),
        pos=pos,
        base=base,
        last=base + header["last_delta"],
        epoch=header["epoch"].astype(np.int64),
        first_time=header["base_timestamp"].astype(np.int64),
        max_time=header["max_timestamp"].astype(np.int64),
        n_records=int(header["count"].sum(dtype=np.int64)),
    )


def _batch_range(frames: Frames, index: int) -> tuple[int, int]:
    first, stop = np.searchsorted(frames.batches.file, [index, index + 1]).tolist()
    return int(first), int(stop)


def check_batches(facts: CheckedFile, *, is_last: bool) -> Iterator[Finding]:
    """The faults in the chain of batches.

    Args:
        facts: The file.
        is_last: Whether it is the segment that a node appends to.
    """
    n_back = sum(_goes_back(fault) for fault in facts.faults)
    is_reported = False
    for fault in facts.faults:
        # A segment that repeats another has nothing else: once is enough.
        if _goes_back(fault):
            if is_reported:
                continue
            is_reported = True
        yield _of_fault(facts, fault, n_back, is_last=is_last)
    if facts.padding:
        # A metadata log is not preallocated, and a node recovers all of it when it starts.
        where = (
            ": what a crash of the machine leaves of a batch, or a preallocated segment"
            if is_last
            else ", though it is not the last segment"
        )
        yield Finding(
            "zero-tail",
            f"the last {facts.padding} bytes are zero{where}",
            None if is_last else NO_CUT,
            file=facts.name,
            pos=facts.size - facts.padding,
            offset=facts.end_offset if is_last else None,
        )
    if not facts.size and (facts.parsed is None or isinstance(facts.parsed, CheckpointName)):
        yield Finding("checkpoint-empty", "the checkpoint is empty", file=facts.name, pos=0)
    if np.any(facts.first_time[1:] < facts.max_time[:-1]):
        yield _time_back(facts)


def code_of(fault: Fault) -> FaultCode:
    """The code that a fault of a batch is told by."""
    if fault.code is not None:
        return fault.code
    return FaultCode.OFFSET_GAP if fault.kind is FaultKind.GAP else FaultCode.BATCH_DAMAGED


def _goes_back(fault: Fault) -> bool:
    return fault.code is FaultCode.OFFSETS_GO_BACK


def _of_fault(facts: CheckedFile, fault: Fault, n_back: int, *, is_last: bool) -> Finding:
    is_segment = isinstance(facts.parsed, SegmentName)
    if fault.kind is FaultKind.TORN and is_segment and is_last:
        return Finding(
            "torn-tail",
            f"{fault.reason}: a crash, or a node that is writing right now",
            **place_of(fault),
        )
    if fault.kind is FaultKind.GAP:
        going_back = _goes_back(fault)
        more = f", and {n_back - 1} more batches like it" if going_back and n_back > 1 else ""
        message = fault.reason + more
    else:
        message = fault.reason + _lost(facts, fault)
    action = REPLACE_SEGMENT if is_segment else REMOVE_CHECKPOINT
    return Finding(code_of(fault), message, action, **place_of(fault))


def _lost(facts: CheckedFile, fault: Fault) -> str:
    """Which offsets are lost by damage."""
    if fault.pos is None or fault.offset is None or fault.code in _NOTHING_LOST:
        return ""
    after = int(np.searchsorted(facts.pos, fault.pos))
    if after >= len(facts.pos):
        return f"; lost: everything from offset {fault.offset} on in this file"
    first = int(facts.base[after])
    if first <= fault.offset:
        return "; no offset is lost"
    return f"; lost: offsets {fault.offset} to {first - 1}"


def _time_back(facts: CheckedFile) -> Finding:
    back = np.flatnonzero(facts.first_time[1:] < facts.max_time[:-1]) + 1
    at = int(back[0])
    more = f", and {len(back) - 1} more times in this file" if len(back) > 1 else ""
    by = int(facts.max_time[at - 1]) - int(facts.first_time[at])
    return Finding(
        "time-goes-back",
        f"the time goes back by {by} ms from one batch to the next{more}:"
        " a clock was set, or the leader changed",
        file=facts.name,
        pos=int(facts.pos[at]),
        offset=int(facts.base[at]) if isinstance(facts.parsed, SegmentName) else None,
    )


def check_name(facts: CheckedFile) -> Iterator[Finding]:
    """Whether a file is what its name says: a segment's base offset, a checkpoint's epoch."""
    parsed = facts.parsed
    if isinstance(parsed, SegmentName):
        if facts.named_offset not in (None, parsed.base_offset):
            yield Finding(
                "name-mismatch",
                f"its first batch has offset {facts.named_offset}, its name says"
                f" {parsed.base_offset}",
                file=facts.name,
                pos=0,
                offset=facts.named_offset,
            )
        return
    if not facts.size:
        return
    ends = zip(facts.types, CHECKPOINT_ENDS, (0, -1), strict=True)
    for control_type, (wanted, what), at in ends:
        if control_type != wanted:
            yield Finding(
                f"checkpoint-no-{what}",
                f"no snapshot {what}: the checkpoint is not whole, and is not used",
                file=facts.name,
                pos=int(facts.pos[at]) if len(facts.pos) else 0,
            )
    if parsed is None:
        return
    odd = np.flatnonzero(facts.epoch != parsed.epoch)
    if odd.size:
        at = int(odd[0])
        yield Finding(
            "checkpoint-epoch",
            f"its batches have leader epoch {int(facts.epoch[at])}, its name says {parsed.epoch}",
            file=facts.name,
            pos=int(facts.pos[at]),
        )


def check_records(facts: CheckedFile, frames: Frames, index: int) -> Iterator[Finding]:
    """Whether the records of each batch are those that its header promises."""
    first, stop = _batch_range(frames, index)
    bounds = frames.batches.first_row[first : stop + 1]
    start, end = int(bounds[0]), int(bounds[-1])
    if start == end:
        return
    batch = frames.batch[start:end] - first
    expected = facts.base[batch] + np.arange(start, end) - bounds[batch]
    # A batch of n records may not end elsewhere than n offsets further on: nothing compacts it.
    sizes = np.diff(bounds)
    wrong = (sizes > 0) & (facts.last - facts.base + 1 != sizes)
    wrong[batch[frames.offset[start:end] != expected]] = True
    for at in np.flatnonzero(wrong).tolist():
        yield _in_batch(
            facts,
            at,
            "record-offsets",
            "the offsets of its records do not follow one after the other",
        )
    filled = np.flatnonzero(sizes)
    latest = np.maximum.reduceat(_times(frames, start, end), bounds[filled] - start)
    header = frames.batches.header[first:stop]
    by_record = (header["attributes"][filled] & LOG_APPEND_TIME) == 0
    for at in filled[by_record & (latest != facts.max_time[filled])].tolist():
        yield _in_batch(
            facts, at, "batch-time", "its header names another latest time than its records"
        )


def _times(frames: Frames, start: int, end: int) -> AnyArray:
    blocks = range(start, end, _BLOCK)
    return np.concatenate(
        [frames.timestamps(np.arange(a, min(a + _BLOCK, end), dtype=np.int64)) for a in blocks]
    )


def _in_batch(facts: CheckedFile, at: int, code: str, what: str) -> Finding:
    return Finding(
        code=code,
        message=f"batch of offset {int(facts.base[at])}: {what}",
        file=facts.name,
        pos=int(facts.pos[at]),
        offset=int(facts.base[at]) if isinstance(facts.parsed, SegmentName) else None,
    )
