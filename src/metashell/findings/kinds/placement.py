"""Placement: which brokers and racks hold replicas and lead, and how much rests on one of them."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, FindingKind, Need, Severity

_of = partial(
    FindingKind,
    about=About.PARTITION,
    counts="partitions",
    finder="metashell.judgement.placement:find",
)
_PLACER: Final = "org.apache.kafka.metadata.placement.StripedReplicaPlacer"

KINDS: Final = (
    _of(
        code="broker-stops-most",
        about=About.BROKER,
        severity=Severity.WARNING,
        order=85,
        headline="{count} stop if {subjects} fails",
        meaning="most partitions of the cluster stop if this broker fails: none of their other"
        " replicas can be spared",
        do="move some of its replicas, or add replicas: kafka-reassign-partitions.sh",
        see="brokers --without {subject}",
        source=_PLACER,
    ),
    _of(
        code="idle-broker",
        about=About.BROKER,
        severity=Severity.WARNING,
        order=86,
        headline="{subjects} {is} running and should lead {count}, and leads none",
        meaning="the broker runs, is in sync, and leads no partition, though it is preferred for"
        " many: the others carry its load",
        do="run kafka-leader-election.sh --election-type preferred; look whether"
        " auto.leader.rebalance.enable is off",
        see="partitions --no-preferred-leader --replica {subject}",
        source="org.apache.kafka.controller.ReplicationControlManager.maybeBalancePartitionLeaders",
    ),
    _of(
        code="one-rack",
        severity=Severity.WARNING,
        order=87,
        headline="{count} {has} all replicas in one rack",
        meaning="all replicas are in one rack: if the rack fails, clients cannot write or read",
        do="move a replica into another rack: kafka-reassign-partitions.sh",
        see="partitions {subject}",
        source=_PLACER,
    ),
    _of(
        code="single-replica",
        severity=Severity.NOTE,
        order=42,
        headline="{count} {has} one replica only",
        meaning="there is one replica: if its broker fails, clients cannot write or read, and with"
        " its disk the records are lost",
        do="give the topic more replicas: kafka-reassign-partitions.sh",
        see="partitions {subject}",
        source=_PLACER,
    ),
    _of(
        code="replication-below-default",
        severity=Severity.NOTE,
        order=44,
        needs=Need.CONFIG,
        headline="{count} {has} fewer replicas than default.replication.factor",
        meaning="they have fewer replicas than a new topic gets (default.replication.factor)",
        do="give the topic more replicas, if its records are worth it:"
        " kafka-reassign-partitions.sh",
        see="partitions {subject}",
        source=_PLACER,
    ),
)
