"""Groups, one record after the other: slow, obvious, and for logs with records that are refused.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.replay.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.coordinators.group_events import (
    GroupEvent,
    GroupEvents,
    GroupsState,
    GroupType,
)
from metashell.schema.arena import I64

NO_EPOCH = -1
_REPLACE_SIMPLE = (GroupType.CONSUMER, GroupType.STREAMS)


@dataclass(slots=True)
class _Member:
    told: int = -1
    current: int = -1
    epoch: int = 0


@dataclass(slots=True)
class _Group:
    type: GroupType
    made: int
    is_simple: bool = False
    about: int = -1
    target_epoch: int = -1
    assignment_epoch: int = 0
    members: dict[int, _Member] = field(default_factory=dict)
    targets: dict[int, int] = field(default_factory=dict)


class _Refused(Exception):
    """A broker ends loading at this record."""


def replay_groups(events: GroupEvents, indexes: I64) -> GroupsState:
    """Replay some of the events, of all events of their groups.

    Args:
        events: All events.
        indexes: int64[k], ascending: those of the groups that are asked for.
    """
    groups: dict[int, _Group] = {}
    refused: list[int] = []
    for i in indexes.tolist():
        try:
            _apply(groups, events, i)
        except _Refused:
            refused.append(i)
    return _state(groups, refused)


def _apply(groups: dict[int, _Group], events: GroupEvents, i: int) -> None:
    key, event, is_put = int(events.group[i]), int(events.event[i]), bool(events.is_put[i])
    group = groups.get(key)
    if event == GroupEvent.COMMIT:
        if is_put and group is None:
            groups[key] = _Group(GroupType.CLASSIC, i, is_simple=True)
        return
    if event == GroupEvent.CLASSIC:
        if is_put:
            made = i if group is None else group.made
            is_simple = bool(events.is_simple[i])
            groups[key] = _Group(GroupType.CLASSIC, made, is_simple=is_simple, about=i)
        else:
            groups.pop(key, None)
        return
    kind = GroupType(int(events.type[i]))
    if group is None and not is_put:
        return
    if group is None:
        group = groups[key] = _Group(kind, i)
    elif group.type != kind:
        if not group.is_simple or kind not in _REPLACE_SIMPLE:
            raise _Refused
        group = groups[key] = _Group(kind, group.made)
    if event == GroupEvent.GROUP and not is_put:
        if group.members or group.targets or group.assignment_epoch != NO_EPOCH:
            raise _Refused
        del groups[key]
        return
    _change(group, events, i)


def _change(group: _Group, events: GroupEvents, i: int) -> None:
    event, is_put, member = int(events.event[i]), bool(events.is_put[i]), int(events.member[i])
    if event == GroupEvent.GROUP:
        group.about = i
    elif event == GroupEvent.MEMBER and is_put:
        group.members.setdefault(member, _Member()).told = i
    elif event == GroupEvent.MEMBER and member in group.members:
        if group.members[member].epoch != NO_EPOCH or member in group.targets:
            raise _Refused
        del group.members[member]
    elif event == GroupEvent.TARGET_EPOCH and is_put:
        group.target_epoch, group.assignment_epoch = i, int(events.epoch[i])
    elif event == GroupEvent.TARGET_EPOCH:
        if group.targets:
            raise _Refused
        group.target_epoch, group.assignment_epoch = -1, NO_EPOCH
    elif event == GroupEvent.TARGET and is_put:
        group.targets[member] = i
    elif event == GroupEvent.TARGET:
        group.targets.pop(member, None)
    elif event == GroupEvent.CURRENT and is_put:
        found = group.members.setdefault(member, _Member())
        found.current, found.epoch = i, int(events.epoch[i])
    elif event == GroupEvent.CURRENT and member in group.members:
        group.members[member].current, group.members[member].epoch = -1, NO_EPOCH


def _state(groups: dict[int, _Group], refused: list[int]) -> GroupsState:
    rows = [(g, x.type, x.made, x.about, x.target_epoch) for g, x in groups.items()]
    members = [
        (g, m, y.told, y.current, x.targets.get(m, -1))
        for g, x in groups.items()
        for m, y in x.members.items()
    ]
    of_groups = list(np.array(rows, dtype=np.int64).reshape(len(rows), 5).T)
    of_members = list(np.array(members, dtype=np.int64).reshape(len(members), 5).T)
    return GroupsState.of(of_groups, of_members, np.array(refused, dtype=np.int64))
