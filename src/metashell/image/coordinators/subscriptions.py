"""Topics that groups subscribe to, as the records of their members tell.

When committed offsets expire: the time at which a coordinator may delete each.

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

Source: ClassicGroup.computeSubscribedTopics, ConsumerGroup.isSubscribedToTopic,
StreamsGroup.isSubscribedToTopic.

Source: OffsetMetadataManager.cleanupExpiredOffsets, OffsetExpirationConditionImpl, and
offsetExpirationCondition of ClassicGroup, ConsumerGroup and StreamsGroup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.coordinators.group_log import GroupLog
from metashell.image.coordinators.group_things import members_of
from metashell.image.coordinators.groups import GroupEvent, GroupType
from metashell.image.fold import distinct, group_keys, survivors
from metashell.image.keyed import join_spans
from metashell.records.keyed_messages import CONSUMER, SUBSCRIPTION, nested_columns
from metashell.schema.arena import I64, AnyArray, Bools, list_offsets_of
from metashell.schema.columns import Columns, SpanColumn, StructArrayColumn
from metashell.schema.model import ELEMENT

_REGEX_RECORD = "ConsumerGroupRegularExpression"


@dataclass(slots=True)
class GroupTopics:
    """Names of topics: ``of``: int64[n], the number of the group; ``name``: the topic."""

    of: I64
    name: SpanColumn


@dataclass(slots=True)
class ClassicMembers:
    """Members of classic groups, m of them.

    ``group``: int64[m], numbers; ``name``: the groups' ids; ``items``: what the log says of each;
    ``generation``: int32[m]; ``uses_consumer_protocol``: bool[m].
    """

    group: I64
    name: SpanColumn
    items: Columns
    generation: AnyArray
    uses_consumer_protocol: Bools


def classic_members(log: GroupLog) -> ClassicMembers:
    """The members of all classic groups."""
    state = log.state
    at = np.flatnonzero(state.type == GroupType.CLASSIC)
    value, _ = log.values(GroupEvent.CLASSIC, GroupType.CLASSIC, state.about[at])
    listed = value.structs("members")
    of = np.repeat(np.arange(len(at)), np.maximum(listed.counts, 0))
    types = np.array(value.span("protocol_type").texts(), dtype=object)
    return ClassicMembers(
        state.group[at][of],
        log.names(state.made[at]).take(of),
        listed.items,
        value.fixed("generation")[of],
        (types == CONSUMER)[of],
    )


def classic_subscriptions(
    log: GroupLog, members: ClassicMembers
) -> tuple[StructArrayColumn, Bools]:
    """Lists of the topics that members of classic groups name, and which could be read: bool[m]."""
    arena = log.records.frames.arena
    nested = nested_columns(arena, members.items.span("subscription"), SUBSCRIPTION, {"topics"})
    readable: Bools = nested.ok & members.uses_consumer_protocol
    return lists_where(nested.fields.structs("topics"), readable), readable


def lists_where(lists: StructArrayColumn, kept: Bools) -> StructArrayColumn:
    """The lists, but those that are not kept are empty."""
    counts = np.where(kept, np.maximum(lists.counts, 0), 0)
    items = np.repeat(kept, np.maximum(lists.counts, 0))
    kept_items = lists.items.take(np.flatnonzero(items))
    return StructArrayColumn(counts, list_offsets_of(counts), kept_items)


def topics_of_lists(of: I64, lists: StructArrayColumn, field: str = ELEMENT) -> GroupTopics:
    """The strings in lists, with the group that each list is of."""
    sizes = np.maximum(lists.counts, 0)
    return GroupTopics(np.repeat(of, sizes), lists.items.span(field))


def joined_topics(parts: Sequence[GroupTopics]) -> GroupTopics:
    """All of them, one after the other; one at least."""
    names = join_spans(*(part.name for part in parts))
    return GroupTopics(np.concatenate([part.of for part in parts]), names)


def named_topics(log: GroupLog, kind: GroupType) -> GroupTopics:
    """Topics that members of groups of a type name."""
    if kind == GroupType.CLASSIC:
        members = classic_members(log)
        return topics_of_lists(members.group, classic_subscriptions(log, members)[0])
    state = log.state
    at = members_of(log, kind)
    value, _ = log.values(GroupEvent.MEMBER, kind, state.written[at])
    if "subscribed_topic_names" not in value.fields:
        return GroupTopics(at[:0], log.commits.keys(at[:0]).topic)
    return topics_of_lists(state.member_group[at], value.structs("subscribed_topic_names"))


def subscribed_topics(log: GroupLog) -> GroupTopics:
    """Topics that groups are subscribed to, those of regular expressions and topologies included.

    Not those of share groups, which commit no offsets.
    """
    return joined_topics(
        [
            named_topics(log, GroupType.CLASSIC),
            named_topics(log, GroupType.CONSUMER),
            _matched_topics(log),
            *_source_topics(log),
        ]
    )


def _matched_topics(log: GroupLog) -> GroupTopics:
    """Topics that match the regular expressions of consumer groups' members."""
    state = log.state
    at = members_of(log, GroupType.CONSUMER)
    value, _ = log.values(GroupEvent.MEMBER, GroupType.CONSUMER, state.written[at])
    regexes, groups = value.span("subscribed_topic_regex"), state.member_group[at]
    used = np.flatnonzero(regexes.counts > 0)
    found = log.records.columns(_REGEX_RECORD)
    resolved = found.key.span("regular_expression")
    of = log.groups_of_rows(found.rows)
    names = join_spans(resolved, regexes.take(used))
    numbers = np.concatenate([of, groups[used]])
    keys = group_keys([numbers, names], len(numbers))
    last = survivors(keys[: len(of)], found.rows, found.is_tombstone).last
    last = last[np.isin(keys[last], keys[len(of) :])]
    return topics_of_lists(of[last], found.value.structs("topics").take(last))


def _source_topics(log: GroupLog) -> list[GroupTopics]:
    """Topics that the topologies of streams groups with members read."""
    state, events = log.state, log.events
    is_topology = (
        (events.event == GroupEvent.OTHER) & (events.type == GroupType.STREAMS) & events.is_put
    )
    newest = np.full(log.n_groups, -1, dtype=np.int64)
    newest[events.group[is_topology]] = np.flatnonzero(is_topology)
    with_members = distinct(state.member_group[members_of(log, GroupType.STREAMS)])
    value, _ = log.values(GroupEvent.OTHER, GroupType.STREAMS, newest[with_members])
    parts = value.structs("subtopologies")
    of = np.repeat(with_members, np.maximum(parts.counts, 0))
    return [
        topics_of_lists(of, parts.items.structs("source_topics")),
        topics_of_lists(of, parts.items.structs("repartition_source_topics"), "name"),
    ]


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
