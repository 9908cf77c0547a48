"""The replicas on a broker's disks, and what becomes of them when it next starts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from metashell.findings.kind import About, AtStart, FindingKind, Need, Severity

_MANAGER: Final = "org.apache.kafka.storage.internals.log.LogManager"
_CREATE: Final = f"{_MANAGER}.createLog; org.apache.kafka.controller.PartitionChangeBuilder"

_REGISTERS: Final = "org.apache.kafka.controller.ClusterControlManager.registerBroker; KIP-858"

_of = partial(
    FindingKind,
    about=About.DISK,
    severity=Severity.NOTE,
    at_start=AtStart.CHANGES,
    counts="directories",
    finder="metashell.judgement.log_directories:find_replicas",
)
_inside = partial(_of, needs=Need.DISKS)
_start = partial(_of, needs=Need.START)
_SEE_MISSING: Final = "replicas --state missing --columns topic,partition,reason,role"
_missing = partial(_of, counts="partitions", see=_SEE_MISSING, source=_CREATE)
_loses = partial(_missing, severity=Severity.CRITICAL, at_start=AtStart.LOSES)
_lacks = partial(_inside, severity=Severity.WARNING, at_start=AtStart.LOSES, counts="partitions")
_directory = partial(
    _of, see="nodes --brokers --columns id,directories,cordoned", source=_REGISTERS
)

_AT_REGISTRATION: Final = (
    _start(
        code="unclean-start",
        severity=Severity.WARNING,
        at_start=AtStart.NOTES,
        counts="partitions",
        order=135,
        meaning="the controller takes the start for one after a crash: the broker leaves the ISR"
        " and the ELR",
        do="first start the other brokers of the ISR and ELR, and wait until they lead",
        see="replicas --sort in_sync_elsewhere --columns topic,partition,role,in_sync_elsewhere",
        source=f"{_MANAGER}.readBrokerEpochFromCleanShutdownFiles; KIP-966",
    ),
    _directory(
        code="directory-of-other-broker",
        severity=Severity.CRITICAL,
        at_start=AtStart.NOT_JOINED,
        order=96,
        meaning="another broker is registered with this directory.id: the controller refuses the"
        " broker, and it stops after a while",
        do="find out which disk is the copy; give only one of them to a broker",
        avoid="do not start two brokers with copies of one disk",
    ),
    _directory(
        code="directory-not-registered",
        meaning="the broker is not registered with this directory.id: the disk is new, or its"
        " meta.properties was replaced",
        do="nothing for a new disk. Else see `replicas --state missing` before the broker starts",
    ),
    _directory(
        code="directory-left-out",
        severity=Severity.WARNING,
        at_start=AtStart.NOTES,
        order=131,
        meaning="the broker registered a log directory that its configuration does not have: the"
        " replicas there begin empty elsewhere",
        do="name the directory in log.dirs again, or mount its disk, before the broker starts. To"
        " take it away, move its replicas first: kafka-reassign-partitions.sh",
    ),
    _directory(
        code="directory-cordoned",
        at_start=AtStart.NOTES,
        meaning="the log directory is cordoned: the broker puts no new replica into it",
        do="nothing if it is to be emptied; else take it out of cordoned.log.dirs",
        source=f"{_MANAGER}.nextLogDirs; KIP-1066",
    ),
)
"""The kinds that a broker comes to when it registers, in this order."""
_BEHIND: Final = (
    _start(
        code="log-recovery",
        counts="logs",
        meaning="the broker was not stopped cleanly: it reads its logs from their recovery points"
        " on, and cuts each at the first damaged batch",
        do="stop the broker cleanly if it runs; else plan for the time that this reading takes",
        see="replicas --sort -recovery_bytes --columns name,recovery_bytes",
        source="org.apache.kafka.storage.internals.log.LogLoader.recoverLog",
    ),
    _lacks(
        code="log-start-beyond-end",
        order=132,
        meaning="log-start-offset-checkpoint names an offset behind the end of the log: the broker"
        " deletes all segments of the log when it starts",
        do="copy the directories before the broker starts. If they are from a backup, bring back"
        " its log-start-offset-checkpoint too",
        see="replicas --columns topic,partition,log_start_offset,log_end_offset,reason",
        source="org.apache.kafka.storage.internals.log.LogLoader.deleteSegmentsIfLogStartGreater"
        "ThanLogEnd",
    ),
    _inside(
        code="becomes-stray",
        severity=Severity.WARNING,
        order=130,
        meaning="the broker sets logs aside when it starts: it renames their directories to -stray,"
        " and no client can read them",
        do="see the reason of each. Where a topic was deleted or moved, nothing. Else copy the"
        " directories before the broker starts, and find out whether they are of this cluster",
        see="replicas --state becomes-stray --columns name,bytes,reason",
        source="kafka.server.metadata.BrokerMetadataPublisher.initializeManagers",
    ),
    _of(
        code="stray-left",
        at_start=AtStart.NOTES,
        meaning="a broker set logs aside. Kafka never deletes them, and kafka-log-dirs does not"
        " list them",
        do="keep them until you know that nobody needs their records; then delete the directories",
        see="replicas --state stray",
        source=f"{_MANAGER}.loadLog",
    ),
    _inside(
        code="ghost-replica",
        at_start=AtStart.NOTES,
        meaning="a log has the topic id of a topic with another name: the broker loads it, and"
        " nobody reads or deletes it",
        do="compare it with the log of the topic that has this id; it may be a copy made by hand",
        see="replicas --state ghost",
        source=f"{_MANAGER}.isStrayReplica",
    ),
    _start(
        code="delete-left",
        meaning="a broker deletes these logs: log.segment.delete.delay.ms after its start, if it"
        " does not run",
        do="nothing",
        see="replicas --state delete",
        source=f"{_MANAGER}.deleteLogs",
    ),
    _inside(
        code="future-promoted",
        meaning="the metadata has the replica where its future log is: the broker makes the future"
        " log current when it starts, and deletes the other one",
        do="nothing if the future log is whole; compare log_end_offset of both",
        see="replicas --state future,replaced",
        source=f"{_MANAGER}.recoverAbandonedFutureLogs",
    ),
    _inside(
        code="future-log",
        meaning="replicas move to another log directory: the broker goes on to copy, and then"
        " deletes the old logs",
        do="nothing, as long as the disk has room for both",
        see="replicas --state future",
        source="kafka.server.ReplicaAlterLogDirsThread; KIP-113",
    ),
    _start(
        code="replicas-not-given",
        at_start=AtStart.NOTES,
        meaning="the metadata has replicas in log directories that are not here, or that can't be"
        " read: what becomes of them is not told",
        do="give all log directories of the node: --config server.properties, or -d for each",
        see=_SEE_MISSING,
        source=f"{_MANAGER}.createLog",
    ),
    _loses(
        code="replica-lost",
        order=20,
        meaning="no other broker has the data, and the replica is on no disk of its own broker. It"
        " begins empty when this broker starts: the data is lost",
        do="do not start the broker. Mount the missing volume, or put the directories back. If they"
        " are gone, and the partitions have other replicas, let one of these lead before."
        " kafka-leader-election.sh --election-type unclean saves what it has",
        avoid="format no empty disk in its place",
    ),
    _loses(
        code="replica-leads-empty",
        order=21,
        meaning="the replica is on no disk of its broker, and the brokers that have its data are"
        " down. If this broker starts first, its empty log leads, and the others cut theirs",
        do="start the other brokers of the ISR and ELR first, and wait until they lead",
        avoid="do not start this broker before them",
    ),
    _missing(
        code="replica-missing",
        meaning="replicas are on no disk of their broker: it makes them, and copies the logs of the"
        " leaders",
        do="nothing for new topics and reassignments. Else see whether a volume is not mounted",
    ),
    _missing(
        code="log-name-taken",
        severity=Severity.CRITICAL,
        at_start=AtStart.OFFLINE,
        order=97,
        meaning="a file has the name of a replica that the broker makes: it can't make it, and"
        " takes the log directory offline",
        do="move the file out of the log directory before the broker starts, and keep it",
        source=f"{_MANAGER}.createLogDirectory",
    ),
    _lacks(
        code="ends-below-high-watermark",
        order=133,
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
        meaning="the leader epochs of a replica are unlike those of another one: it cuts off its"
        " records from there when it follows",
        do="copy the directories first. Compare the records of both, and let the replica lead that"
        " has those you need",
        see="replicas --columns broker,topic,partition,diverges_at,log_end_offset,role",
        source="org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache; KIP-101",
    ),
    _inside(
        code="replica-elsewhere",
        counts="partitions",
        meaning="the metadata has these replicas in another log directory, or in a lost one: the"
        " broker tells the controller where they are",
        do="nothing if they were moved by hand. If a log directory's directory.id was lost or"
        " changed, write the old one into its meta.properties before the start. Else partitions"
        " that no other broker has may have no leader until the next start",
        see="nodes --brokers --columns id,directories,cordoned",
        source="kafka.server.ReplicaManager.maybeUpdateTopicAssignment; KIP-858",
    ),
)
"""A node comes to these when it loads its logs and gets the metadata, in this order."""
KINDS: Final = tuple(
    replace(kind, start_order=first + i)
    for first, kinds in ((36, _AT_REGISTRATION), (45, _BEHIND))
    for i, kind in enumerate(kinds)
)
