"""``producers``: who writes to partitions, and which transactions are open there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metashell.commands.framework.command import Completion, Context, Manual
from metashell.commands.framework.options import Option
from metashell.commands.rows.columns import integer, one_table, text, time_at
from metashell.commands.rows.command import RowsCommand
from metashell.commands.shared.topic_arguments import complete_topics

COLUMNS: Final = (
    text("topic", "The topic's name.", priority=9),
    integer("partition", "The topic's partition.", priority=9),
    integer("producer_id", "The producer's id.", priority=8),
    integer("producer_epoch", "The producer's epoch.", priority=6),
    integer(
        "last_sequence",
        "The sequence of its last record in this epoch; null if it wrote none.",
        priority=4,
    ),
    time_at("last_timestamp", "The time of its last batch or marker.", priority=5),
    integer(
        "coordinator_epoch",
        "The epoch of the coordinator that ended its last transaction; null for none.",
        priority=2,
    ),
    integer(
        "current_txn_start_offset",
        "Where its open transaction begins; null if none is open. No consumer that reads committed "
        "data gets beyond the lowest of a partition.",
        priority=7,
    ),
    integer("last_offset", "The offset of its last record in this epoch.", shown=False),
)
OPEN: Final = Option(("--open",), "List producers with an open transaction.")


class ProducersCommand(RowsCommand):
    """List the producers of each partition in a broker's log directory.

    Lists the producers that are idempotent or transactional, as a broker has them of each
    partition. TOPIC may hold wildcards.

    The answer comes from the newest `.snapshot` file beside each log in the log directory, and
    from the batches behind it. Only the headers of batches are read. The CRC is checked of
    snapshots and of markers. A broker forgets a producer that was idle for
    `producer.id.expiration.ms`; it is listed here. The exit status is 1 if a log could not be
    read, or if a name is unknown.
    """

    group = "groups"
    noun = ("producer", "producers")
    tables = one_table(*COLUMNS)
    of_each_cluster = True
    manual = Manual(
        synopsis="producers [OPTION...] [TOPIC...]",
        options=(OPEN,),
        examples=(
            ("producers orders", "those of a topic"),
            ("producers --open --sort last_timestamp", "open transactions, the oldest first"),
        ),
    )

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose topics."""
        return complete_topics(context, word)


COMMAND = ProducersCommand()
