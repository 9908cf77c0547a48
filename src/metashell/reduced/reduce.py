"""Which records of a stretch of the log the image after it can still depend on.

A stretch is reduced without knowing what comes before or behind it, so that stretches can be
reduced side by side, and what is left of them put together and reduced again. The rule is:
leave out a record only where it is certain that no state, time or fault depends on it.

* Only such changes of a partition are kept that some field comes from, and the last. They carry how
  many changes they stand for (`metashell.log.frames.Merged`), as two epochs count them. A change
  that touches replicas or directories may not apply, so where there is one all are kept.
* Changes before a PartitionRecord of the same partition are superseded.
* The first and the last write of a config value that nothing removes in the stretch are kept, and
  all of min.insync.replicas. The records of producer ids are treated likewise.
* No-ops are left out.
* Where a leader epoch or a file begins the records on both sides are kept, counted or not.

Records are never merged across a marker of a transaction, for it may yet be aborted, nor across a
ClearElrRecord, nor across a record that makes or removes their topic.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.fold import (
    Events,
    group_keys,
    last_marked,
    sort_events,
    take,
)
from metashell.image.partition_replay import NO_LEADER_CHANGE, NO_STATE_CHANGE
from metashell.image.partitions import sound_bases
from metashell.log.frames import Merged
from metashell.parts.partition_fields import LISTS
from metashell.records.records import Records, is_marker
from metashell.schema.arena import I32, I64, AnyArray, Bools
from metashell.schema.columns import Columns, SpanColumn

CLEAR_ELR: Final = "ClearElrRecord"
_MAY_MISFIT: Final = ("replicas", "directories")
_KEY: Final = ("topic_id", "partition_id")
_KEPT: Final = b"min.insync.replicas"
"""A config that puts partitions into a state, and whose every value decides since when."""


@dataclass(slots=True)
class ReducedRows:
    """The records left of a stretch: ``rows``: int64[k], ascending; `merged` has k elements."""

    rows: I64
    merged: Merged
    checked: frozenset[str] = frozenset()
    """Messages whose candidates were all decoded."""


def reduce_records(records: Records, candidates: Bools) -> ReducedRows:
    """Choose the records to keep.

    Args:
        records: The records of one stretch, or of several that follow on each other.
        candidates: bool[n]: records that are replayed if no transaction forbids it.
    """
    return _Reducer(records, candidates).run()


class _Reducer:
    def __init__(self, records: Records, candidates: Bools) -> None:
        self.records, self.candidates = records, candidates
        self.keep = candidates.copy()
        self.checked: set[str] = set()
        frames = records.frames
        n, known = len(frames), frames.merged
        self.changes = np.ones(n, dtype=np.int32) if known is None else known.changes.copy()
        self.leader_changes = (
            np.zeros(n, dtype=np.int32) if known is None else known.leader_changes.copy()
        )
        keys = frames.api_key.narrow
        walls = is_marker(keys)
        clear = records.registry.by_name[CLEAR_ELR].api_key
        self.markers = np.flatnonzero(walls & candidates)
        self.walls = np.flatnonzero((walls | (keys == clear)) & candidates)

    def run(self) -> ReducedRows:
        self._partitions()
        self._configs()
        self._producer_ids()
        rows, _ = self._decode("NoOpRecord", ())
        self.keep[rows] = False
        # The image's own offset and time come from the last record before its end, or before a
        # transaction that is still open.
        every = np.flatnonzero(self.candidates)
        if every.size:
            self.keep[every[-1]] = True
            before = np.searchsorted(every, self.markers) - 1
            self.keep[every[before[before >= 0]]] = True
        self._epochs()
        kept = np.flatnonzero(self.keep)
        merged = Merged(self.changes[kept], self.leader_changes[kept])
        return ReducedRows(kept, merged, frozenset(self.checked))

    def _epochs(self) -> None:
        batches = self.records.frames.batches
        filled = np.flatnonzero(np.diff(batches.first_row))
        if not filled.size:
            return
        epochs, files = batches.header["epoch"][filled], batches.file[filled]
        others = (epochs[1:] != epochs[:-1]) | (files[1:] != files[:-1])
        begins = np.flatnonzero(np.append(True, others))
        ends = batches.first_row[filled[np.append(begins[1:] - 1, -1)] + 1] - 1
        both = np.concatenate([batches.first_row[filled[begins]], ends])
        superseded = both[~self.keep[both]]
        self.keep[superseded] = True
        # Their changes are counted in the records that they were merged into.
        self.changes[superseded] = self.leader_changes[superseded] = 0

    def _decode(self, name: str, fields: tuple[str, ...]) -> tuple[I64, Columns]:
        """Candidates of a message that decode; the others stay, to be reported by who replays."""
        key = self.records.registry.by_name[name].api_key
        rows = np.flatnonzero((self.records.frames.api_key.narrow == key) & self.candidates)
        self.checked.add(name)
        return self.records.decode(name, rows, fields)

    def _runs(self, rows: I64) -> I64:
        """int64[n]: how many walls stand before each row."""
        return np.searchsorted(self.walls, rows)

    def _configs(self) -> None:
        """Keep only the first and the last record of each value that is only written.

        The records of `_KEPT` all stay.
        """
        rows, columns = self._decode(
            "ConfigRecord", ("resource_type", "resource_name", "name", "value")
        )
        removals, _ = self._decode("RemoveTopicRecord", ())
        if not len(rows) or len(removals):
            # A removed topic takes its configs along: which of them a write belongs to is not
            # worth finding out.
            return
        key: list[AnyArray | SpanColumn] = [
            columns.fixed("resource_type"),
            columns.span("resource_name"),
            columns.span("name"),
            self._runs(rows),
        ]
        groups = group_keys(key, len(rows))
        kept = rows[columns.span("name").find(_KEPT)]
        self._ends_of_groups(groups, rows, ~columns.span("value").valid())
        self.keep[kept] = True

    def _producer_ids(self) -> None:
        rows, blocks = self._decode("ProducerIdsRecord", ("next_producer_id",))
        self._ends_of_groups(self._runs(rows), rows, np.zeros(len(rows), dtype=np.bool_))
        # A controller stops at a block that does not go on: it is told with the one before it.
        first = blocks.fixed("next_producer_id")
        back = np.flatnonzero(first[1:] <= first[:-1])
        self.keep[rows[back]] = self.keep[rows[back + 1]] = True

    def _ends_of_groups(self, groups: I64, rows: I64, removes: Bools) -> None:
        """Keep the first and the last record of each group that none removes."""
        if not len(rows):
            return
        events = sort_events(groups, rows)
        starts, sizes = _bounds(events)
        removed = np.logical_or.reduceat(removes[events.order], starts)
        inner = np.ones(len(rows), dtype=np.bool_)
        inner[starts] = inner[events.last] = False
        inner &= np.repeat(~removed, sizes)
        self.keep[rows[events.order[inner]]] = False

    # Partitions.

    def _partitions(self) -> None:
        base_rows, base = self._decode(
            "PartitionRecord", (*_KEY, *_MAY_MISFIT, "leader_recovery_state")
        )
        base_rows, base = sound_bases(self.records, base_rows, base)
        fields = (*_KEY, "leader", "leader_recovery_state", *LISTS.values())
        change_rows, change = self._decode("PartitionChangeRecord", fields)
        rows = np.concatenate([base_rows, change_rows])
        if not len(rows):
            return
        self._count_leader_changes(change_rows, change)
        ids = _joined(base.fixed("topic_id"), change.fixed("topic_id"))
        partitions = _joined(base.fixed("partition_id"), change.fixed("partition_id"))
        stretch = _Partitions(self._by_partition(ids, partitions, rows), len(base_rows), change)
        ordered = take(rows, stretch.events.order)
        keep = stretch.kept()
        self.keep[ordered] = keep
        for weights in (self.changes, self.leader_changes):
            weights[ordered] = stretch.gathered(weights[ordered], keep)

    def _by_partition(self, ids: AnyArray, partitions: AnyArray, rows: I64) -> Events:
        """Events of each partition together, apart for each life of its topic and by walls."""
        lives = self._lives(ids, rows)
        key = [ids if lives is None else lives, partitions]
        return sort_events(group_keys(key, len(rows)), rows)

    def _count_leader_changes(self, rows: I64, change: Columns) -> None:
        if self.records.frames.merged is None:
            self.leader_changes[rows] = change.fixed("leader") != NO_LEADER_CHANGE

    def _lives(self, ids: AnyArray, rows: I64) -> I64 | None:
        """int64[n]: equal where two records are of the same life of a topic, with no wall between.

        None where nothing begins or ends, so that topics tell as much.
        """
        n, all_ids, all_rows = len(rows), [ids], [rows]
        for name in ("TopicRecord", "RemoveTopicRecord"):
            these, columns = self._decode(name, ("topic_id",))
            all_ids.append(columns.fixed("topic_id"))
            all_rows.append(these)
        every = np.concatenate(all_rows)
        if len(every) == n and not self.walls.size:
            return None
        key: list[AnyArray | SpanColumn] = [np.concatenate(all_ids), self._runs(every)]
        groups = group_keys(key, len(every))
        events = sort_events(groups, every)
        begins = events.order >= n
        begins |= events.first == np.arange(len(every))
        lives = np.empty(len(every), dtype=np.int64)
        lives[events.order] = np.cumsum(begins)
        return lives[:n]


def _joined(a: AnyArray, b: AnyArray) -> AnyArray:
    return b if not len(a) else np.concatenate([a, b])


def _bounds(events: Events) -> tuple[AnyArray, AnyArray]:
    """Where each group begins among the sorted events, and how many it has."""
    starts = np.append(0, events.last[:-1] + 1)
    return starts, events.last - starts + 1


class _Partitions:
    """Sorted events of partitions; those below `n_base` are PartitionRecords."""

    def __init__(self, events: Events, n_base: int, change: Columns) -> None:
        self.events, self.n_base, self.change = events, n_base, change
        self.starts, self.sizes = _bounds(events)
        self.is_base: Bools = events.order < n_base
        base_at = last_marked(events, self.is_base)
        at = np.arange(len(events.order))
        last_base = base_at[events.last]
        """Per group, the last PartitionRecord; -1 for none."""
        self.is_tail: Bools = at > np.repeat(last_base, self.sizes)
        """Changes behind the last base of their group: what the stretch leaves behind."""
        self.is_head: Bools = (base_at < 0) & ~self.is_tail
        """Changes before the first base of their group; faults where no earlier stretch has one."""
        self.last_base: I32 = last_base[last_base >= 0]

    def kept(self) -> Bools:
        """bool[n], in sorted order."""
        keep = np.zeros(len(self.events.order), dtype=np.bool_)
        keep[self.last_base] = keep[self.events.last] = True
        odd = self._odd() & self.is_tail
        whole = np.repeat(np.logical_or.reduceat(odd, self.starts), self.sizes)
        keep |= whole & self.is_tail
        index = np.arange(len(keep))
        for carries in self._carried():
            at = np.where(carries & self.is_tail, index, -1)
            at = np.maximum.accumulate(at, out=at)[self.events.last]
            keep[at[at >= self.starts]] = True
        head_end = self.is_head.copy()
        head_end[:-1] &= ~self.is_head[1:] | (self.events.first[1:] != self.events.first[:-1])
        return keep | head_end

    def gathered(self, weights: I32, keep: Bools) -> I32:
        """Give what each event left out stands for to the next one of its group that is kept.

        A base takes up what it supersedes, which no epoch counts: it tells that faults may be lost.

        Args:
            weights: int32[n], in sorted order.
            keep: bool[n], likewise; the last of each group among them.
        """
        at = np.flatnonzero(keep)
        total = np.append(0, np.cumsum(weights, dtype=np.int64))
        begins = np.maximum(self.events.first[at], np.append(0, at[:-1] + 1))
        out = weights.copy()
        out[at] = total[at + 1] - total[begins]
        return out

    def _of_changes(self, values: AnyArray, fill: int) -> AnyArray:
        """A value of the changes, in sorted order; `fill` for bases."""
        every = _joined(np.full(self.n_base, fill, dtype=values.dtype), values)
        return take(every, self.events.order)

    def _odd(self) -> Bools:
        """Changes that may not apply."""
        state = self.change.fixed("leader_recovery_state")
        odd = (state < NO_STATE_CHANGE) | (state > 1)
        for name in _MAY_MISFIT:
            odd |= self.change.span(name).counts >= 0
        out: Bools = self._of_changes(odd, 0)
        return out

    def _carried(self) -> list[Bools]:
        """For each field, which events carry it."""
        change = self.change
        carried = [
            change.fixed("leader") != NO_LEADER_CHANGE,
            change.fixed("leader_recovery_state") != NO_STATE_CHANGE,
        ]
        carried += [change.span(column).counts >= 0 for column in LISTS.values()]
        return [self._of_changes(some, 0) for some in carried if some.any()]
