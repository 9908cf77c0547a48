"""``fleet``: a row for each directory that is open, and whether copies of a cluster agree."""

from __future__ import annotations

from metashell.commands.fleet.columns import COORDINATORS, SUMMARY, TABLES, VERIFY, VOTES
from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.options import Option, Parsed, refuse_more
from metashell.commands.rows.command import RowsCommand
from metashell.errors import UsageError


class FleetCommand(RowsCommand):
    """Show a row for each open directory, or whether copies of a cluster agree.

    Shows a row for each directory: its name under /clusters, cluster id and node id.
    `log_epoch` and `log_end_offset` are the end of the whole log, also with --at. A vote
    compares them, in this order. The epoch in quorum-state does not count.

    --summary shows one row for all. A cluster counts once: by the copy whose log ends last.

    --verify compares the directories of one cluster. It compares their logs batch by batch, and
    their states by the digests of `checksum`. States are compared at the offset that most of
    them have. That is the smallest of their last offsets, unless the files of others begin
    after it. Each directory has one result:

    `equal`: it agrees up to `offset`, and can end later: `last_offset` tells the end.
    `differs`: its digest is not that of the majority. `diverged`: its log has another batch at
    an offset than the majority. Without a majority all differ or diverge. `alone`: no other
    directory of its cluster can be compared. `unknown`: it can't be read, or does not cover the
    offset.

    `diverged_at` is the first offset at which a log leaves the others. A warning names the
    leader epochs of both batches, and why a directory is `unknown`. Digests leave out configs
    of topics that do not exist: see `man checksum`. `orphans` counts them. The last records of
    a directory may not be committed: --committed-only leaves them out. No result says which
    copy can win a vote: --votes does.

    --coordinators lists the replicas of `__consumer_offsets`, `__transaction_state` and
    `__share_group_state`. If several replicas of a partition are together, one is read: the one
    that reaches furthest in the newest leader epoch. Several are together in the directories of
    one node, and in those of one cluster with `metashell --join`. Where another replica has
    another batch or epoch, a warning tells the offset. All replicas are read.

    --votes lists each set of voters that can elect a leader, and the voters that can win then.
    Each copy with `can_win` can become the leader. A voter wins if its log does not end before
    the logs of a majority of all voters. Lost voters count for the majority. The voters are
    those of the latest record in the log, or of quorum-state. Only a directory with the voter's
    node.id and directory.id has its vote. Two metadata logs of one node are two copies: one of
    them can run. Without a majority no vote is possible: a warning names the missing voters.

    One directory (-d) is a fleet of one. The exit status is 1 if a directory can't be read or
    has faults. With --verify or --coordinators it is 1 if one differs, diverged or can't be
    compared. With --votes it is 1 if no vote is possible, or if the answer is not sure: a
    warning says why. Large fleets are read by one process for each processor.
    """

    group = "whole cluster"
    noun = ("directory", "directories")
    tables = TABLES
    manual = Manual(
        synopsis="fleet [--summary|--verify|--coordinators|--votes] [OPTION...]",
        options=(
            Option((SUMMARY,), "Show one row for all clusters."),
            Option((VERIFY,), "Compare the directories of each cluster."),
            Option((COORDINATORS,), "List the replicas of coordinators' partitions."),
            Option((VOTES,), "List the sets of voters that can elect a leader, and who can win."),
        ),
        examples=(
            ("fleet", "a row for each directory"),
            ("fleet --summary", "how much there is, and how much of it is offline"),
            ("fleet --sort -offline", "the most partitions without a leader first"),
            ("fleet --json", "for scripts"),
            ("fleet --verify", "whether copies of a cluster agree"),
            ("fleet --coordinators", "which replicas groups and transactions are read from"),
            ("fleet --votes", "who can become the leader, by these copies of the voters"),
            ("fleet -o csv --sort -offline,cluster", "for a spreadsheet"),
        ),
    )

    def run_parsed(self, context: Context, parsed: Parsed) -> int:
        """Print the rows."""
        refuse_more(self, parsed.arguments)
        chosen = [table.asked_by for table in TABLES if table.asked_by in parsed.switches]
        if len(chosen) > 1:
            raise UsageError(
                f"{chosen[0]} and {chosen[1]} exclude each other",
                hint=f"usage: {self.manual.synopsis}",
            )
        return super().run_parsed(context, parsed)

    def nothing(self, parsed: Parsed) -> str:
        """That no coordinator's log is here: there is a directory always."""
        if COORDINATORS in parsed.switches:
            return "no log of a coordinator is here"
        return super().nothing(parsed)


COMMAND = FleetCommand()
