"""``quorum``: who leads, who votes, who follows, and how far each has come."""

from __future__ import annotations

from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.options import Option, Parsed, refuse_more
from metashell.commands.quorum.columns import (
    COPIES,
    EPOCHS,
    OF_COPIES,
    STARTS,
    STATUS,
    TABLES,
    VERDICTS,
)
from metashell.commands.rows.columns import (
    Column,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery
from metashell.errors import UsageError


class QuorumCommand(RowsCommand):
    """Show the quorum: leader, voters, observers and lag; or its leader epochs.

    Shows what `kafka-metadata-quorum describe` shows with --status and with --replication.
    First come the cluster, the leader and its epoch, the high watermark and the lag of the
    slowest voter. Then comes a line for each voter and observer, the leader first. Lag counts
    offsets behind the end of the leader's log. MaxFollowerLagTimeMs is the time by which the
    slowest voter was last caught up before the leader. Times are the leader's, in UTC, with
    their age.

    A live quorum's leader is asked (DescribeQuorum, which needs DESCRIBE on the cluster). For a
    directory, a file or an earlier state the log tells leader, voters and epochs, and a node's
    quorum-state adds to it. That also holds if the leader can't be asked. - stands for an
    unknown value. A voter that only the log or only the leader knows is reported. Differences
    between the node's files and the log are reported too: /quorum/disagreements lists them. So
    is what the file of --config says otherwise.

    The exit status is 0. It is 1 if nothing is known of the quorum, or if a file that describes
    it can't be used.

    LogEpoch and LogEndOffset are the end of the log: that of the directory, or the leader's. A
    vote compares both, in this order. LeaderEpoch may be newer, from quorum-state. `fleet
    --votes` says who can win a vote.

    After a quorum was lost, --copies says which disk to trust. Give the directories of all
    nodes that are left, of brokers too: `-d DIR1 -d DIR2`. The first line is the answer. Then
    come the copies, what is known of their records, what each election would lose, and the
    steps. Nothing is run.

    Each record is `proved`, `safe` or `open`. A proved record is committed, whatever is on
    disks that are not here. A safe one is in the log of each voter that can win a vote of these
    voters. For an open one, who wins decides. A checkpoint proves the records before its end. A
    majority of the voters proves a record if each has one of the newest leader epoch at or
    behind it. Then no leader of a later epoch can have been elected, by all voters' logs or by
    a majority's quorum-state.

    All that assumes that each directory is as its node left it. A backup is not. A damaged log
    counts up to the damage, or to its newest checkpoint if that ends later: each start cuts it
    off there. Voters without damage, and with their quorum-state, are started first if they are
    a majority. The losses of an election are counted as `diff --stat` counts them.

    Copies of two clusters, of one node, or of two logs are refused. With --copies the exit
    status is 1 if no vote is possible, or if the answer is not sure.
    """

    group = "whole cluster"
    of_each_cluster = True
    noun = ("node", "nodes")
    tables = TABLES
    manual = Manual(
        synopsis="quorum [-h] [--status|--epochs|--copies|--starts|--verdicts] [-o FORMAT]",
        options=(
            Option(("-h", "--human-readable"), "Show ages only, without times."),
            Option((STATUS,), "With -o: write one row about the quorum, not one for each node."),
            Option((EPOCHS,), "List the leader epochs: start offset, leader and time."),
            Option((COPIES,), "Say which of these directories to trust after a loss; see above."),
            Option((STARTS,), "List the sets of voters, who can win then, and what is lost."),
            Option((VERDICTS,), "List the records by offset: proved, safe or open."),
        ),
        examples=(
            ("quorum", "leader, voters and observers"),
            ("quorum --epochs", "every leader so far"),
            ("quorum --json", "the nodes, for scripts"),
            ("quorum -o csv", "a row for each voter and observer"),
            ("quorum --status -o yaml", "who leads, since which epoch, and the lag"),
            ("quorum --copies", "which copy wins, and whom to start, after a loss"),
            ("quorum --starts -o json", "who can win with whom, and what that loses"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Gather and print."""
        refuse_more(self, parsed.arguments)
        if STATUS in parsed.switches and not self.asking(parsed):
            raise UsageError(f"{STATUS} goes with -o", hint="quorum alone shows all")
        if parsed.switches.isdisjoint(OF_COPIES):
            return super().run_parsed(context, parsed)
        self.columns_of(parsed)
        return _OF_COPIES.run_parsed(context, parsed)

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """Write lines about the quorum and its nodes, or about leader epochs."""
        from metashell.commands.quorum.answer import write_text

        return write_text(context, parsed)

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """The nodes, the quorum, the leader epochs, or what is known of copies."""
        chosen = [flag for flag in (STATUS, EPOCHS, *OF_COPIES) if flag in parsed.switches]
        if len(chosen) > 1:
            raise UsageError(f"{chosen[0]} and {chosen[1]} exclude each other")
        return next(table.columns for table in TABLES if table.asked_by == "".join(chosen))


class _CopiesCommand(QuorumCommand):
    """``quorum`` with a flag about copies: it is of all directories that are open, not of each."""

    of_each_cluster = False
    noun = ("row", "rows")

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Write the text for `COPIES` alone, else rows."""
        if COPIES in parsed.switches and not self.asking(parsed):
            return self.write_text(context, parsed)
        return self.write_rows(context, parsed)

    def answer(self, query: RowsQuery) -> None:
        """Add rows of copies, of sets of voters, or of verdicts."""
        from metashell.commands.quorum.copies import answer

        answer(query)

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """Write which disk to trust, and what to do."""
        from metashell.commands.quorum.copies import write_text

        return write_text(context)


COMMAND = QuorumCommand()
_OF_COPIES = _CopiesCommand()
