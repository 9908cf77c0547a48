"""The rows of a coordinator's partition for the tables that are declared for them."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from metashell.answers.coordinator_tables import PartitionState
from metashell.answers.offsets import OFFSET_SCHEMA, commits_table, offsets_table
from metashell.answers.share import share_table
from metashell.answers.transactions import TRANSACTION_SCHEMA, transactions_table
from metashell.image.coordinators.group_log import GroupLog
from metashell.image.coordinators.share_state import ShareLog
from metashell.records.keyed_records import KeyedRecords

_LAG: Final = (
    pa.field("log_end_offset", pa.int64()),
    pa.field("lag", pa.int64()),
    pa.field("high_watermark", pa.int64()),
)
OFFSETS_SCHEMA: Final = pa.schema([*list(OFFSET_SCHEMA)[:-1], *_LAG, OFFSET_SCHEMA.field(-1)])
"""The columns of `OFFSET_SCHEMA` with those of lag before the source of the expiry."""
TRANSACTIONS_SCHEMA: Final = TRANSACTION_SCHEMA.insert(
    len(TRANSACTION_SCHEMA) - 1, pa.field("hanging", pa.bool_())
)
"""The columns of `TRANSACTION_SCHEMA` with ``hanging`` before the partition."""


def offset_rows(state: PartitionState) -> pa.Table:
    """Committed offsets; when they expire by Kafka's default."""
    return offsets_table(GroupLog(state.records, state.number))


def commit_rows(records: KeyedRecords, number: int) -> pa.Table:
    """Commits of offsets, one after the other."""
    return commits_table(GroupLog(records, number))


def transaction_rows(state: PartitionState) -> pa.Table:
    """Transactional ids."""
    return transactions_table(state.records, state.number, state.coordinator)


def share_rows(state: PartitionState) -> pa.Table:
    """Share partitions."""
    log = ShareLog(state.records, state.number)
    return share_table(log, state.topics(), state.coordinator)
