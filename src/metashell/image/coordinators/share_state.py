"""The state of one partition of ``__share_group_state``: the progress of share groups.

A snapshot replaces the state of a group's partition, an update changes it: start offset and leader
epoch -1 keep what is there, batches of offsets are laid over those before. Where batches overlap an
offset has the state with the higher delivery count, then the higher state. Offsets before the start
offset are dropped. An update without a snapshot stands alone. A snapshot's tombstone deletes.

Source: org.apache.kafka.coordinator.share.ShareCoordinatorShard, PersisterStateBatchCombiner. Where
batches with one state adjoin, brokers may keep them apart; here they are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from metashell.dataclass import dataclass
from metashell.image.coordinators.surviving import (
    NO_ROWS,
    LeafSources,
    Levels,
    SurvivingFold,
    ThingRows,
)
from metashell.image.fold import group_keys, last_marked, sort_events
from metashell.parts.spec import NodeNames
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.arena import I32, I64, AnyArray, Bools, ranges
from metashell.schema.columnar import default_columns
from metashell.schema.columns import Columns, SpanColumn, merge_columns

RECORD_STATES: Final = ("Available", "Acquired", "Acknowledged", "Archiving", "Archived")
"""Names of the states of records, by number. Source: RecordState of share fetches."""
SHARE_SNAPSHOT: Final = "ShareSnapshot"
SHARE_UPDATE: Final = "ShareUpdate"
"""The types of the log's records."""
KEPT: Final = -1
"""The start offset, or leader epoch, of an update that keeps the one before."""
_BATCH: Final = ("firstOffset", "lastOffset", "deliveryState", "deliveryCount")
_NOBODY: Final = -1
_LEAST: Final = -(1 << 63)
_MOST: Final = (1 << 63) - 2
"""The highest last offset of a batch: one more is counted with."""
_LEAST_COUNT, _LEAST_STATE, _STATES = -(1 << 15), -(1 << 7), 1 << 8


@dataclass(slots=True)
class ShareBatches:
    """Offsets of n partitions whose records share a state; the batches of partition i are those
    from ``list_offsets[i]`` to ``list_offsets[i + 1]``, ascending.

    ``list_offsets``: int64[n + 1]; ``first``, ``last``: int64[m], offsets, both included;
    ``state``: int8[m], Kafka's RecordState; ``count``: int16[m], how often they were delivered.
    """

    list_offsets: I64
    first: I64
    last: I64
    state: AnyArray
    count: AnyArray

    def take(self, at: I64) -> ShareBatches:
        """The batches of some of the partitions."""
        begins, ends = self.list_offsets[at], self.list_offsets[at + 1]
        places, list_offsets = ranges(begins, ends - begins)
        columns = (self.first, self.last, self.state, self.count)
        return ShareBatches(list_offsets, *(column[places] for column in columns))


@dataclass(slots=True)
class ShareState:
    """The share partitions that there are, in the order of their creation; k of them.

    ``created``, ``changed``: int64[k], rows of the records that made and last changed each.
    ``group``: strings; ``topic_id``: V16[k]; ``partition``: int32[k]. ``snapshot_epoch``,
    ``state_epoch``, ``leader_epoch``: int32[k]; ``start_offset``: int64[k], -1 for one that
    nobody has initialized. ``complete``: int32[k], records behind the start that are done with; -1
    where that is not known. ``created_ms``, ``written_ms``: int64[k], of the snapshot, 0 for none.
    """

    created: I64
    changed: I64
    group: SpanColumn
    topic_id: AnyArray
    partition: I32
    snapshot_epoch: I32
    state_epoch: I32
    leader_epoch: I32
    start_offset: I64
    complete: I32
    created_ms: I64
    written_ms: I64
    batches: ShareBatches

    def __len__(self) -> int:
        return len(self.partition)


