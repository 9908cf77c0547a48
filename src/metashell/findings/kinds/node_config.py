"""The node's own server.properties, against the files beside its log and the quorum."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, AtStart, FindingKind, Need, Severity

_of = partial(
    FindingKind,
    about=About.DISK,
    needs=Need.CONFIG,
    counts="settings",
    see="quorum",
    finder="metashell.judgement.config_findings:find",
    source="org.apache.kafka.raft.QuorumConfig; KIP-853",
)

KINDS: Final = (
    _of(
        code="config-refused",
        at_start=AtStart.REFUSES,
        start_order=10,
        severity=Severity.CRITICAL,
        order=91,
        see=None,
        meaning="the node does not start with this configuration",
        do="find out whether the file or the log dir is the wrong one. Correct it before the next"
        " start",
        avoid="remove no data, also where Kafka's text proposes it: other replicas may lack it",
        source="kafka.server.KafkaConfig.validateValues; MetaPropertiesEnsemble.verify",
    ),
    _of(
        code="static-voters-differ",
        at_start=AtStart.NOT_VOTING,
        start_order=39,
        severity=Severity.CRITICAL,
        order=93,
        meaning="kraft.version is 0, and controller.quorum.voters is not the set of voters: two"
        " sets can elect two leaders, and a controller without it never votes",
        do="find out which voters are right; set controller.quorum.voters alike on all nodes",
        avoid="do not delete quorum-state: the node would forget its vote",
        source="org.apache.kafka.raft.QuorumState.initialize",
    ),
    _of(
        code="config-unlike-quorum",
        at_start=AtStart.NOTES,
        start_order=38,
        severity=Severity.WARNING,
        order=123,
        meaning="the file does not fit the voters: Kafka starts, and the node may be alone",
        do="keep old addresses reachable until the log has the new ones; change one voter after the"
        " other while a majority runs",
    ),
    _of(
        code="config-unlike-registrations",
        at_start=AtStart.NOTES,
        start_order=39,
        severity=Severity.NOTE,
        order=71,
        meaning="the file names other roles or addresses than the log",
        do="nothing if the names are aliases, and if the node waits to be added as a voter",
    ),
    _of(
        code="ignored-static-voters",
        at_start=AtStart.NOTES,
        start_order=12,
        severity=Severity.NOTE,
        order=70,
        see=None,
        meaning="the quorum is dynamic: the node ignores controller.quorum.voters",
        do="set controller.quorum.bootstrap.servers first; then remove it from server.properties",
    ),
    _of(
        code="voter-endpoint-differs",
        at_start=AtStart.NOT_VOTING,
        start_order=39,
        about=About.CONTROLLER,
        severity=Severity.WARNING,
        finder="metashell.judgement.config_findings:find_voters",
        order=122,
        counts="voters",
        meaning="a voter's endpoint in the log is not its own: others look for it at the old one",
        do="keep the old address reachable until the log has the new one",
        avoid="never move a majority of the voters at once",
    ),
)
