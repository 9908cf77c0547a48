"""Findings about the records and files of the log that was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from metashell.answers.row_times import when
from metashell.checks.finding import Finding
from metashell.findings.kind import FindingKind
from metashell.findings.known import all_kinds
from metashell.judgement.evidence import Evidence
from metashell.log.fault import Fault, FaultKind

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
