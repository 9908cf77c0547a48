"""Which groups and members exist after the last record of a group coordinator's log.

A group's records are of one type (consumer, share, streams), or say what a classic group is; a
commit makes a *simple* classic group where there is none. Some records a broker refuses: those of
another type, a tombstone of a member that still has an assignment, a tombstone of a group that
still has members. Groups that may have such a record are replayed, one record after the other; all
others are read off by columns.

A group's records fall into *terms*: each ends with a record that removes or replaces the group.

Groups, one record after the other: slow, obvious, and for logs with records that are refused.

Records of groups as events, whatever the group's type; what a fold makes of them.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.replay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields
from enum import IntEnum

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.fold import last_marked, sort_events
from metashell.schema.arena import I32, I64, AnyArray, Bools


class GroupType(IntEnum):
    """The types of a group."""

    CLASSIC = 0
    CONSUMER = 1
    SHARE = 2
    STREAMS = 3


class GroupEvent(IntEnum):
    """The subjects of a record."""

    COMMIT = 0
    """A commit of an offset, which makes a simple group where there is none."""
    CLASSIC = 1
    """A classic group as a whole, members included."""
    GROUP = 2
    MEMBER = 3
    TARGET_EPOCH = 4
    TARGET = 5
    """The target assignment of a member."""
    CURRENT = 6
    """The current assignment of a member."""
    OTHER = 7
    """A record that only shows that the group exists, such as a resolved regular expression."""


@dataclass(slots=True)
class GroupEvents:
    """Records of groups in the order of the log; every array has one element a record."""

    row: I64
    """int64: the order of replay, ascending."""
    group: I64
    """int64: equal for equal group ids, dense."""
    member: I64
    """int64: equal for equal members of a group, dense; -1 where no member is meant."""
    event: AnyArray
    """int8: `GroupEvent`."""
    type: AnyArray
    """int8: `GroupType`; CLASSIC for commits."""
    is_put: Bools
    """False for tombstones."""
    epoch: I32
    """int32: the member's epoch of `CURRENT`, the assignment's of `TARGET_EPOCH`; else 0."""
    is_simple: Bools
    """A classic group without protocol type and members."""


@dataclass(slots=True)
class GroupsState:
    """The groups and members that exist; indexes into the events given, -1 for none.

    Groups have ``group``, ``type``, ``made`` (the event that made it), ``about`` (the last
    `CLASSIC` or `GROUP`), ``target_epoch``. Members have ``member_group``, ``member``, ``written``
    (the last `MEMBER`), ``current``, ``target``. All int64.
    ``refused``: events that a broker refuses, ascending.
    """

    group: I64
    type: I64
    made: I64
    about: I64
    target_epoch: I64
    member_group: I64
    member: I64
    written: I64
    current: I64
    target: I64
    refused: I64

    @classmethod
    def of(cls, groups: Sequence[I64], members: Sequence[I64], refused: I64) -> GroupsState:
        """From the columns of groups and those of members, in the order in which they stand."""
        names = (each.name for each in fields(cls))
        return cls(**dict(zip(names, (*groups, *members, refused), strict=True)))


NO_EPOCH = -1
_REPLACE_SIMPLE = (GroupType.CONSUMER, GroupType.STREAMS)


@dataclass(slots=True)
class _Member:
    written: int = -1
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
        group.members.setdefault(member, _Member()).written = i
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
        (g, m, y.written, y.current, x.targets.get(m, -1))
        for g, x in groups.items()
        for m, y in x.members.items()
    ]
    of_groups = list(np.array(rows, dtype=np.int64).reshape(len(rows), 5).T)
    of_members = list(np.array(members, dtype=np.int64).reshape(len(members), 5).T)
    return GroupsState.of(of_groups, of_members, np.array(refused, dtype=np.int64))


def fold_groups(events: GroupEvents) -> GroupsState:
    """Read off what exists after all events; groups come by number, members by group."""
    if not len(events.row):
        return replay_groups(events, np.empty(0, dtype=np.int64))
    terms = _Terms(events)
    life = _Life(events, terms)
    doubtful = terms.doubtful | life.doubtful
    groups = np.zeros(int(events.group.max()) + 1, dtype=np.bool_)
    groups[events.group[doubtful]] = True
    nothing = np.empty(0, dtype=np.int64)
    sound = GroupsState.of(terms.state(groups), life.state(groups), nothing)
    if not doubtful.any():
        return sound
    replayed = replay_groups(events, np.flatnonzero(groups[events.group]))
    return _sorted(sound, replayed)


class _Terms:
    """The events in the order of their groups, and of which term each is.

    Every array has one element an event, in that order but for `doubtful`.
    """

    def __init__(self, events: GroupEvents) -> None:
        self.events = events
        self.by_group = sort_events(events.group, events.row)
        order = self.by_group.order
        self.event, self.type = events.event[order], events.type[order]
        self.is_put = events.is_put[order]
        self.is_modern: Bools = self.event >= GroupEvent.GROUP
        ends = self.event == GroupEvent.CLASSIC
        ends |= (self.event == GroupEvent.GROUP) & ~self.is_put
        self.ends: Bools = ends
        self.begin = self._before(ends)
        """int64[n]: the event that ended the term before; -1 in the first term of a group."""
        self.doubtful: Bools = np.zeros(len(order), dtype=np.bool_)
        self.doubtful[order] = self._wrong_type()

    def _before(self, marked: Bools) -> I64:
        """The nearest marked event of the group before each; -1 for none."""
        before = np.full(len(marked), -1, dtype=np.int64)
        before[1:] = last_marked(self.by_group, marked)[:-1]
        before[before < self.by_group.first] = -1
        return before

    def before(self, marked: Bools) -> I64:
        """The nearest marked event of the term before each; -1 for none."""
        before = self._before(marked)
        return np.where(before > self.begin, before, -1)

    def begins_with(self, marked: Bools) -> Bools:
        """Whether each event's term was begun by a marked one."""
        return (self.begin >= 0) & marked[self.begin]

    def _wrong_type(self) -> Bools:
        """Events of a type that the group may not have: bool[n]."""
        is_simple = self.events.is_simple[self.by_group.order]
        is_classic = (self.event == GroupEvent.CLASSIC) & self.is_put
        other = self.before(self.is_modern)
        wrong = (other >= 0) & (self.type[other] != self.type)
        wrong |= self.begins_with(is_classic & ~is_simple)
        commit = self.before((self.event == GroupEvent.COMMIT) & self.is_put) >= 0
        simple = self.begins_with(is_classic & is_simple) | commit
        first = self.before(self.is_modern & self.is_put) < 0
        replaces = self.is_put & np.isin(self.type, (GroupType.CONSUMER, GroupType.STREAMS))
        wrong |= first & simple & ~replaces
        found: Bools = wrong & self.is_modern
        return found

    def state(self, left_out: Bools) -> list[I64]:
        """The columns of `GroupsState` that are about groups."""
        events, last = self.by_group, self.by_group.last
        order = events.order
        end = last_marked(events, self.ends)[last]
        modern = _behind(last_marked(events, self.is_modern & self.is_put)[last], end)
        commit = (self.event == GroupEvent.COMMIT) & self.is_put
        is_classic = (end >= 0) & (self.event[end] == GroupEvent.CLASSIC) & self.is_put[end]
        simple = _behind(last_marked(events, commit)[last], end) >= 0
        exists = (modern >= 0) | is_classic | simple
        creates = commit | (self.is_put & (self.event >= GroupEvent.CLASSIC))
        gone = last_marked(events, self.ends & ~self.is_put)[last]
        starts = np.maximum(gone + 1, events.first[last])
        creators = np.flatnonzero(creates)
        made = (
            creators[np.minimum(np.searchsorted(creators, starts), len(creators) - 1)]
            if len(creators)
            else starts
        )
        is_group = (self.event == GroupEvent.GROUP) & self.is_put
        about = _behind(last_marked(events, is_group)[last], end)
        about = np.where((modern < 0) & is_classic, end, about)
        epoch = _behind(last_marked(events, self.event == GroupEvent.TARGET_EPOCH)[last], end)
        epoch = np.where((epoch >= 0) & self.is_put[epoch], epoch, -1)
        group = self.events.group[order[last]]
        kept = np.flatnonzero(exists & ~left_out[group])
        kinds = np.where(modern >= 0, self.type[modern], GroupType.CLASSIC).astype(np.int64)
        places = (made, about, epoch)
        return [group[kept], kinds[kept], *(_indexes(order, at[kept]) for at in places)]


