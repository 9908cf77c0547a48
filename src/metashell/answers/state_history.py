"""How many partitions were offline and under-replicated, at every offset of a log.

All partitions are followed at once, on columns. The states are those of `Health`; a record that
Kafka would not apply because its directories do not fit counts here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np

from metashell.answers.health import NO_LEADER
from metashell.dataclass import dataclass
from metashell.image.fold import Events, group_keys, last_marked, sort_events, take
from metashell.image.partition_replay import NO_LEADER_CHANGE
from metashell.image.partitions import Partitions, sound_bases
from metashell.parts.partition_fields import LISTS
from metashell.records.records import Records
from metashell.schema.arena import I32, I64, AnyArray, Bools
from metashell.schema.columns import Columns, constant

_REMOVED: Final = -3
"""In place of a leader, for what ends a partition."""


@dataclass(frozen=True, slots=True, eq=False)
class StateHistory:
    """Counts of partitions; each array has one element an offset at which one of them changes."""

    offsets: I64
    """int64[n], ascending; -1 or the end of the checkpoint for the oldest state."""
    offline: I64
    """int64[n]: partitions without a leader from there on."""
    under_replicated: I64
    """int64[n]: partitions with replicas out of sync from there on."""

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def is_well(self) -> bool:
        """Whether all partitions were well all the time."""
        return not (self.offline.any() or self.under_replicated.any())

    @property
    def named(self) -> tuple[tuple[str, I64], ...]:
        """The counts with their names, the worse first."""
        return ("offline", self.offline), ("under-replicated", self.under_replicated)

    def at(self, offset: int) -> tuple[int, int]:
        """(offline, under-replicated) once all up to an offset is applied."""
        at = int(np.searchsorted(self.offsets, offset, side="right")) - 1
        return (0, 0) if at < 0 else (int(self.offline[at]), int(self.under_replicated[at]))

    def at_ends(self, ends: I64) -> StateHistory:
        """The counts at the ends of batches, as a batch counts whole.

        Args:
            ends: int64[n]: the end of the batch that each offset lies in, ascending.
        """
        is_last = np.append(ends[1:] != ends[:-1], True)[: len(ends)]
        return StateHistory(ends[is_last], self.offline[is_last], self.under_replicated[is_last])


def state_history(records: Records, folded: Partitions | None = None) -> StateHistory:
    """Count the partitions in both states along the log. Cost: decodes partitions.

    Args:
        records: From the oldest state on.
        folded: The partitions where they are folded already, which saves most of it.
    """
    if folded is not None and folded.is_of_all(records):
        of_all = folded.happenings
        return _counted(records, of_all.base, of_all.change, of_all.rows, folded.events)
    rows, base = sound_bases(records, *records.columns("PartitionRecord"))
    change_rows, change = records.columns("PartitionChangeRecord")
    with _as_before(base, change) as forget:
        ended, end_rows = _ends(records, rows, base)
        all_rows = np.concatenate([rows, change_rows, end_rows])
        events = sort_events(_keys(base, change, ended, forget), all_rows)
    return _counted(records, base, change, all_rows, events)


@contextmanager
def _as_before(base: Columns, change: Columns) -> Iterator[Callable[[], None]]:
    """Give back what is decoded meanwhile: of a large cluster 100 MB that nobody else may ask for.

    Gives what does so before the end.
    """
    known = [set(columns.decoded().fields) for columns in (base, change)]

    def forget() -> None:
        for columns, before in zip((base, change), known, strict=True):
            columns.forget(set(columns.decoded().fields) - before)

    yield forget
    forget()


def _counted(
    records: Records, base: Columns, change: Columns, rows: I32 | I64, events: Events
) -> StateHistory:
    """Count the states behind each event, of which those are bases, changes, then ends."""
    if not len(rows):
        return StateHistory(*(np.empty(0, np.int64) for _ in range(3)))
    with _as_before(base, change) as forget:
        offline, under = _states(events, base, change, len(rows) - base.n - change.n, forget)
    steps = _steps(events, offline), _steps(events, under)
    return _summed(records, take(rows, events.order), *steps)


def _keys(base: Columns, change: Columns, ended: I64, forget: Callable[[], None]) -> I64:
    """int64[n]: a number for the partition of each event."""
    parts = []
    for name in ("topic_id", "partition_id"):
        of_bases = base.fixed(name)
        parts.append(np.concatenate([of_bases, change.fixed(name), of_bases[ended]]))
        del of_bases
        forget()
    return group_keys(parts, len(parts[0]))


def _ends(records: Records, rows: I64, base: Columns) -> tuple[I64, I64]:
    """Which bases a later record of their topic ends: (indexes of them, rows of those records)."""
    kinds = [records.columns(name) for name in ("RemoveTopicRecord", "TopicRecord")]
    ids = np.concatenate([columns.fixed("topic_id") for _, columns in kinds])
    end_rows = np.concatenate([found for found, _ in kinds])
    topics = group_keys([np.concatenate([ids, base.fixed("topic_id")])], len(ids) + len(rows))
    order = np.lexsort((end_rows, topics[: len(ids)]))
    # Topic and row in one number, so that the next end of a topic is found by one search.
    scale = 1 + max(int(end_rows.max(initial=0)), int(rows.max(initial=0)))
    ends = (topics[: len(ids)] * scale + end_rows)[order]
    mine = topics[len(ids) :]
    at = np.searchsorted(ends, mine * scale + rows, side="right")
    inside = np.minimum(at, max(len(ends) - 1, 0))
    is_ended = (at < len(ends)) & (ends[inside] // scale == mine) if len(ends) else at < 0
    ended = np.flatnonzero(is_ended)
    return ended, ends[at[ended]] % scale


def _states(
    events: Events, base: Columns, change: Columns, n_ends: int, forget: Callable[[], None]
) -> tuple[Bools, Bools]:
    """bool[n], in sorted order: whether the partition is in each of both states after an event."""
    n_base = base.n
    is_base = events.order < n_base
    is_end = events.order >= n_base + change.n
    is_begin = is_base | is_end
    begun = last_marked(events, is_begin)
    alive = (begun >= 0) & ~is_end[np.maximum(begun, 0)]

    def values_at(of_bases: AnyArray, of_changes: AnyArray, no_change: int) -> AnyArray:
        ends = constant(np.int32(_REMOVED), n_ends)
        parts = [of_bases, of_changes, ends]
        values = take(np.concatenate(parts, dtype=np.int32), events.order)
        at = last_marked(events, is_begin | (values > no_change))
        return take(values, np.maximum(at, 0, out=at))

    def n_of(name: str) -> AnyArray:
        of_bases, of_changes = (c.span(LISTS[name]).counts for c in (base, change))
        forget()  # where the lists stand takes twice as much
        found = values_at(of_bases, of_changes, -1)
        return np.maximum(found, 0, out=found)

    offline = alive & (
        values_at(base.fixed("leader"), change.fixed("leader"), NO_LEADER_CHANGE) == NO_LEADER
    )
    missing = n_of("replicas")
    for name in ("adding_replicas", "isr"):
        missing -= n_of(name)
    return offline, alive & (missing > 0)


def _steps(events: Events, state: Bools) -> AnyArray:
    """int8[n]: by how much each event changes the number of partitions in a state."""
    steps = np.diff(state.view(np.int8), prepend=np.int8(0))
    begins = np.append(0, events.last[:-1] + 1)
    steps[begins] = state[begins]
    return steps


def _summed(records: Records, rows: AnyArray, *steps: AnyArray) -> StateHistory:
    """Steps of events in any order as running sums, one for each offset at which any moves."""
    moving = np.flatnonzero(np.logical_or.reduce([step != 0 for step in steps]))
    moving = moving[np.argsort(rows[moving], kind="stable")]
    offsets, _ = records.offsets(rows[moving])
    sums = [np.cumsum(step[moving], dtype=np.int64) for step in steps]
    is_last = np.append(offsets[1:] != offsets[:-1], True)[: len(offsets)]
    return StateHistory(offsets[is_last], *(total[is_last] for total in sums))
