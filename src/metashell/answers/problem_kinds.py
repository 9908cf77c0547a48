"""The kinds of problems that a cluster can have: how bad each is, what it means, what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Level(StrEnum):
    """How bad a problem is, the worst first."""

    CRITICAL = "critical"
    """Clients fail, or data or metadata is lost."""
    WARNING = "warning"
    """One more failure, and clients may fail; or somebody has to look."""
    NOTE = "note"
    """Worth knowing."""


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One kind of problem."""

    code: str
    """A stable name for scripts."""
    level: Level
    counts: str
    """What `count` counts, in the plural."""
    meaning: str
    """What it means for clients and data: a sentence without a full stop."""
    advice: str
    """What to do next, likewise."""


_CRITICAL: Final = (
    (
        "offline-partitions",
        "partitions",
        "nobody leads them: clients can neither write nor read",
        "start one of the brokers that they wait for; an unclean election may lose data",
    ),
    (
        "under-min-isr",
        "partitions",
        "fewer replicas are in sync than min.insync.replicas: writes with acks=all fail",
        "bring the missing brokers back; lower min.insync.replicas only if losing data is better",
    ),
    (
        "quorum-unreachable",
        "quorums",
        "nothing comes from the quorum: what is shown may be old",
        "look whether controllers run and whether they can be reached from here",
    ),
    (
        "quorum-no-leader",
        "quorums",
        "no controller leads: no topic, config, ISR or leader can change",
        "start controllers until a majority of the voters runs",
    ),
    (
        "file-damaged",
        "places",
        "bytes are no sound batch: what they held, and what follows from it, is missing",
        "copy the directory before anything else; another controller has the records whole",
    ),
    (
        "offset-gap",
        "places",
        "offsets are missing or go back: records are lost",
        "compare with another controller's directory; was the copy made while the node ran?",
    ),
    (
        "record-undecodable",
        "records",
        "records do not hold what their type says: the state lacks them",
        "the batch's CRC holds, so it was written like this: a defect, or a newer Kafka",
    ),
    (
        "replay-fault",
        "records",
        "records do not fit the state before them: this state may not be the cluster's",
        "compare with another controller's directory: a record before may be lost",
    ),
)
_WARNINGS: Final = (
    (
        "under-replicated",
        "partitions",
        "replicas are out of sync: fewer copies of new records than wanted",
        "find out why the brokers that are in no ISR fall behind or are down",
    ),
    (
        "at-min-isr",
        "partitions",
        "replicas are out of sync, and with one more of them writes with acks=all fail",
        "take no other broker down before the missing ones are back",
    ),
    (
        "unclean-possible",
        "partitions",
        "replicas are out of sync and may lead without an ISR: that would lose records",
        "bring the missing brokers back, or set unclean.leader.election.enable=false",
    ),
    (
        "recovering",
        "partitions",
        "the leader was elected uncleanly and recovers: records were probably lost",
        "tell those who own the data; the state ends when the leader has recovered",
    ),
    (
        "lost-directory",
        "replicas",
        "replicas are in log directories that failed: these copies do not count",
        "replace the disk and start the broker again, or move the replicas",
    ),
    (
        "offline-directory",
        "replicas",
        "replicas are in log directories that the broker does not have online",
        "look for a failed disk; a broker that starts again reports its directories",
    ),
    (
        "unregistered-broker",
        "replicas",
        "replicas are assigned to a broker that is not registered: these copies do not exist",
        "start a broker of that id, or move its replicas with kafka-reassign-partitions",
    ),
    (
        "fenced-broker",
        "replicas",
        "the broker is fenced: it leads nothing, and its replicas fall behind",
        "start it, or find out why its heartbeats do not arrive",
    ),
    (
        "reassignment-stuck",
        "partitions",
        "a reassignment cannot finish: no leader to copy from, or a new replica's broker is down",
        "start the broker that is down, or cancel: kafka-reassign-partitions.sh --cancel",
    ),
    (
        "leftover-throttle",
        "configs",
        "replication is throttled and no reassignment runs: replicas catch up slowly",
        "run kafka-reassign-partitions.sh --verify with the same plan, or delete these configs",
    ),
    (
        "voter-lagging",
        "offsets",
        "a voter is behind: with fewer others the quorum can't commit",
        "look at that controller's log, disk and network",
    ),
    (
        "observer-lagging",
        "offsets",
        "a node is behind: it acts on old metadata",
        "look at that node's log, disk and network",
    ),
    (
        "unregistered-voter",
        "nodes",
        "the controller votes and is not registered: it never ran, or an older Kafka",
        "start that controller, or remove it from the voters",
    ),
    (
        "quorum-disagreement",
        "findings",
        "the node's files, the log or the leader say different things of the quorum",
        "make sure that the log dir belongs to this node",
    ),
    (
        "open-transaction",
        "transactions",
        "a transaction of metadata begins and does not end: its records do not count yet",
        "none needed while a controller runs; the next one that leads aborts it",
    ),
    (
        "file-unreadable",
        "places",
        "a file of the log can't be read: the state needs none of it, its history does",
        "run as the user that Kafka runs as; see whether the disk is sound",
    ),
    (
        "record-unknown",
        "records",
        "no definition describes the records: the state lacks what they say",
        "give their definition with --schema, if a vendor's or a newer Kafka wrote them",
    ),
)
_NOTES: Final = (
    (
        "controlled-shutdown",
        "replicas",
        "the broker is shutting down: leaders move away from it",
        "none needed while it is meant to stop",
    ),
    (
        "elr-in-use",
        "partitions",
        "the ISR fell below its minimum: replicas are eligible to lead without being in it",
        "none needed: it is what keeps acknowledged records safe",
    ),
    (
        "reassigning",
        "partitions",
        "replicas are being added or removed",
        "follow it with kafka-reassign-partitions --list",
    ),
    (
        "no-spare-replica",
        "partitions",
        "all replicas are in sync, and none may be missing: one loss stops clients",
        "give the topic more replicas, or a lower min.insync.replicas",
    ),
    (
        "no-preferred-leader",
        "partitions",
        "their first replica does not lead: load may be uneven",
        "none needed where leaders are balanced automatically; else elect preferred leaders",
    ),
    (
        "preferred-election-due",
        "partitions",
        "the broker is in sync and others lead its partitions: load is uneven",
        "elect preferred leaders, or wait for the controller (leader.imbalance.check.interval)",
    ),
    (
        "ignored-static-voters",
        "settings",
        "the quorum is dynamic: the node ignores its controller.quorum.voters",
        "remove it from server.properties; set controller.quorum.bootstrap.servers",
    ),
    (
        "ghost-registration",
        "nodes",
        "nobody seems to stand behind the registration, and it counts where a feature is raised",
        "unregister it if that node is gone for good",
    ),
    (
        "older-release",
        "nodes",
        "the node's software is older than that of others: it blocks upgrades of features",
        "upgrade it; `can-upgrade VERSION` tells what else blocks",
    ),
    (
        "lowered-config",
        "configs",
        "less data is kept, or fewer replicas have to confirm a write",
        "make sure that it was meant, or set the old value again",
    ),
    (
        "config-of-gone-resource",
        "configs",
        "configs are set for something that does not exist: what is made by that name gets them",
        "delete them, or make the resource",
    ),
    (
        "unknown-config",
        "configs",
        "no Kafka release knows these keys: they probably do nothing",
        "look for a misspelt key, or for the plugin that reads it",
    ),
    (
        "quorum-not-described",
        "quorums",
        "the leader does not tell who follows: lag and observers are not known",
        "allow DESCRIBE on the cluster for whom metashell connects as",
    ),
    (
        "torn-tail",
        "places",
        "the last batch is cut off: a crash, or a copy of a node that was writing",
        "none needed: a node cuts it off when it starts",
    ),
)

KINDS: Final = {
    code: ProblemKind(code, level, counts, meaning, advice)
    for level, kinds in (
        (Level.CRITICAL, _CRITICAL),
        (Level.WARNING, _WARNINGS),
        (Level.NOTE, _NOTES),
    )
    for code, counts, meaning, advice in kinds
}
"""By their codes, the worst first."""
