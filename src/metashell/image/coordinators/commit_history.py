"""The history of commits: since when an offset stands still, how often groups rebalance.

Compaction removes older commits of a key, so a history may begin late; it never ends early.
"""

from __future__ import annotations

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.coordinators.group_log import GroupLog
from metashell.image.coordinators.groups import GroupEvent, GroupType
from metashell.image.coordinators.offsets import commit_outcomes
from metashell.image.fold import last_marked, sort_events
from metashell.schema.arena import I64

_KINDS = (
    (GroupEvent.CLASSIC, GroupType.CLASSIC, "generation"),
    (GroupEvent.GROUP, GroupType.CONSUMER, "epoch"),
    (GroupEvent.GROUP, GroupType.SHARE, "epoch"),
    (GroupEvent.GROUP, GroupType.STREAMS, "epoch"),
)
"""Records that give a group an epoch: what they are about, of which type, and the field."""


@dataclass(slots=True)
class LastMoves:
    """When the committed offset of each key last changed, in the order of ``log.offsets.last``.

    ``moved``: int64[k], the commit that first had the offset which holds, or the oldest that is
    left of those; ``repeats``: int64[k], how many commits of the same offset follow it.
    """

    moved: I64
    repeats: I64


def last_moves(log: GroupLog) -> LastMoves:
    """Read off since which commit each key has the offset that holds."""
    commits, keys = log.commits, log.commit_keys
    outcomes = commit_outcomes(commits.rows, commits.producer, log.records.markers)
    counts = np.flatnonzero(outcomes.applies | commits.is_tombstone)
    events = sort_events(keys[counts], commits.rows[counts])
    at = counts[events.order]
    offset, gone = commits.values(at).offset, commits.is_tombstone[at]
    changes = events.first == np.arange(len(at))
    changes[1:] |= (offset[1:] != offset[:-1]) | gone[:-1]
    place = np.empty(len(keys), dtype=np.int64)
    place[at] = np.arange(len(at))
    last = place[log.offsets.last]
    moved = last_marked(events, changes)[last] if len(at) else last
    return LastMoves(at[moved], last - moved)


@dataclass(slots=True)
class CommitTimes:
    """Commits of one key that count, in the order of the log; an element each."""

    time_ms: I64
    """int64: when it was committed, ms since the epoch."""
    offset: I64
    """int64: what was committed; -1 where the offset was removed."""


def commits_of(log: GroupLog, topic: str, partition: int) -> CommitTimes:
    """Read off what was committed for one partition of a topic.

    Args:
        log: The records about one group.
        topic: The topic's name.
        partition: Its partition.
    """
    commits = log.commits
    key = commits.keys(np.arange(len(commits.rows)))
    of_topic = key.topic.find(topic.encode("utf-8", "surrogatepass"))
    at = of_topic[key.partition[of_topic] == partition]
    gone = commits.is_tombstone[at]
    counts = (
        commit_outcomes(commits.rows[at], commits.producer[at], log.records.markers).applies | gone
    )
    at, gone = at[counts], gone[counts]
    frames, value = log.records.frames, commits.values(at)
    times = frames.timestamps(commits.rows[at])
    return CommitTimes(
        np.where(gone, times, value.time_ms), np.where(gone, np.int64(-1), value.offset)
    )


def rebalances_since(log: GroupLog, begin_ms: int) -> I64:
    """How often each group got a new epoch since a time: int64[n_groups], by number.

    A classic group's epoch is its generation. Times are those of records.
    """
    events, found = log.events, np.zeros(log.n_groups, dtype=np.int64)
    for event, kind, field in _KINDS:
        at = np.flatnonzero((events.event == event) & (events.type == kind) & events.is_put)
        if not at.size:
            continue
        value, _ = log.values(event, kind, at)
        order = sort_events(events.group[at], events.row[at])
        epoch = value.fixed(field).astype(np.int64)[order.order]
        times = log.records.frames.timestamps(events.row[at])[order.order]
        before = last_marked(order, times < begin_ms)[order.last]
        first = order.first[order.last]
        # Without an epoch from before, the first that is left counts as one.
        risen = np.where(before >= 0, epoch[before], epoch[first] - 1)
        found[events.group[at][order.order[order.last]]] += np.maximum(epoch[order.last] - risen, 0)
    return found
