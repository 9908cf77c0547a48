"""Groups, their members and what they committed, as the log of a coordinator's partition has it.

Share partitions, as the log of a coordinator's partition has them.

The rows and columns of the parts of coordinators' logs. Imports nothing heavy.

Source: org.apache.kafka.coordinator.share.ShareCoordinatorShard; the states are those of
org.apache.kafka.server.share.fetch.RecordState.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.coordinator_tables import PartitionState
from metashell.image.coordinators.group_log import GroupLog
from metashell.image.coordinators.group_things import group_states, members_of
from metashell.image.coordinators.groups import GroupEvent, GroupType
from metashell.image.coordinators.record_tables import TIME, part_table, sorted_rows
from metashell.image.coordinators.share_state import batch_texts, fold_share
from metashell.image.coordinators.subscriptions import (
    GroupTopics,
    classic_members,
    classic_subscriptions,
    joined_topics,
    lists_where,
    named_topics,
)
from metashell.image.fold import number_keys, stable_order
from metashell.parts.coordinators.groups import PART as GROUPS
from metashell.parts.coordinators.members import PART as MEMBERS
from metashell.parts.coordinators.share_partitions import PART
from metashell.records.keyed_messages import ASSIGNMENT, nested_columns
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.arena import I64, AnyArray, ranges
from metashell.schema.arrow import list_array, number_array, one_piece, string_array, uuid_array
from metashell.schema.columns import SpanColumn, StructArrayColumn
from metashell.schema.model import ELEMENT

_MODERN: Final = (GroupType.CONSUMER, GroupType.SHARE, GroupType.STREAMS)


def group_rows(state: PartitionState) -> pa.Table:
    """The rows of the table `groups`; records that a broker throws at are told."""
    log = GroupLog(state.records, state.number)
    state.tell(log.refusals())
    return groups_table(log, state.coordinator)


def member_rows(state: PartitionState) -> pa.Table:
    """The rows of the table `members`."""
    return members_table(GroupLog(state.records, state.number), state.topics())


def groups_table(log: GroupLog, coordinator: int | None = None) -> pa.Table:
    """The groups of a partition, by name: a row each.

    Args:
        log: The partition's log.
        coordinator: The broker that leads it; None where that is not known.
    """
    state, k = log.state, len(log.state.group)
    members = np.bincount(state.member_group, minlength=log.n_groups)[state.group]
    protocol = pa.array([kind.name.lower() for kind in GroupType], pa.string())
    protocols = protocol.take(number_array(state.type))
    empty, missing = pa.scalar("", pa.string()), pa.scalar(None, pa.string())
    epochs = np.full(k, -1, dtype=np.int64)
    named = [_committed_topics(log)]
    for kind in _MODERN:
        at = np.flatnonzero(state.type == kind)
        if not at.size:
            continue
        value, _ = log.values(GroupEvent.GROUP, kind, state.about[at])
        epochs[at] = value.fixed("epoch")
        named.append(named_topics(log, kind))
    at = np.flatnonzero(state.type == GroupType.CLASSIC)
    if at.size:
        value, has = log.values(GroupEvent.CLASSIC, GroupType.CLASSIC, state.about[at])
        members[at] = np.maximum(value.structs("members").counts, 0)
        epochs[at] = np.where(has, value.fixed("generation"), -1)
        is_classic = number_array(state.type == GroupType.CLASSIC)
        names = _text(value.span("protocol_type"))
        protocols = pc.replace_with_mask(protocols, is_classic, names)
        named.append(named_topics(log, GroupType.CLASSIC))
    table = part_table(
        GROUPS,
        group=log.names(state.made),
        type=protocol.take(number_array(state.type)),
        state=pa.array(group_states(log).tolist(), pa.string()),
        protocol=pc.if_else(pc.equal(protocols, empty), missing, protocols),
        members=members,
        coordinator=coordinator,
        partition=log.partition,
        topics=_lists(state.group, named),
        epoch=epochs.astype(np.int32),
        committed_time=_last_commits(log),
    )
    return sorted_rows(GROUPS, table)


def _text(column: SpanColumn) -> pa.Array:
    """Text, null where it is null."""
    return string_array(column).cast(pa.string())


def _committed_topics(log: GroupLog) -> GroupTopics:
    at = log.offsets.last
    return GroupTopics(log.groups_of_commits(at), log.keys(at).topic)


def _last_commits(log: GroupLog) -> pa.Array:
    """When each group last committed what holds; null for never."""
    # In the order of the log, which decoding takes as it is.
    at, state = np.sort(log.offsets.last), log.state
    times, newest = log.commits.times(at), np.full(log.n_groups, -1, dtype=np.int64)
    # The last of several values for one place stays.
    order = stable_order(times)
    newest[log.groups_of_commits(at[order])] = times[order]
    times = newest[state.group]
    return number_array(times, times >= 0, TIME)


def _lists(things: I64, named: Sequence[GroupTopics]) -> pa.Array:
    """A list of the different names of each thing, sorted."""
    joined = joined_topics(named)
    of, spans = joined.of, joined.name
    if len(of):
        first = number_keys([of, spans], len(of)).firsts
        of, spans = of[first], spans.take(first)
    table = pa.table({"of": number_array(of), "name": string_array(spans)})
    table = table.sort_by([("of", "ascending"), ("name", "ascending")])
    sorted_of = np.sort(of)
    starts, stops = (np.searchsorted(sorted_of, things, side=side) for side in ("left", "right"))
    index, list_offsets = ranges(starts, stops - starts)
    return list_array(one_piece(table.column("name").take(number_array(index))), list_offsets, None)


def partition_texts(topics: pa.ChunkedArray, partitions: pa.ChunkedArray) -> pa.Array:
    """string[n]: partitions such as ``orders-3``."""
    return one_piece(pc.binary_join_element_wise(topics, partitions.cast(pa.string()), "-"))


def members_table(log: GroupLog, topics: Mapping[str, str] | None = None) -> pa.Table:
    """The members of a partition's groups, by group and name: a row each.

    Args:
        log: The partition's log.
        topics: Names of topics by the text of their ids; a topic without one is called by its id.
    """
    tables = [_modern_members(log, kind, topics or {}) for kind in _MODERN]
    tables.append(_classic_table(log))
    return sorted_rows(MEMBERS, pa.concat_tables(tables))


def _modern_members(log: GroupLog, kind: GroupType, topics: Mapping[str, str]) -> pa.Table:
    state = log.state
    at = members_of(log, kind)
    value, has = log.values(GroupEvent.MEMBER, kind, state.written[at])
    current, is_assigned = log.values(GroupEvent.CURRENT, kind, state.current[at])
    some = np.where(has, state.written[at], state.current[at])
    lists = None
    if "subscribed_topic_names" in value.fields:
        named = value.structs("subscribed_topic_names")
        lists = list_array(string_array(named.items.span(ELEMENT)), named.list_offsets, None)
    if kind == GroupType.STREAMS:
        tasks = current.structs("active_tasks")
        assigned = partition_names(tasks, string_array(tasks.items.span("subtopology_id")), "_")
    else:
        parts = current.structs("assigned_partitions")
        assigned = partition_names(parts, topic_names(parts.items.fixed("topic_id"), topics))
    return part_table(
        MEMBERS,
        group=log.names(some),
        member=log.member_names(some),
        instance=value.span("instance_id") if "instance_id" in value.fields else None,
        client=value.span("client_id"),
        host=value.span("client_host"),
        epoch=number_array(current.fixed("member_epoch"), is_assigned),
        topics=lists,
        assigned=assigned,
    )


def topic_names(ids: AnyArray, topics: Mapping[str, str]) -> pa.Array:
    """Names of topics; the id of those that have none here."""
    texts = uuid_array(ids).cast(pa.string())
    encoded = texts.dictionary_encode()
    names = [topics.get(text, text) for text in encoded.dictionary.to_pylist()]
    return pa.array(names, pa.string()).take(encoded.indices)


def partition_names(
    lists: StructArrayColumn, names: pa.Array, between: str = "-", field: str = "partitions"
) -> pa.Array:
    """For each list of structs with partitions a list of ``NAME-PARTITION``.

    Args:
        lists: The lists.
        names: The name of each of their structs.
        between: The text between a name and a partition.
        field: The field with the partitions.
    """
    partitions = lists.items.span(field)
    values, bounds = partitions.gather()
    sizes = np.diff(bounds)
    of = np.repeat(np.arange(len(sizes)), sizes)
    texts = pc.binary_join_element_wise(
        names.cast(pa.string()).take(number_array(of)),
        number_array(values).cast(pa.string()),
        pa.scalar(between, pa.string()),
    )
    return list_array(texts, bounds[lists.list_offsets], None)


def _classic_table(log: GroupLog) -> pa.Table:
    members = classic_members(log)
    items, arena = members.items, log.records.frames.arena
    named, _ = classic_subscriptions(log, members)
    nested = nested_columns(arena, items.span("assignment"), ASSIGNMENT, {"assigned_partitions"})
    readable = nested.ok & members.uses_consumer_protocol
    parts = lists_where(nested.fields.structs("assigned_partitions"), readable)
    return part_table(
        MEMBERS,
        group=members.name,
        member=items.span("member_id"),
        instance=items.span("group_instance_id"),
        client=items.span("client_id"),
        host=items.span("client_host"),
        epoch=members.generation,
        topics=list_array(string_array(named.items.span(ELEMENT)), named.list_offsets, None),
        assigned=partition_names(parts, _text(parts.items.span("topic"))),
    )


def share_rows(state: PartitionState) -> pa.Table:
    """The rows of the table `share_partitions`."""
    return share_table(state.records, state.number, state.topics(), state.coordinator)


def share_table(
    records: KeyedRecords,
    partition: int,
    topics: Mapping[str, str] | None = None,
    coordinator: int | None = None,
) -> pa.Table:
    """The share partitions of a coordinator's partition: a row each, sorted.

    Args:
        records: The records of the partition's log.
        partition: Which one of ``__share_group_state`` it is.
        topics: Names of topics by the text of their ids; a topic without one is called by its id.
        coordinator: The broker that leads it; None where that is not known.
    """
    state = fold_share(records)
    batches = state.batches
    table = part_table(
        PART,
        state,
        topic=topic_names(state.topic_id, topics or {}),
        batches=list_array(batch_texts(batches).cast(pa.string()), batches.list_offsets, None),
        written_time=np.where(state.written_ms > 0, state.written_ms, -1),
        coordinator=coordinator,
        coordinator_partition=partition,
    )
    return sorted_rows(PART, table)
