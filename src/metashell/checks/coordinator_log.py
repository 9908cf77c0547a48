"""Checks of a coordinator's log: its files, their batches, and what a broker can't load of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from metashell.checks.finding import Finding, Severity
from metashell.checks.fsck import code_of
from metashell.image.coordinators.loading import replay_refusals
from metashell.log.fault import Fault, FaultKind
from metashell.log.partition import PartitionLog
from metashell.records.flaws import Flaw, LoadVerdict
from metashell.records.keyed_records import MAX_FAULTS, KeyedRecords

REPLACE_REPLICA: Final = (
    "copy the directory before anything else. Only if another replica is in the ISR: stop this"
    " broker, see that the other one leads, move the partition's directory away and start it. If no"
    " other leads, the records are lost"
)
_COMPARE: Final = "compare the record with that of another replica: `log --offset N` prints it"
_UPGRADE: Final = "run the brokers on the Kafka release that wrote the record"


def check_files(log: PartitionLog) -> Iterator[Finding]:
    """Find damage of the files, their batches and the offsets."""
    files = log.loaded.files
    last = files[-1].name if files else None
    for fault in log.faults:
        yield _of_fault(fault, is_last=fault.file == last)
    for file in files:
        padding = file.chain.padding
        if padding:
            yield Finding(
                severity=Severity.NOTE,
                code="zero-tail",
                message=f"the last {padding} bytes are zero: a preallocated segment, or what a"
                " crash of the machine leaves",
                action="none needed: a broker cuts this off when it starts",
                file=file.name,
                pos=file.size - padding,
            )


def check_batches(records: KeyedRecords) -> Iterator[Finding]:
    """Find batches whose records can't be read."""
    for fault in records.unframed:
        yield _of_fault(fault, is_last=False)


def check_records(records: KeyedRecords, partition: int) -> Iterator[Finding]:
    """Find records that a broker refuses or skips.

    Args:
        records: All records of a partition.
        partition: Its number.
    """
    refusal, replayed = records.refusal, replay_refusals(records, partition)
    # One record ends the load: the first that a broker can't read or can't replay.
    rows = [row for row, _ in replayed] + ([] if refusal is None else [refusal.row])
    ends = min(rows, default=None)
    flaws = records.flaws()
    for row in (flaws != Flaw.NONE).nonzero()[0][:MAX_FAULTS].tolist():
        is_first = refusal is not None and refusal.row == row == ends
        yield _of_record(records, row, refusal.text if refusal and is_first else None)
    for row, reason in replayed:
        is_first, offset = row == ends, int(records.frames.offset[row])
        yield Finding(
            severity=Severity.ERROR if is_first else Severity.WARNING,
            code="load-ends" if is_first else "record-refused",
            message=f"a broker stops at offset {offset}: {reason}",
            action=_COMPARE,
            file=records.file_of(row).name,
            pos=records.batch_position(row),
            offset=offset,
        )


def _of_record(records: KeyedRecords, row: int, ends_load: str | None) -> Finding:
    flaw, verdict = records.flaw(row), records.verdict(row)
    severity, code = Severity.WARNING, "record-refused"
    if ends_load is not None:
        severity, code = Severity.ERROR, "load-ends"
    elif verdict is LoadVerdict.SKIPPED:
        severity, code = Severity.NOTE, "record-skipped"
    elif verdict is LoadVerdict.READ:
        severity, code = Severity.NOTE, "record-not-decoded"
    action = None
    if verdict is not LoadVerdict.READ:
        newer = flaw in (Flaw.UNKNOWN_TYPE, Flaw.UNKNOWN_VERSION)
        action = _UPGRADE if newer else _COMPARE
    return Finding(
        severity=severity,
        code=code,
        message=ends_load or records.reason(row),
        action=action,
        file=records.file_of(row).name,
        pos=records.batch_position(row),
        offset=int(records.frames.offset[row]),
    )


def _of_fault(fault: Fault, *, is_last: bool) -> Finding:
    if fault.kind is FaultKind.TORN and is_last:
        return Finding(
            severity=Severity.WARNING,
            code="torn-tail",
            message=f"{fault.reason}: a crash, or a broker that is writing right now",
            action="none needed: a broker cuts this off when it starts",
            file=fault.file,
            pos=fault.pos,
            offset=fault.offset,
        )
    return Finding(
        severity=Severity.ERROR,
        code=code_of(fault),
        message=fault.reason,
        action=REPLACE_REPLICA,
        file=fault.file,
        pos=fault.pos,
        offset=fault.offset,
    )
