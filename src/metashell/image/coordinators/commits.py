"""Commits of offsets in a log: of what they are, what they say, and which have the same key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.fold import (
    begins_of,
    distinct,
    last_marked,
    number_keys,
    number_rows,
    sort_events,
    stable_order,
    survivors,
)
from metashell.parts.coordinators import offsets
from metashell.records.keyed_records import KeyedRecords, Markers
from metashell.schema.arena import I32, I64, Bools
from metashell.schema.columns import Columns, FixedColumn, SpanColumn, merge_columns

COMMITS: Final = tuple(put.message for put in offsets.PART.puts)
"""Types of commits, which have one key."""
COMMIT_KEY: Final = ("group", "topic", "partition")
_TIME: Final = "commit_timestamp"
_COMMIT_VALUES: Final = {
    "offset": np.int64,
    "leader_epoch": np.int32,
    "metadata": None,
    _TIME: np.int64,
    "expire_timestamp": np.int64,
}
"""Fields of commits, and the type of those that old ones do not have: -1 stands for none."""


@dataclass(slots=True)
class CommitKeys:
    """The keys of some commits; every array and column has one element a commit."""

    group: SpanColumn
    topic: SpanColumn
    partition: I32

    def take(self, at: I64) -> CommitKeys:
        """The keys of the commits given."""
        return CommitKeys(self.group.take(at), self.topic.take(at), self.partition[at])


@dataclass(slots=True)
class CommitValues:
    """The values of some commits; every array and column has one element a commit."""

    offset: I64
    leader_epoch: I32
    """int32: -1 where none was committed."""
    metadata: SpanColumn
    time_ms: I64
    expire_ms: I64
    """int64: when it expires, where the commit says it itself; else -1."""


@dataclass(slots=True)
class Commits:
    """Commits of offsets, tombstones among them, in the order of the log.

    Most commits of a log no longer count, so keys and values are read of those asked for.
    """

    records: KeyedRecords
    rows: I64
    is_tombstone: Bools
    producer: I64
    """int64: producer id of each commit's batch, -1 for none."""

    def keys(self, at: I64) -> CommitKeys:
        """The keys of the given commits."""
        types, records = self.records.types.by_name, self.records
        key = self._decoded(at, lambda name, rows: records.keys_of(types[name], rows, COMMIT_KEY))
        return CommitKeys(key.span("group"), key.span("topic"), key.fixed("partition"))

    def values(self, at: I64) -> CommitValues:
        """The values of the given commits."""
        value = self._decoded(at, self._values)
        return CommitValues(
            value.fixed("offset"),
            value.fixed("leader_epoch"),
            value.span("metadata"),
            value.fixed(_TIME),
            value.fixed("expire_timestamp"),
        )

    def times(self, at: I64) -> I64:
        """int64: when the commits given were made, as they say; ms since the epoch."""
        wanted = {_TIME: _COMMIT_VALUES[_TIME]}
        value = self._decoded(at, lambda name, rows: self._values(name, rows, wanted))
        return value.fixed(_TIME)

    def _values(
        self, name: str, rows: I64, wanted: Mapping[str, type[np.integer] | None] = _COMMIT_VALUES
    ) -> Columns:
        """Values of commits of a type, with the fields that it does not have."""
        value = self.records.values_of(self.records.types.by_name[name], rows, wanted)
        fields = dict(value.fields)
        for field, dtype in wanted.items():
            if field not in fields and dtype is not None:
                fields[field] = FixedColumn(np.full(value.n, -1, dtype=dtype))
        return Columns(value.specs, value.n, value.ok, fields)

    def _decoded(self, at: I64, decode: Callable[[str, I64], Columns]) -> Columns:
        """The decoded columns of the given commits, type by type."""
        rows, place = self.rows[at], None
        if not (rows[1:] > rows[:-1]).all():
            order = stable_order(rows)
            begins = begins_of(rows[order])
            place = np.empty_like(order)
            place[order] = np.cumsum(begins) - 1
            rows = rows[order[begins]]
        number = self.records.frames.api_key[rows]
        parts = []
        for name in COMMITS:
            chosen = np.flatnonzero(number == self.records.types.by_name[name].number)
            if chosen.size or not len(rows):
                parts.append((chosen, decode(name, rows[chosen])))
        columns = merge_columns(parts[:1] if not len(rows) else parts)[1]
        return columns if place is None else columns.take(place)


@dataclass(slots=True)
class NumberedCommits:
    """The keys of n commits, of which k are different.

    ``numbers``: int64[n], of each commit's key; ``firsts``: int64[k], by number, the first commit
    of the key; ``keys``: by number, the keys.
    """

    numbers: I64
    firsts: I64
    keys: CommitKeys


