"""Partitions: a PartitionRecord and the PartitionChangeRecords after it, field by field.

A change touches only the fields that it carries, so each field of a partition comes from the last
record that carried it. Two counters move with every change: ``partition_epoch`` by one, and
``leader_epoch`` by one where the change names a leader, even the one of before.

Nearly all partitions can be folded without looking at their changes one after the other. The few
that can't are replayed on their own (`partition_replay`): those with a change whose directories do
not fit its replicas, because such a change does not apply, and those with eligible leader replicas
before a ClearElrRecord, which counts as a change only where there are some.

Source: org.apache.kafka.metadata.PartitionRegistration, org.apache.kafka.image.TopicDelta.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.image.fold import Events, distinct, index_type, last_marked, sort_events, take
from metashell.image.partition_replay import (
    EMPTY,
    NO_LEADER_CHANGE,
    NO_STATE_CHANGE,
    Clears,
    Happenings,
    Replay,
    State,
    find_clears,
)
from metashell.image.topics import Topics
from metashell.log.frames import Merged
from metashell.parts.partition_fields import LISTS
from metashell.records.records import Records
from metashell.schema.arena import I32, I64, AnyArray, Bools, list_offsets_of
from metashell.schema.columns import Columns, SpanColumn, constant
from metashell.schema.uuids import uuid_texts

if TYPE_CHECKING:
    from metashell.image.image import Image

_KEY: Final = ("topic_id", "partition_id")
_NO_CHANGE: Final = {"leader": NO_LEADER_CHANGE, "leader_recovery_state": NO_STATE_CHANGE}


class Partitions:
    """The partitions that exist, sorted by topic (in the order of `Topics`) and partition id.

    Columns are computed when first asked for; all have k elements.

    Args:
        records: The records that they are made of.
        topics: The topics that exist.
        happenings: The records about partitions.
        events: The happenings in the order of partitions, and of each as they came.
        keys: int64[g]: of each group of events its topic's index in the high half, and the
            partition id in the low one.
    """

    def __init__(
        self,
        records: Records,
        topics: Topics,
        happenings: Happenings,
        events: Events,
        keys: I64,
    ) -> None:
        self._records, self.topics, self._h = records, topics, happenings
        self._events = events
        is_base = self._events.order < happenings.n_base
        self._is_base = is_base
        base_at = last_marked(self._events, is_base)
        at_end = take(base_at, self._events.last)
        groups = at_end >= 0
        self._last = self._events.last[groups]
        """int32[k]: where each partition's last event stands."""
        self._first = at_end[groups]
        """int32[k]: where the base that it goes back to stands."""
        halves = keys.astype("<i8", copy=False).view("<i4")
        partition, topic = (halves[i::2].astype(np.int32) for i in range(2))
        self._group_topic: I32 = topic
        """int32[g]: of each group of events, also of those that made no partition."""
        self.topic: I32 = topic if groups.all() else topic[groups]
        """int32[k]: index into `topics`."""
        self.partition: I32 = partition if groups.all() else partition[groups]
        """int32[k]: partition id."""
        self._lists: dict[str, SpanColumn] = {}
        self._providers: dict[str, I32] = {}
        self._unchanged: dict[str, bool] = {}
        """By list field, whether no change sets it, where that is known."""
        self._report_orphans(np.flatnonzero(base_at < 0), partition)

    def __len__(self) -> int:
        return len(self._first)

    @property
    def happenings(self) -> Happenings:
        """The records that the partitions are made of."""
        return self._h

    @property
    def events(self) -> Events:
        """The happenings in the order of partitions, and of each as they came."""
        return self._events

    def is_of_all(self, records: Records) -> bool:
        """Whether each of the records about partitions is among the happenings, one by one.

        Not so where a topic was removed or made anew, and of one topic alone.
        """
        if records is not self._records or self._h.merged is not None:
            return False
        n_all = [len(records.columns(f"Partition{of}Record")[0]) for of in ("", "Change")]
        return n_all == [self._h.n_base, self._h.change.n]

    @cached_property
    def topic_bounds(self) -> I64:
        """int64[topics + 1]: where each topic's partitions begin."""
        return np.searchsorted(self.topic, np.arange(len(self.topics) + 1, dtype=np.int32))

    def of_topic(self, topic: int) -> slice:
        """Where a topic's partitions stand."""
        # Bounds of another type than the column's would make numpy copy the whole column.
        bounds = np.array([topic, topic + 1], dtype=np.int32)
        return slice(*np.searchsorted(self.topic, bounds).tolist())

    def ids_of(self, topic: int) -> list[int]:
        """Ids of a topic's partitions."""
        ids: list[int] = self.partition[self.of_topic(topic)].tolist()
        return ids

    def index(self, topic: int, partition: int) -> int | None:
        """The row of a partition, or None where there is none."""
        of_topic = self.of_topic(topic)
        ids = self.partition[of_topic].view(np.uint32)
        at = of_topic.start + int(np.searchsorted(ids, np.uint32(partition & 0xFFFFFFFF)))
        return at if at < of_topic.stop and int(self.partition[at]) == partition else None

    @cached_property
    def created(self) -> AnyArray:
        """int32[k], of `index_type`: row of the record that made each partition."""
        return self._rows_of(self._first)

    @cached_property
    def changed(self) -> AnyArray:
        """int32[k], of `index_type`: row of the record that last changed each partition."""
        changed = self._rows_of(self._last)
        for g, state in self._replayed.items():
            changed[g] = state.row
        return changed

    @cached_property
    def leader(self) -> I32:
        """int32[k]: leading broker, -1 for none."""
        return take(self._sorted_values("leader"), self._number_provider("leader"))

    @cached_property
    def leader_recovery_state(self) -> AnyArray:
        """int8[k]: 0 recovered, 1 recovering."""
        name = "leader_recovery_state"
        return take(self._sorted_values(name), self._number_provider(name))

    @cached_property
    def leader_epoch(self) -> I32:
        """int32[k]; wraps around, as in Java."""
        changes = self._changed_leader
        total = np.cumsum(changes)
        moved: I64 = total[self._last] - total[self._first]
        for g, state in self._replayed.items():
            moved[g] = state.leader_changes
        return self._counter("leader_epoch", moved)

    @cached_property
    def partition_epoch(self) -> I32:
        """int32[k]; wraps around, as in Java."""
        if self._h.merged is None:
            moved: I64 = (self._last - self._first).astype(np.int64)
        else:
            total = np.cumsum(self._weights)
            moved = total[self._last] - total[self._first]
        for g, state in self._replayed.items():
            moved[g] = state.changes
        return self._counter("partition_epoch", moved)

    def list_column(self, name: str) -> SpanColumn:
        """A list field (`LISTS`), k lists; for ``directories`` see also `directories_default`."""
        if name not in self._lists:
            self._lists[name] = self._list_column(name)
            # The lists are in the column now, so the decoded fields of records are not needed any
            # more.
            for columns in (self._h.base, self._h.change):
                columns.forget((LISTS[name],))
        return self._lists[name]

    def _list_column(self, name: str) -> SpanColumn:
        base = self._h.base.span(LISTS[name])
        change = self._h.change.span(LISTS[name])
        if not ((base.counts > 0).any() or (change.counts > 0).any()):
            # Most clusters have several lists that are empty everywhere: they take no memory.
            starts, counts = (constant(kind(0), len(self)) for kind in (np.int64, np.int32))
            return SpanColumn(base.arena, base.dtype, starts, counts)
        provider = self._provider(name)
        is_empty = provider < 0
        at = take(self._events.order, np.maximum(provider, 0) if is_empty.any() else provider)
        if self._only_bases_carry(name):
            starts = take(base.starts, at)
            counts = take(base.counts, at).astype(np.int32, copy=False)
        else:
            starts = take(np.concatenate([base.starts, change.starts]), at)
            counts = take(np.concatenate([base.counts, change.counts], dtype=np.int32), at)
        del at
        is_empty |= counts < 0
        if is_empty.any():
            starts[is_empty] = 0
            counts[is_empty] = 0
        starts = starts.astype(index_type(base.arena.size), copy=False)
        return SpanColumn(base.arena, base.dtype, starts, counts)

    @cached_property
    def directories_default(self) -> Bools:
        """bool[k]: the directories are MIGRATING for each replica, whatever the column holds."""
        lists = self.list_column("directories")
        default: Bools = (lists.counts == 0) | (lists.counts != self.list_column("replicas").counts)
        return default

    def directories(self, rows: I64 | None = None) -> tuple[AnyArray, I64]:
        """Directory ids, MIGRATING for each replica where none are known.

        Args:
            rows: The partitions; None for all.

        Returns:
            (V16: the ids, int64[n + 1]: where each partition's begin).
        """
        stored, default = self.list_column("directories"), self.directories_default
        counts = self.list_column("replicas").counts
        if rows is not None:
            stored, default, counts = stored.take(rows), default[rows], counts[rows]
        values, bounds = stored.gather()
        if not default.any():
            return values, bounds
        filled = list_offsets_of(np.where(default, counts, np.diff(bounds)))
        out = np.zeros(int(filled[-1]), dtype="V16")
        out[np.repeat(~default, np.diff(filled))] = values[np.repeat(~default, np.diff(bounds))]
        return out, filled

    @cached_property
    def directory_ids(self) -> AnyArray:
        """V16[d]: the ids in the column ``directories``, each once."""
        import pyarrow.compute as pc

        from metashell.schema.arrow import fixed_binary_array

        ids, _ = self.list_column("directories").gather()
        known = pc.unique(fixed_binary_array(ids))
        return np.frombuffer(known.buffers()[1], dtype=ids.dtype, count=len(known))

    def set_by(self, name: str) -> AnyArray:
        """int32[k], of `index_type`: row of the record that last set a field: one of `LISTS`,
        ``leader`` or ``leader_recovery_state``.
        """
        provider = self._provider(name) if name in LISTS else self._number_provider(name)
        rows = self._rows_of(np.maximum(provider, 0))
        for g, state in self._replayed.items():
            if provider[g] == EMPTY:
                rows[g] = state.cleared
        return rows

    def _rows_of(self, at: I32) -> AnyArray:
        """int32[n], of `index_type`: rows of the records of sorted events."""
        return take(self._h.rows, take(self._events.order, at))

    def _topics_of_events(self) -> I32:
        """int32[n]: index of the topic of each sorted event."""
        return np.repeat(self._group_topic, np.diff(self._events.last, prepend=-1))

    @cached_property
    def written(self) -> tuple[I64, I64]:
        """How much the records say of each topic's partitions: (records, bytes), int64[topics].

        A record of a reduced log counts as all records it stands for; bytes are those of the
        reduced log.
        """
        frames = self._records.frames_at(self._h.rows)
        topic, n = self._topics_of_events(), len(self.topics)
        rows = take(self._h.rows, self._events.order)
        sizes = frames.stop[rows] - frames.start[rows]
        n_records = np.bincount(topic, minlength=n).astype(np.int64)
        if self._h.merged is not None:
            extra = np.bincount(topic, weights=self._weights - 1, minlength=n)
            n_records += extra.astype(np.int64)
        return n_records, np.bincount(topic, weights=sizes, minlength=n).astype(np.int64)

    def _number_provider(self, name: str) -> I32:
        """int32[k]: the sorted event that each partition's ``leader`` or its like comes from."""
        marked = self._is_base | (self._sorted_values(name) != _NO_CHANGE[name])
        provider = take(last_marked(self._events, marked), self._last)
        for g, state in self._replayed.items():
            provider[g] = state.providers[name]
        return provider

    def _sorted_values(self, name: str) -> AnyArray:
        """A fixed-size field of all events, in sorted order."""
        return self._sorted(self._h.base.fixed(name), self._h.change.fixed(name))

    def _sorted(self, of_bases: AnyArray, of_changes: AnyArray) -> AnyArray:
        """The values of bases and changes, in sorted order."""
        return take(np.concatenate([of_bases, of_changes]), self._events.order)

    def _counter(self, name: str, moved: I64) -> I32:
        at = take(self._events.order, self._first)
        start = take(self._h.base.fixed(name), at).astype(np.int64)
        return (start + moved).astype(np.uint32).view(np.int32)

    def _provider(self, name: str) -> I32:
        """int32[k]: the sorted event that each partition's list comes from, `EMPTY` for none."""
        provider = self._providers.get(name)
        if provider is None:
            if self._only_bases_carry(name):
                provider = self._first.copy() if self._replayed else self._first
            else:
                provider = take(last_marked(self._events, self._carries(name)), self._last)
            for g, state in self._replayed.items():
                provider[g] = state.providers[name]
            self._providers[name] = provider
        return provider

    def _carries(self, name: str) -> Bools:
        """bool[n], in sorted order: events that set a list field."""
        change = self._h.change.span(LISTS[name]).counts >= 0
        return self._sorted(np.ones(self._h.n_base, dtype=np.bool_), change)

    def _only_bases_carry(self, name: str) -> bool:
        """Whether no change sets a list field."""
        if name not in self._unchanged:
            counts = self._h.change.span(LISTS[name]).counts
            self._unchanged[name] = bool((counts < 0).all())
        return self._unchanged[name]

    @cached_property
    def _changed_leader(self) -> AnyArray:
        """How many changes of the leader each sorted event stands for: bool[n] or int32[n]."""
        if self._h.merged is not None:
            change = self._h.merged.leader_changes
        else:
            change = self._h.change.fixed("leader") != NO_LEADER_CHANGE
        return self._sorted(np.zeros(self._h.n_base, dtype=change.dtype), change)

    @cached_property
    def _weights(self) -> I32:
        """int32[n]: how many changes each sorted event of a reduced log stands for."""
        assert self._h.merged is not None
        return self._sorted(np.ones(self._h.n_base, dtype=np.int32), self._h.merged.changes)

    def _report_orphans(self, orphans: I64, partitions: I32) -> None:
        """A change to a partition that no record made is a fault.

        Args:
            orphans: int64[n]: the sorted events.
            partitions: int32[g]: the id of each group.
        """
        for at in orphans.tolist():
            event = int(self._events.order[at])
            group = int(np.searchsorted(self._events.last, at))
            name = self.topics.names[int(self._group_topic[group])]
            if self._h.merged is not None and int(self._weights[at]) != 1:
                self._records.merges_at_fault = True
            self._records.fault(
                int(self._h.rows[event]),
                f"partition {int(partitions[group])} of topic `{name}` can't be changed:"
                " no such partition",
            )

    # Partitions that have to be replayed one record after the other.

    @cached_property
    def _replayed(self) -> dict[int, State]:
        """State of the partitions that can't be folded, by their row."""
        clears = find_clears(self._records, self.topics)
        groups = distinct(np.concatenate([self._misfits(), self._cleared(clears)]))
        if not groups.size:
            return {}
        weights = None if self._h.merged is None else self._weights
        replay = Replay(self._records, self._h, self._events.order, self._changed_leader, weights)
        states: dict[int, State] = {}
        for g in groups.tolist():
            first, last = int(self._first[g]), int(self._last[g])
            base_row = int(self._h.rows[self._events.order[first]])
            rows = clears.rows_of(int(self.topic[g]), base_row)
            states[g] = replay.run(first, last, rows)
        return states

    def _counts_of(self, name: str) -> I64:
        """int64[n], in sorted order: length of the list that each event carries, -1 for none."""
        base = np.maximum(self._h.base.span(LISTS[name]).counts, 0)
        return self._sorted(base, self._h.change.span(LISTS[name]).counts)

    def _misfits(self) -> I64:
        """Rows of partitions with a change that may not apply."""
        if not self._may_misfit():
            return np.empty(0, dtype=np.int64)
        directories, replicas = self._counts_of("directories"), self._counts_of("replicas")
        n_directories = directories[last_marked(self._events, directories >= 0)]
        n_replicas = replicas[last_marked(self._events, replicas >= 0)]
        odd = (n_directories > 0) & (n_directories != n_replicas)
        state = self._sorted_values("leader_recovery_state")
        odd |= (state < NO_STATE_CHANGE) | (state > 1)
        odd &= last_marked(self._events, self._is_base) >= 0
        return self._groups_of(np.flatnonzero(odd))

    def _may_misfit(self) -> bool:
        """Whether there can be a misfit: a glance that spares most clusters a closer look."""
        base, change = self._h.base, self._h.change
        if not change.n:
            return False
        directories = base.span(LISTS["directories"]).counts
        odd = (directories > 0) & (directories != base.span(LISTS["replicas"]).counts)
        states = change.fixed("leader_recovery_state")
        return bool(
            odd.any()
            or not (self._only_bases_carry("directories") and self._only_bases_carry("replicas"))
            or ((states < NO_STATE_CHANGE) | (states > 1)).any()
        )

    def _cleared(self, clears: Clears) -> I64:
        """Rows of partitions that had eligible leader replicas before a ClearElrRecord."""
        if not clears.any:
            return np.empty(0, dtype=np.int64)
        before = take(self._h.rows, self._events.order) < clears.last_row[self._topics_of_events()]
        some = (self._counts_of("elr") > 0) | (self._counts_of("last_known_elr") > 0)
        return self._groups_of(np.flatnonzero(some & before))

    def _groups_of(self, at: I64) -> I64:
        """Rows of the partitions of sorted events, without events of earlier lives."""
        group = np.searchsorted(self._last, at)
        inside = group < len(self._last)
        at, group = at[inside], group[inside]
        return distinct(group[at >= self._first[group]])


