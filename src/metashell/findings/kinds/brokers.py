"""Brokers, their log directories, and nodes that should not be registered any more."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, FindingKind, Severity

_of = partial(
    FindingKind,
    about=About.BROKER,
    counts="replicas",
    finder="metashell.judgement.image_findings:find",
)

KINDS: Final = (
    _of(
        code="lost-directory",
        severity=Severity.WARNING,
        order=50,
        headline="{subjects} lost a log directory",
        cause="broker {} lost a log directory",
        meaning="replicas are in failed log directories: these copies do not count",
        do="see first that other replicas are in sync: on a new disk a replica begins empty",
        see="partitions --directory LOST --replica {subject}",
        source="org.apache.kafka.common.DirectoryId.LOST; KIP-858",
    ),
    _of(
        code="offline-directory",
        severity=Severity.WARNING,
        order=60,
        headline="{subjects} {has} a log directory that is not online",
        cause="a log directory is not online on broker {}",
        meaning="replicas are in log directories that are not online",
        do="look for a failed disk; then start the broker again: it reports its directories",
        see="partitions --replica {subject}",
        source="org.apache.kafka.metadata.BrokerRegistration.hasOnlineDir; KIP-858",
    ),
    _of(
        code="unregistered-broker",
        severity=Severity.WARNING,
        order=70,
        headline="{subjects} {has} replicas and {is} not registered",
        cause="broker {} is not registered",
        meaning="replicas are assigned to a broker that is not registered: these copies are"
        " missing",
        do="start the broker on its own log dirs, or move replicas: kafka-reassign-partitions.sh",
        see="partitions --replica {subject}",
        source="org.apache.kafka.controller.ClusterControlManager",
    ),
    _of(
        code="fenced-broker",
        severity=Severity.WARNING,
        order=80,
        headline="{subjects} {is} fenced",
        cause="broker {} is fenced",
        meaning="the broker is fenced: it leads no partition, and its replicas fall behind",
        do="start the broker on its own log dirs, never on empty ones; if it runs, check its"
        " network to the controllers",
        do_for_none="a broker without replicas: start it on its own log dirs, or unregister it if"
        " it was retired on purpose",
        see="changes /image/cluster/brokers/{subject}",
        source="org.apache.kafka.controller.BrokerHeartbeatManager; KIP-631",
    ),
    _of(
        code="controlled-shutdown",
        severity=Severity.NOTE,
        order=10,
        headline="{subjects} {is} shutting down",
        cause="broker {} is shutting down",
        meaning="the broker is shutting down: its leaders move away",
        do="nothing if it is meant to stop",
        see="partitions --leader {subject}",
        source="org.apache.kafka.controller.BrokerHeartbeatManager; KIP-841",
    ),
    _of(
        code="preferred-election-due",
        severity=Severity.NOTE,
        order=60,
        counts="partitions",
        headline="{count} would move to preferred leaders on {subjects}",
        cause="an election of preferred leaders is due for broker {}",
        meaning="other brokers lead partitions that this broker should lead: load is uneven",
        do="run kafka-leader-election.sh --election-type preferred, or wait for the controller",
        see="partitions --no-preferred-leader --replica {subject}",
        source="org.apache.kafka.controller.PartitionChangeBuilder.electPreferredLeader",
    ),
    _of(
        code="ghost-registration",
        severity=Severity.NOTE,
        order=80,
        counts="nodes",
        headline="{subjects} {is} registered but not running",
        meaning="registered, but not running; blocks feature upgrades",
        do="unregister it if the node is gone for good",
        source="org.apache.kafka.controller.FeatureControlManager.validateAndAppend; KIP-584",
    ),
    _of(
        code="older-release",
        severity=Severity.NOTE,
        order=90,
        counts="nodes",
        headline="{subjects} {has} older software than other nodes",
        meaning="this node's release is older than others: it blocks feature upgrades",
        do="upgrade it; `can-upgrade VERSION` lists all that blocks",
        see="nodes --columns id,role,release",
        source="org.apache.kafka.controller.QuorumFeatures; KIP-584",
    ),
    _of(
        code="unregistered-voter",
        about=About.CONTROLLER,
        severity=Severity.WARNING,
        order=120,
        counts="nodes",
        headline="{subjects} {has} a vote and {is} not registered",
        meaning="the controller votes and is not registered: it never ran, or its Kafka is older",
        do="start the controller if it does not run; remove it from the voters only if it is gone"
        " and a majority of the others runs",
        see="nodes --controllers",
        source="org.apache.kafka.controller.ClusterControlManager; KIP-919",
    ),
)
