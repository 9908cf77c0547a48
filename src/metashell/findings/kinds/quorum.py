"""A running quorum: whether it answers, who leads, and who is behind."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, AtStart, FindingKind, Need, Severity

_of = partial(
    FindingKind,
    about=About.CONTROLLER,
    needs=Need.LIVE,
    see="quorum",
    finder="metashell.judgement.quorum_findings:find_live",
)
_STATUS: Final = "org.apache.kafka.tools.MetadataQuorumCommand; KIP-836"

KINDS: Final = (
    _of(
        code="quorum-unreachable",
        at_start=AtStart.NOT_JOINED,
        start_order=38,
        severity=Severity.CRITICAL,
        order=60,
        counts="quorums",
        meaning="the quorum does not answer: this state may be old",
        do="check that controllers run and that this machine can reach them",
        source="org.apache.kafka.raft.KafkaRaftClient",
    ),
    _of(
        code="quorum-no-leader",
        at_start=AtStart.NOT_JOINED,
        start_order=38,
        severity=Severity.CRITICAL,
        order=70,
        counts="quorums",
        meaning="no controller leads: topics, configs, ISRs and leaders cannot change",
        do="start voters on their own log dirs until a majority of them runs",
        avoid="never start a voter on an empty log dir",
        source="org.apache.kafka.raft.KafkaRaftClient; KIP-595",
    ),
    _of(
        code="voter-lagging",
        severity=Severity.WARNING,
        order=110,
        counts="voters",
        meaning="the quorum may lose its majority",
        do="check that controller's log, disk and network",
        source=_STATUS,
    ),
    _of(
        code="observer-lagging",
        severity=Severity.WARNING,
        order=115,
        counts="observers",
        meaning="it acts on old metadata",
        do="check that node's log, disk and network",
        source=_STATUS,
    ),
    _of(
        code="quorum-disagreement",
        severity=Severity.WARNING,
        order=130,
        meaning="the log and the leader disagree about the voters",
        do="nothing while voters change; else compare with the controllers' logs",
        source="org.apache.kafka.raft.VoterSet; KIP-853",
    ),
    _of(
        code="quorum-not-described",
        severity=Severity.NOTE,
        order=160,
        counts="quorums",
        meaning="the leader does not describe the quorum: lag and observers are not known",
        do="allow metashell's user DESCRIBE on the cluster",
        source="org.apache.kafka.server.ControllerApis.handleDescribeQuorum",
    ),
)
