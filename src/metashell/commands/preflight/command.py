"""``preflight``: whether a node will start, join and vote, and what the start does to its logs."""

from __future__ import annotations

from typing import Final

from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.options import Option, Parsed, refuse_more
from metashell.commands.preflight.columns import COLUMNS, NODES
from metashell.commands.rows.columns import AnswerTable, Column
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery
from metashell.commands.shared.against_option import AGAINST
from metashell.findings.kind import StopKind

AFTER: Final = Option(
    ("--after",),
    "How the node will have stopped: clean or kill. Both are told without it.",
    "STOP",
    tuple(StopKind),
)
SOFTWARE: Final = Option(
    ("--software",),
    "The Kafka release that will start, such as 4.1. Without it, the release that the node "
    "registered.",
    "VERSION",
)
SUMMARY: Final = Option(("--summary",), "Print a row for each node.")


class PreflightCommand(RowsCommand):
    """Tell whether a node will start, join and vote, and what it will do to its logs.

    Reads a node's log directories and tells what a start would do. Nothing is started, and
    nothing is written. `metashell --config server.properties preflight` takes the directories
    and settings from the node's own file. `metashell -d DIR -d DIR preflight` takes directories
    alone.

    The first line is the verdict. The node starts; it starts, but something is lost or changed;
    it starts and does not join or vote; or it does not start. Below, the findings come in the
    order in which Kafka comes to them, with Kafka's own text. If the node does not start, only
    that and what comes before is told. Run it again when this is resolved.

    A stopped node's metadata log may be older than the cluster's. The verdict says as of which
    offset and time it holds. --against takes newer metadata. If that is a quorum, each other
    voter is tried where the log says that it listens: a connection is made, and nothing is
    sent.

    Directories with one cluster.id and node.id are of one node. A directory without a metadata
    log belongs to the only node that has one. With a pattern (-d '/backups/*/') each node is
    told by its files alone, and has one row.

    A running node looks as if it were killed: it has no .kafka_cleanshutdown. So what follows
    from a clean stop and from a kill is told side by side.

    The settings that are checked are those about roles, listeners, voters, node.id and log
    directories. Locks and ports are not checked.

    The exit status is 0 if the node starts, joins and votes, and nothing has to be decided
    before. It is 1 if it does not, if data may be lost, or if a finding is worse than a note.
    """

    group = "what is wrong"
    opens = True
    noun = ("event", "events")
    tables = (AnswerTable("", COLUMNS), AnswerTable("--summary", NODES))
    manual = Manual(
        synopsis="preflight [--against SOURCE] [--after STOP] [--software VERSION] [OPTION...]",
        options=(AGAINST, AFTER, SOFTWARE, SUMMARY),
        examples=(
            ("preflight", "whether the node of these directories will start"),
            ("preflight --after clean", "if it is stopped cleanly"),
            ("preflight --software 4.1", "with another release"),
            ("preflight -o jsonl --columns effect,code,message,kafka", "for a script"),
        ),
    )

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """A row for each event; for each node where a summary is asked for."""
        refuse_more(self, parsed.arguments)
        return NODES if SUMMARY.flags[0] in parsed.switches else COLUMNS

    def answer(self, query: RowsQuery) -> None:
        """Add the events, or the nodes."""
        from metashell.commands.preflight.answer import add_rows

        add_rows(query)

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """Write the verdict on a node and what it comes from; of several nodes a row each."""
        from metashell.commands.preflight.answer import write_verdicts

        return write_verdicts(self, context, parsed)


COMMAND = PreflightCommand()
