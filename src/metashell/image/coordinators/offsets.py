"""Which commits of offsets count, and which wait for the end of a transaction.

A commit in a batch with a producer id is *pending* until that producer's next marker. COMMIT
applies it unless a commit written later is there already; ABORT drops it. A tombstone deletes what
is committed and what is pending for its key, also inside a transaction. So a commit counts if it
has no producer, or a COMMIT marker follows, and no tombstone of its key does; of those that count
the one with the highest offset holds.

Source: org.apache.kafka.coordinator.group.OffsetMetadataManager.replay.
"""

from __future__ import annotations

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.fold import distinct, last_marked, sort_events, survivors
from metashell.records.keyed_records import Markers
from metashell.schema.arena import I64, Bools

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
    told = np.flatnonzero(is_pending)
    if told.size and len(ends.rows):
        row, producer = row[told], producer[told]
        ids = distinct(np.concatenate([producer, ends.producer_id]))
        span = int(max(row.max(), ends.rows.max())) + 1
        end_keys = np.searchsorted(ids, ends.producer_id) * span + ends.rows
        order = np.argsort(end_keys, kind="stable")
        keys = np.searchsorted(ids, producer) * span + row
        at = np.searchsorted(end_keys[order], keys)
        candidate = order[np.minimum(at, len(order) - 1)]
        found = (at < len(order)) & (ends.producer_id[candidate] == producer)
        ended = told[found]
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