def partitions_of_all(image: Image) -> Partitions:
    """The partitions of an image."""
    return fold_partitions(image.records, image.topics)


def fold_partitions(records: Records, topics: Topics, only: int | None = None) -> Partitions:
    """Fold the partitions of all living topics, or of one.

    Args:
        records: The records.
        topics: The topics that exist.
        only: Index of the one topic wanted: other topics' records are then not even decoded.
    """
    base_rows, base, made = _of_bases(records, topics, only)
    change_rows, change, changed = _of_topics(records, topics, "PartitionChangeRecord", only)
    changed = _keys(changed, change)
    change.forget(_KEY)
    merged = _merged(records, change_rows)
    n_rows = 1 + max(int(rows[-1]) if len(rows) else 0 for rows in (base_rows, change_rows))
    rows: I32 = np.concatenate([base_rows, change_rows], dtype=index_type(n_rows))
    keys = np.concatenate([made, changed])
    # Nothing is kept longer than it is needed: of a large cluster this is a good part of all.
    del made, changed, base_rows, change_rows
    events = sort_events(keys, rows)
    keys = take(keys, take(events.order, events.last))
    return Partitions(records, topics, Happenings(base, change, rows, merged), events, keys)


def _of_bases(records: Records, topics: Topics, only: int | None) -> tuple[I64, Columns, I64]:
    """Decode the sound PartitionRecords: as `_of_topics`, but with keys in place of topics."""
    made_rows, base, made = _of_topics(records, topics, "PartitionRecord", only)
    base_rows, base = sound_bases(records, made_rows, base)
    if base_rows is not made_rows:
        made = made[np.searchsorted(made_rows, base_rows)]
    keys = _keys(made, base)
    base.forget(_KEY)
    return base_rows, base, keys


