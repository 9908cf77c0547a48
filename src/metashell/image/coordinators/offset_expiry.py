"""When committed offsets expire: the time at which a coordinator may delete each.

======================================  =========================================================
the group is                            its offsets expire so long after
======================================  =========================================================
classic with a protocol type, empty     it became empty; the commit, where the log does not say
classic of consumers, with members      the commit, where all subscriptions can be read
classic of another type, with members   never
simple, consumer, streams               the commit, whatever its state
======================================  =========================================================

A topic that the group is subscribed to never expires, nor does a key with a pending commit. A
commit of an older version says itself when it expires, in a group whose offsets expire.

Source: OffsetMetadataManager.cleanupExpiredOffsets, OffsetExpirationConditionImpl, and
offsetExpirationCondition of ClassicGroup, ConsumerGroup and StreamsGroup.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.image.coordinators.group_events import GroupEvent, GroupType
from metashell.image.coordinators.group_log import GroupLog
from metashell.image.coordinators.subscriptions import (
    classic_members,
    classic_subscriptions,
    subscribed_topics,
)
from metashell.image.fold import group_keys
from metashell.image.keyed import join_spans
from metashell.records.consumer_protocol import CONSUMER
from metashell.schema.arena import I64, Bools

NEVER: Final = -1
"""In place of a time."""
_LONGEST_MS: Final = (1 << 62) - 1


def expire_times(log: GroupLog, retention_ms: int) -> I64:
    """When each committed offset expires: int64[k], ms since the epoch, `NEVER` for one that won't.

    Args:
        log: The groups and their offsets; the order is that of ``log.offsets.last``.
        retention_ms: The value of ``offsets.retention.minutes``, in ms.
    """
    at, keys = log.offsets.last, log.commit_keys
    values, group = log.commits.values(at), log.groups_of_commits(at)
    since, expires = _since(log, group)
    base = np.where(since < 0, values.time_ms, since)
    base = np.clip(base, -_LONGEST_MS, _LONGEST_MS - min(retention_ms, _LONGEST_MS // 2))
    times = base + min(retention_ms, _LONGEST_MS // 2)
    times = np.where(values.expire_ms >= 0, values.expire_ms, times)
    expires &= ~np.isin(keys[at], keys[log.offsets.pending])
    expires &= ~_is_subscribed(log, group)
    return np.where(expires, times, NEVER)


def says_itself(log: GroupLog) -> Bools:
    """Which of the committed offsets say themselves when they expire: bool[k]."""
    found: Bools = log.commits.values(log.offsets.last).expire_ms >= 0
    return found


def _since(log: GroupLog, group: I64) -> tuple[I64, Bools]:
    """For each offset the time at which its group became empty, -1 for the commit's own time; and
    whether it can expire.
    """
    state = log.state
    since = np.full(log.n_groups, NEVER, dtype=np.int64)
    expires = np.zeros(log.n_groups, dtype=np.bool_)
    expires[state.group[np.isin(state.type, (GroupType.CONSUMER, GroupType.STREAMS))]] = True
    at = np.flatnonzero(state.type == GroupType.CLASSIC)
    value, has = log.values(GroupEvent.CLASSIC, GroupType.CLASSIC, state.about[at])
    types = value.span("protocol_type")
    has_type, has_members = has & (types.counts > 0), value.structs("members").counts > 0
    is_consumer = np.zeros(len(at), dtype=np.bool_)
    is_consumer[types.find(CONSUMER.encode())] = True
    is_consumer &= value.span("protocol").counts >= 0
    members = classic_members(log)
    readable = classic_subscriptions(log, members)[1]
    is_consumer &= ~np.isin(state.group[at], members.group[~readable])
    expires[state.group[at]] = ~has_type | ~has_members | is_consumer
    empty = has_type & ~has_members
    since[state.group[at[empty]]] = value.fixed("current_state_timestamp")[empty]
    return since[group], expires[group]


def _is_subscribed(log: GroupLog, group: I64) -> Bools:
    """Whether the group of each offset is subscribed to its topic: bool[k]."""
    subscribed = subscribed_topics(log)
    topics = join_spans(log.keys(log.offsets.last).topic, subscribed.name)
    keys = group_keys([np.concatenate([group, subscribed.of]), topics], len(topics.counts))
    return np.isin(keys[: len(group)], keys[len(group) :])
