"""The rows and columns of the parts of coordinators' logs. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from metashell.dataclass import dataclass
from metashell.errors import SchemaError
from metashell.parts.paths import check_record
from metashell.parts.spec import PartSpec, hook
from metashell.schema.coordinators import CoordinatorLog

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.log.fault import Fault
    from metashell.records.keyed_records import KeyedRecords
    from metashell.redact import Redaction
    from metashell.schema.coordinators import RecordType


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A partition of a coordinators' topic that was read: what rows are made of."""

    records: KeyedRecords
    number: int
    coordinator: int | None
    """The broker that leads it; None where that is not known."""
    topics: Callable[[], Mapping[str, str]]
    """Names of topics by the text of their ids."""
    tell: Callable[[Iterable[Fault]], None]
    """Told of records that count for nothing though they decode."""
    redaction: Redaction
    """The redaction of secrets."""


def rows_of(part: PartSpec, state: PartitionState) -> pa.Table:
    """The rows of a partition, without the columns of `PartSpec.asked_for`."""
    if part.rows:
        found: pa.Table = hook(part.rows)(state)
        return found
    from metashell.image.coordinators.record_tables import surviving_table

    return surviving_table(state.records, state.number, part.put, state.redaction)


def schema_of(part: PartSpec, types: Mapping[str, RecordType]) -> pa.Schema:
    """The columns of a part.

    Args:
        part: The part.
        types: Record types by name.
    """
    from metashell.image.coordinators.record_tables import part_schema, surviving_schema

    if part.table_columns:
        return part_schema(part, with_joined=True)
    found = surviving_schema(check_record(part, part.put, types))
    for column in part.rows_by or ("",):
        if column not in found.names:
            raise SchemaError(
                f"part {part.name}: rows_by has {column or 'nothing'}, which is no column of"
                f" {part.put.message}: {', '.join(found.names)}"
            )
    return found


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
        which = f"partition {numbers[0]}"
        if len(numbers) == n_partitions > 1:
            which = f"any of the {n_partitions} partitions"
        elif len(numbers) > 1:
            rest = len(numbers) - _FEW
            *first, last = numbers if rest <= 0 else [*numbers[:_FEW], f"{rest} more"]
            which = f"partitions {', '.join(first)} and {last}"
        return f"{self.hashes} {which} have no coordinator: {self.fails}"


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
