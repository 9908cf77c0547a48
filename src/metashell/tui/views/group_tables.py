"""The tables of the view of groups, and what help says of each."""

from __future__ import annotations

from metashell.tui.rows.drawn import DrawnTable


class GroupTable(DrawnTable):
    """Groups."""

    HELP = (
        "## Groups\n"
        "The groups in this broker's logs; those that need attention come first.\n\n"
        "- `stalled`: the group has members, and an offset stands still while its partition's log "
        "goes on\n"
        "- `rebalancing`: members do not have their partitions yet\n"
        "- `pending`: an open transaction commits offsets of the group\n"
        "- `left behind`: a group without members, behind the end of a log\n\n"
        "`lag` counts records behind the ends of the logs in this directory. Lag and stalled "
        "offsets are filled in as they are found; `escape` stops that.\n\n"
        "- `enter` opens the group\n"
        "- `tab` goes to the transactions\n"
        "- `r` reads the logs again\n"
        "- `s` sorts by the column of the cursor, `/` filters, `x` exports"
    )


class TransactionTable(DrawnTable):
    """Transactions."""

    HELP = (
        "## Transactions\n"
        "Hanging transactions come first, then open ones, the oldest first. A hanging transaction "
        "has no coordinator that will end it: consumers that read committed data wait.\n\n"
        "- `enter` opens the node of the transaction, or of the partition\n"
        "- `i` copies the command that ends a hanging transaction; metashell never runs it\n"
        "- `s` sorts by the column of the cursor, `/` filters, `x` exports"
    )


class MemberTable(DrawnTable):
    """Members of a group."""

    HELP = (
        "## Members\n"
        "The members of the group, and the partitions that they have. `enter` opens the node. "
        "`tab` goes to the offsets, `backspace` back to all groups."
    )


class OffsetTable(DrawnTable):
    """Offsets of a group."""

    HELP = (
        "## Offsets\n"
        "The committed offsets of the group, and the lag where the partition's log is in this "
        "directory. Below is the history of the offset under the cursor. Time goes to the right, "
        "the highest offset is highest. `x` stands for a removed offset. Compaction removes "
        "older commits.\n\n"
        "- `enter` opens the node; `h` there shows each commit\n"
        "- `backspace` goes back to all groups\n"
        "- `s` sorts by the column of the cursor, `/` filters, `x` exports"
    )
