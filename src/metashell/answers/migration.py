"""How far a migration from ZooKeeper has come, and which nodes it waits for.

Source: org.apache.kafka.metadata.migration.ZkMigrationState of 3.4 and of 3.5; KIP-866.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metashell.dataclass import dataclass
from metashell.image.image import Image

_NAMES: Final = ("NONE", "MIGRATION", "PRE_MIGRATION", "POST_MIGRATION", "ZK")
"""By code, from 3.5 on."""
_OF_3_4: Final = {1: "PRE_MIGRATION", 2: "MIGRATION"}
"""Codes that 3.4 wrote with another meaning."""
_LEVEL_OF_3_4: Final = 8
_NONE: Final = 0
_POST: Final = 3
_MOST_NAMED: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """The state of a migration, and the nodes that are on their way."""

    state: int
    """The newest record's code; 0 without one."""
    row: int | None
    """The row of that record."""
    text: str
    """The state by name; both names where 3.4 gave the code another one."""
    brokers: Sequence[int]
    """Brokers that registered as ZooKeeper brokers."""
    ready: Sequence[int]
    """Controllers that registered as ready for a migration."""
    unready: Sequence[int]
    """The other registered controllers."""

    @property
    def is_open(self) -> bool:
        """Whether it has begun and not ended: software of 4.0 or later does not run then."""
        return self.state not in (_NONE, _POST) or (self.state == _NONE and bool(self.brokers))

    @property
    def has_begun(self) -> bool:
        """Whether metadata is in KRaft for sure, so that brokers may leave ZooKeeper."""
        return "PRE_MIGRATION" not in self.text and self.state != _NONE

    @property
    def waits_for(self) -> str:
        """The nodes that it waits for, in words."""
        missing = []
        if self.unready and not self.has_begun:
            missing.append(f"{ids_text('controller', self.unready)} not ready for it")
        if self.brokers:
            missing.append(f"{ids_text('broker', self.brokers)} in ZooKeeper mode")
        elif self.ready and self.has_begun:
            missing.append(f"{ids_text('controller', self.ready)} with the migration enabled")
        return " and ".join(missing) or "brokers in ZooKeeper mode to register"


def migration_of(image: Image) -> Migration:
    """The migration that an image tells of. Cost: decodes the records of its state."""
    rows, columns = image.records.columns("ZkMigrationStateRecord")
    state = int(columns.fixed("zk_migration_state")[-1]) if len(rows) else _NONE
    name = _NAMES[state] if 0 <= state < len(_NAMES) else "unknown"
    text = f"{name} ({state})"
    if image.metadata_version == _LEVEL_OF_3_4 and state in _OF_3_4:
        text = f"{state}, which is {_OF_3_4[state]} of 3.4 or {name} of 3.5 and later"
    brokers = image.brokers
    is_zookeeper = brokers.registration.fixed("is_migrating_zk_broker") != 0
    controllers = image.part("controllers").columns
    ids, is_ready = controllers.fixed("controller_id"), controllers.fixed("zk_migration_ready") != 0
    return Migration(
        state=state,
        row=int(rows[-1]) if len(rows) else None,
        text=text,
        brokers=sorted(brokers.ids[is_zookeeper].tolist()),
        ready=sorted(ids[is_ready].tolist()),
        unready=sorted(ids[~is_ready].tolist()),
    )


def ids_text(noun: str, ids: Sequence[int]) -> str:
    """Such as ``brokers 1, 2 and 3``, of many the first."""
    if len(ids) == 1:
        return f"{noun} {ids[0]}"
    named = [str(i) for i in ids[:_MOST_NAMED]]
    if len(ids) > len(named):
        named[-1] = f"{len(ids) - len(named) + 1} more"
    return f"{noun}s {', '.join(named[:-1])} and {named[-1]}"
