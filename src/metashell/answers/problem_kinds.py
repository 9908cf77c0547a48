"""The kinds of problems that a cluster can have: how bad each is, what it means, what to do."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from metashell.dataclass import dataclass


class Level(StrEnum):
    """How bad a problem is, the worst first."""

    CRITICAL = "critical"
    """Clients fail, or data or metadata is lost."""
    WARNING = "warning"
    """One more failure, and clients may fail; or somebody has to look."""
    NOTE = "note"
    """Worth knowing."""


LEVELS: Final = tuple(level.value for level in Level)
"""Names of the levels, the worst first."""


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One kind of problem."""

    code: str
    """A stable name for scripts."""
    level: Level
    counts: str
    """The things that `count` counts, in the plural."""
    meaning: str
    """The meaning for clients and data: a sentence without a full stop."""
    advice: str
    """The next step of the user: a sentence without a full stop."""


_CRITICAL: Final = (
    (
        "offline-partitions",
        "partitions",
        "they have no leader: clients cannot write or read",
        "start a broker that they wait for; an unclean election may lose data",
    ),
    (
        "coordinator-offline",
        "partitions",
        "groups or transactions have no coordinator: their clients fail",
        "start a broker that the partitions wait for; an unclean election may lose offsets",
    ),
    (
        "coordinator-refuses",
        "partitions",
        "a broker cannot load the partition: its groups or transactions have no coordinator",
        "look at the record with `log`; a newer Kafka may have written it",
    ),
    (
        "hanging-transaction",
        "transactions",
        "no coordinator will end them: consumers that read committed data stop there",
        "make sure that the producer is gone, then run the command that `transactions` prints",
    ),
    (
        "under-min-isr",
        "partitions",
        "fewer replicas are in sync than min.insync.replicas: writes with acks=all fail",
        "bring missing brokers back, or add replicas; a lower min.insync.replicas risks data",
    ),
    (
        "quorum-unreachable",
        "quorums",
        "the quorum does not answer: this state may be old",
        "check that controllers run and that this machine can reach them",
    ),
    (
        "quorum-no-leader",
        "quorums",
        "no controller leads: topics, configs, ISRs and leaders cannot change",
        "start voters on their own log dirs, never on empty ones, until a majority of them runs",
    ),
    (
        "file-damaged",
        "places",
        "bytes are damaged: their records are missing from this state",
        "copy the directory first; then take the records from another controller",
    ),
    (
        "file-malformed",
        "places",
        "a file of the node beside its log can't be used: the node does not start with it",
        "run `check`: it says what to write into the file",
    ),
    (
        "offset-gap",
        "places",
        "offsets are missing or go back: records are lost",
        "compare with another controller's directory; a copy of a running node can have gaps",
    ),
    (
        "record-undecodable",
        "records",
        "records cannot be decoded: this state lacks them",
        "the CRC is right, so a node wrote them so: use a newer metashell, or report it",
    ),
    (
        "replay-fault",
        "records",
        "records do not fit the state before them: this state may be wrong",
        "compare with another controller's directory: an earlier record may be lost",
    ),
)
_WARNINGS: Final = (
    (
        "under-replicated",
        "partitions",
        "replicas are out of sync: new records have too few copies",
        "start the missing brokers; if they run, check their disks and network",
    ),
    (
        "at-min-isr",
        "partitions",
        "replicas are out of sync: if one more fails, writes with acks=all fail",
        "stop no other broker before the missing ones are back",
    ),
    (
        "unclean-possible",
        "partitions",
        "replicas are out of sync and may become leader: that loses records",
        "bring the missing brokers back; with unclean.leader.election.enable=false partitions wait",
    ),
    (
        "recovering",
        "partitions",
        "the leader came from an unclean election: records are probably lost",
        "tell the owners of the data; the state ends when the leader has recovered",
    ),
    (
        "lost-directory",
        "replicas",
        "replicas are in failed log directories: these copies do not count",
        "see first that other replicas are in sync: on a new disk a replica begins empty",
    ),
    (
        "offline-directory",
        "replicas",
        "replicas are in log directories that are not online",
        "look for a failed disk; then start the broker again: it reports its directories",
    ),
    (
        "unregistered-broker",
        "replicas",
        "replicas are assigned to a broker that is not registered: these copies are missing",
        "start the broker on its own log dirs, or move replicas: kafka-reassign-partitions.sh",
    ),
    (
        "fenced-broker",
        "replicas",
        "the broker is fenced: it leads no partition, and its replicas fall behind",
        "start it; if it runs, check its network to the controllers",
    ),
    (
        "reassignment-stuck",
        "partitions",
        "a reassignment cannot finish: there is no leader, or a new replica's broker is down",
        "start the broker that is down, or cancel: kafka-reassign-partitions.sh --cancel",
    ),
    (
        "leftover-throttle",
        "configs",
        "replication is throttled and no reassignment runs: replicas catch up slowly",
        "run kafka-reassign-partitions.sh --verify with the same plan, or delete these configs",
    ),
    (
        "offsets-of-earlier-topic",
        "committed offsets",
        "the topic was created again since: consumers may skip records or repeat them",
        "choose what to skip or repeat, then kafka-consumer-groups.sh --reset-offsets",
    ),
    (
        "voter-lagging",
        "voters",
        "the quorum may lose its majority",
        "check that controller's log, disk and network",
    ),
    (
        "observer-lagging",
        "observers",
        "it acts on old metadata",
        "check that node's log, disk and network",
    ),
    (
        "unregistered-voter",
        "nodes",
        "the controller votes and is not registered: it never ran, or its Kafka is older",
        "start it; remove it from the voters only if it is gone and a majority of the others runs",
    ),
    (
        "quorum-disagreement",
        "findings",
        "the node's files, the log and the leader disagree about the quorum",
        "make sure that the log dir belongs to this node",
    ),
    (
        "open-transaction",
        "transactions",
        "a metadata transaction has not ended: its records do not count yet",
        "nothing while a controller runs; the next leader aborts it",
    ),
    (
        "file-missing",
        "places",
        "a file of the node beside its log is gone: what it says is not checked",
        "none needed in a copy that no node starts on; else run `check`",
    ),
    (
        "file-unreadable",
        "places",
        "a file beside the log or an older one cannot be read: the state is complete without it",
        "run metashell as Kafka's user; check the disk",
    ),
    (
        "record-unknown",
        "records",
        "the records' type is not known: this state lacks them",
        "add their definition with --schemas if a vendor's or a newer Kafka wrote them",
    ),
)
_NOTES: Final = (
    (
        "controlled-shutdown",
        "replicas",
        "the broker is shutting down: its leaders move away",
        "nothing if it is meant to stop",
    ),
    (
        "elr-in-use",
        "partitions",
        "the ISR is below its minimum: replicas outside of it may still lead safely",
        "start the brokers of the ELR: they have all acknowledged records",
    ),
    (
        "reassigning",
        "partitions",
        "replicas are being added or removed",
        "follow it with kafka-reassign-partitions.sh --list",
    ),
    (
        "no-spare-replica",
        "partitions",
        "no replica may fail: if one does, writes with acks=all fail",
        "give the topic more replicas; a lower min.insync.replicas confirms with fewer copies",
    ),
    (
        "no-preferred-leader",
        "partitions",
        "another replica leads than the preferred one: load may be uneven",
        "nothing if leaders are balanced automatically; else elect preferred leaders",
    ),
    (
        "preferred-election-due",
        "partitions",
        "other brokers lead partitions that this broker should lead: load is uneven",
        "run kafka-leader-election.sh --election-type preferred, or wait for the controller",
    ),
    (
        "ignored-static-voters",
        "settings",
        "the quorum is dynamic: the node ignores controller.quorum.voters",
        "set controller.quorum.bootstrap.servers first; then remove it from server.properties",
    ),
    (
        "ghost-registration",
        "nodes",
        "registered, but not running; blocks feature upgrades",
        "unregister it if the node is gone for good",
    ),
    (
        "older-release",
        "nodes",
        "this node's release is older than others: it blocks feature upgrades",
        "upgrade it; `can-upgrade VERSION` lists all that blocks",
    ),
    (
        "lowered-config",
        "configs",
        "a lower value keeps less data, or confirms writes with fewer replicas",
        "check that this was intended, or set the old value again",
    ),
    (
        "offsets-of-gone-topic",
        "committed offsets",
        "the topic does not exist: a new one of that name begins at these offsets",
        "if the topic is gone for good: kafka-consumer-groups.sh --delete-offsets",
    ),
    (
        "offsets-expiring",
        "committed offsets",
        "they expire within a day: a consumer that comes back later begins anew",
        "nothing if the groups are not used any more; else start a consumer",
    ),
    (
        "hot-coordinator-partition",
        "partitions",
        "the partition takes far more writes than others: its leader has more to do",
        "let the group commit less often",
    ),
    (
        "config-of-gone-resource",
        "configs",
        "configs are set for a resource that does not exist: a new one of that name gets them",
        "delete the configs, unless the resource is to be created again",
    ),
    (
        "unknown-config",
        "configs",
        "no Kafka release knows these keys: they probably have no effect",
        "check the spelling, or find the plugin that reads the key",
    ),
    (
        "quorum-not-described",
        "quorums",
        "the leader does not describe the quorum: lag and observers are not known",
        "allow metashell's user DESCRIBE on the cluster",
    ),
    (
        "torn-tail",
        "places",
        "the last batch is cut off: the node crashed, or was copied while it wrote",
        "nothing: the node removes it when it starts",
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
