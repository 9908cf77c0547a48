"""The columns of ``partitions``, and its options that name states and brokers."""

from __future__ import annotations

from typing import Final

from metashell.commands.framework.options import Option
from metashell.commands.rows.columns import (
    NOT_ZERO,
    SINCE_BEFORE,
    flag,
    integer,
    integers,
    sentence,
    text,
    texts,
    time_at,
)

STATES: Final = (
    Option(("--offline",), "Partitions without a leader.", phrase="offline"),
    Option(
        ("--under-replicated",),
        "Partitions with replicas out of sync. Replicas being added do not count.",
        phrase="under-replicated",
    ),
    Option(
        ("--under-min-isr",),
        "Partitions whose ISR is smaller than min.insync.replicas, or without a leader.",
        phrase="under min ISR",
    ),
    Option(
        ("--at-min-isr",),
        "Partitions whose ISR is exactly min.insync.replicas.",
        phrase="at min ISR",
    ),
    Option(
        ("--no-preferred-leader",),
        "Partitions that their preferred leader (the first replica) does not lead.",
        phrase="without its preferred leader",
    ),
    Option(
        ("--reassigning",),
        "Partitions with replicas being added or removed.",
        phrase="being reassigned",
    ),
    Option(
        ("--elr",),
        "Partitions with eligible leader replicas.",
        phrase="backed by eligible leader replicas",
    ),
    Option(
        ("--recovering",),
        "Partitions whose leader recovers from an unclean election.",
        phrase="recovering from an unclean election",
    ),
)
"""Options that ask for a state; without the dashes: its name."""


OF_BROKERS: Final = frozenset({"--leader", "--replica", "--isr"})
"""Options that name a broker."""


_RED: Final = ("offline", "under-min-isr", "recovering")
"""States in which data is lost, or can't be written or read."""


COLUMNS: Final = (
    text("topic", "The topic's name.", priority=9),
    integer("partition", "The partition's id.", priority=9, runs=True),
    integer("leader", "The broker that leads; null for none.", priority=7, red=("-",)),
    integers("replicas", "Brokers of the replicas, the preferred leader first.", priority=5),
    integers("isr", "Replicas that are in sync.", priority=5),
    integers("elr", "Eligible leader replicas (KIP-966)."),
    integers("last_known_elr", "The last known leader, if no replica is eligible.", shown=False),
    integers("adding_replicas", "Replicas that a reassignment adds.", shown=False),
    integers("removing_replicas", "Replicas that a reassignment removes.", shown=False),
    integer(
        "would_elect",
        "Without a leader: the broker that the controller would elect now; null for none.",
        priority=4,
        usual=("-",),
    ),
    sentence(
        "why",
        "Without a leader: why that broker, or which brokers the partition waits for. With "
        "replicas out of sync: what is down. Null: nothing explains it.",
        priority=8,
    ),
    integer(
        "unclean_candidate",
        "Without a leader: the broker that an unclean election would take. It loses data. "
        "Null for none.",
        shown=False,
    ),
    integer("min_isr", "Effective min.insync.replicas.", priority=1),
    text(
        "min_isr_source",
        "Kafka's name of the config source of min_isr. DEFAULT_CONFIG is assumed: only a node's "
        "server.properties could say otherwise (see --assume).",
        shown=False,
    ),
    flag("unclean", "Effective unclean.leader.election.enable.", shown=False),
    text("unclean_source", "Kafka's name of the config source of unclean.", shown=False),
    texts(
        "state",
        "Its states, the worst first, by the names of the options. A terminal shows the worst.",
        priority=6,
        worst_first=True,
        red=_RED,
        yellow=("under-replicated", "elr"),
    ),
    integer("leader_epoch", "Grows with every change of the leader.", shown=False),
    integer("partition_epoch", "Grows with every change.", shown=False),
    texts("directories", "Log directory ids of the replicas, in their order.", shown=False),
    text("topic_id", "The topic's id.", shown=False),
    integer(
        "since_offset",
        "Offset of the record that brought the partition into the states asked for. Without "
        "such an option: since when it has no leader, is under min ISR or lacks replicas; else "
        "of the last change. Null: the newest checkpoint or older.",
        shown=False,
    ),
    time_at("since_time", "Time of that record.", priority=4),
    SINCE_BEFORE,
)


COUNTS: Final = (
    integer("partitions", "Partitions; of a broker or rack: those with a replica there."),
    integer("leaders", "Of these, those with a leader; of a broker or rack: those it leads."),
    integer("replicas", "Their replicas; of a broker or rack: those it holds."),
    integer("offline", "Partitions without a leader.", priority=5, red=NOT_ZERO),
    integer(
        "under_replicated",
        "Partitions with replicas out of sync. Replicas being added do not count.",
        priority=4,
        yellow=NOT_ZERO,
    ),
    integer("under_min_isr", "Partitions under min ISR.", priority=5, red=NOT_ZERO),
    integer("at_min_isr", "Partitions at min ISR."),
    integer("no_preferred_leader", "Partitions that their preferred leader does not lead."),
    integer("reassigning", "Partitions being reassigned."),
)
