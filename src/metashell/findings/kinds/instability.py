"""Instability: what happens again and again, by the hour, over all history at hand."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, FindingKind, Need, Severity

MOST_PER_HOUR: Final = 3
"""More in any hour is told. A rolling restart of all nodes stays below: each of them registers, is
fenced, leaves an ISR and hands over a leadership once or twice."""

_of = partial(
    FindingKind,
    severity=Severity.WARNING,
    about=About.CONTROLLER,
    counts="times",
    needs=Need.HISTORY,
    finder="metashell.judgement.instability_findings:find",
)

KINDS: Final = (
    _of(
        code="frequent-elections",
        order=75,
        meaning="the quorum elects leaders again and again: meanwhile no metadata changes",
        do="look at the controllers' logs at these times: disk, network, memory, and"
        " controller.quorum.fetch.timeout.ms",
        avoid="restart no controller because of it: that is one more election",
        see="quorum --epochs",
        source="org.apache.kafka.raft.KafkaRaftClient; KIP-595",
    ),
    _of(
        code="unstable-broker",
        about=About.BROKER,
        order=78,
        meaning="the broker comes and goes: its partitions change leader and ISR again and again",
        do="look at the broker's log at these times: why it stopped, or did not answer or fetch",
        source="org.apache.kafka.controller.BrokerHeartbeatManager; KIP-631",
    ),
    _of(
        code="unstable-voter",
        order=121,
        meaning="the voter is removed and added again and again",
        do="find out who adds and who removes it: an operator, a script, or auto join",
        see="changes /quorum/voters",
        source="org.apache.kafka.raft.internals.AddVoterHandler; KIP-853",
    ),
)
