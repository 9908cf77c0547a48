"""The three kinds of coordinators, each with the topic that holds its state. Imports nothing heavy.

Source: org.apache.kafka.common.internals.Topic, GroupCoordinatorConfig, TransactionLogConfig,
ShareCoordinatorConfig.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metashell.dataclass import dataclass
from metashell.schema.coordinators import CoordinatorLog

_FEW: Final = 8
"""Partitions that are told one by one."""


@dataclass(frozen=True, slots=True)
class CoordinatorKind:
    """A kind of thing that has a coordinator."""

    word: str
    """How it is typed."""
    log: CoordinatorLog
    """The coordinator's log, which holds the state."""
    partitions_key: str
    """The broker's config that says how many partitions the topic gets when it is created."""
    hashes: str
    """The things whose key chooses a partition, such as ``groups whose id hashes to``."""
    fails: str
    """The operations that fail without a coordinator."""

    @property
    def topic(self) -> str:
        """The topic that holds the state; the leader of a partition is a coordinator."""
        return self.log.value

    def without_coordinator(self, partitions: Sequence[int], n_partitions: int) -> str:
        """The sentence that says which things have no coordinator, and what fails.

        Args:
            partitions: The partitions without a leader; one at least.
            n_partitions: How many the topic has.
        """
        numbers = list(map(str, partitions))
        told = f"partition {numbers[0]}"
        if len(numbers) == n_partitions > 1:
            told = f"any of the {n_partitions} partitions"
        elif len(numbers) > 1:
            rest = len(numbers) - _FEW
            *first, last = numbers if rest <= 0 else [*numbers[:_FEW], f"{rest} more"]
            told = f"partitions {', '.join(first)} and {last}"
        return f"{self.hashes} {told} have no coordinator: {self.fails}"


GROUP: Final = CoordinatorKind(
    "group",
    CoordinatorLog.GROUPS,
    "offsets.topic.num.partitions",
    "groups and their offsets whose id hashes to",
    "they can neither commit nor rebalance",
)
TRANSACTION: Final = CoordinatorKind(
    "txn",
    CoordinatorLog.TRANSACTIONS,
    "transaction.state.log.num.partitions",
    "transactional ids that hash to",
    "they can neither begin nor end a transaction",
)
SHARE: Final = CoordinatorKind(
    "share",
    CoordinatorLog.SHARE,
    "share.coordinator.state.topic.num.partitions",
    "share-group partitions whose key hashes to",
    "their consumers get no records",
)
COORDINATOR_KINDS: Final = {kind.word: kind for kind in (GROUP, TRANSACTION, SHARE)}
"""By their words."""
