"""Partitions replayed one record after the other, in plain Python.

The few whose changes may not apply, or whose eligible leader replicas were cleared, can't be folded
from columns; all others are (`metashell.image.partitions`).

`Clears` says when the eligible leader replicas of each topic were forgotten (ClearElrRecord).

Source: org.apache.kafka.metadata.PartitionRegistration.merge and
org.apache.kafka.image.TopicsDelta.replay(ClearElrRecord).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import field
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.topics import ENDLESS, Topics
from metashell.log.frames import Merged
from metashell.parts.partition_fields import LISTS
from metashell.records.records import Records
from metashell.schema.arena import I32, I64, AnyArray
from metashell.schema.columns import Columns

NO_LEADER_CHANGE: Final = -2
NO_STATE_CHANGE: Final = -1
EMPTY: Final = -1
"""In place of an event: nothing provides the field, it is empty."""


@dataclass(slots=True)
class Happenings:
    """Every record about partitions of living topics that applies on its own; n of them.

    Bases (PartitionRecords) come first, then changes; both in replay order.
    """

    base: Columns
    change: Columns
    rows: I32
    """int32[n], of `metashell.image.fold.index_type`: replay order."""
    merged: Merged | None = None
    """Data on merged changes, where a change stands for others as well."""

    @property
    def n_base(self) -> int:
        return self.base.n


@dataclass(slots=True)
class State:
    """A partition while it is replayed: which sorted event provides each field."""

    row: int
    """Row of the record that last changed it."""
    cleared: int = -1
    """Row of the ClearElrRecord that left it without eligible leader replicas."""
    leader_changes: int = 0
    changes: int = 0
    providers: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Replay:
    """Replays partitions.

    ``order``: int32[n], the events sorted by partition and row; ``changed_leader``: how many
    changes of the leader each of these stands for; ``weights``: how many changes, None for one.
    """

    records: Records
    happenings: Happenings
    order: I32
    changed_leader: AnyArray
    weights: I32 | None

    def run(self, first: int, last: int, clears: Sequence[int]) -> State:
        """Replay the events from a base to the last of a partition.

        Args:
            first: Where the base stands among the sorted events.
            last: Where the last event stands.
            clears: Rows of the ClearElrRecords about it, ascending.
        """
        state = State(int(self.happenings.rows[self.order[first]]))
        for name in (*LISTS, "leader", "leader_recovery_state"):
            state.providers[name] = first
        pending = [row for row in clears if row > state.row]
        for at in range(first + 1, last + 1):
            row = int(self.happenings.rows[self.order[at]])
            while pending and pending[0] < row:
                self._clear(state, pending.pop(0))
            self._change(state, at, row)
        for clear in pending:
            self._clear(state, clear)
        return state

    def _clear(self, state: State, row: int) -> None:
        if self._length(state, "elr") or self._length(state, "last_known_elr"):
            state.providers["elr"] = state.providers["last_known_elr"] = EMPTY
            state.changes += 1
            state.row = state.cleared = row

    def _change(self, state: State, at: int, row: int) -> None:
        event = int(self.order[at]) - self.happenings.n_base
        change = self.happenings.change
        carried = {
            name: int(change.span(column).counts[event]) >= 0 for name, column in LISTS.items()
        }
        recovery = int(change.fixed("leader_recovery_state")[event])
        after = {name: at if has else state.providers[name] for name, has in carried.items()}
        if recovery not in (NO_STATE_CHANGE, 0, 1):
            self.records.fault(row, f"partition can't be changed: leader recovery state {recovery}")
            return
        if not self._directories_fit(after):
            self.records.fault(
                row, "partition can't be changed: it has not as many directories as replicas"
            )
            return
        state.providers.update(after)
        if recovery != NO_STATE_CHANGE:
            state.providers["leader_recovery_state"] = at
        if int(change.fixed("leader")[event]) != NO_LEADER_CHANGE:
            state.providers["leader"] = at
        state.leader_changes += int(self.changed_leader[at])
        state.changes += 1 if self.weights is None else int(self.weights[at])
        state.row = row

    def _directories_fit(self, providers: dict[str, int]) -> bool:
        directories = self._list(providers["directories"], "directories")
        replicas = self._list(providers["replicas"], "replicas")
        return len(directories) in (0, len(replicas)) or not directories.view(np.uint8).any()

    def _length(self, state: State, name: str) -> int:
        return len(self._list(state.providers[name], name))

    def _list(self, at: int, name: str) -> AnyArray:
        if at < 0:
            return np.empty(0, dtype=np.uint8)
        event = int(self.order[at])
        n_base = self.happenings.n_base
        columns, index = (
            (self.happenings.base, event)
            if event < n_base
            else (self.happenings.change, event - n_base)
        )
        value = columns.span(LISTS[name]).value(index)
        return np.empty(0, dtype=np.uint8) if value is None else value


@dataclass(slots=True)
class Clears:
    """When the eligible leader replicas of each living topic were cleared."""

    of_all: list[int]
    """Rows of the records that clear every topic's, ascending."""
    of_topic: dict[int, list[int]]
    """Rows of those that clear one topic's, by topic index, ascending."""
    last_row: I64
    """int64[topics]: row of the last clearing, -1 for none."""

    @property
    def any(self) -> bool:
        """Whether there is any."""
        return bool(self.of_all or self.of_topic)

    def rows_of(self, topic: int, after: int) -> list[int]:
        """Rows of a topic's clearings after a row, ascending."""
        rows = sorted([*self.of_all, *self.of_topic.get(topic, ())])
        return rows[bisect_right(rows, after) :]


def find_clears(records: Records, topics: Topics) -> Clears:
    """Find what each ClearElrRecord means; one that names no topic of its time is a fault."""
    last_row = np.full(len(topics), -1, dtype=np.int64)
    clears = Clears([], {}, last_row)
    if not len(records.rows("ClearElrRecord")):
        return clears
    rows, columns = records.columns("ClearElrRecord")
    lives = _lives_by_name(topics)
    for row, name in zip(rows.tolist(), columns.span("topic_name").texts(), strict=True):
        if not name:
            clears.of_all.append(row)
            np.maximum(last_row, row, out=last_row)
            continue
        # A name means the one that was made last of those that existed at the time.
        alive = [life for life in lives.get(name, ()) if life[0] < row < life[1]]
        if not alive:
            records.fault(row, f"ELR of topic `{name}` can't be cleared: no such topic")
            continue
        begin, end = alive[-1]
        if end == ENDLESS:
            topic = int(np.searchsorted(topics.changed, begin))
            clears.of_topic.setdefault(topic, []).append(row)
            last_row[topic] = row
    return clears


def _lives_by_name(topics: Topics) -> dict[str, list[tuple[int, int]]]:
    """When topics of each name existed: (row made, row of the end), in the order of the former."""
    lives: dict[str, list[tuple[int, int]]] = {}
    of = topics.lives
    for name, begin, end in zip(
        of.names.texts(), of.begins.tolist(), of.ends.tolist(), strict=True
    ):
        lives.setdefault(name, []).append((begin, end))
    return lives
