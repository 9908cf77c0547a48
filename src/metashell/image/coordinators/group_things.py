"""Groups as things: what of a partition's log counts of each, and what follows from it.

A state that is folded by columns keeps the events that count. Here these are numbers of records,
each with the group that it is of.

The states of groups. They are not in the log; they follow from what is.

Source: ClassicGroup, ConsumerGroup.maybeUpdateGroupState, ShareGroup.maybeUpdateGroupState and
StreamsGroup.maybeUpdateGroupState.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from metashell.image.coordinators.commits import COMMITS
from metashell.image.coordinators.group_log import GROUP_TYPES, REFUSED, STOPS_HERE, GroupLog
from metashell.image.coordinators.groups import GroupEvent, GroupType
from metashell.image.coordinators.surviving import (
    LeafSources,
    Levels,
    SurvivingFold,
    ThingRows,
    by_place,
    surviving,
)
from metashell.image.fold import distinct, find_sorted
from metashell.parts.spec import NodeNames
from metashell.records.keyed_messages import CONSUMER, MEMBER_BYTES, decode_nested
from metashell.schema.arena import I64, AnyArray, Bools

MEMBER_STATES: Final = ("STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS")
"""States of members of consumer groups, by number."""
STREAMS_STATES: Final = {1: "STABLE", 2: "UNREVOKED_TASKS", 3: "UNRELEASED_TASKS"}
"""The states of members of streams groups. Source: MemberState of either kind of groups."""
_SETTLED: Final = {GroupType.CONSUMER: 0, GroupType.STREAMS: 1}
"""The number of STABLE among the states of members. Source: MemberState of either type."""
_EMPTY: Final = "Empty"
_STABLE: Final = "Stable"


def group_states(log: GroupLog) -> AnyArray:
    """Words for the states of a partition's groups: object[k], by number."""
    state = log.state
    words = np.full(len(state.group), _EMPTY, dtype=object)
    for kind in (GroupType.CONSUMER, GroupType.SHARE, GroupType.STREAMS):
        at = np.flatnonzero(state.type == kind)
        if at.size:
            words[at] = _modern_states(log, kind, at)
    at = np.flatnonzero(state.type == GroupType.CLASSIC)
    if not at.size:
        return words
    value, _ = log.values(GroupEvent.CLASSIC, GroupType.CLASSIC, state.about[at])
    words[at[value.structs("members").counts > 0]] = _STABLE
    return words


def _modern_states(log: GroupLog, kind: GroupType, at: I64) -> AnyArray:
    """Words for the states of groups of one type: object[len(at)]."""
    state = log.state
    groups, where = state.group[at], members_of(log, kind)
    counts = np.isin(groups, state.member_group[where])
    words = np.where(counts, _STABLE, _EMPTY).astype(object)
    if kind == GroupType.SHARE:
        return words
    target, has = log.values(GroupEvent.TARGET_EPOCH, kind, state.target_epoch[at])
    targets = np.where(has, target.fixed("assignment_epoch"), 0)
    current, _ = log.values(GroupEvent.CURRENT, kind, state.current[where])
    place = np.searchsorted(groups, state.member_group[where])
    settled = (current.fixed("state") == _SETTLED[kind]) & (
        current.fixed("member_epoch") == targets[place]
    )
    moving = np.zeros(len(at), dtype=np.bool_)
    moving[place[~settled]] = True
    words[counts & moving] = "Reconciling"
    about, _ = log.values(GroupEvent.GROUP, kind, state.about[at])
    words[counts & (about.fixed("epoch") > targets)] = "Assigning"
    if kind == GroupType.STREAMS:
        words[counts & ~_topology_is_validated(log, at)] = "NotReady"
    return words


def _topology_is_validated(log: GroupLog, at: I64) -> Bools:
    """Whether the topology of streams groups is the one that was validated: bool[len(at)]."""
    value, _ = log.values(GroupEvent.GROUP, GroupType.STREAMS, log.state.about[at])
    events = log.events
    newest = np.full(len(at), -1, dtype=np.int64)
    members_at = np.flatnonzero(
        (events.event == GroupEvent.OTHER) & (events.type == GroupType.STREAMS) & events.is_put
    )
    groups = log.state.group[at]
    known = members_at[np.isin(events.group[members_at], groups)]
    newest[np.searchsorted(groups, events.group[known])] = known
    topology, has = log.values(GroupEvent.OTHER, GroupType.STREAMS, newest)
    validated: Bools = has & (topology.fixed("epoch") == value.fixed("validated_topology_epoch"))
    return validated


def members_of(log: GroupLog, kind: GroupType) -> I64:
    """int64: which members are in groups of a type."""
    state = log.state
    return np.flatnonzero(np.isin(state.member_group, state.group[state.type == kind]))


NodeFields = tuple[NodeNames, Mapping[str, Any]]
"""A node of a thing, by the names below it, and its fields."""

_STATE: Final = ("state",)
_OFFSETS: Final = ("offsets",)
_MEMBER_APART: Final = frozenset({*MEMBER_BYTES, "memberId"})
"""Fields of a classic group's member that are told apart."""


