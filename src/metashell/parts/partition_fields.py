"""The fields of a partition, in Kafka's order, as the declaration of partitions has them.

Code that treats a partition field by field (columns, texts, digests, changes) takes its lists here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from metashell.parts.known import find_part
from metashell.schema.model import builtin_specs, snake_case

RECOVERY_STATES: Final = ("RECOVERED", "RECOVERING")
"""By code. Source: org.apache.kafka.metadata.LeaderRecoveryState."""

DIRECTORIES: Final = "directories"
"""The list whose default depends on the replicas."""
RECOVERY_STATE: Final = "leader_recovery_state"


def _column(kafka: str) -> str:
    """The name of a column of ours: Kafka's name of the field, written as columns are."""
    return snake_case(kafka[:1].upper() + kafka[1:])


_SPEC = find_part("partitions")
_OF_RECORD = next(s for s in builtin_specs() if s.name == _SPEC.put.message).fields
_BY_COLUMN = {field.column_name: field for field in _OF_RECORD}

KAFKA_NAMES: Final[Mapping[str, str]] = {
    _column(kafka): kafka
    for field in _SPEC.fields
    for kafka in (field.kafka or _BY_COLUMN[field.column].json_name,)
}
"""Kafka's name of each field, by ours, in the order of Kafka's text."""

LISTS: Final[Mapping[str, str]] = {
    name: field.column
    for name, field in zip(KAFKA_NAMES, _SPEC.fields, strict=True)
    if _BY_COLUMN[field.column].is_array
}
"""Fields that are lists, and their columns' names in both record types."""

BROKER_LISTS: Final[Sequence[str]] = [name for name in LISTS if name != DIRECTORIES]
"""The lists of broker ids."""

NUMBERS: Final[Mapping[str, str]] = {
    name: _BY_COLUMN[name].type for name in KAFKA_NAMES if name not in LISTS
}
"""The other fields, and their types."""
