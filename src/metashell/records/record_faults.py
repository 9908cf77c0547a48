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

KAFKA_28 = (
    "record frame version 0: written by Kafka 2.8's early-access KRaft, whose format cannot be read"
    " (KIP-746)"
)


def set_aside(records: Records, name: str, rows: I64, version: int) -> I64:
    """Report rows of a version or frame that no definition describes; return the others."""
    spec = records.registry.by_name[name]
    if version not in spec.versions:
        for row in records.reported(rows):
            records.fault(
                row,
                f"{spec.type_name} version {version} is not known: kept raw",
                FaultKind.UNKNOWN,
            )
        return rows[:0]
    odd = records.odd(rows)
    for row in records.reported(rows[odd]):
        frame_version = int(records.frames_at([row]).frame_version[row])
        reason = (
            KAFKA_28 if frame_version == 0 else f"record frame version {frame_version} is not known"
        )
        records.fault(row, reason, FaultKind.UNKNOWN)
    return rows[~odd]


def report_unread(records: Records, rows: I64) -> None:
    """Say what was said when they were still there."""
    frames = records.frames_at(rows)
    for row in records.reported(rows):
        reason = frames.arena.slice(int(frames.start[row]), int(frames.stop[row]))
        records.fault(row, bytes(reason).decode(errors="replace"), FaultKind.RECORD)


def report_undecodable(records: Records, rows: I64) -> None:
    """Say why: the scalar decoder reads the record again and finds the field."""
    from metashell.schema.scalar import decode_message

    frames = records.frames_at(rows)
    for row in records.reported(rows):
        spec = records.spec_of_key(int(frames.api_key[row]))
        assert spec is not None
        body, stop = int(frames.body[row]), int(frames.stop[row])
        try:
            decode_message(spec, int(frames.version[row]), frames.arena.slice(body, stop))
            reason = "an array in it is over the limit"
        except DecodeError as e:
            reason = e.message
        records.fault(row, f"{spec.type_name} can't be decoded: {reason}", FaultKind.RECORD)


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
    for row in records.reported(np.flatnonzero(strange)):
        key = int(keys[row])
        if key <= CONTROL_KEY:
            reason = f"control record type {CONTROL_KEY - key} is not known: kept raw"
        elif key < 0:
            reason = "the record has no value that could be metadata"
        elif records.frames.frame_version[row] == 0:
            reason = KAFKA_28
        else:
            size = int(records.frames.stop[row] - records.frames.body[row])
            reason = (
                f"record type {key} version {int(records.frames.version[row])} is not known:"
                f" kept raw, {size} bytes"
            )
        records.fault(row, reason, FaultKind.UNKNOWN)
