"""Share partitions, as the log of a coordinator's partition has them.

Source: org.apache.kafka.coordinator.share.ShareCoordinatorShard; the states are those of
org.apache.kafka.server.share.fetch.RecordState.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from metashell.answers.coordinator_tables import PartitionState
from metashell.answers.groups import topic_names
from metashell.image.coordinators.record_tables import part_table, sorted_rows
from metashell.image.coordinators.share_state import batch_texts, fold_share
from metashell.parts.coordinators.share_partitions import PART
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.arrow import list_array


def share_rows(state: PartitionState) -> pa.Table:
    """The rows of the table `share_partitions`."""
    return share_table(state.records, state.number, state.topics(), state.coordinator)


def share_table(
    records: KeyedRecords,
    partition: int,
    topics: Mapping[str, str] | None = None,
    coordinator: int | None = None,
) -> pa.Table:
    """The share partitions of a coordinator's partition: a row each, sorted.

    Args:
        records: The records of the partition's log.
        partition: Which one of ``__share_group_state`` it is.
        topics: Names of topics by the text of their ids; a topic without one is called by its id.
        coordinator: The broker that leads it; None where that is not known.
    """
    state = fold_share(records)
    batches = state.batches
    table = part_table(
        PART,
        state,
        topic=topic_names(state.topic_id, topics or {}),
        batches=list_array(batch_texts(batches).cast(pa.string()), batches.list_offsets, None),
        written_time=np.where(state.written_ms > 0, state.written_ms, -1),
        coordinator=coordinator,
        coordinator_partition=partition,
    )
    return sorted_rows(PART, table)
