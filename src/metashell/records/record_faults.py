"""Faults of records: types and versions that are not known, fields that do not decode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from metashell.errors import DecodeError
from metashell.log.control import ControlType
from metashell.log.fault import Fault, FaultKind
from metashell.log.frames import CONTROL_KEY, control_key

if TYPE_CHECKING:
    from metashell.records.records import Records
    from metashell.schema.arena import I64
    from metashell.schema.model import MessageSpec

KAFKA_28 = (
    "record frame version 0: written by Kafka 2.8's early-access KRaft, whose format cannot be read"
    " (KIP-746)"
)


def set_aside(records: Records, spec: MessageSpec, rows: I64, version: int) -> I64:
    """Report rows of a version or frame that no definition describes; return the others."""
    if version not in spec.versions:
        reason = f"{spec.type_name} version {version} is not known: kept raw"
        records.report(rows, lambda _: reason, FaultKind.UNKNOWN)
        return rows[:0]
    odd = records.odd(rows)

    def reason_of(row: int) -> str:
        frame_version = int(records.frames_at([row]).frame_version[row])
        return (
            KAFKA_28 if not frame_version else f"record frame version {frame_version} is not known"
        )

    records.report(rows[odd], reason_of, FaultKind.UNKNOWN)
    return rows[~odd]


def report_unread(records: Records, rows: I64) -> None:
    """Say what was said when they were still there."""
    frames = records.frames_at(rows)

    def reason_of(row: int) -> str:
        reason = frames.arena.slice(int(frames.start[row]), int(frames.stop[row]))
        return bytes(reason).decode(errors="replace")

    records.report(rows, reason_of, FaultKind.RECORD)


def report_undecodable(records: Records, spec: MessageSpec, rows: I64) -> None:
    """Say why: the scalar decoder reads the record again and finds the field."""
    from metashell.schema.scalar import decode_message

    frames = records.frames_at(rows)

    def reason_of(row: int) -> str:
        body, stop = int(frames.body[row]), int(frames.stop[row])
        reason = "an array in it is over the limit"
        try:
            decode_message(spec, int(frames.version[row]), frames.arena.slice(body, stop))
        except DecodeError as e:
            reason = e.message
        return f"{spec.type_name} can't be decoded: {reason}"

    records.report(rows, reason_of, FaultKind.RECORD)


def first_fault(records: Records, of_files: Sequence[Fault] = ()) -> tuple[int, Fault] | None:
    """Where a replay that stops at the first fault ends.

    Args:
        records: The records of the replay.
        of_files: Faults of the files, found before any record was looked at.

    Returns:
        (the first row of that fault's batch, the fault), or None where there is none. A torn
        tail is none: what is cut off was never whole.
    """
    batches = records.frames.batches
    found = [
        (int(batches.first_row[records.frames.batch[row]]), row, fault)
        for row, fault in records.faults_by_row()
    ]
    starts = {file.name: (i, file.start) for i, file in enumerate(records.loaded.files)}
    for fault in (*of_files, *records.unframed):
        if fault.kind is FaultKind.TORN or fault.pos is None or fault.file not in starts:
            continue
        i, start = starts[fault.file]
        after = (batches.file > i) | ((batches.file == i) & (batches.pos >= start + fault.pos))
        following = np.flatnonzero(after)[:1]
        row = int(batches.first_row[following[0] if following.size else -1])
        found.append((row, -1, fault))
    first = min(found, key=lambda f: f[:2], default=None)
    return None if first is None else (first[0], first[2])


def report_unknown(records: Records) -> None:
    """Note every record of a type that no definition describes."""
    keys, counts = records.frames.api_key.narrow, records.counted
    known = np.array(
        [*records.registry.metadata, *(control_key(t) for t in records.registry.control)]
    )
    known = np.append(known, [control_key(ControlType.ABORT), control_key(ControlType.COMMIT)])
    strange = counts & ~np.isin(keys, known)

    def reason_of(row: int) -> str:
        key = int(keys[row])
        if key <= CONTROL_KEY:
            return f"control record type {CONTROL_KEY - key} is not known: kept raw"
        if key < 0:
            return "the record has no value that could be metadata"
        if records.frames.frame_version[row] == 0:
            return KAFKA_28
        size, version = (
            records.frames.stop[row] - records.frames.body[row],
            records.frames.version[row],
        )
        return f"record type {key} version {version} is not known: kept raw, {size} bytes"

    records.report(np.flatnonzero(strange), reason_of, FaultKind.UNKNOWN)
