"""``offsets``: the offsets that groups committed, how far behind they are, which stand still."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from metashell.commands.framework.command import Manual
from metashell.commands.framework.options import Option, Parsed
from metashell.commands.rows.columns import (
    AnswerTable,
    Column,
    flag,
    integer,
    sentence,
    text,
    time_at,
)
from metashell.commands.rows.query import RowsQuery
from metashell.commands.shared.assume_option import ASSUME
from metashell.commands.shared.part_command import PartCommand
from metashell.errors import UsageError
from metashell.parts.coordinators.offsets import PART

_KEY: Final = (
    text("group", "The group's id.", priority=9),
    text("topic", "The topic's name.", priority=8),
    integer("partition", "The topic's partition.", priority=9),
)
_LAG: Final = ("log_end_offset", "lag")
COLUMNS: Final = (
    *_KEY,
    integer("offset", "The committed offset; null: a commit is pending alone.", priority=9),
    integer("leader_epoch", "The leader epoch that was committed with it, or null.", priority=1),
    text("metadata", "Text of the client's own; null: a commit is pending alone.", priority=2),
    time_at(
        "committed_time", "When it was committed; null: a commit is pending alone.", priority=6
    ),
    time_at(
        "expire_time",
        "When the coordinator may delete it, by Kafka's rule; null: not while the group is as it "
        "is. It counts from the commit, or from when a classic group lost its last member.",
        priority=3,
    ),
    flag(
        "pending",
        "Whether a transaction that has not ended commits this key, too. A consumer that reads "
        "committed data waits for its end.",
        priority=5,
        yellow=("yes",),
    ),
    integer(
        "log_end_offset",
        "With --lag: the end of the partition's log, as its segment files here have it; null where "
        "there is none here.",
        shown=False,
        priority=6,
    ),
    integer(
        "lag", "With --lag: log_end_offset less the committed offset.", shown=False, priority=8
    ),
    integer(
        "high_watermark",
        "With --lag: the high watermark that the broker last wrote to "
        "`replication-offset-checkpoint`. It is seconds old.",
        shown=False,
    ),
    text(
        "expire_source",
        "Kafka's name of the config source of expire_time. DEFAULT_CONFIG is assumed: only a "
        "node's server.properties could say otherwise (see --assume). COMMIT: the commit says it "
        "itself.",
        shown=False,
    ),
)
SUMMARY_COLUMNS: Final = (
    text("group", "The group's id.", priority=9),
    integer(
        "lag",
        "The sum of the partitions' lag, null where none is known.",
        priority=9,
    ),
    integer("max_lag", "The lag of the partition that is furthest behind.", priority=7),
    integer("partitions", "Partitions with a committed offset.", priority=6),
    integer(
        "not_counted",
        "Those of them whose lag is not known: their logs are not here, or a commit is pending "
        "alone.",
        priority=8,
    ),
)
STALLED_COLUMNS: Final = (
    *_KEY,
    integer("offset", "The committed offset.", priority=7),
    integer("lag", "The end of the partition's log less the offset.", priority=7),
    integer(
        "lag_ms",
        "The time from the first record that was not consumed to the last one in the log, in ms.",
        priority=6,
    ),
    integer(
        "stalled_ms",
        "How long the offset stands still while there is something to consume, in ms, counted to "
        "the end of the logs.",
        priority=9,
    ),
    time_at("moved_time", "When the offset last changed, as far as the log tells.", priority=5),
    sentence("why", "What the log tells of the group.", priority=8),
    integer("log_end_offset", "The end of the partition's log.", shown=False),
    integer("repeats", "Commits of the same offset since.", shown=False),
    flag(
        "held",
        "Whether a transaction is open at the offset: consumers that read committed data wait for "
        "its end.",
        shown=False,
    ),
    integer("members", "The members of the group.", shown=False),
    integer("idle_members", "Those of them that have no partitions.", shown=False),
    integer(
        "rebalances",
        "How often the group got a new epoch in the last hour before the end of the logs.",
        shown=False,
    ),
)
LAG: Final = Option(
    ("--lag",), "Tell the lag of partitions whose logs are in the log directory, too."
)
SUMMARY: Final = Option(("--summary",), "With --lag: add up the lag of each group.")
STALLED: Final = Option(
    ("--stalled",),
    "List offsets that stood still for a minute or longer while the partition's log here went on.",
)


class OffsetsCommand(PartCommand):
    """List the offsets that groups committed, from a broker's logs.

    Lists committed offsets. GROUP may hold wildcards. A commit of a transaction counts if the
    transaction is committed.

    --lag and --stalled look at the ends of the topics' own logs, as far as these lie in the log
    directory. They belong to this broker's replicas, which may be behind the leader. With
    --summary a group has one row. Its lag is that of the partitions whose logs are here;
    NOT-COUNTED says how many are not in the sum.

    --stalled reads the history of commits. It tells since when an offset does not move, and
    whether the group still commits. It tells whether members have partitions, how often the
    group rebalances, and whether a transaction is open at the offset. Compaction removes older
    commits, so an offset may have stood still longer.
    """

    noun = ("committed offset", "committed offsets")
    tables = (
        AnswerTable(
            "",
            COLUMNS,
            ("group", "topic", "partition"),
            ("offset", "log_end_offset", "high_watermark", "lag"),
        ),
        AnswerTable(
            "--lag --summary", SUMMARY_COLUMNS, ("group",), ("lag", "max_lag", "partitions")
        ),
        AnswerTable("--stalled", STALLED_COLUMNS),
    )
    part = PART
    manual = Manual(
        synopsis="offsets [OPTION...] [GROUP...]",
        options=(LAG, SUMMARY, STALLED, ASSUME),
        examples=(
            ("offsets k-uniform", "those of a group"),
            ("offsets --sort committed_time --limit 20", "the oldest commits"),
            ("offsets --lag --sort -lag", "who is furthest behind"),
            ("offsets --lag --summary --sort -lag", "which group is furthest behind"),
            ("offsets --stalled", "what stands still, and what is known of why"),
            ("offsets --sort expire_time --limit 20", "what is deleted next"),
            ("offsets -o csv", "all of them, for a program"),
        ),
    )

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """The columns that the options ask for: ``--stalled`` and ``--summary`` have their own."""
        if STALLED.flags[0] in parsed.switches:
            return STALLED_COLUMNS
        if SUMMARY.flags[0] in parsed.switches:
            return SUMMARY_COLUMNS
        if LAG.flags[0] not in parsed.switches:
            for word in parsed.values.get("--sort", "").split(","):
                if word.strip().removeprefix("-") in PART.asked_for:
                    raise UsageError(
                        f"--sort {word.strip()} needs --lag",
                        hint=f"`offsets --lag --sort {word.strip()}`",
                    )
            return COLUMNS
        return tuple(replace(each, shown=each.shown or each.name in _LAG) for each in COLUMNS)

    def answer(self, query: RowsQuery) -> None:
        """Add the offsets in every partition."""
        from metashell.commands.offsets.answer import answer

        answer(query)


COMMAND = OffsetsCommand()
