"""Producers of partitions, as a broker that leads them answers DescribeProducers.

Source: org.apache.kafka.server.log ReplicaManager.activeProducerState, UnifiedLog.activeProducers.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from metashell.answers.groups import TIME
from metashell.image.coordinators.producers import ProducersState

PRODUCER_SCHEMA: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("last_sequence", pa.int32()),
        ("last_timestamp", TIME),
        ("coordinator_epoch", pa.int32()),
        ("current_txn_start_offset", pa.int64()),
        ("last_offset", pa.int64()),
    ]
)


def producers_table(state: ProducersState, topic: str, partition: int) -> pa.Table:
    """The producers of a partition, by id: columns of `PRODUCER_SCHEMA`.

    Args:
        state: Its producers.
        topic: The topic's name.
        partition: The partition.
    """
    k = len(state)
    times = state.last_timestamp
    begins, epochs = state.current_txn_first_offset, state.coordinator_epoch
    return pa.table(
        [
            pa.array([topic] * k, pa.string()),
            pa.array(np.full(k, partition, dtype=np.int32)),
            pa.array(state.producer_id),
            pa.array(state.producer_epoch),
            pa.array(state.last_sequence, mask=state.last_sequence < 0),
            pa.array(times, mask=times < 0).cast(TIME),
            pa.array(epochs, mask=epochs < 0),
            pa.array(begins, mask=begins < 0),
            pa.array(state.last_offset, mask=state.last_offset < 0),
        ],
        schema=PRODUCER_SCHEMA,
    )
