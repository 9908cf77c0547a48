"""Share partitions, as the log of a coordinator's partition has them.

Source: org.apache.kafka.coordinator.share.ShareCoordinatorShard; the states are those of
org.apache.kafka.server.share.fetch.RecordState.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from metashell.answers.coordinator_tables import PartitionState
from metashell.answers.groups import TIME, topic_names
from metashell.image.coordinators.share_state import ShareLog, batch_texts
from metashell.schema.arrow import list_array, string_array

SHARE_SCHEMA: Final = pa.schema(
    [
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("start_offset", pa.int64()),
        ("state_epoch", pa.int32()),
        ("leader_epoch", pa.int32()),
        ("complete", pa.int32()),
        ("batches", pa.list_(pa.string())),
        ("written_time", TIME),
        ("coordinator", pa.int32()),
        ("coordinator_partition", pa.int32()),
    ]
)


def share_rows(state: PartitionState) -> pa.Table:
    """The rows of the table `share_partitions`."""
    return share_table(ShareLog(state.records, state.number), state.topics(), state.coordinator)


def share_table(
    log: ShareLog, topics: Mapping[str, str] | None = None, coordinator: int | None = None
) -> pa.Table:
    """The share partitions of a coordinator's partition: columns of `SHARE_SCHEMA`.

    They come by group, topic and partition.

    Args:
        log: The coordinator's log.
        topics: Names of topics by the text of their ids; a topic without one is called by its id.
        coordinator: The broker that leads it; None where that is not known.
    """
    state = log.state
    k = len(state)
    table = pa.table(
        [
            string_array(state.group),
            topic_names(state.topic_id, topics or {}),
            pa.array(state.partition),
            pa.array(state.start_offset, mask=state.start_offset < 0),
            pa.array(state.state_epoch),
            pa.array(state.leader_epoch),
            pa.array(state.complete, mask=state.complete < 0),
            list_array(
                batch_texts(state.batches).cast(pa.string()), state.batches.list_offsets, None
            ),
            pa.array(state.written_ms, mask=state.written_ms <= 0).cast(TIME),
            pa.array([coordinator] * k, pa.int32()),
            pa.array([log.partition] * k, pa.int32()),
        ],
        schema=SHARE_SCHEMA,
    )
    keys = ("group", "topic", "partition")
    return table.sort_by([(name, "ascending") for name in keys])
