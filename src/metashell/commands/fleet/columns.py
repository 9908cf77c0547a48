"""The columns of ``fleet``, and the flags that choose its tables."""

from __future__ import annotations

from typing import Final

from metashell.commands.rows.columns import (
    NOT_ZERO,
    AnswerTable,
    flag,
    integer,
    integers,
    sentence,
    text,
    texts,
    time_at,
)

VOTE_COLUMNS: Final = (
    text("cluster_id", "The cluster's id.", priority=2),
    integers("running", "Ids of the voters that run, and no other voter.", priority=9),
    integers("can_win", "Ids of the voters that can win the vote then.", priority=9),
    texts("directories", "Names below /clusters of those that run.", priority=5),
)

REPLICA_COLUMNS: Final = (
    text("cluster", "The directory's name below /clusters.", priority=8),
    text("topic", "The coordinators' topic.", priority=9),
    integer("partition", "The partition.", priority=9),
    integer("leader", "The broker that leads it; null for none, or if not known.", priority=5),
    integer("node_id", "The node that has the replica; null: no replica is here.", priority=8),
    flag("read", "Whether groups and transactions are read from it.", priority=9),
    integer("newest_epoch", "The newest leader epoch that the replica knows.", priority=6),
    integer("end_offset", "The offset behind its last one.", priority=7),
    integer(
        "diverges_at",
        "The first offset at which it has another batch, or epoch, than the one that is read.",
        priority=8,
        red=NOT_ZERO,
    ),
    text("directory", "Its directory.", shown=False),
    sentence("error", "Why it can't be read.", priority=4),
)

VERIFY: Final = "--verify"

COORDINATORS: Final = "--coordinators"

VOTES: Final = "--votes"

VERIFY_COLUMNS: Final = (
    text("cluster", "The directory's name below /clusters.", priority=9),
    text("cluster_id", "The cluster's id.", priority=2),
    integer("offset", "The offset at which states of its cluster are compared.", priority=6),
    integer("last_offset", "Offset of its last record.", priority=7),
    text("checksum", "The digest of its state at this offset.", priority=4),
    text(
        "verdict",
        "equal (up to `offset`), differs, diverged, alone or unknown.",
        priority=8,
        red=("differs", "diverged"),
        yellow=("unknown",),
    ),
    integer(
        "diverged_at",
        "The first offset at which its log has another batch than the others.",
        priority=7,
    ),
    integer("epoch", "The leader epoch of this batch.", priority=5),
    integer("other_epoch", "The leader epoch of the others' batch.", priority=5),
    text(
        "without_orphans",
        "The digest without configs of topics that do not exist.",
        shown=False,
    ),
    integer("orphans", "The number of these configs."),
    text("directory", "Its path.", shown=False),
    text("error", "Why it can't be compared.", shown=False),
)

SUMMARY: Final = "--summary"

SUMMARY_COLUMNS: Final = (
    integer("clusters", "Clusters. A directory that names none counts as one.", priority=9),
    integer("directories", "Directories.", priority=7),
    integer("unreadable", "Of these, directories that can't be read.", priority=8, red=NOT_ZERO),
    integer("brokers", "Registered brokers of all clusters.", priority=4),
    integer("fenced", "Of these, fenced brokers.", priority=7, red=NOT_ZERO),
    integer("topics", "Topics.", priority=3),
    integer("partitions", "Partitions.", priority=4),
    integer("offline", "Partitions without a leader.", priority=8, red=NOT_ZERO),
    integer("under_min_isr", "As in the other table.", priority=6, red=NOT_ZERO),
    integer("under_replicated", "Likewise.", priority=5, yellow=NOT_ZERO),
    integer("faults", "Faults of all directories.", priority=7, red=NOT_ZERO),
    texts("metadata_versions", "Each metadata.version with its clusters.", priority=4),
    time_at("oldest", "The earliest of the times of their last records.", priority=2),
)

TABLES: Final = (
    AnswerTable(
        "",
        (
            text("cluster", "The directory's name below /clusters.", priority=9),
            text("cluster_id", "The cluster's id."),
            integer("node_id", "The node that owns the directory.", priority=3),
            integer("brokers", "Registered brokers.", priority=4),
            integer("fenced", "Of these, fenced brokers.", priority=7, red=NOT_ZERO),
            integer("topics", "Topics.", priority=3),
            integer("partitions", "Partitions.", priority=4),
            integer("offline", "Partitions without a leader.", priority=8, red=NOT_ZERO),
            integer(
                "under_min_isr",
                "Partitions with an ISR smaller than min.insync.replicas, or without a leader.",
                priority=6,
                red=NOT_ZERO,
            ),
            integer(
                "under_replicated",
                "Partitions with replicas out of sync. Replicas being added do not count.",
                priority=5,
                yellow=NOT_ZERO,
            ),
            text("metadata_version", "The finalized metadata.version.", priority=4),
            integer("offset", "Offset of the last record.", priority=2),
            integer(
                "log_epoch",
                "Last leader epoch of the whole log: that of its last batch, or of the newest "
                "checkpoint if no batch is behind it. A vote compares it first.",
                priority=2,
            ),
            integer(
                "log_end_offset",
                "The offset behind the whole log. A vote compares it second.",
                priority=2,
            ),
            time_at("time", "Time of the last record.", priority=7),
            integer(
                "faults",
                "Faults of its files and records. A torn tail does not count.",
                priority=7,
                red=NOT_ZERO,
            ),
            text("fault", "The first of these faults.", shown=False),
            text("directory", "Its path.", shown=False),
            sentence("error", "Why it can't be read.", priority=8, red=NOT_ZERO),
        ),
        ("cluster", "cluster_id"),
        (
            *("brokers", "fenced", "topics", "partitions", "offline"),
            *("under_min_isr", "under_replicated", "offset", "faults", "time"),
        ),
    ),
    AnswerTable(SUMMARY, SUMMARY_COLUMNS),
    AnswerTable(VERIFY, VERIFY_COLUMNS),
    AnswerTable(COORDINATORS, REPLICA_COLUMNS),
    AnswerTable(VOTES, VOTE_COLUMNS),
)
