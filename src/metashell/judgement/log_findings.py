"""Findings about the records and files of the log that was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypedDict

import numpy as np

from metashell.answers.row_times import when
from metashell.checks.finding import Finding
from metashell.checks.fsck_order import check_beyond, check_missing, check_names
from metashell.errors import SourceError
from metashell.findings.kind import AtStart, FindingKind
from metashell.findings.known import all_kinds
from metashell.judgement.evidence import Evidence
from metashell.judgement.node_roles import is_controller
from metashell.log.fault import Fault, FaultKind
from metashell.log.log_tail import LogTail
from metashell.log.names import METADATA_DIRECTORY, CheckpointName, SegmentName, parse_name
from metashell.places.place import names_in

CODES: Final = {
    FaultKind.DAMAGED: "file-damaged",
    FaultKind.GAP: "offset-gap",
    FaultKind.RECORD: "record-undecodable",
    FaultKind.REPLAY: "replay-fault",
    FaultKind.UNKNOWN: "record-unknown",
    FaultKind.UNREADABLE: "file-unreadable",
    FaultKind.TORN: "torn-tail",
}
"""The kind of finding that each kind of fault is."""
_FAULTS_NODE: Final = "/log/faults"


def find(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find damage, records at fault and an open transaction. Cost: decodes everything."""
    source = evidence.source
    by_place: dict[tuple[FaultKind, str], list[Fault]] = {}
    for fault in source.all_faults():
        by_place.setdefault((fault.kind, fault.file or ""), []).append(fault)
    for (kind, file), faults in by_place.items():
        offsets = [fault.offset for fault in faults if fault.offset is not None]
        first, code = faults[0], CODES[kind]
        meaning = all_kinds()[code].meaning
        yield Finding(
            code,
            f"{meaning}; {'first: ' * (len(faults) > 1)}{first.reason}",
            file=file or None,
            count=len(faults),
            path=_FAULTS_NODE,
            offset=min(offsets, default=None),
            **(_at_start(evidence, file) if kind is FaultKind.DAMAGED else {}),
        )
    records = source.image.records
    if records.faults_left_out:
        yield Finding(
            "replay-fault",
            "there are more faults than rows for them",
            subject="more records",
            count=records.faults_left_out,
            path=_FAULTS_NODE,
            command=("check",),
        )
    yield from _transaction(evidence)


class _AtStart(TypedDict, total=False):
    """A damaged file at a start; see `Finding`."""

    at_start: AtStart | None
    kafka: str | None


def _at_start(evidence: Evidence, file: str) -> _AtStart:
    """The effect of a damaged file, and Kafka's words: each start cuts the log off there."""
    name = parse_name(file)
    if isinstance(name, CheckpointName):
        return {"at_start": AtStart.STOPS_CONTROLLER}
    if not isinstance(name, SegmentName):
        return {}
    # A broker fetches the records again.
    again = evidence.starts and not is_controller(evidence)
    said = f"Corruption found in segment {name.base_offset}, truncating to offset"
    return {"at_start": AtStart.CHANGES if again else None, "kafka": said}


def find_names(evidence: Evidence, kinds: Sequence[FindingKind]) -> Iterator[Finding]:
    """Find what names alone tell: a missing segment, and files that nobody reads. Cost: reads the
    end of the last segment.
    """
    source, log = evidence.source, evidence.source.log
    if source.moment_offset is not None or source.live is not None or log.is_file:
        return
    names = names_in(log.place)
    tail = LogTail(log.place, METADATA_DIRECTORY, names)
    log_end = None
    try:
        log_end = tail.end().end_offset if tail.segments else None
    except SourceError as error:
        evidence.unread(f"{error.message}: whether the last segment is whole is not known")
    covered = 0 if log.checkpoint is None else log.checkpoint.end_offset
    missing = None if log_end is None and tail.segments else check_missing(names, log_end, covered)
    yield from [] if missing is None else [missing]
    if log_end is not None:
        yield from check_beyond(tail.segments[-1].name, log_end, covered)
    wanted = {kind.code for kind in kinds}
    yield from (one for one in check_names(names, missing) if one.code in wanted)


def _transaction(evidence: Evidence) -> Iterator[Finding]:
    image = evidence.source.image
    _ = image.records.applied
    row = image.records.open_transaction
    if row is not None:
        since = when(image, "since", np.array([row]))
        yield Finding(
            "open-transaction",
            path="/log",
            offset=since["since_offset"][0].as_py(),
            since_time_ms=since["since_time"].cast("int64")[0].as_py(),
        )