class _Life:
    """The lives of members: their events in the order of their terms and members."""

    def __init__(self, events: GroupEvents, terms: _Terms) -> None:
        self.events, self.terms = events, terms
        n = len(events.row)
        self.rank = np.empty(n, dtype=np.int64)
        """int64[n]: where each event stands among those of `_Terms`."""
        self.rank[terms.by_group.order] = np.arange(n)
        self.chosen = np.flatnonzero(events.member >= 0)
        chosen = self.chosen
        begin = terms.begin[self.rank[chosen]]
        pairs = np.stack([events.member[chosen], begin], axis=1)
        keys = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        self.by_member = sort_events(keys, events.row[chosen])
        order = self.order = chosen[self.by_member.order]
        self.event, self.is_put = events.event[order], events.is_put[order]
        self.begin = begin[self.by_member.order]
        self.is_member: Bools = self.event == GroupEvent.MEMBER
        self.is_current: Bools = self.event == GroupEvent.CURRENT
        self.is_target: Bools = self.event == GroupEvent.TARGET
        self.creates: Bools = (self.is_member | self.is_current) & self.is_put
        self.removes: Bools = self.is_member & ~self.is_put
        self.removed = self.before(self.removes)
        """int64[k]: the removal before each event."""
        self.exists = self.before(self.creates) > self.removed
        target = self.before(self.is_target)
        self.has_target: Bools = (target >= 0) & self.is_put[target]
        self.doubtful: Bools = np.zeros(n, dtype=np.bool_)
        self.doubtful[order] = self._removed_too_early()
        self.doubtful[terms.by_group.order] |= self._ended_too_early()

    def before(self, marked: Bools) -> I64:
        """The nearest marked event of the member and term before each; -1 for none."""
        before = np.full(len(marked), -1, dtype=np.int64)
        before[1:] = last_marked(self.by_member, marked)[:-1]
        return np.where(before >= self.by_member.first, before, -1)

    def _removed_too_early(self) -> Bools:
        """Tombstones of members that may still have an assignment."""
        current = self.before(self.is_current)
        epoch = self.events.epoch[self.order]
        left = self.is_put[current] & (epoch[current] == NO_EPOCH)
        left |= ~self.is_put[current] & self.exists[current]
        left &= current > self.removed
        early: Bools = self.removes & self.exists & (~left | self.has_target)
        return early

    def _ended_too_early(self) -> Bools:
        """Tombstones of groups and of target epochs while there may be members or targets."""
        terms = self.terms
        made = (self.creates & ~self.exists).astype(np.int64) - (self.removes & self.exists)
        members = self._count(made)
        targets = self._count(
            (self.is_target & self.is_put & ~self.has_target).astype(np.int64)
            - (self.is_target & ~self.is_put & self.has_target)
        )
        is_epoch = terms.event == GroupEvent.TARGET_EPOCH
        there = terms.before(terms.is_modern & terms.is_put) >= 0
        epoch = terms.before(is_epoch)
        value = self.events.epoch[terms.by_group.order]
        ended = (epoch >= 0) & np.where(terms.is_put[epoch], value[epoch] == NO_EPOCH, there[epoch])
        ends = (terms.event == GroupEvent.GROUP) & ~terms.is_put & there
        wrong: Bools = ends & ((members > 0) | (targets > 0) | ~ended)
        wrong |= is_epoch & ~terms.is_put & there & (targets > 0)
        return wrong

    def _count(self, change: I64) -> I64:
        """How many there are in its term before each event of `_Terms`."""
        n = len(self.rank)
        changes = np.zeros(n, dtype=np.int64)
        changes[self.rank[self.order]] = change
        total = np.concatenate([[0], np.cumsum(changes)])
        first = np.maximum(self.terms.begin + 1, self.terms.by_group.first)
        counts: I64 = total[:-1] - total[first]
        return counts

    def state(self, left_out: Bools) -> list[I64]:
        """The columns of `GroupsState` that are about members."""
        events, last = self.by_member, self.by_member.last
        terms = self.terms
        group = self.events.group[self.order[last]]
        ends = np.full(len(left_out), -1, dtype=np.int64)
        at = terms.by_group.last
        ends[self.events.group[terms.by_group.order[at]]] = last_marked(terms.by_group, terms.ends)[
            at
        ]
        removed = last_marked(events, self.removes)[last]
        exists = last_marked(events, self.creates)[last] > removed
        written = _behind(last_marked(events, self.is_member)[last], removed)
        current = _behind(last_marked(events, self.is_current)[last], removed)
        target = last_marked(events, self.is_target)[last]
        kept = np.flatnonzero(exists & (self.begin[last] == ends[group]) & ~left_out[group])
        found = [
            np.where((at >= 0) & self.is_put[at], at, -1)[kept] for at in (written, current, target)
        ]
        return [
            group[kept],
            self.events.member[self.order[last[kept]]],
            *(_indexes(self.order, at) for at in found),
        ]


def _behind(at: I32, end: I32) -> I32:
    """Places behind others; -1 for the rest."""
    return np.where(at > end, at, -1)


def _indexes(order: I32 | I64, at: I32 | I64) -> I64:
    """Events at places of an order; -1 for none."""
    return np.where(at >= 0, order[at], np.int64(-1))


def _sorted(sound: GroupsState, replayed: GroupsState) -> GroupsState:
    """Both, groups by number and members by group and number."""
    names = [each.name for each in fields(GroupsState)]
    joined = {
        name: np.concatenate([getattr(sound, name), getattr(replayed, name)]) for name in names
    }
    by_group = np.argsort(joined["group"], kind="stable")
    by_member = np.lexsort((joined["member"], joined["member_group"]))
    for name in names[:5]:
        joined[name] = joined[name][by_group]
    for name in names[5:10]:
        joined[name] = joined[name][by_member]
    return GroupsState(**joined)
