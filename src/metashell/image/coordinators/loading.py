"""A broker's state of a coordinator's partition after it read a record that it refuses.

Source: CoordinatorLoaderImpl, GroupMetadataManager.replay, TransactionStateManager.
"""

from __future__ import annotations

from metashell.image.coordinators.group_log import GroupLog
from metashell.log.fault import Fault
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog


def replay_refusals(records: KeyedRecords, partition: int) -> list[tuple[int, str]]:
    """Rows at which a broker stops because of what the log says before them, and why.

    Args:
        records: The records of a partition.
        partition: Its number.
    """
    if records.log is not CoordinatorLog.GROUPS:
        return []
    return GroupLog(records, partition).refused


def loaded_by_a_broker(records: KeyedRecords) -> KeyedRecords:
    """The records that make up a broker's state: all, if it refuses none.

    For transactions it has everything before the record that it refuses. For groups and share state
    it has nothing.
    """
    found: list[tuple[int, Fault]] = []
    if records.refusal is not None:
        found.append(records.refusal)
    if records.log is CoordinatorLog.GROUPS:
        log = GroupLog(records, 0)
        rows = log.events.row[log.state.refused][:1].tolist()
        found += zip(rows, log.refusals(), strict=False)
    if not found:
        return records
    row, stops = min(found, key=lambda each: each[0])
    had = records.until(row if records.log is CoordinatorLog.TRANSACTIONS else 0)
    had.stopped_by = stops
    return had
