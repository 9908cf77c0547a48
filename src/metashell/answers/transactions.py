"""Transactions, as the log of a coordinator's partition has them.

Source: org.apache.kafka.coordinator.transaction.TransactionLog, TransactionStateManager.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from metashell.answers.coordinator_tables import PartitionState
from metashell.answers.groups import TIME, partition_names
from metashell.image.fold import group_keys, survivors
from metashell.records.keyed_records import TRANSACTION_STATES, KeyedRecords
from metashell.schema.arrow import string_array

TRANSACTION_SCHEMA: Final = pa.schema(
    [
        ("transactional_id", pa.string()),
        ("state", pa.string()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("partitions", pa.list_(pa.string())),
        ("timeout_ms", pa.int32()),
        ("started_time", TIME),
        ("last_update_time", TIME),
        ("coordinator", pa.int32()),
        ("partition", pa.int32()),
    ]
)

TRANSACTIONS_SCHEMA: Final = TRANSACTION_SCHEMA.insert(
    len(TRANSACTION_SCHEMA) - 1, pa.field("hanging", pa.bool_())
)
"""The columns of `TRANSACTION_SCHEMA` with ``hanging`` before the partition."""


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
    value, k = found.value.take(last), len(last)
    parts = value.structs("transaction_partitions")
    names = string_array(parts.items.span("topic")).cast(pa.string())
    started = value.fixed("transaction_start_timestamp_ms")
    table = pa.table(
        [
            string_array(ids.take(last)),
            pa.array(TRANSACTION_STATES).take(pa.array(value.fixed("transaction_status"))),
            pa.array(value.fixed("producer_id")),
            pa.array(value.fixed("producer_epoch")),
            partition_names(parts, names, field="partition_ids"),
            pa.array(value.fixed("transaction_timeout_ms")),
            pa.array(started, mask=np.asarray(started) < 0).cast(TIME),
            pa.array(value.fixed("transaction_last_update_timestamp_ms")).cast(TIME),
            pa.array([coordinator] * k, pa.int32()),
            pa.array([partition] * k, pa.int32()),
        ],
        schema=TRANSACTION_SCHEMA,
    )
    return table.sort_by("transactional_id")
