"""The rows of ``transactions``: transactional ids, or what hangs."""

from __future__ import annotations

from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.coordinator_tables import TRANSACTION, PartitionState
from metashell.answers.hanging import HangingVerdict, with_hanging
from metashell.answers.transactions import transaction_rows
from metashell.commands.rows.query import RowsQuery
from metashell.commands.shared.coordinator_logs import QueryReport, coordinator_rows
from metashell.commands.shared.partition_logs import needs_partition_logs, topics_here
from metashell.errors import UsageError
from metashell.parts.coordinators.transactions import PART
from metashell.sources.partition_ends import open_transactions
from metashell.sources.partition_logs import partition_logs

_ENDED: Final = ("Empty", "CompleteCommit", "CompleteAbort", "Dead")


def answer(query: RowsQuery) -> None:
    """Add the transactional ids of every partition, or what hangs."""
    is_ongoing = "--ongoing" in query.parsed.switches
    if "--hanging" in query.parsed.switches:
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
    table = transaction_rows(state)
    if is_ongoing:
        ended = pc.is_in(table.column("state"), value_set=pa.array(_ENDED))
        table = table.filter(pc.invert(ended))
    return with_hanging(table, opened)


def _hanging(query: RowsQuery) -> pa.Table:
    """The transactions that hang, or may hang."""
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
