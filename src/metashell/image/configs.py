"""Configurations: a value per resource and key.

A null value removes the key. Removing a topic removes the configs of its name, which a topic made
later under that name does not get back.

Source: org.apache.kafka.image.ConfigurationsDelta, MetadataDelta.replay(RemoveTopicRecord).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.image.fold import group_keys
from metashell.image.keyed import Part, fold_nullable, join_spans
from metashell.image.records import Records
from metashell.image.topics import Topics

RESOURCE_TYPES: Final = {
    0: "UNKNOWN",
    2: "TOPIC",
    4: "BROKER",
    8: "BROKER_LOGGER",
    16: "CLIENT_METRICS",
    32: "GROUP",
}
"""Names of resource types. Source: org.apache.kafka.common.config.ConfigResource.Type."""

_TOPIC: Final = 2


def resource_type_name(code: int) -> str:
    """Name of a resource type; codes that Kafka does not know are UNKNOWN, as there."""
    return RESOURCE_TYPES.get(code, "UNKNOWN")


def fold_configs(records: Records, topics: Topics) -> Part:
    """The config values that are set, by resource and key."""
    rows, columns = records.columns("ConfigRecord")
    removed = topics.removed
    if len(removed.rows) and len(rows):
        names = join_spans(columns.span("resource_name"), removed.names)
        types = np.concatenate(
            [columns.fixed("resource_type"), np.full(len(removed.rows), _TOPIC, dtype=np.int8)]
        )
        groups = group_keys([types, names], len(types))
        last_removal = np.full(int(groups.max()) + 1, -1, dtype=np.int64)
        np.maximum.at(last_removal, groups[len(rows) :], removed.rows)
        keep = np.flatnonzero(rows > last_removal[groups[: len(rows)]])
        rows, columns = rows[keep], columns.take(keep)
    gone = ~columns.span("value").valid()
    return fold_nullable(records, rows, columns, ["resource_type", "resource_name", "name"], gone)
