"""``replicas``: the directories of replicas on a node's disks, and what becomes of each."""

from __future__ import annotations

from typing import Final

from metashell.commands.framework.command import Manual
from metashell.commands.framework.options import Option, Parsed, one_of
from metashell.commands.rows.columns import (
    NOT_ZERO,
    AnswerTable,
    Column,
    integer,
    integers,
    sentence,
    text,
    time_at,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery
from metashell.commands.shared.against_option import AGAINST
from metashell.errors import UsageError
from metashell.log.time_spec import parse_duration

SUMMARY: Final = Option(
    ("--summary",),
    "Count directories and their bytes by this.",
    "BY",
    ("topic", "broker", "directory", "state"),
)
STATE: Final = Option(
    ("--state",),
    "Only replicas in this state, or in one of several states with commas.",
    "STATE",
    phrase="in state {}",
)
UNUSED: Final = Option(
    ("--unused",),
    "Only logs whose last record is older than this, such as 12h or 30d, and logs without any. "
    "The time counts to the last record of the metadata log; without one, of all logs.",
    "AGE",
    phrase="unused for {}",
)
COLUMNS: Final = (
    integer("broker", "The node's id; null: no meta.properties tells it.", priority=8),
    text("directory", "The log directory; null: a missing replica without one.", priority=7),
    text("topic", "The topic's name, by the directory's name; null: it is no log's.", priority=9),
    integer("partition", "The partition's id, likewise.", priority=9),
    text(
        "state",
        "What becomes of it at the broker's next start; see the description.",
        priority=9,
        red=("missing", "duplicate", "malformed", "not-a-log", "unreadable"),
        yellow=("becomes-stray", "stray", "ghost", "replaced"),
    ),
    integer("bytes", "Bytes of its segments, as kafka-log-dirs counts them.", priority=8),
    integer("segments", "Segments of its log.", priority=3),
    integer("log_start_offset", "Where its log begins.", priority=4),
    integer("log_end_offset", "One behind the last offset of its log.", priority=5),
    integer(
        "high_watermark",
        "The high watermark that the broker last wrote; null: it wrote none.",
        priority=4,
    ),
    time_at("last_time", "The time of the last record; null: there is none.", priority=6),
    integer(
        "open_producers",
        "Producers with a transaction open; null: more than 1 MiB is behind their snapshot, and "
        "`producers` tells.",
        shown=False,
    ),
    integer(
        "recovery_segments",
        "Segments that the broker reads to recover the log; 0: it stopped cleanly.",
        shown=False,
    ),
    integer("recovery_bytes", "Bytes of these segments.", shown=False),
    integer(
        "diverges_at",
        "Where its leader epochs leave those of the leader's replica, or of the one that reaches "
        "furthest; null: nothing shows that.",
        shown=False,
    ),
    text("topic_id", "The topic id in partition.metadata; null for none.", shown=False),
    text("name", "The directory's name; null: a missing replica.", shown=False),
    text(
        "role",
        "The broker's part: leader, isr, elr, last-leader or out-of-sync; null: it is no replica. "
        "The last known leader counts where ISR and ELR are empty.",
        shown=False,
    ),
    integers(
        "in_sync_elsewhere",
        "Other brokers that have all of its data: the ISR and the ELR.",
        shown=False,
    ),
    sentence("reason", "Why it is in its state, and what follows.", priority=6),
)
COUNTS: Final = (
    integer("directories", "Directories of replicas.", priority=8),
    integer("bytes", "Bytes of their segments.", priority=8),
    integer(
        "stray", "Of these, directories that are stray or become so.", priority=6, yellow=NOT_ZERO
    ),
    integer("stray_bytes", "Bytes in them.", priority=6, yellow=NOT_ZERO),
    integer("missing", "Replicas that are on no disk.", priority=6, red=NOT_ZERO),
    time_at("last_time", "The time of the newest record.", priority=5),
)


class ReplicasCommand(RowsCommand):
    """List the replicas on a node's disks, and what becomes of each."""

    group = "what is wrong"
    noun = ("replica", "replicas")
    argument_phrase = "of {}"
    tables = (
        AnswerTable("", COLUMNS),
        AnswerTable(
            "--summary topic",
            (text("topic", "Its name; broker, directory or state likewise."), *COUNTS),
        ),
    )
    of_each_cluster = True
    manual = Manual(
        synopsis="replicas [--summary BY] [--state STATE] [--unused AGE] [--against SOURCE] "
        "[OPTION...] [TOPIC...]",
        description=(
            "Lists every directory of a replica in the node's log directories. Replicas that the "
            "metadata has on the node, and that are on none of its disks, follow. TOPIC may hold "
            "wildcards. The node need not run. Names, sizes, checkpoints, indexes and headers of "
            "batches are read, and no record.\n\n"
            "The state is what Kafka's LogManager makes of a directory when the broker starts. "
            "reason says why.\n"
            "in-place, ghost: the broker loads it; a ghost has not its topic's name.\n"
            "becomes-stray: the broker renames it to -stray. It has no topic id, the metadata "
            "lacks the topic id or the partition, or the broker is not among the replicas.\n"
            "stray: a broker set it aside. Kafka never deletes it.\n"
            "future: a replica that moves to this log directory. The log whose place it takes is "
            "`replaced`.\n"
            "delete, missing: the broker deletes it, or creates it empty.\n"
            "duplicate, not-a-log: the broker does not start.\n"
            "malformed: partition.metadata is malformed, and the log directory goes offline.\n"
            "unreadable, unknown: it could not be read, or there is nothing to compare with.\n\n"
            "The metadata log of a stopped broker may be older than the cluster: --against takes "
            "newer metadata. The exit status is 1 if something could not be read, or if a name is "
            "unknown."
        ),
        options=(SUMMARY, STATE, UNUSED, AGAINST),
        examples=(
            ("replicas --sort -bytes", "the largest first"),
            ("replicas --summary state", "how many bytes are stray"),
            (
                "replicas --state missing --columns topic,partition,role,in_sync_elsewhere,reason",
                "replicas that a broker would make empty, and who else has their data",
            ),
            ("replicas --unused 30d --sort -bytes", "topics that nobody writes to"),
            (
                "replicas --columns broker,topic,partition,state,bytes",
                "these columns alone",
            ),
        ),
    )

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """Counts where a summary is asked for."""
        by = parsed.values.get(SUMMARY.flags[0])
        if by is None:
            return COLUMNS
        key = one_of(SUMMARY.flags[0], by, SUMMARY.choices)
        column = next(column for column in COLUMNS if column.name == key)
        return (column, *COUNTS)

    def answer(self, query: RowsQuery) -> None:
        """Add the replicas, or counts of them."""
        from metashell.commands.replicas.answer import answer

        values, age_ms = query.parsed.values, None
        age = values.get(UNUSED.flags[0])
        if age is not None and (age_ms := parse_duration(age)) is None:
            raise UsageError(f"{UNUSED.flags[0]} {age}: not a duration", hint="such as 12h or 30d")
        states = values.get(STATE.flags[0])
        answer(query, by=values.get(SUMMARY.flags[0]), age_ms=age_ms, states=states)


COMMAND = ReplicasCommand()