def partition_keys(records: Records, topics: Topics) -> tuple[I64, I32]:
    """Which partitions exist, without decoding what changed them.

    Returns:
        (topic index: int64[k], partition id: int32[k]), sorted by both.
    """
    rows, base, _ = _of_topics(records, topics, "PartitionRecord", None)
    _, base = sound_bases(records, rows, base)
    keys = _keys(topics.index_of(base.fixed("topic_id")), base)
    if (keys[1:] <= keys[:-1]).any():
        keys = np.sort(keys)
        keys = keys[np.append(True, keys[1:] != keys[:-1])]
    return keys >> 32, (keys & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def _keys(topic: I64, columns: Columns) -> I64:
    keys = topic << 32
    keys |= columns.fixed("partition_id").view(np.uint32)
    return keys


def _of_topics(
    records: Records, topics: Topics, name: str, only: int | None
) -> tuple[I64, Columns, I64]:
    """Decode the records of one type that concern a living topic in its present life.

    Returns:
        (rows: int64[n], columns of n, index of each one's topic: int64[n]).
    """
    if only is None:
        rows, columns = records.columns(name)
    else:
        rows = records.rows_with(name, "topic_id", topics.ids[only].tobytes())
        rows, columns = records.decode(name, rows)
    topic = topics.index_of(columns.fixed("topic_id"))
    # A TopicRecord begins a topic anew, so what came before it is of an earlier life.
    alive = topic >= 0
    if alive.all() and len(alive):
        alive = rows > topics.changed[topic]
    else:
        alive[alive] = rows[alive] > topics.changed[topic[alive]]
    if alive.all():
        return rows, columns, topic
    _report_strays(records, topics, rows[~alive], columns.take(np.flatnonzero(~alive)), name)
    keep = np.flatnonzero(alive)
    living = columns.take(keep)
    columns.forget(list(columns.decoded().fields))
    return rows[keep], living, topic[keep]


def _merged(records: Records, rows: I64) -> Merged | None:
    merged = records.frames_at(rows).merged
    if merged is None:
        return None
    return Merged(merged.changes[rows], merged.leader_changes[rows])


def _report_strays(
    records: Records, topics: Topics, rows: I64, columns: Columns, name: str
) -> None:
    """A record of a topic that did not exist then is a fault; of one since gone, history."""
    ids = columns.fixed("topic_id")
    strays = np.flatnonzero(~topics.lives.existed(ids, rows))
    if not strays.size:
        return
    merged = _merged(records, rows[strays])
    if merged is not None and (merged.changes != 1).any():
        records.merges_at_fault = True
    verb = "made" if name == "PartitionRecord" else "changed"
    for row, text, partition in zip(
        rows[strays].tolist(),
        uuid_texts(ids[strays]),
        columns.fixed("partition_id")[strays].tolist(),
        strict=True,
    ):
        records.fault(row, f"partition {partition} can't be {verb}: topic {text} does not exist")


def sound_bases(records: Records, rows: I64, base: Columns) -> tuple[I64, Columns]:
    """Leave out PartitionRecords that Kafka would not take."""
    replicas = base.span("replicas").counts
    directories = base.span("directories").counts
    misfit = (directories > 0) & (directories != replicas)
    for i in np.flatnonzero(misfit).tolist():
        # However many there are, MIGRATING alone says that none are known.
        misfit[i] = any(base.span("directories").raw(i) or b"")
    state = base.fixed("leader_recovery_state")
    odd = (state < 0) | (state > 1)
    if not (misfit | odd).any():
        return rows, base
    for i in np.flatnonzero(misfit | odd).tolist():
        why = (
            "it has not as many directories as replicas"
            if misfit[i]
            else f"leader recovery state {int(state[i])}"
        )
        records.fault(int(rows[i]), f"partition can't be made: {why}")
    keep = np.flatnonzero(~(misfit | odd))
    return rows[keep], base.take(keep)


def shape_names(partitions: Sequence[int]) -> tuple[str, ...]:
    """Leaf names of a topic's directory: its partitions, id and name, by code point."""
    return tuple(sorted([*map(str, partitions), "id", "name"]))
