"""The columns of ``health``: of its findings, and of their kinds."""

from __future__ import annotations

from typing import Final

from metashell.commands.rows.columns import SINCE_BEFORE, integer, sentence, text, texts, time_at

SUMMARY_FLAG: Final = "--summary"
CLUSTERS_FLAG: Final = "--clusters"
UNREAD: Final = "unread"

COLUMNS: Final = (
    text("severity", "critical, warning or note.", red=("critical",), yellow=("warning",)),
    text("code", "The kind of finding; the name is stable."),
    text("subject", "The topic, broker, file... that it is about."),
    integer(
        "count",
        "How many partitions of the topic, replicas of the broker, configs or faults; for a node "
        "that lags the offsets.",
    ),
    time_at(
        "since_time",
        "Time of the record that began it; of several partitions the first. Null: a checkpoint "
        "hides it (see --history), or no record tells it.",
    ),
    texts(
        "causes",
        "The rows that this one follows from, by code and subject: `fenced-broker broker 104`. "
        "Empty: an independent finding.",
    ),
    sentence(
        "why",
        "Why, in a few words: whom partitions wait for, what is down, or which configs. Null: "
        "nothing explains it.",
        shown=False,
    ),
    text("command", "The next command to run."),
    text(
        "partitions",
        "Which partitions of the topic: `1-3,5`. Null: the row is not about partitions.",
        shown=False,
    ),
    integer("since_offset", "Offset of that record.", shown=False),
    SINCE_BEFORE,
    text("path", "The node to look at.", shown=False),
    text("explanation", "What it means for clients and data.", shown=False),
    text("action", "What to do next.", shown=False),
)
SUMMARY: Final = (
    text("severity", "critical, warning or note.", red=("critical",), yellow=("warning",)),
    text("code", "The kind of finding."),
    integer("subjects", "How many topics, brokers, files... it is about."),
    integer("count", "How many partitions, replicas... in all."),
    time_at("since_time", "When the first began; null if one is not known."),
    text("explanation", "What it means for clients and data."),
    text("action", "What to do next.", shown=False),
)
CLUSTERS: Final = (
    text(
        "severity",
        "The worst severity; `unread` for a directory that can't be read; null: nothing is found.",
        red=("critical", UNREAD),
        yellow=("warning",),
        priority=9,
    ),
    integer("critical_kinds", "How many kinds of critical findings.", priority=7),
    integer("warning_kinds", "How many kinds of warnings.", priority=5),
    integer("note_kinds", "How many kinds of notes.", priority=4),
    texts("findings", "Each kind with its number, the worst first.", priority=8, worst_first=True),
)
