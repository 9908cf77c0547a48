"""The cheat sheet: command lines to copy, by the groups of commands. Imports nothing heavy.

``help cheat``, the page ``docs/cheat-sheet.md`` and the everyday commands of ``metashell --help``
are made from it. Every line runs on the bundled sample.
"""

from __future__ import annotations

from typing import Final, NamedTuple

OPEN: Final = "open"
"""The group of the lines that stand in the system's shell: how a source is opened."""


class Line(NamedTuple):
    """A command line of the sheet."""

    group: str
    """`OPEN`, or the group that the command declares."""
    line: str
    """The line to type."""
    meaning: str
    """A few words about the line."""
    is_everyday: bool = False
    """Whether ``metashell --help`` shows it."""


LINES: Final = (
    Line(OPEN, "metashell -d /var/lib/kafka/data health", "a node's directory"),
    Line(OPEN, "metashell -d '/backups/*' fleet", "a fleet of directories"),
    Line(OPEN, "metashell -q controller-1:9093 quorum", "a live quorum"),
    Line(OPEN, "metashell demo topics", "the bundled sample"),
    Line(OPEN, "metashell demo --at -1m health", "one minute earlier"),
    Line(OPEN, "metashell demo -c 'cd /image/topics/byName' -c ls", "several commands"),
    Line("look", "ls /image/topics/byName", "list a directory", True),
    Line("look", "cat /image/topics/byName/orders/0", "print a node", True),
    Line("look", "describe orders", "a page about a topic"),
    Line("look", "find /image -name 'order*'", "find nodes by name", True),
    Line("look", "tree /image/cluster", "print all nodes below"),
    Line("look", "grep -l 'leader=-1,' /image/topics/byName", "find nodes by text"),
    Line("look", "sql 'select count(*) from partitions'", "ask anything else"),
    Line("what is wrong", "health", "every finding, worst first", True),
    Line("what is wrong", "partitions --offline", "partitions without a leader", True),
    Line("what is wrong", "partitions orders", "the partitions of a topic"),
    Line("what is wrong", "coordinator group:billing", "the broker of a group"),
    Line("what is wrong", "nodes --fenced", "fenced brokers"),
    Line("what is wrong", "brokers --without 101", "what fails if 101 stops"),
    Line("what is wrong", "can-upgrade 4.4", "which nodes block an upgrade"),
    Line("what is wrong", "check --quick", "damage in the files"),
    Line("what is wrong", "report page.html", "all of it on a page to send"),
    Line("history", "changes /image/configs", "what changed, and when", True),
    Line("history", "log --tail 5", "the newest records", True),
    Line("history", "diff -4m end", "what the last four minutes changed"),
    Line("history", "stat /image/topics/byName/orders", "when it was made and last changed"),
    Line("history", "du", "what takes the space in the log"),
    Line("history", "stats", "figures about the log"),
    Line("access", "who-can READ topic:orders", "who may read a topic", True),
    Line("access", "acls --resource topic:orders", "the ACLs of a topic"),
    Line("access", "users", "users with SCRAM credentials"),
    Line("access", "tokens", "delegation tokens"),
    Line("access", "quotas", "client quotas"),
    Line("groups", "groups", "the groups in a broker's logs"),
    Line("groups", "members", "members and what they have"),
    Line("groups", "offsets --sort committed_time", "commits, the oldest first"),
    Line("groups", "offsets --stalled", "what stands still"),
    Line("groups", "share", "how far share groups are"),
    Line("groups", "transactions --ongoing", "transactions that have not ended"),
    Line("groups", "transactions --hanging", "what no coordinator will end"),
    Line("groups", "producers --open", "open transactions in partitions"),
    Line("whole cluster", "topics", "topics with their health", True),
    Line("whole cluster", "config retention.ms topic:orders", "a value and its source", True),
    Line("whole cluster", "quorum", "leader, voters and their lag"),
    Line("whole cluster", "quorum --copies", "after a loss: whose copy wins"),
    Line("whole cluster", "checksum", "a digest, equal on nodes that agree"),
    Line("whole cluster", "export topics --format csv", "a table for other programs"),
    Line("whole cluster", "save copy", "a copy of the metadata"),
    Line("shell", "help", "every command"),
    Line("shell", "man find", "the manual of a command"),
)
"""Every line, group by group."""

NOTES: Final = (
    "In the shell, type a line as it stands. Elsewhere, put `metashell SOURCE` first.",
    "`metashell SOURCE` opens the shell, and `metashell SOURCE tui` the explorer.",
    "Every table takes `-o json`, `-o csv` or another format, and `--columns NAMES`.",
)
"""The lines at the end of the sheet."""


def groups() -> tuple[str, ...]:
    """The groups of the sheet, in its order."""
    return tuple(dict.fromkeys(line.group for line in LINES))


def render() -> str:
    """The sheet as plain text of at most 80 columns."""
    parts: list[str] = []
    for group in groups():
        is_open = group == OPEN
        width = max(len(line.line) for line in LINES if (line.group == OPEN) == is_open) + 2
        parts.append(heading(group))
        parts += [f"  {line.line:<{width}}{line.meaning}" for line in LINES if line.group == group]
        parts.append("")
    return "\n".join([*parts, *(note.replace("`", "") for note in NOTES)]) + "\n"


def heading(group: str) -> str:
    """A group's name as a heading."""
    return group[0].upper() + group[1:] + ":"
