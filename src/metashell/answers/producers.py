"""Producers of partitions, as a broker that leads them answers DescribeProducers.

Source: org.apache.kafka.server.log ReplicaManager.activeProducerState, UnifiedLog.activeProducers.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from metashell.image.coordinators.producers import ProducersState
from metashell.image.coordinators.record_tables import part_schema, part_table
from metashell.parts.coordinators.producers import PART

PRODUCER_SCHEMA: Final = part_schema(PART)


def producers_table(state: ProducersState, topic: str, partition: int) -> pa.Table:
    """The producers of a partition, by id: columns of `PRODUCER_SCHEMA`.

    Args:
        state: Its producers.
        topic: The topic's name.
        partition: The partition.
    """
    starts = state.current_txn_first_offset
    return part_table(
        PART, state, topic=topic, partition=partition, current_txn_start_offset=starts
    )
