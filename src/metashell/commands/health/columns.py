"""The columns of ``health``: of its problems, and of their kinds."""

from __future__ import annotations

from typing import Final

from metashell.commands.rows.columns import integer, text, texts, time_at

COLUMNS: Final = (
    text("severity", "critical, warning or note."),
    text("problem", "The kind of problem, by a name that stays."),
    text("subject", "What has it: a topic, a broker, a file..."),
    integer(
        "count",
        "How many partitions of the topic, replicas of the broker, configs or faults are "
        "concerned; of who is behind, the offsets.",
    ),
    time_at(
        "since_time",
        "Time of the record that began it, where several partitions are concerned of the first; "
        "null: a checkpoint hides it (see --history), or no record does.",
    ),
    texts(
        "causes",
        "The rows that it follows from, each as their problem and subject, such as "
        "`fenced-broker broker 104`; empty: it stands for itself.",
    ),
    text("command", "A command that shows more, or that helps."),
    integer("since_offset", "Offset of that record.", shown=False),
    text("path", "The node to look at, in its cluster.", shown=False),
    text("explanation", "What it means for clients and data.", shown=False),
    text("action", "What to do next.", shown=False),
)
SUMMARY: Final = (
    text("severity", "critical, warning or note."),
    text("problem", "The kind of problem."),
    integer("subjects", "How many topics, brokers, files... have it."),
    integer("count", "How many partitions, replicas... in all."),
    time_at("since_time", "When the first began; null where one is not known."),
    text("explanation", "What it means for clients and data."),
    text("action", "What to do next.", shown=False),
)
