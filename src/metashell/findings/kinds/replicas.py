"""The replicas on a broker's disks, and what becomes of them when it next starts."""

from __future__ import annotations

from functools import partial
from typing import Final

from metashell.findings.kind import About, AtStart, FindingKind, Need, Severity

_MANAGER: Final = "org.apache.kafka.storage.internals.log.LogManager"
_CREATE: Final = f"{_MANAGER}.createLog; org.apache.kafka.controller.PartitionChangeBuilder"

_of = partial(
    FindingKind,
    about=About.DISK,
    severity=Severity.NOTE,
    at_start=AtStart.CHANGES,
    counts="directories",
    finder="metashell.judgement.replica_findings:find",
)

KINDS: Final = (
    _of(
        code="replica-lost",
        start_order=650,
        severity=Severity.CRITICAL,
        at_start=AtStart.LOSES,
        order=20,
        counts="partitions",
        meaning="no other broker has the data, and the replica is on no disk of its own broker. It"
        " begins empty when this broker starts: the data is lost",
        do="do not start the broker. Mount the missing volume, or put the directories back. If they"
        " are gone, let another replica lead before: kafka-leader-election.sh --election-type"
        " unclean saves what it has",
        avoid="format no empty disk in its place",
        see="replicas --state missing",
        source=_CREATE,
    ),
    _of(
        code="replica-leads-empty",
        start_order=651,
        severity=Severity.CRITICAL,
        at_start=AtStart.LOSES,
        order=21,
        counts="partitions",
        meaning="the replica is on no disk of its broker, and the brokers that have its data are"
        " down. If this broker starts first, its empty log leads, and the others cut theirs",
        do="start the other brokers of the ISR and ELR first, and wait until they lead",
        avoid="do not start this broker before them",
        see="replicas --state missing",
        source=_CREATE,
    ),
    _of(
        code="replica-missing",
        start_order=652,
        counts="partitions",
        order=220,
        meaning="replicas are on no disk of their broker: it makes them, and copies the logs of the"
        " leaders",
        do="nothing for new topics and reassignments. Else see whether a volume is not mounted",
        see="replicas --state missing",
        source=_CREATE,
    ),
    _of(
        code="becomes-stray",
        start_order=610,
        severity=Severity.WARNING,
        order=130,
        needs=Need.DISKS,
        meaning="the broker sets logs aside when it starts: it renames their directories to -stray,"
        " and no client can read them",
        do="see the reason of each. Where a topic was deleted or moved, nothing. Else copy the"
        " directories before the broker starts, and find out whether they are of this cluster",
        see="replicas --state becomes-stray",
        source="kafka.server.metadata.BrokerMetadataPublisher.initializeManagers",
    ),
    _of(
        code="stray-left",
        start_order=611,
        at_start=AtStart.NOTES,
        order=230,
        meaning="a broker set logs aside. Kafka never deletes them, and kafka-log-dirs does not"
        " list them",
        do="keep them until you know that nobody needs their records; then delete the directories",
        see="replicas --state stray",
        source=f"{_MANAGER}.loadLog",
    ),
    _of(
        code="ghost-replica",
        start_order=612,
        at_start=AtStart.NOTES,
        order=225,
        needs=Need.DISKS,
        meaning="a log has the topic id of a topic with another name: the broker loads it, and"
        " nobody reads or deletes it",
        do="compare it with the log of the topic that has this id; it may be a copy made by hand",
        see="replicas --state ghost",
        source=f"{_MANAGER}.isStrayReplica",
    ),
    _of(
        code="future-promoted",
        start_order=640,
        order=215,
        needs=Need.DISKS,
        meaning="the metadata has the replica where its future log is: the broker makes the future"
        " log current when it starts, and deletes the other one",
        do="nothing if the future log is whole; compare log_end_offset of both",
        see="replicas --state future,replaced",
        source=f"{_MANAGER}.recoverAbandonedFutureLogs",
    ),
    _of(
        code="future-log",
        start_order=641,
        order=235,
        needs=Need.DISKS,
        meaning="replicas move to another log directory: the broker goes on to copy, and then"
        " deletes the old logs",
        do="nothing, as long as the disk has room for both",
        see="replicas --state future",
        source="kafka.server.ReplicaAlterLogDirsThread; KIP-113",
    ),
    _of(
        code="replica-elsewhere",
        start_order=660,
        order=238,
        counts="partitions",
        needs=Need.DISKS,
        meaning="replicas are in another log directory than the metadata has: the broker tells the"
        " controller where they are",
        do="nothing if they were moved by hand",
        see="replicas --state in-place",
        source="kafka.server.ReplicaManager.maybeUpdateTopicAssignment; KIP-858",
    ),
)
