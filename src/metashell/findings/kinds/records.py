"""Records: those that cannot be decoded, replayed or loaded."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, AtStart, FindingKind, Need, Severity

UPGRADE: Final = "run the brokers on the Kafka release that wrote the record"
COMPARE: Final = "compare the record with that of another replica: `log --offset N` prints it"
_REPLAY: Final = "org.apache.kafka.controller.QuorumController.replay"
_LOADER: Final = "org.apache.kafka.coordinator.common.runtime.CoordinatorLoaderImpl"

_of = partial(
    FindingKind,
    about=About.FILE,
    counts="records",
    see="cat /log/faults",
    finder="metashell.judgement.log_findings:find",
)
_deep = partial(
    FindingKind,
    about=About.FILE,
    counts="records",
    needs=Need.FILES,
    source=_LOADER,
    finder="metashell.judgement.deep_findings:find",
)

KINDS: Final = (
    _of(
        code="record-undecodable",
        at_start=AtStart.STOPS_CONTROLLER,
        start_order=35,
        severity=Severity.CRITICAL,
        order=110,
        meaning="records cannot be decoded: this state lacks them",
        do="the CRC is right, so a node wrote them so: use a newer metashell, or report it",
        source="org.apache.kafka.metadata.MetadataRecordSerde",
    ),
    _of(
        code="replay-fault",
        at_start=AtStart.STOPS_CONTROLLER,
        start_order=35,
        severity=Severity.CRITICAL,
        order=120,
        meaning="records do not fit the state before them: a controller stops there, a broker reads"
        " on; this state may be wrong",
        do="compare with another controller's directory: an earlier record may be lost",
        source=_REPLAY,
    ),
    _of(
        code="open-transaction",
        at_start=AtStart.NOTES,
        start_order=36,
        severity=Severity.WARNING,
        order=140,
        counts="transactions",
        meaning="a metadata transaction has not ended: its records do not count yet",
        do="nothing while a controller runs; the next leader aborts it",
        see="check --quick",
        source="org.apache.kafka.controller.OffsetControlManager; KIP-868",
    ),
    _of(
        code="record-unknown",
        severity=Severity.WARNING,
        order=170,
        meaning="the records' type is not known: this state lacks them",
        do="add their definition with --schemas if a vendor's or a newer Kafka wrote them",
        source="org.apache.kafka.metadata.MetadataRecordSerde",
    ),
    _deep(
        code="more-faults",
        severity=Severity.CRITICAL,
        part_of="replay-fault",
        meaning="more records are at fault than there are rows for them",
        do="see the other findings about records",
        source=_REPLAY,
    ),
    _deep(
        code="load-ends",
        severity=Severity.CRITICAL,
        part_of="coordinator-refuses",
        meaning="a broker stops loading the partition at a record",
        do=COMPARE,
    ),
    _deep(
        code="record-refused",
        severity=Severity.WARNING,
        meaning="a broker refuses a record behind the one that ends its load",
        do=COMPARE,
    ),
    _deep(
        code="record-skipped",
        severity=Severity.NOTE,
        meaning="a broker skips a record that it does not know",
        do=COMPARE,
    ),
    _deep(
        code="record-not-decoded",
        severity=Severity.NOTE,
        meaning="a broker takes a record that metashell cannot decode",
        do="none needed: a broker loads it",
    ),
)
