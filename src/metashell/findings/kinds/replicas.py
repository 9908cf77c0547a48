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
_lacks = partial(
    _of,
    severity=Severity.WARNING,
    at_start=AtStart.LOSES,
    counts="partitions",
    needs=Need.DISKS,
)

KINDS: Final = (
    _of(
        code="replica-lost",
        start_order=55,
        severity=Severity.CRITICAL,
        at_start=AtStart.LOSES,
        order=20,
        counts="partitions",
        meaning="no other broker has the data, and the replica is on no disk of its own broker. It"
        " begins empty when this broker starts: the data is lost",
        do="do not start the broker. Mount the missing volume, or put the directories back. If they"
        " are gone, and the partitions have other replicas, let one of these lead before."
        " kafka-leader-election.sh --election-type unclean saves what it has",
        avoid="format no empty disk in its place",
        see="replicas --state missing",
        source=_CREATE,
    ),
    _of(
        code="replica-leads-empty",
        start_order=55,
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
        start_order=56,
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
        start_order=46,
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
        start_order=47,
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
        start_order=48,
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
        start_order=50,
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
        start_order=51,
        order=235,
        needs=Need.DISKS,
        meaning="replicas move to another log directory: the broker goes on to copy, and then"
        " deletes the old logs",
        do="nothing, as long as the disk has room for both",
        see="replicas --state future",
        source="kafka.server.ReplicaAlterLogDirsThread; KIP-113",
    ),
    _of(
        code="delete-left",
        start_order=49,
        order=240,
        needs=Need.START,
        meaning="a broker deletes these logs: log.segment.delete.delay.ms after its start, if it"
        " does not run",
        do="nothing",
        see="replicas --state delete",
        source=f"{_MANAGER}.deleteLogs",
    ),
    _of(
        code="replica-elsewhere",
        start_order=58,
        order=238,
        counts="partitions",
        needs=Need.DISKS,
        meaning="replicas are in another log directory than the metadata has: the broker tells the"
        " controller where they are",
        do="nothing if they were moved by hand",
        see="replicas --state in-place",
        source="kafka.server.ReplicaManager.maybeUpdateTopicAssignment; KIP-858",
    ),
    _of(
        code="replica-found",
        counts="partitions",
        order=239,
        needs=Need.DISKS,
        start_order=58,
        meaning="the metadata has these replicas in a lost log directory, and they are here: the"
        " broker tells the controller so",
        do="nothing; the disk was repaired or mounted again",
        see="partitions --directory LOST",
        source="org.apache.kafka.common.DirectoryId.LOST; KIP-858",
    ),
    _lacks(
        code="log-start-beyond-end",
        order=132,
        start_order=45,
        meaning="log-start-offset-checkpoint names an offset behind the end of the log: the broker"
        " deletes all segments of the log when it starts",
        do="copy the directories before the broker starts. If they are from a backup, bring back"
        " its log-start-offset-checkpoint too",
        see="replicas --columns topic,partition,log_start_offset,log_end_offset,reason",
        source="org.apache.kafka.storage.internals.log.LogLoader.deleteSegmentsIfLogStartGreater"
        "ThanLogEnd",
    ),
    _lacks(
        code="ends-below-high-watermark",
        order=133,
        start_order=57,
        meaning="a log ends before the high watermark that its broker wrote: committed records are"
        " gone from it",
        do="first start a broker that has them (in_sync_elsewhere), and wait until it leads. This"
        " one copies them then",
        avoid="do not let this broker lead",
        see="replicas --columns topic,partition,log_end_offset,high_watermark,in_sync_elsewhere",
        source="kafka.server.ReplicaManager.checkpointHighWatermarks",
    ),
    _lacks(
        code="replica-epochs-diverge",
        order=134,
        start_order=58,
        meaning="the leader epochs of a replica are unlike those of another one: it cuts off its"
        " records from there when it follows",
        do="copy the directories first. Compare the records of both, and let the replica lead that"
        " has those you need",
        see="replicas --columns broker,topic,partition,diverges_at,log_end_offset,role",
        source="org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache; KIP-101",
    ),
    _of(
        code="directory-of-other-broker",
        severity=Severity.CRITICAL,
        at_start=AtStart.NOT_JOINED,
        order=96,
        start_order=37,
        meaning="another broker is registered with this directory.id: the controller refuses the"
        " broker, and it stops after a while",
        do="find out which disk is the copy; give only one of them to a broker",
        avoid="do not start two brokers with copies of one disk",
        see="nodes --brokers --columns id,log_dirs",
        source="org.apache.kafka.controller.ClusterControlManager.registerBroker",
    ),
    _of(
        code="directory-not-registered",
        order=212,
        start_order=38,
        meaning="the broker is not registered with this directory.id: the disk is new, or its"
        " meta.properties was replaced",
        do="nothing for a new disk. Else see `replicas --state missing` before the broker starts",
        see="nodes --brokers --columns id,log_dirs",
        source="org.apache.kafka.controller.ClusterControlManager.registerBroker; KIP-858",
    ),
    _of(
        code="directory-cordoned",
        at_start=AtStart.NOTES,
        order=245,
        start_order=59,
        meaning="the log directory is cordoned: the broker puts no new replica into it",
        do="nothing if it is to be emptied; else take it out of cordoned.log.dirs",
        see="nodes --brokers --columns id,log_dirs",
        source=f"{_MANAGER}.nextLogDirs; KIP-1066",
    ),
    _of(
        code="replicas-not-given",
        at_start=AtStart.NOTES,
        order=247,
        needs=Need.START,
        start_order=54,
        meaning="the metadata has replicas in log directories that are not here, or that can't be"
        " read: what becomes of them is not told",
        do="give all log directories of the node: --config server.properties, or -d for each",
        see="replicas --state missing",
        source=f"{_MANAGER}.createLog",
    ),
    _of(
        code="log-recovery",
        counts="logs",
        order=246,
        needs=Need.START,
        start_order=44,
        meaning="the broker was not stopped cleanly: it reads its logs from their recovery points"
        " on, and cuts each at the first damaged batch",
        do="stop the broker cleanly if it runs; else plan for the time that this reading takes",
        see="replicas --sort -recovery_bytes --columns name,recovery_bytes",
        source="org.apache.kafka.storage.internals.log.LogLoader.recoverLog",
    ),
    _of(
        code="unclean-start",
        severity=Severity.WARNING,
        at_start=AtStart.NOTES,
        counts="partitions",
        order=135,
        needs=Need.START,
        start_order=36,
        meaning="the controller takes the start for one after a crash: the broker leaves the ISR"
        " and the ELR",
        do="first start the other brokers of the ISR and ELR, and wait until they lead",
        see="replicas --columns topic,partition,role,in_sync_elsewhere",
        source=f"{_MANAGER}.readBrokerEpochFromCleanShutdownFiles; KIP-966",
    ),
)
