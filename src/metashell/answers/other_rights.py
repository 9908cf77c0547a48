"""Which requests another right counts for than the one that a question names.

Most requests ask the authorizer for one operation on the resource that they name. The exceptions
are here, each once. A right that allows all requests of another one is part of the decision about
that one. The others are only told to the user.

Source: kafka.server.KafkaApis, kafka.server.ControllerApis, kafka.server.ConfigHelper,
kafka.server.DelegationTokenManager.filterToken; KIP-932, KIP-939 and KIP-1071.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from metashell.dataclass import dataclass
from metashell.image.acl_names import ASKED_OF, CLUSTER_NAME, OPERATIONS, RESOURCE_TYPES


class Right(NamedTuple):
    """An operation on a resource of a type."""

    operation: str
    resource_type: str

    @property
    def codes(self) -> tuple[int, int]:
        """The codes of the operation and of the type."""
        return OPERATIONS.index(self.operation), RESOURCE_TYPES.index(self.resource_type)

    @property
    def is_asked(self) -> bool:
        """Whether brokers ever ask the authorizer for it."""
        is_other = any(self in (one.asked, one.other) for one in OTHER_RIGHTS)
        return is_other or self.operation in ASKED_OF[self.resource_type]

    def name_for(self, asked: Right, name: str) -> str | None:
        """The resource that it is about where a question names one; None: any of the type."""
        if self.resource_type == "CLUSTER":
            return CLUSTER_NAME
        return name if self.resource_type == asked.resource_type else None


class How(Enum):
    """The effect of the other right on the requests."""

    DECIDES = auto()
    """It allows all of them too: it is part of the decision."""
    ENOUGH = auto()
    """It allows them too, but not what else asks for the right."""
    NOT_ENOUGH = auto()
    """It is part of the decision, but does not allow these."""
    INSTEAD = auto()
    """They ask for it and not for the right that one would think of."""
    TOO = auto()
    """They ask for both."""
    NOT_DENIED = auto()
    """They ask for both, and who has the right has the other too unless that is denied."""


@dataclass(frozen=True, slots=True)
class OtherRight:
    """Requests for which another right counts than the one asked about."""

    asked: Right
    how: How
    other: Right
    requests: str
    """For people."""
    of: str = ""
    """The resource of the other right, where that is not the one resource of its type."""

    @property
    def said_where(self) -> str | None:
        """Which ACLs of the other right there must be for people to be told; None: any or none."""
        return {How.ENOUGH: "ALLOW", How.NOT_ENOUGH: "ALLOW", How.NOT_DENIED: "DENY"}.get(self.how)

    @property
    def text(self) -> str:
        """The sentence for people."""
        whose = self.of or f"the {self.other.resource_type.lower().replace('_', ' ')}"
        what = f"{self.other.operation} of {whose}"
        return {
            How.DECIDES: f"{what} is enough for {self.requests}",
            How.ENOUGH: f"{what} is enough for {self.requests}",
            How.NOT_ENOUGH: f"{what} is not enough for {self.requests}",
            How.INSTEAD: f"for {self.requests}, brokers ask for {what} instead",
            How.TOO: f"for {self.requests}, brokers ask for {what} too",
            How.NOT_DENIED: f"who is denied {what} is denied {self.requests}",
        }[self.how]


_TOPIC_READ: Final = Right("READ", "TOPIC")
_TOPIC_WRITE: Final = Right("WRITE", "TOPIC")
_TOPIC_DESCRIBE: Final = Right("DESCRIBE", "TOPIC")
_TOPIC_CREATE: Final = Right("CREATE", "TOPIC")
_TOPIC_DELETE: Final = Right("DELETE", "TOPIC")
_TOPIC_ALTER: Final = Right("ALTER", "TOPIC")
_GROUP_READ: Final = Right("READ", "GROUP")
_GROUP_DELETE: Final = Right("DELETE", "GROUP")
_GROUP_DESCRIBE: Final = Right("DESCRIBE", "GROUP")
_CREATE: Final = Right("CREATE", "CLUSTER")
_DELETE: Final = Right("DELETE", "CLUSTER")
_ALTER: Final = Right("ALTER", "CLUSTER")
_DESCRIBE: Final = Right("DESCRIBE", "CLUSTER")
_CLUSTER_ACTION: Final = Right("CLUSTER_ACTION", "CLUSTER")
_IDEMPOTENT_WRITE: Final = Right("IDEMPOTENT_WRITE", "CLUSTER")
_TRANSACTION: Final = Right("WRITE", "TRANSACTIONAL_ID")
_TOKEN: Final = Right("DESCRIBE", "DELEGATION_TOKEN")
_TOKENS: Final = Right("DESCRIBE_TOKENS", "USER")

_CREATING: Final = "CreateTopics, Metadata that creates a topic and StreamsGroupHeartbeat"
_TXN_BY_BROKER: Final = "AddPartitionsToTxn as brokers send it"

OTHER_RIGHTS: Final[Sequence[OtherRight]] = (
    OtherRight(_IDEMPOTENT_WRITE, How.DECIDES, _TOPIC_WRITE, "InitProducerId", "any topic"),
    OtherRight(_TOPIC_CREATE, How.DECIDES, _CREATE, _CREATING),
    OtherRight(_TOPIC_DELETE, How.DECIDES, _DELETE, "DeleteTopics"),
    OtherRight(_TOPIC_DELETE, How.NOT_ENOUGH, _DELETE, "DeleteRecords"),
    OtherRight(
        _TOPIC_DELETE,
        How.NOT_DENIED,
        _TOPIC_DESCRIBE,
        "DeleteTopics by name, unless by DELETE of the cluster",
    ),
    OtherRight(_CREATE, How.ENOUGH, _TOPIC_CREATE, _CREATING),
    OtherRight(_DELETE, How.ENOUGH, _TOPIC_DELETE, "DeleteTopics"),
    OtherRight(_ALTER, How.ENOUGH, _CLUSTER_ACTION, "WriteTxnMarkers"),
    OtherRight(_CLUSTER_ACTION, How.ENOUGH, _ALTER, "WriteTxnMarkers"),
    OtherRight(_CLUSTER_ACTION, How.ENOUGH, _TOPIC_DESCRIBE, "OffsetForLeaderEpoch"),
    OtherRight(_TOPIC_DESCRIBE, How.ENOUGH, _CLUSTER_ACTION, "OffsetForLeaderEpoch"),
    OtherRight(_GROUP_DESCRIBE, How.ENOUGH, _DESCRIBE, "ListGroups"),
    OtherRight(_DESCRIBE, How.ENOUGH, _GROUP_DESCRIBE, "ListGroups to list it", "a group"),
    OtherRight(_TOPIC_READ, How.ENOUGH, _CLUSTER_ACTION, "Fetch as a replica sends it"),
    OtherRight(_TOPIC_WRITE, How.ENOUGH, _CLUSTER_ACTION, _TXN_BY_BROKER),
    OtherRight(_TRANSACTION, How.ENOUGH, _CLUSTER_ACTION, _TXN_BY_BROKER),
    OtherRight(_TOKEN, How.ENOUGH, _TOKENS, "DescribeDelegationToken", "the token's owner"),
    OtherRight(_TOKENS, How.ENOUGH, _TOKEN, "DescribeDelegationToken", "a token"),
    OtherRight(
        _IDEMPOTENT_WRITE,
        How.INSTEAD,
        _TRANSACTION,
        "InitProducerId for a transaction",
    ),
    OtherRight(
        _TOPIC_ALTER,
        How.INSTEAD,
        _ALTER,
        "AlterPartitionReassignments, ElectLeaders and AlterReplicaLogDirs",
    ),
    OtherRight(
        _TOPIC_DESCRIBE, How.INSTEAD, _DESCRIBE, "DescribeLogDirs and ListPartitionReassignments"
    ),
    OtherRight(_TOPIC_DESCRIBE, How.INSTEAD, _TOPIC_READ, "DescribeProducers"),
    OtherRight(Right("ALTER_CONFIGS", "CLUSTER"), How.INSTEAD, _ALTER, "AlterUserScramCredentials"),
    OtherRight(
        Right("DESCRIBE_CONFIGS", "CLUSTER"),
        How.INSTEAD,
        _DESCRIBE,
        "DescribeUserScramCredentials",
    ),
    OtherRight(_TOPIC_CREATE, How.TOO, _TOPIC_DESCRIBE, "Metadata that creates a topic"),
    OtherRight(
        _GROUP_READ,
        How.TOO,
        _TOPIC_READ,
        "OffsetCommit, TxnOffsetCommit, AlterShareGroupOffsets, ShareFetch and ShareAcknowledge",
    ),
    OtherRight(
        _GROUP_READ,
        How.TOO,
        _TRANSACTION,
        "AddOffsetsToTxn and TxnOffsetCommit",
    ),
    OtherRight(
        _GROUP_DELETE,
        How.TOO,
        _TOPIC_READ,
        "OffsetDelete and DeleteShareGroupOffsets",
    ),
    OtherRight(
        Right("TWO_PHASE_COMMIT", "TRANSACTIONAL_ID"),
        How.TOO,
        _TRANSACTION,
        "InitProducerId",
    ),
)
"""Every such right; a new one is a line here."""

NO_RIGHT: Final = {
    Right("CREATE_TOKENS", "USER"): "nobody needs it to create tokens for themselves",
    _TOKENS: "nobody needs it for tokens that they own or may renew",
    _TOKEN: "nobody needs it for tokens that they own or may renew",
}
"""Where brokers do not ask the authorizer at all, for people."""


def other_rights(asked: Right) -> list[OtherRight]:
    """The rights that count besides or in place of a right, in the order of `OTHER_RIGHTS`."""
    return [one for one in OTHER_RIGHTS if one.asked == asked]