class GroupsFold(SurvivingFold):
    """Groups, by the rules of their coordinator. Other parts are of groups that are there."""

    @cached_property
    def log(self) -> GroupLog:
        """The log."""
        # Nothing that is asked of it says which partition it is.
        return GroupLog(self.records, 0)

    def counts_by_key(self, name: str) -> bool:
        return name not in GROUP_TYPES

    @property
    def refused(self) -> Mapping[int, str]:
        rows = self.log.events.row[self.log.state.refused]
        return dict.fromkeys(rows.tolist(), f"{STOPS_HERE}: {REFUSED}")

    @cached_property
    def names(self) -> Sequence[str]:
        return self.log.names(self.log.state.made).texts()

    @property
    def _is_one_each(self) -> bool:
        return False

    @cached_property
    def _split(self) -> tuple[ThingRows, Mapping[NodeNames, LeafSources]]:
        also, tables = super()._split
        rows, log = group_rows(self.log, also), self.log
        numbers = [self.records.types.by_name[name].number for name in COMMITS]
        is_commit = np.isin(self.records.frames.api_key[rows.row], numbers)
        commits = rows.where(is_commit)
        at = np.searchsorted(log.commits.rows, commits.row)

        def levels() -> Levels:
            key = log.keys(at)
            return {"topic": key.topic, "partition": key.partition}

        def waits() -> Bools:
            return np.isin(commits.row, log.commits.rows[log.offsets.pending])

        return rows.where(~is_commit), {**tables, _OFFSETS: LeafSources(commits, levels, waits)}

    @cached_property
    def _states(self) -> Sequence[str]:
        return list(group_states(self.log))

    def made(self, place: int) -> Mapping[NodeNames, int]:
        return {_STATE: int(self.log.events.row[self.log.state.made[place]])}

    def derived(self, place: int, below: NodeNames) -> Mapping[str, Any]:
        if below != _STATE:
            return {}
        kind = GroupType(int(self.log.state.type[place])).name.lower()
        return {"type": kind, "state": self._states[place]}


def group_rows(log: GroupLog, also: ThingRows) -> ThingRows:
    """The rows of groups; places are those of the groups in `GroupLog.state`.

    Args:
        log: The log.
        also: Records of groups that are there which decide nothing.
    """
    state, commits, offsets, events = log.state, log.commits, log.offsets, log.events
    columns = [state.about, state.target_epoch, state.written, state.current]
    event_rows = distinct(np.concatenate([events.row[at[at >= 0]] for at in columns]))
    # Targets of members that are not there yet are among these.
    refused = events.row[state.refused]
    others_found = map(log.records.columns, log.types_by_key)
    others = [surviving(found, refused).rows.row for found in others_found]
    keyed = np.concatenate([np.empty(0, dtype=np.int64), *others])
    keyed = keyed[keyed > _ends(log)[events.group[np.searchsorted(events.row, keyed)]]]
    plain = np.concatenate([event_rows, commits.rows[offsets.pending], keyed])
    rows = np.concatenate([commits.rows[offsets.last], plain])
    created = np.concatenate([commits.rows[offsets.created], np.full(len(plain), -1)])
    group = log.groups_of_rows(rows)
    place = find_sorted(state.group, group)
    known = np.flatnonzero(place >= 0)
    return by_place([ThingRows(place[known], rows[known], created[known]), also])


def _ends(log: GroupLog) -> I64:
    """int64: by group, the last record that removed or replaced it as a whole; -1 for none."""
    events = log.events
    ends = events.event == GroupEvent.CLASSIC
    ends |= (events.event == GroupEvent.GROUP) & ~events.is_put
    ends[log.state.refused] = False
    last = np.full(log.n_groups, -1, dtype=np.int64)
    np.maximum.at(last, events.group[ends], events.row[ends])
    return last


def classic_nodes(fields: Mapping[str, Any], raw: Mapping[str, Any]) -> Iterator[NodeFields]:
    """Nodes of a classic group, by the names below it: itself, its members, what they have.

    Args:
        fields: The fields of its record, as JSON.
        raw: The fields of its record, from `metashell.schema.rows.to_rows`.
    """
    yield _STATE, {"type": "classic"} | {n: each for n, each in fields.items() if n != "members"}
    speaks = fields.get("protocolType") == CONSUMER
    for member, inside in zip(fields.get("members") or (), raw["members"] or (), strict=True):
        name = str(member["memberId"])
        said = {key: each for key, each in member.items() if key not in _MEMBER_APART}
        subscription, assignment = (
            _nested(message, inside[part]) if speaks else None
            for part, message in MEMBER_BYTES.items()
        )
        if subscription is not None:
            said["subscribedTopicNames"] = subscription["topics"]
        yield ("members", name), said
        if assignment is not None:
            yield ("assignment", name), {"partitions": assignment["assignedPartitions"]}


def _nested(message: str, raw: bytes) -> Mapping[str, Any] | None:
    """A subscription or assignment; None where a coordinator can't read it."""
    found = decode_nested(message, raw)
    return None if found.version is None or found.version < 0 else found.data
