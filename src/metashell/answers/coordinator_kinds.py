"""The three kinds of coordinators, each with the topic that holds its state. Imports nothing heavy.

Source: org.apache.kafka.common.internals.Topic, GroupCoordinatorConfig, TransactionLogConfig,
ShareCoordinatorConfig.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class CoordinatorKind:
    """What has a coordinator."""

    word: str
    """How it is typed."""
    topic: str
    """The topic that holds the state; the leader of a partition is a coordinator."""
    partitions_key: str
    """The broker's config that says how many partitions the topic gets when it is created."""
    hashes: str
    """Whose key means a partition, such as ``groups whose id hashes to``."""


GROUP: Final = CoordinatorKind(
    "group",
    "__consumer_offsets",
    "offsets.topic.num.partitions",
    "groups and their offsets whose id hashes to",
)
TRANSACTION: Final = CoordinatorKind(
    "txn",
    "__transaction_state",
    "transaction.state.log.num.partitions",
    "transactional ids that hash to",
)
SHARE: Final = CoordinatorKind(
    "share",
    "__share_group_state",
    "share.coordinator.state.topic.num.partitions",
    "share-group partitions whose key hashes to",
)
COORDINATOR_KINDS: Final = {kind.word: kind for kind in (GROUP, TRANSACTION, SHARE)}
"""By their words."""
