"""``offsets``: the offsets that groups committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.answers.coordinator_kinds import GROUP
from metashell.commands.framework.command import Manual
from metashell.commands.framework.coordinator_logs import WHERE, coordinator_rows
from metashell.commands.rows.columns import flag, integer, one_table, text, time_at
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.records.keyed_records import KeyedRecords

COLUMNS: Final = (
    text("group", "The group's id.", priority=9),
    text("topic", "The topic's name.", priority=8),
    integer("partition", "The topic's partition.", priority=9),
    integer("offset", "The committed offset; null: a commit is pending alone.", priority=9),
    integer("leader_epoch", "The leader epoch that was committed with it, or null.", priority=1),
    text("metadata", "Text of the client's own.", priority=2),
    time_at("committed_time", "When it was committed.", priority=6),
    flag(
        "pending",
        "Whether a transaction that has not ended commits this key, too. A consumer that reads "
        "committed data waits for its end.",
        priority=5,
        yellow=("yes",),
    ),
)


class OffsetsCommand(RowsCommand):
    """List committed offsets."""

    group = "groups"
    name = "offsets"
    summary = "List the offsets that groups committed, from a broker's logs."
    noun = ("committed offset", "committed offsets")
    tables = one_table(*COLUMNS)
    takes_paths = False
    of_each_cluster = True
    manual = Manual(
        synopsis="offsets [OPTION...] [GROUP...]",
        description=(
            "Lists committed offsets. GROUP may hold wildcards. A commit of a transaction counts "
            "if the transaction is committed.\n\n"
            f"{WHERE.format(GROUP.topic)}"
        ),
        examples=(
            ("offsets k-uniform", "those of a group"),
            ("offsets --sort committed_time --limit 20", "the oldest commits"),
            ("offsets -o csv", "all of them, for a program"),
        ),
    )

    def answer(self, query: RowsQuery) -> None:
        """The offsets in every partition."""
        coordinator_rows(query, GROUP, _offsets, "group", "group with offsets")


def _offsets(records: KeyedRecords, partition: int, _coordinator: int | None) -> pa.Table:
    from metashell.answers.groups import offsets_table
    from metashell.image.coordinators.group_log import GroupLog

    return offsets_table(GroupLog(records, partition))


COMMAND = OffsetsCommand()
