"""The tables of what coordinators' logs tell, each declared once. Imports nothing heavy.

The commands with rows, `sql`, `export`, Spark and `Source.table` derive from these declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from metashell.answers.coordinator_kinds import GROUP, SHARE, TRANSACTION, CoordinatorKind
from metashell.dataclass import dataclass
from metashell.parts.spec import hook

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.log.fault import Fault
    from metashell.records.keyed_records import KeyedRecords

_ROWS: Final = "metashell.answers.coordinator_rows"


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


@dataclass(frozen=True, slots=True)
class CoordinatorTable:
    """A table of a node's coordinators' logs."""

    name: str
    help: str
    kind: CoordinatorKind | None
    """Whose logs it is of; None: the logs of all topics' partitions."""
    order: tuple[str, ...]
    """Columns that rows are sorted by. The first has the names that are asked for."""
    schema_hook: str
    rows_hook: str = ""
    """A function of a `PartitionState`; empty where there is none."""
    asked_for: tuple[str, ...] = ()
    """Columns that are made only where they are asked for: they need other logs."""

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        found: pa.Schema = hook(self.schema_hook)
        return found

    @property
    def modules(self) -> tuple[str, ...]:
        """Those that make its rows."""
        hooks = filter(None, (self.schema_hook, self.rows_hook))
        return tuple(dict.fromkeys(hook.partition(":")[0] for hook in hooks))

    def rows(self, state: PartitionState) -> pa.Table:
        """The rows of a partition, without the columns of `asked_for`."""
        found: pa.Table = hook(self.rows_hook)(state)
        return found


GROUPS: Final = CoordinatorTable(
    "groups",
    "Groups.",
    GROUP,
    ("group",),
    "metashell.answers.groups:GROUP_SCHEMA",
    "metashell.answers.groups:group_rows",
)
MEMBERS: Final = CoordinatorTable(
    "members",
    "Members of groups.",
    GROUP,
    ("group", "member"),
    "metashell.answers.groups:MEMBER_SCHEMA",
    "metashell.answers.groups:member_rows",
)
OFFSETS: Final = CoordinatorTable(
    "offsets",
    "Offsets that groups committed.",
    GROUP,
    ("group", "topic", "partition"),
    f"{_ROWS}:OFFSETS_SCHEMA",
    f"{_ROWS}:offset_rows",
    ("log_end_offset", "lag", "high_watermark"),
)
TRANSACTIONS: Final = CoordinatorTable(
    "transactions",
    "Transactional ids, each with its last transaction.",
    TRANSACTION,
    ("transactional_id",),
    f"{_ROWS}:TRANSACTIONS_SCHEMA",
    f"{_ROWS}:transaction_rows",
    ("hanging",),
)
SHARE_PARTITIONS: Final = CoordinatorTable(
    "share_partitions",
    "How far share groups are in the partitions that they read.",
    SHARE,
    ("group", "topic", "partition"),
    "metashell.answers.share:SHARE_SCHEMA",
    f"{_ROWS}:share_rows",
)
PRODUCERS: Final = CoordinatorTable(
    "producers",
    "Producers of the partitions whose logs are here.",
    None,
    ("topic", "partition", "producer_id"),
    "metashell.answers.producers:PRODUCER_SCHEMA",
)
COORDINATOR_TABLES: Final = {
    table.name: table
    for table in (GROUPS, MEMBERS, OFFSETS, PRODUCERS, SHARE_PARTITIONS, TRANSACTIONS)
}
"""By name, sorted."""
