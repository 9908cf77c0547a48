"""Copies of one cluster's metadata: nodes that are no one cluster, and logs that do not agree."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, FindingKind, Need, Severity

_of = partial(
    FindingKind,
    about=About.FLEET,
    counts="copies",
    needs=Need.COPIES,
    finder="metashell.judgement.copies_findings:find_in",
)
_SEE: Final = "fleet --verify"

KINDS: Final = (
    _of(
        code="disjoint-voters",
        comes_first=True,
        severity=Severity.CRITICAL,
        order=5,
        counts="quorums",
        meaning="nodes with one cluster id are several quorums: each decides alone, and none knows"
        " of the others",
        do="copy every directory, and decide which quorum has the cluster's data. The other"
        " controllers join it by kafka-storage.sh format --no-initial-controllers, on a new log"
        " dir, and kafka-metadata-quorum.sh add-controller",
        avoid="format no log dir that is not copied",
        see="fleet --votes",
        source="org.apache.kafka.tools.StorageTool (format --standalone); KIP-853",
    ),
    _of(
        code="copies-differ",
        severity=Severity.CRITICAL,
        order=77,
        meaning="the logs of two copies agree, and their states do not",
        do="run `check` on each: it tells which one its log does not lead to",
        see=_SEE,
        source="org.apache.kafka.image.MetadataImage",
    ),
    _of(
        code="copies-diverged",
        severity=Severity.WARNING,
        order=62,
        meaning="a copy's log leaves that of the others: it has records that they do not have",
        do="copy the directory before its node starts. `quorum --copies` shows who can lead, and"
        " what is lost then: whoever follows cuts off what the leader does not have",
        see=_SEE,
        source="org.apache.kafka.raft.KafkaRaftClient; KIP-595",
    ),
    _of(
        code="copies-of-voters",
        severity=Severity.NOTE,
        order=90,
        meaning="copies of voters' logs are here, and tell who can win a vote",
        do="none needed while a leader answers. Else `quorum --copies` shows what each election"
        " would lose, and the steps",
        avoid="start no voter on a backup, and format none",
        see="quorum --copies",
        source="org.apache.kafka.raft.KafkaRaftClient; QuorumState",
    ),
)
