"""Names of the codes that stand in ACLs, and which operations go with which resource.

Light: commands offer these names before any log is read.

Source: org.apache.kafka.common.acl.{AclOperation, AclPermissionType},
org.apache.kafka.common.resource.{ResourceType, PatternType}; the operations of a resource:
org.apache.kafka.security.authorizer.AclEntry and KIP-939.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

UNKNOWN: Final = "UNKNOWN"

RESOURCE_TYPES: Final = [
    UNKNOWN,
    "ANY",
    "TOPIC",
    "GROUP",
    "CLUSTER",
    "TRANSACTIONAL_ID",
    "DELEGATION_TOKEN",
    "USER",
]
PATTERN_TYPES: Final = [UNKNOWN, "ANY", "MATCH", "LITERAL", "PREFIXED"]
PERMISSION_TYPES: Final = [UNKNOWN, "ANY", "DENY", "ALLOW"]
OPERATIONS: Final = [
    UNKNOWN,
    "ANY",
    "ALL",
    "READ",
    "WRITE",
    "CREATE",
    "DELETE",
    "ALTER",
    "DESCRIBE",
    "CLUSTER_ACTION",
    "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS",
    "IDEMPOTENT_WRITE",
    "CREATE_TOKENS",
    "DESCRIBE_TOKENS",
    "TWO_PHASE_COMMIT",
]
"""Names by code; codes beyond are UNKNOWN."""

_CONFIGS: Final = ("DESCRIBE_CONFIGS", "ALTER_CONFIGS")
ASKED_OF: Final[Mapping[str, Sequence[str]]] = {
    "TOPIC": ("READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", *_CONFIGS),
    "GROUP": ("READ", "DELETE", "DESCRIBE", *_CONFIGS),
    "CLUSTER": (
        *("CREATE", "ALTER", "DESCRIBE", "CLUSTER_ACTION"),
        *(*_CONFIGS, "IDEMPOTENT_WRITE"),
    ),
    "TRANSACTIONAL_ID": ("WRITE", "DESCRIBE", "TWO_PHASE_COMMIT"),
    "DELEGATION_TOKEN": ("DESCRIBE",),
    "USER": ("CREATE_TOKENS", "DESCRIBE_TOKENS"),
}
"""Operations that Kafka's tools take for an ACL of a resource type.

Brokers ask for each of them, and for DELETE of the cluster.
"""

CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the one resource of type CLUSTER."""


def code_name(names: Sequence[str], code: int) -> str:
    """The name of a code, ``UNKNOWN`` where there is none."""
    return names[code] if 0 <= code < len(names) else UNKNOWN


def shown_code(names: Sequence[str], code: int) -> str:
    """The name of a code; one without a name shows its number: ``UNKNOWN(99)``."""
    return names[code] if 0 <= code < len(names) else f"{UNKNOWN}({code})"
