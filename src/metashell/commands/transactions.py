"""``transactions``: transactional ids and their transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.answers.coordinator_kinds import TRANSACTION
from metashell.commands.framework.command import Manual
from metashell.commands.framework.coordinator_logs import WHERE, coordinator_rows
from metashell.commands.framework.option import Option
from metashell.commands.rows.columns import integer, one_table, text, texts, time_at
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.records.keyed_records import KeyedRecords

COLUMNS: Final = (
    text("transactional_id", "The producer's transactional id.", priority=9),
    text(
        "state",
        "The state of its last transaction, in Kafka's words.",
        priority=9,
        yellow=("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"),
    ),
    integer("producer_id", "The producer's id.", priority=5),
    integer("producer_epoch", "The producer's epoch.", priority=3),
    texts("partitions", "What the transaction writes to: TOPIC-PARTITION.", priority=7),
    integer("timeout_ms", "Its timeout in ms.", priority=2),
    time_at("started_time", "When the transaction began; null for none.", priority=8),
    time_at("last_update_time", "When its state last changed.", priority=4),
    integer("coordinator", "The broker that leads the partition; null for none.", priority=6),
    integer("partition", f"The partition of `{TRANSACTION.topic}` that tells of it.", priority=1),
)
ONGOING: Final = Option(("--ongoing",), "List transactions that have not ended.")
_ENDED: Final = ("Empty", "CompleteCommit", "CompleteAbort", "Dead")


class TransactionsCommand(RowsCommand):
    """List transactions."""

    group = "groups"
    name = "transactions"
    summary = "List the transactional ids in a broker's logs, and their transactions."
    noun = ("transaction", "transactions")
    tables = one_table(*COLUMNS)
    takes_paths = False
    of_each_cluster = True
    manual = Manual(
        synopsis="transactions [OPTION...] [TRANSACTIONAL_ID...]",
        description=(
            "Lists transactional ids with their last transaction. TRANSACTIONAL_ID may hold "
            f"wildcards.\n\n{WHERE.format(TRANSACTION.topic)}"
        ),
        options=(ONGOING,),
        examples=(
            ("transactions --ongoing --sort started_time", "what has not ended, the oldest first"),
            ("transactions tx-hang", "one of them"),
        ),
    )

    def answer(self, query: RowsQuery) -> None:
        """The transactional ids of every partition."""
        answer = _ongoing if ONGOING.flags[0] in query.parsed.switches else _transactions
        coordinator_rows(
            query, TRANSACTION, answer, "transactional_id", "transactional id of this kind"
        )


def _transactions(records: KeyedRecords, partition: int, coordinator: int | None) -> pa.Table:
    from metashell.answers.transactions import transactions_table

    return transactions_table(records, partition, coordinator)


def _ongoing(records: KeyedRecords, partition: int, coordinator: int | None) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    table = _transactions(records, partition, coordinator)
    ended = pc.is_in(table.column("state"), value_set=pa.array(_ENDED))
    return table.filter(pc.invert(ended))


COMMAND = TransactionsCommand()
