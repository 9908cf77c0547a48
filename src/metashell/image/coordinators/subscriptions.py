"""Topics that groups subscribe to, as the records of their members tell.

Source: ClassicGroup.computeSubscribedTopics, ConsumerGroup.isSubscribedToTopic,
StreamsGroup.isSubscribedToTopic.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.coordinators.group_events import GroupEvent, GroupType
from metashell.image.coordinators.group_log import GroupLog
from metashell.image.coordinators.group_states import members_of
from metashell.image.fold import distinct, group_keys, survivors
from metashell.image.keyed import join_spans
from metashell.records.consumer_protocol import CONSUMER, SUBSCRIPTION, nested_columns
from metashell.schema.arena import I64, AnyArray, Bools, list_offsets_of
from metashell.schema.columns import Columns, SpanColumn, StructArrayColumn
from metashell.schema.plan import ELEMENT

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
    value, _ = log.values(GroupEvent.MEMBER, kind, state.told[at])
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
    value, _ = log.values(GroupEvent.MEMBER, GroupType.CONSUMER, state.told[at])
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
    told = (events.event == GroupEvent.OTHER) & (events.type == GroupType.STREAMS) & events.is_put
    newest = np.full(log.n_groups, -1, dtype=np.int64)
    newest[events.group[told]] = np.flatnonzero(told)
    with_members = distinct(state.member_group[members_of(log, GroupType.STREAMS)])
    value, _ = log.values(GroupEvent.OTHER, GroupType.STREAMS, newest[with_members])
    parts = value.structs("subtopologies")
    of = np.repeat(with_members, np.maximum(parts.counts, 0))
    return [
        topics_of_lists(of, parts.items.structs("source_topics")),
        topics_of_lists(of, parts.items.structs("repartition_source_topics"), "name"),
    ]
