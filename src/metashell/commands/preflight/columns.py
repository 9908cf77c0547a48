"""The columns of ``preflight``: of what a start does, and of nodes."""

from __future__ import annotations

from typing import Final

from metashell.commands.rows.columns import integer, sentence, text, time_at
from metashell.findings.kind import AtStart

_BAD: Final = (AtStart.REFUSES, AtStart.OFFLINE, AtStart.NOT_JOINED, AtStart.LOSES, AtStart.UNKNOWN)

COLUMNS: Final = (
    text("node", "The node's id; its first directory where nothing tells the id.", priority=7),
    text(
        "effect",
        "refuses: the node does not start. offline: a log directory goes offline. not-joined, "
        "not-voting: the node starts, and does not join the quorum or vote. loses: a replica "
        "begins empty, or records are lost. unknown: nothing tells whether it does. "
        "changes: logs are set aside, promoted, deleted or recovered. notes: worth knowing.",
        priority=9,
        red=_BAD,
        yellow=(AtStart.NOT_VOTING, AtStart.CHANGES),
    ),
    text("code", "The kind of finding; `help CODE` explains it.", priority=8),
    text("directory", "The log directory; null: the finding is not about one alone.", priority=5),
    integer("count", "How many logs, partitions, files... of this kind.", priority=4),
    text("after", "clean or kill: only after such a stop. Null: after any.", priority=3),
    sentence("message", "What happens.", priority=6),
    text("kafka", "Kafka's own text, where there is one.", shown=False),
    text("action", "What to do first.", shown=False),
    text("subject", "The thing that it is about.", shown=False),
    text("severity", "critical, warning or note.", shown=False),
    text("command", "The next command to run.", shown=False),
)
NODES: Final = (
    text("node", "The node's id; its first directory where nothing tells the id.", priority=9),
    text("roles", "broker, controller, or both.", priority=5),
    text("verdict", "Whether it starts, joins and votes.", priority=8),
    sentence("reason", "The first thing that hinders it, or that it changes.", priority=7),
    integer("refuses", "Reasons not to start.", priority=4),
    integer("offline", "Findings about directories that go offline.", priority=4),
    integer("loses", "Findings about data that is lost.", priority=4),
    integer("changes", "Findings about files that the start changes.", priority=3),
    integer("as_of_offset", "The last offset of the metadata that it was compared with."),
    time_at("as_of_time", "The time of that record."),
    text("directory", "Its first log directory.", priority=6),
)
