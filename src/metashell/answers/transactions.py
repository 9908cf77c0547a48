"""Transactions, as the log of a coordinator's partition has them.

Source: org.apache.kafka.coordinator.transaction.TransactionLog, TransactionStateManager.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from metashell.answers.coordinator_tables import PartitionState
from metashell.answers.groups import partition_names
from metashell.image.coordinators.record_tables import part_schema, part_table, sorted_rows
from metashell.image.fold import group_keys, survivors
from metashell.parts.coordinators.transactions import PART
from metashell.records.flaws import TRANSACTION_STATES
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.arrow import string_array

TRANSACTION_SCHEMA: Final = part_schema(PART)
"""Its columns but ``hanging``."""


def transaction_rows(state: PartitionState) -> pa.Table:
    """The rows of the table `transactions`."""
    return transactions_table(state.records, state.number, state.coordinator)


def transactions_table(
    records: KeyedRecords, partition: int, coordinator: int | None = None
) -> pa.Table:
    """The transactional ids of a partition, by name: columns of `TRANSACTION_SCHEMA`.

    Args:
        records: The records of the partition's log.
        partition: Which one of ``__transaction_state`` it is.
        coordinator: The broker that leads it; None where that is not known.
    """
    found = records.columns("TransactionLog")
    ids = found.key.span("transactional_id")
    last = survivors(group_keys([ids], len(found)), found.rows, found.is_tombstone).last
    value = found.value.take(last)
    parts = value.structs("transaction_partitions")
    names = string_array(parts.items.span("topic")).cast(pa.string())
    table = part_table(
        PART,
        transactional_id=ids.take(last),
        state=pa.array(TRANSACTION_STATES).take(pa.array(value.fixed("transaction_status"))),
        producer_id=value.fixed("producer_id"),
        producer_epoch=value.fixed("producer_epoch"),
        partitions=partition_names(parts, names, field="partition_ids"),
        timeout_ms=value.fixed("transaction_timeout_ms"),
        started_time=value.fixed("transaction_start_timestamp_ms"),
        last_update_time=value.fixed("transaction_last_update_timestamp_ms"),
        coordinator=coordinator,
        partition=partition,
    )
    return sorted_rows(PART, table)
