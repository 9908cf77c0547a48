"""The states of groups. They are not in the log; they follow from what is.

Source: ClassicGroup, ConsumerGroup.maybeUpdateGroupState, ShareGroup.maybeUpdateGroupState and
StreamsGroup.maybeUpdateGroupState.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.image.coordinators.group_events import GroupEvent, GroupType
from metashell.image.coordinators.group_log import GroupLog
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
    told = np.flatnonzero(
        (events.event == GroupEvent.OTHER) & (events.type == GroupType.STREAMS) & events.is_put
    )
    groups = log.state.group[at]
    known = told[np.isin(events.group[told], groups)]
    newest[np.searchsorted(groups, events.group[known])] = known
    topology, has = log.values(GroupEvent.OTHER, GroupType.STREAMS, newest)
    validated: Bools = has & (topology.fixed("epoch") == value.fixed("validated_topology_epoch"))
    return validated


def members_of(log: GroupLog, kind: GroupType) -> I64:
    """int64: which members are in groups of a type."""
    state = log.state
    return np.flatnonzero(np.isin(state.member_group, state.group[state.type == kind]))