@dataclass(slots=True)
class _Events:
    """Snapshots and updates, in the order of the log: a value an event."""

    row: I64
    key: Columns
    value: Columns
    """With the fields of a snapshot; those that an update lacks have their defaults."""
    is_snapshot: Bools
    is_tombstone: Bools

    def batches(self, at: I64) -> ShareBatches:
        """The batches of some events."""
        found = self.value.structs("state_batches").take(at)
        columns = ("first_offset", "last_offset", "delivery_state", "delivery_count")
        return ShareBatches(found.list_offsets, *(found.items.fixed(name) for name in columns))


def fold_share(records: KeyedRecords) -> ShareState:
    """Read off the state of every share partition. No value of an update's tombstone counts."""
    events = _events(records)
    key, value = events.key, events.value
    group, topic_id, partition = key.span("group_id"), key.fixed("topic_id"), key.fixed("partition")
    keys = group_keys([group, topic_id, partition], len(events.row))
    order = sort_events(keys, events.row)
    snapshot = events.is_snapshot[order.order]
    tombstone = events.is_tombstone[order.order]
    # For each event the snapshot, or the deletion, that it builds on; -1 for none.
    base = last_marked(order, snapshot)[order.last]
    is_deleted = (base >= 0) & tombstone[base]
    begin = np.where(base >= 0, base + is_deleted, order.first[order.last])
    exists = begin <= order.last
    begin, last = begin[exists], order.last[exists]
    gone = last_marked(order, tombstone)[last]
    made = np.where(gone >= 0, gone + 1, order.first[last])
    by_creation = np.argsort(events.row[order.order[made]], kind="stable")
    begin, last, made = begin[by_creation], last[by_creation], made[by_creation]

    def kept(values: AnyArray) -> AnyArray:
        """The newest value that is none of `KEPT`; the first one where all are."""
        ordered = values[order.order]
        newest = last_marked(order, ordered != KEPT)[last]
        return ordered[np.where(newest >= begin, newest, begin)]

    first, newest = order.order[begin], order.order[last]
    return ShareState(
        events.row[order.order[made]],
        events.row[newest],
        group.take(newest),
        topic_id[newest],
        partition[newest],
        value.fixed("snapshot_epoch")[first],
        value.fixed("state_epoch")[first],
        kept(value.fixed("leader_epoch")),
        kept(value.fixed("start_offset")),
        value.fixed("delivery_complete_count")[newest],
        value.fixed("create_timestamp")[first],
        value.fixed("write_timestamp")[first],
        _batches(events, *(at.astype(np.int64) for at in (order.order, begin, last))),
    )


def _events(records: KeyedRecords) -> _Events:
    snapshots, updates = (records.columns(name) for name in (SHARE_SNAPSHOT, SHARE_UPDATE))
    spec, n = records.types.by_name[SHARE_SNAPSHOT].value, len(updates)
    nothing = default_columns(records.frames.arena, spec, n)
    fields = {name: updates.value.fields.get(name, nothing.fields[name]) for name in nothing.fields}
    values = snapshots.value, Columns(nothing.specs, n, nothing.ok, fields)
    rows = snapshots.rows, updates.rows
    row, value = merge_columns(list(zip(rows, values, strict=True)))
    _, key = merge_columns(list(zip(rows, (snapshots.key, updates.key), strict=True)))
    gone = [found.rows[found.is_tombstone] for found in (snapshots, updates)]
    is_tombstone = np.isin(row, np.concatenate(gone))
    return _Events(row, key, value, np.isin(row, snapshots.rows), is_tombstone)


def _joined(a: ShareBatches, b: ShareBatches) -> ShareBatches:
    """Both, one after the other."""
    return ShareBatches(
        np.concatenate([a.list_offsets, b.list_offsets[1:] + a.list_offsets[-1]]),
        np.concatenate([a.first, b.first]),
        np.concatenate([a.last, b.last]),
        np.concatenate([a.state, b.state]),
        np.concatenate([a.count, b.count]),
    )