def number_commits(commits: Commits) -> NumberedCommits:
    """Number the keys of commits: group, topic and partition.

    Most commits have the very bytes of another's key, and then only one of these is decoded.
    """
    frames = commits.records.frames
    spans = SpanColumn(frames.arena, "u1", frames.key, frames.key_size)
    numbered = number_rows(spans, commits.rows)
    numbers, firsts = numbered.numbers, numbered.firsts
    keys = commits.keys(firsts)
    if not _have_one_form(commits, firsts, keys):
        same = number_keys([keys.group, keys.topic, keys.partition], len(firsts))
        if len(same.firsts) < len(firsts):
            # By number the first one is the first of all, but where keys come in no order.
            numbers, keys = same.numbers[numbers], keys.take(same.firsts)
            firsts = _least(firsts, same.numbers, len(same.firsts))
    return NumberedCommits(numbers, firsts, keys)


def _least(values: I64, numbers: I64, n: int) -> I64:
    """The least of the values of each number: int64[n]."""
    least = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(least, numbers, values)
    return least


def _have_one_form(commits: Commits, at: I64, keys: CommitKeys) -> bool:
    """Whether the keys of commits are equal only if their bytes are.

    Equal keys may have different bytes: in a commit of the other type, or with trailing bytes.
    """
    frames, rows = commits.records.frames, commits.rows[at]
    if not len(rows):
        return True
    begin, gather = frames.key[rows], frames.arena.gather
    end = begin + frames.key_size[rows]
    types = frames.api_key[rows]
    found: Bools = types == types[0]
    at_length = begin + 2
    for name in (keys.group, keys.topic):
        found &= (name.starts == at_length + 2) & (gather(">i2", at_length) == name.counts)
        at_length = name.starts + name.counts
    found &= (at_length + 4 == end) & (gather(">i4", at_length) == keys.partition)
    return bool(found.all())


NO_PRODUCER = -1


@dataclass(slots=True)
class CommitOutcomes:
    """The outcomes of n commits: ``applies``: bool[n]; ``is_pending``: bool[n], true for a producer
    whose transaction has not ended.
    """

    applies: Bools
    is_pending: Bools


@dataclass(slots=True)
class OffsetsState:
    """The commits that hold after the last record; indexes into the commits given.

    ``last``: int64[k], the commit of each key, by creation; ``created``: int64[k], the first one
    since the key was last deleted; ``pending``: int64[p], commits that wait for a marker, the
    newest of each producer and key, in the order of the log.
    """

    last: I64
    created: I64
    pending: I64


def commit_outcomes(row: I64, producer: I64, ends: Markers) -> CommitOutcomes:
    """Tell which commits apply, by the marker that follows each one of a producer.

    Args:
        row: int64[n], the order of replay.
        producer: int64[n], producer id of each commit's batch, `NO_PRODUCER` for none.
        ends: The markers.
    """
    applies = producer < 0
    is_pending = ~applies
    pending = np.flatnonzero(is_pending)
    if pending.size and len(ends.rows):
        row, producer = row[pending], producer[pending]
        ids = distinct(np.concatenate([producer, ends.producer_id]))
        span = int(max(row.max(), ends.rows.max())) + 1
        end_keys = np.searchsorted(ids, ends.producer_id) * span + ends.rows
        order = np.argsort(end_keys, kind="stable")
        keys = np.searchsorted(ids, producer) * span + row
        at = np.searchsorted(end_keys[order], keys)
        candidate = order[np.minimum(at, len(order) - 1)]
        found = (at < len(order)) & (ends.producer_id[candidate] == producer)
        ended = pending[found]
        applies[ended], is_pending[ended] = ends.is_commit[candidate[found]], False
    return CommitOutcomes(applies, is_pending)


def fold_offsets(
    groups: I64, row: I64, producer: I64, is_tombstone: Bools, ends: Markers
) -> OffsetsState:
    """Read off which commits hold.

    Args:
        groups: int64[n], equal for equal keys (group, topic, partition); see
            `metashell.image.fold.group_keys`.
        row: int64[n], the order of replay.
        producer: int64[n], producer id of each commit's batch, `NO_PRODUCER` for none.
        is_tombstone: bool[n], records without a value.
        ends: The markers.
    """
    outcomes = commit_outcomes(row, producer, ends)
    waits = outcomes.is_pending & ~is_tombstone
    alive = survivors(groups, row, is_tombstone, outcomes.applies)
    pending = _pending(groups, row, producer, is_tombstone, waits)
    return OffsetsState(alive.last, alive.created, pending)


def _pending(groups: I64, row: I64, producer: I64, is_tombstone: Bools, waits: Bools) -> I64:
    if not waits.any():
        return np.empty(0, dtype=np.int64)
    events = sort_events(groups, row)
    deleted = last_marked(events, is_tombstone[events.order])[events.last]
    place = np.arange(len(row))
    behind = place > deleted[np.searchsorted(events.last, place)]
    left = events.order[behind & waits[events.order]].astype(np.int64, copy=False)
    # The newest commit of each producer and key is kept.
    left = left[np.lexsort((row[left], producer[left], groups[left]))]
    newest = np.ones(len(left), dtype=np.bool_)
    newest[:-1] = (np.diff(groups[left]) != 0) | (np.diff(producer[left]) != 0)
    kept = left[newest]
    return kept[np.argsort(row[kept], kind="stable")]
