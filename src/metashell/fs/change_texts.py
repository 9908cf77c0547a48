"""Changes in short, for lines: without what every new thing has, ids that are none by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from metashell.schema.uuids import LOST, MIGRATING, UNASSIGNED, uuid_text

_DIRECTORIES: Final = {
    uuid_text(UNASSIGNED): "unassigned",
    uuid_text(LOST): "lost",
    uuid_text(MIGRATING): "migrating",
}
"""Directory ids that stand for no directory. Source: org.apache.kafka.common.DirectoryId."""
_DIRECTORY_LISTS: Final = ("directories", "cordonedDirectories")
_NEW: Final[Mapping[str, Mapping[str, Any]]] = {
    "PARTITION_RECORD": {"leaderRecoveryState": "RECOVERED", "leaderEpoch": 0, "partitionEpoch": 0},
    "REGISTER_BROKER_RECORD": {"fenced": True, "inControlledShutdown": False},
    "REGISTER_CONTROLLER_RECORD": {"zkMigrationReady": False},
}
"""What a new thing has unless its record says otherwise, by the type of the record."""


def with_names(name: str, value: Any) -> Any:
    """A field's value with directory ids that are none by name."""
    if name in _DIRECTORY_LISTS and isinstance(value, list):
        return [_DIRECTORIES.get(one, one) if isinstance(one, str) else one for one in value]
    return value


def new_in_short(record: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """What a new thing is, without what is so by default.

    Args:
        record: The type of the record that made it.
        fields: Its fields by name.

    Returns:
        Some of the fields: not those that are empty or as in any new thing; of a partition neither
        an ISR of all replicas nor its first replica as leader, nor directories that are all
        unassigned.
    """
    usual = dict(_NEW.get(record, {}))
    replicas = fields.get("replicas")
    if record == "PARTITION_RECORD" and isinstance(replicas, list) and replicas:
        usual.update(leader=replicas[0], isr=replicas)
        usual["directories"] = [uuid_text(UNASSIGNED)] * len(replicas)
    return {
        name: value
        for name, value in fields.items()
        if value not in ([], None) and (name not in usual or usual[name] != value)
    }