def _batches(events: _Events, order: I64, begin: I64, last: I64) -> ShareBatches:
    """The batches of each share partition, whose events are those from `begin` to `last`."""
    k = len(begin)
    alone = begin == last
    # One record's batches are as they were written.
    as_written = events.batches(order[begin])
    if alone.all():
        return as_written
    changed = np.flatnonzero(~alone)
    laid = _laid_over(events, order, begin[changed], last[changed])
    of = np.full(k, -1, dtype=np.int64)
    of[changed] = np.arange(len(changed)) + k
    return _joined(as_written, laid).take(np.where(of < 0, np.arange(k), of))


def _laid_over(events: _Events, order: I64, begin: I64, last: I64) -> ShareBatches:
    """The batches of each share partition with several events, laid over each other."""
    places, term_bounds = ranges(begin, last - begin + 1)
    sizes = np.diff(term_bounds)
    term = np.repeat(np.arange(len(begin)), sizes)
    batches = events.batches(order[places])
    counts = np.diff(batches.list_offsets)
    start = _dropped_before(events.value.fixed("start_offset")[order[places]], term_bounds)
    of, lowest = np.repeat(term, counts), np.repeat(start, counts)
    first, end = np.maximum(batches.first, lowest), np.minimum(batches.last, _MOST) + 1
    rank = (batches.count.astype(np.int64) - _LEAST_COUNT) * _STATES + (
        batches.state.astype(np.int64) - _LEAST_STATE
    )
    there = np.flatnonzero(first < end)
    of, first, end, rank = of[there], first[there], end[there], rank[there]
    of_run, run_first, run_last, run_rank = _runs(of, first, end, rank)
    list_offsets = np.searchsorted(of_run, np.arange(len(begin) + 1)).astype(np.int64)
    return ShareBatches(
        list_offsets,
        run_first,
        run_last,
        (run_rank % _STATES + _LEAST_STATE).astype(batches.state.dtype),
        (run_rank // _STATES + _LEAST_COUNT).astype(batches.count.dtype),
    )


def _dropped_before(starts: I64, bounds: I64) -> I64:
    """Below which offset the batches of each event are dropped: int64[n].

    An event drops what lies before its start offset, or before the one that it keeps, of its own
    batches and of those before; the first of a term drops nothing.

    Args:
        starts: int64[n], of events; terms follow each other.
        bounds: int64[t + 1]: where the terms begin.
    """
    first = np.repeat(bounds[:-1], np.diff(bounds))
    newest = np.maximum.accumulate(np.where(starts != KEPT, np.arange(len(starts)), -1))
    in_force = starts[np.maximum(newest, first)]
    in_force[in_force == KEPT] = _LEAST
    in_force[bounds[:-1]] = _LEAST
    # One running maximum from the end serves all terms: each gets numbers above those behind it.
    values, dense = np.unique(in_force, return_inverse=True)
    n_terms = len(bounds) - 1
    behind = n_terms - 1 - np.repeat(np.arange(n_terms), np.diff(bounds))
    lifted = dense.reshape(-1) + behind * len(values)
    highest = np.maximum.accumulate(lifted[::-1])[::-1]
    found: I64 = values[highest % len(values)]
    return found


def _runs(of: I64, first: I64, end: I64, rank: I64) -> tuple[I64, I64, I64, I64]:
    """Runs of offsets with the same highest rank, by partition and offset.

    Args:
        of: int64[m], ascending: the partition of each batch.
        first: int64[m]; the first offset.
        end: int64[m]; one behind the last.
        rank: int64[m], not negative.

    Returns:
        (partition, first offset, last offset, rank), int64[r] each.
    """
    # The offsets of every partition fall into pieces, between which batches begin and end.
    cut_of, cut = np.concatenate([of, of]), np.concatenate([first, end])
    by_place = np.lexsort((cut, cut_of))
    is_new = np.ones(len(cut), dtype=np.bool_)
    is_new[1:] = (np.diff(cut_of[by_place]) != 0) | (np.diff(cut[by_place]) != 0)
    place = np.empty(len(cut), dtype=np.int64)
    place[by_place] = np.cumsum(is_new) - 1
    chosen = by_place[is_new]
    cut_of, cut = cut_of[chosen], cut[chosen]
    highest = _highest(place[: len(of)], place[len(of) :], rank, len(cut))
    # The piece behind each cut, up to the next one.
    covered = np.flatnonzero(highest != _NOBODY)
    begins = np.ones(len(covered), dtype=np.bool_)
    begins[1:] = (np.diff(covered) != 1) | (np.diff(highest[covered]) != 0)
    ends = np.ones(len(covered), dtype=np.bool_)
    ends[:-1] = begins[1:]
    starts, stops = covered[begins], covered[ends] + 1
    return cut_of[starts], cut[starts], cut[stops] - 1, highest[starts]


def _highest(first: I64, end: I64, rank: I64, n: int) -> I64:
    """The highest rank of the ranges that cover each of n pieces, `_NOBODY` for none: int64[n].

    Each range is covered by two of a power of two of pieces, which overlap; powers are then halved.
    """
    level = np.floor(np.log2(np.maximum(end - first, 1))).astype(np.int64)
    top = int(level.max(initial=0))
    covers = np.full(n, _NOBODY, dtype=np.int64)
    for power in range(top, -1, -1):
        size = 1 << power
        if power < top:
            half = covers.copy()
            np.maximum(half[size:], covers[: n - size], out=half[size:])
            covers = half
        at = np.flatnonzero(level == power)
        np.maximum.at(covers, first[at], rank[at])
        np.maximum.at(covers, end[at] - size, rank[at])
    return covers


def batch_text(first: int, last: int, state: int, count: int) -> str:
    """A batch as ``FIRST-LAST:STATE:DELIVERIES``."""
    return f"{first}-{last}:{state_name(state)}:{count}"


def batches_shown(batches: Iterable[Mapping[str, Any]]) -> list[str]:
    """The text of each batch of a record."""
    return [batch_text(*(batch[name] for name in _BATCH)) for batch in batches]


def state_name(number: int) -> str:
    """The state of records."""
    return RECORD_STATES[number] if 0 <= number < len(RECORD_STATES) else str(number)


def batch_texts(batches: ShareBatches) -> pa.LargeStringArray:
    """The text of each batch, see `batch_text`."""
    import pyarrow as pa

    from metashell.schema.arrow_texts import number_texts, side_by_side

    numbers, index = np.unique(batches.state, return_inverse=True)
    states = pa.array(map(state_name, numbers.tolist()), pa.large_string()).take(pa.array(index))
    offsets = [number_texts(batches.first), "-", number_texts(batches.last)]
    return side_by_side([*offsets, ":", states, ":", number_texts(batches.count)])


def share_fields(state: ShareState) -> Mapping[str, AnyArray | pa.Array]:
    """The fields of share partitions, by Kafka's names of those of a snapshot."""
    from metashell.schema.arrow import list_array

    return {
        "snapshotEpoch": state.snapshot_epoch,
        "stateEpoch": state.state_epoch,
        "leaderEpoch": state.leader_epoch,
        "startOffset": state.start_offset,
        "deliveryCompleteCount": state.complete,
        "createTimestamp": state.created_ms,
        "writeTimestamp": state.written_ms,
        "stateBatches": list_array(batch_texts(state.batches), state.batches.list_offsets, None),
    }


class ShareFold(SurvivingFold):
    """Share groups, whose partitions' state is merged of several records."""

    @cached_property
    def _state(self) -> ShareState:
        return fold_share(self.records)

    @cached_property
    def _groups(self) -> Sequence[str]:
        return self._state.group.texts()

    @cached_property
    def names(self) -> Sequence[str]:
        return list(dict.fromkeys(self._groups))

    @cached_property
    def _split(self) -> tuple[ThingRows, Mapping[NodeNames, LeafSources]]:
        state = self._state
        of = np.array([self.places[group] for group in self._groups], dtype=np.int64)

        def levels() -> Levels:
            return {"topic_id": state.topic_id, "partition": state.partition}

        rows = ThingRows(of, state.changed, state.created)
        return NO_ROWS, {(): LeafSources(rows, levels, fields=lambda: share_fields(state))}
