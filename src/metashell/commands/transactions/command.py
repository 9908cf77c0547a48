"""``transactions``: transactional ids and their transactions."""

from __future__ import annotations

from typing import Final

from metashell.answers.coordinator_tables import TRANSACTION
from metashell.commands.framework.command import Manual
from metashell.commands.framework.options import Option
from metashell.commands.rows.columns import (
    AnswerTable,
    flag,
    integer,
    sentence,
    text,
    texts,
    time_at,
)
from metashell.commands.rows.query import RowsQuery
from metashell.commands.shared.part_command import PartCommand
from metashell.parts.coordinators.transactions import PART

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


class TransactionsCommand(PartCommand):
    """List the transactional ids in a broker's logs, and their transactions.

    Lists transactional ids with their last transaction. TRANSACTIONAL_ID may hold wildcards.

    --hanging looks at the producers of the partitions in the log directory, as `producers`
    does. A transaction hangs if no transactional id has its producer id. It hangs, too, if the
    one that has it does not name the partition. Consumers that read committed data wait for its
    end. Kafka's own tool only tells of those that are older than the longest timeout: see
    age_ms.
    """

    noun = ("transaction", "transactions")
    tables = (AnswerTable("", COLUMNS), AnswerTable("--hanging", OPEN_COLUMNS))
    part = PART
    manual = Manual(
        synopsis="transactions [OPTION...] [TRANSACTIONAL_ID...]",
        options=(ONGOING, HANGING),
        examples=(
            ("transactions", "all of them"),
            ("transactions --ongoing --sort started_time", "what has not ended, the oldest first"),
            ("transactions tx-hang", "one of them"),
            ("transactions --hanging", "what holds back consumers and has no end"),
        ),
    )

    def answer(self, query: RowsQuery) -> None:
        """Add the transactional ids of every partition, or what hangs."""
        from metashell.commands.transactions.answer import answer

        answer(query)


COMMAND = TransactionsCommand()
