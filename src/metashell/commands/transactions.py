"""``transactions``: transactional ids and their transactions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from metashell.answers.coordinator_kinds import TRANSACTION
from metashell.commands.framework.command import Manual
from metashell.commands.framework.option import Option
from metashell.commands.framework.options import Parsed
from metashell.commands.rows.columns import (
    AnswerTable,
    Column,
    flag,
    integer,
    sentence,
    text,
    texts,
    time_at,
)
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowsQuery
from metashell.commands.shared.coordinator_logs import (
    WHERE,
    QueryReport,
    coordinator_rows,
    imports_of,
)
from metashell.commands.shared.partition_logs import needs_partition_logs, topics_here
from metashell.errors import UsageError
from metashell.parts.coordinators.transactions import PART

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.answers.coordinator_tables import PartitionState

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
    flag(
        "hanging",
        "Whether a partition here has an open transaction of this producer that the coordinator "
        "will not end. To tell, the ends of all logs are looked at.",
        shown=False,
        red=("yes",),
    ),
    integer("partition", f"The partition of `{TRANSACTION.topic}` that tells of it.", priority=1),
)
OPEN_COLUMNS: Final = (
    text("topic", "The topic's name.", priority=9),
    integer("partition", "The topic's partition.", priority=9),
    integer("producer_id", "The producer's id.", priority=7),
    integer("producer_epoch", "The producer's epoch.", priority=3),
    integer(
        "coordinator_epoch",
        "The epoch of the coordinator that ended the producer's last transaction; null for none.",
        shown=False,
    ),
    integer("start_offset", "Where the transaction begins in the partition.", priority=8),
    time_at("last_time", "When the producer last wrote to the partition.", priority=5),
    integer(
        "age_ms",
        "The time from then to the end of the logs here, in ms; not to the present.",
        priority=6,
    ),
    text(
        "transactional_id",
        "The transactional id that has the producer id; null for none here.",
        priority=4,
    ),
    text(
        "hanging",
        "yes, or undecided: the partition of the log that would have the transactional id is not "
        "here.",
        priority=9,
        red=("yes",),
        yellow=("undecided",),
    ),
    flag(
        "holds",
        "Whether it is the oldest open transaction of the partition: it holds the last stable "
        "offset, so consumers that read committed data stop there.",
        priority=7,
    ),
    sentence("command", "What ends it. metashell never runs it.", priority=8),
)
ONGOING: Final = Option(("--ongoing",), "List transactions that have not ended.")
HANGING: Final = Option(
    ("--hanging",),
    "List open transactions in partitions here that no coordinator will end (KIP-664). Arguments "
    "are then names of topics.",
)
_ENDED: Final = ("Empty", "CompleteCommit", "CompleteAbort", "Dead")


class TransactionsCommand(RowsCommand):
    """List transactions."""

    group = "groups"
    name = "transactions"
    summary = "List the transactional ids in a broker's logs, and their transactions."
    noun = ("transaction", "transactions")
    tables = (AnswerTable("", COLUMNS), AnswerTable("--hanging", OPEN_COLUMNS))
    imports = (*imports_of(PART), "metashell.answers.transactions")
    takes_paths = False
    of_each_cluster = True
    manual = Manual(
        synopsis="transactions [OPTION...] [TRANSACTIONAL_ID...]",
        description=(
            "Lists transactional ids with their last transaction. TRANSACTIONAL_ID may hold "
            f"wildcards.\n\n{WHERE.format(TRANSACTION.topic)}\n\n"
            "--hanging looks at the producers of the partitions in the log directory, as "
            "`producers` does. A transaction hangs if no transactional id has its producer id. It "
            "hangs, too, if the one that has it does not name the partition. Consumers that "
            "read committed data wait for its end. Kafka's own tool only tells of those that are "
            "older than the longest timeout: see age_ms."
        ),
        options=(ONGOING, HANGING),
        examples=(
            ("transactions", "all of them"),
            ("transactions --ongoing --sort started_time", "what has not ended, the oldest first"),
            ("transactions tx-hang", "one of them"),
            ("transactions --hanging", "what holds back consumers and has no end"),
        ),
    )

    def columns_of(self, parsed: Parsed) -> tuple[Column, ...]:
        """Those of partitions where these are asked for."""
        return self.tables[HANGING.flags[0] in parsed.switches].columns

    def answer(self, query: RowsQuery) -> None:
        """The transactional ids of every partition, or what hangs."""
        from metashell.sources.partition_ends import open_transactions
        from metashell.sources.partition_logs import partition_logs

        is_ongoing = ONGOING.flags[0] in query.parsed.switches
        if HANGING.flags[0] in query.parsed.switches:
            if is_ongoing:
                raise UsageError("--hanging and --ongoing exclude each other")
            query.add(_hanging(query))
            return
        opened = None
        if query.columns is None or "hanging" in query.columns:
            logs = partition_logs(query.source)
            if logs is not None:
                opened = open_transactions(query.source, logs, QueryReport(query))
        coordinator_rows(
            query,
            PART,
            "transactional id of this kind",
            partial(_chosen, opened, is_ongoing),
        )


def _chosen(opened: pa.Table | None, is_ongoing: bool, state: PartitionState) -> pa.Table:
    """The rows of a partition that are asked for."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from metashell.answers.hanging import with_hanging
    from metashell.answers.transactions import transaction_rows

    table = transaction_rows(state)
    if is_ongoing:
        ended = pc.is_in(table.column("state"), value_set=pa.array(_ENDED))
        table = table.filter(pc.invert(ended))
    return with_hanging(table, opened)


def _hanging(query: RowsQuery) -> pa.Table:
    """What hangs, or may."""
    import pyarrow.compute as pc

    from metashell.answers.hanging import HangingVerdict
    from metashell.sources.partition_ends import open_transactions

    logs = needs_partition_logs(query)
    topics = topics_here(query, logs)
    table = open_transactions(query.source, logs, QueryReport(query), topics)
    table = table.filter(pc.not_equal(table.column("hanging"), HangingVerdict.NO.value))
    if HangingVerdict.UNDECIDED in table.column("hanging").to_pylist():
        coordinator = query.source.coordinator_logs(TRANSACTION.log)
        missing = () if coordinator is None else coordinator.missing
        numbers = ", ".join(map(str, missing)) or "unknown"
        query.remarks.append(
            f"undecided: partitions of {TRANSACTION.topic} that are not here: {numbers}"
        )
    return table


COMMAND = TransactionsCommand()
