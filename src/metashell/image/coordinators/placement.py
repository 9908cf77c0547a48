"""Which partition of a coordinators' topic a name is in, and who leads each.

Source: org.apache.kafka.common.utils.Utils.abs; GroupCoordinatorService.partitionFor,
TransactionStateManager.partitionFor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from metashell.image.image import Image

_NOBODY: Final = -1
_INT32_LEAST: Final = -(1 << 31)


def java_hash(text: str) -> int:
    """``String.hashCode``: an int32 over the text's UTF-16 units."""
    value = 0
    for unit in np.frombuffer(text.encode("utf-16-le", "surrogatepass"), "<u2").tolist():
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def partition_of(key: str, n_partitions: int) -> int:
    """The partition that coordinates a key; `n_partitions` is above 0."""
    value = java_hash(key)
    return (0 if value == _INT32_LEAST else abs(value)) % n_partitions


def leaders_of(image: Image, name: str) -> Mapping[int, int | None]:
    """The leader of each partition of a topic; None where there is none. Empty: no such topic."""
    topic = image.topics.find_name(name)
    if topic is None:
        return {}
    partitions = image.partitions_of(topic)
    rows = partitions.of_topic(topic)
    leaders = partitions.leader[rows].tolist()
    numbers = partitions.partition[rows].tolist()
    return {n: None if at == _NOBODY else at for n, at in zip(numbers, leaders, strict=True)}
