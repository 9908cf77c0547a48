"""Checks of a coordinator's log: its files, their batches, and what a broker can't load of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from metashell.checks.finding import FaultPlace, Finding, place_of
from metashell.checks.fsck import code_of
from metashell.findings.kinds.records import UPGRADE
from metashell.image.coordinators.loading import replay_refusals
from metashell.log.fault import Fault, FaultKind
from metashell.log.partition import PartitionLog
from metashell.records.flaws import Flaw, LoadVerdict
from metashell.records.keyed_records import KeyedRecords
from metashell.records.log_records import MAX_FAULTS

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
