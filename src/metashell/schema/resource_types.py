"""Types of the resources that configs belong to, as records have them.

Source: org.apache.kafka.common.config.ConfigResource.Type.
"""

from __future__ import annotations

from enum import IntEnum


class ResourceType(IntEnum):
    """The type of a config's owner; the value is the code in records."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


_NAMES = {each.value: each.name for each in ResourceType}
_UNKNOWN = ResourceType.UNKNOWN.name


def resource_type_name(code: int) -> str:
    """Name of a resource type; codes that Kafka does not know are UNKNOWN, as there."""
    return _NAMES.get(code, _UNKNOWN)
