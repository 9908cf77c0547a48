"""The state of one partition of ``__consumer_offsets``: its groups, members and committed offsets.

Nothing is decoded before it is asked for: offsets leave the records of groups alone.

The history of commits: since when an offset stands still, how often groups rebalance.

Compaction removes older commits of a key, so a history may begin late; it never ends early.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.coordinators.commits import (
    COMMIT_KEY,
    COMMITS,
    CommitKeys,
    Commits,
    NumberedCommits,
    OffsetsState,
    commit_outcomes,
    fold_offsets,
    number_commits,
)
from metashell.image.coordinators.groups import (
    GroupEvent,
    GroupEvents,
    GroupsState,
    GroupType,
    fold_groups,
)
from metashell.image.fold import find_sorted, group_keys, last_marked, sort_events
from metashell.image.keyed import join_spans
from metashell.lazy import lazy
from metashell.log.fault import Fault, FaultKind
from metashell.parts.coordinators import groups, members, offsets
from metashell.parts.spec import Put
from metashell.records.keyed_records import KeyedColumns, KeyedRecords
from metashell.records.log_records import MAX_FAULTS
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.columnar import default_columns
from metashell.schema.columns import Columns, SpanColumn, merge_columns

STOPS_HERE: Final = "a broker stops here"
REFUSED: Final = "the group has another type, or still has members or assignments"
"""Why replay throws at a record. Source: GroupMetadataManager.replay."""
REPEATED: Final = "a member is listed twice, and others behind it"
"""Why a classic group is refused. Source: ClassicGroup.add, which then finds no common protocol."""
_CLASSIC: Final = "GroupMetadata"


@dataclass(frozen=True, slots=True)
class _GroupRecord:
    """A type of records about groups."""

    name: str
    event: GroupEvent
    type: GroupType
    epoch: str
    """The field with the epoch that matters; empty for none."""
    group_field: str
    """The field of the key with the group's id."""


_EVENTS: Final = {
    "Metadata": (GroupEvent.GROUP, ""),
    "MemberMetadata": (GroupEvent.MEMBER, ""),
    "TargetAssignmentMetadata": (GroupEvent.TARGET_EPOCH, "assignment_epoch"),
    "TargetAssignmentMember": (GroupEvent.TARGET, ""),
    "CurrentMemberAssignment": (GroupEvent.CURRENT, "member_epoch"),
}
"""The subject of a record, and the field with its epoch, by the end of its name."""


def _group_record(put: Put) -> _GroupRecord:
    """The type of records that a part declares, such as ``ConsumerGroupMetadata``."""
    field = put.at.partition("}")[0][1:]
    if put.whole or put.message in COMMITS:
        event = GroupEvent.CLASSIC if put.whole else GroupEvent.COMMIT
        return _GroupRecord(put.message, event, GroupType.CLASSIC, "", field)
    kind, _, end = put.message.partition("Group")
    event, epoch = _EVENTS.get(end, (GroupEvent.OTHER, ""))
    return _GroupRecord(put.message, event, GroupType[kind.upper()], epoch, field)


_GROUP_RECORDS: Final = [
    _group_record(put) for each in (groups, members, offsets) for put in each.PART.puts
]
GROUP_TYPES: Final = frozenset(kind.name for kind in _GROUP_RECORDS)
"""Types of records that decide which groups there are and what is known of them."""


class GroupLog:
    """The state of a group coordinator's partition after some of its records.

    Args:
        records: The records of its log.
        partition: Which partition of ``__consumer_offsets`` it is.
    """

    def __init__(self, records: KeyedRecords, partition: int) -> None:
        self.records = records
        self.lock = records.lock
        self.partition = partition

    @lazy
    def commits(self) -> Commits:
        """All commits."""
        records = self.records
        newest, legacy = (records.sound_rows(name) for name in COMMITS)
        rows = np.sort(np.concatenate([newest, legacy])) if len(legacy) else newest
        is_tombstone = records.frames.value_size[rows] < 0
        return Commits(records, rows, is_tombstone, records.frames.producer_ids(rows))

    @lazy
    def _keys(self) -> NumberedCommits:
        """The keys of commits, numbered."""
        return number_commits(self.commits)

    @property
    def commit_keys(self) -> I64:
        """int64[n]: equal for commits of equal group, topic and partition; dense."""
        return self._keys.numbers

    def keys(self, at: I64) -> CommitKeys:
        """The keys of some commits. Cost: the keys of all commits are numbered first."""
        numbered = self._keys
        return numbered.keys.take(numbered.numbers[at])

    @lazy
    def offsets(self) -> OffsetsState:
        """Which of the commits hold, and which are pending."""
        commits, ends = self.commits, self.records.markers
        return fold_offsets(
            self.commit_keys, commits.rows, commits.producer, commits.is_tombstone, ends
        )

    @lazy
    def _others(self) -> list[tuple[_GroupRecord, KeyedColumns]]:
        """The records about groups beside commits, of types that have a record."""
        records = self.records
        known = [each for each in _GROUP_RECORDS if each.name in records.types.by_name]
        things = [each for each in known if each.event != GroupEvent.COMMIT]
        there = [each for each in things if records.rows(each.name).size]
        return [(each, records.columns(each.name)) for each in there]

    @lazy
    def _group_numbers(self) -> tuple[I64, I64]:
        """The group of each record of `_others`, one part behind the other, and of each key."""
        of_keys = self._keys.keys.group
        spans = [columns.key.span(kind.group_field) for kind, columns in self._others]
        joined = join_spans(*spans, of_keys)
        n = len(joined.starts)
        numbers = group_keys([joined], n)
        return numbers[: n - len(of_keys.starts)], numbers[n - len(of_keys.starts) :]

    def groups_of_commits(self, at: I64) -> I64:
        """The group numbers of commits, as `events` has them."""
        numbers: I64 = self._group_numbers[1][self.commit_keys[at]]
        return numbers

    def groups_of_rows(self, rows: I64) -> I64:
        """The group numbers of records, which are commits or in `events`."""
        commits, events = self.commits.rows, self.events
        at = find_sorted(commits, rows)
        is_commit = at >= 0
        numbers = np.empty(len(rows), dtype=np.int64)
        numbers[is_commit] = self.groups_of_commits(at[is_commit])
        numbers[~is_commit] = events.group[np.searchsorted(events.row, rows[~is_commit])]
        return numbers

    @lazy
    def _telling_commits(self) -> I64:
        """Commits that can make a group: the first of those between other records of the group.

        The others find the group there, and most records of a log are such commits.
        """
        rows, is_tombstone = self.commits.rows, self.commits.is_tombstone
        numbers, firsts = self.commit_keys, self._keys.firsts
        of_others, of_keys = self._group_numbers
        others = np.concatenate([columns.rows for _, columns in self._others] or [firsts[:0]])
        span = len(self.records.frames) + 1
        ends = np.sort(of_others * span + others)
        n_groups = max(int(each.max(initial=-1)) for each in self._group_numbers) + 1
        newest = np.full(n_groups, -1, dtype=np.int64)
        newest[ends // span] = ends % span
        # Mostly no commit of a key is a tombstone, and all stand behind all others of the group:
        # then only the first may tell.
        several = rows[firsts] < newest[of_keys]
        several[numbers[is_tombstone]] = True
        puts = firsts[~several]
        if len(puts) < len(firsts):
            puts = np.concatenate([puts, np.flatnonzero(several[numbers] & ~is_tombstone)])
        puts.sort()  # Keys are not numbered in the order of their first commits everywhere.
        group, rows = of_keys[numbers[puts]], rows[puts]
        before = np.searchsorted(ends, np.arange(1, n_groups + 1) * span)[group]
        early = np.flatnonzero(rows < newest[group])
        before[early] = np.searchsorted(ends, group[early] * span + rows[early])
        # Neither goes down where the other goes up, so the sum tells both.
        stretch = group + before
        first = np.full(int(stretch.max(initial=-1)) + 1, -1, dtype=np.int64)
        first[stretch[::-1]] = puts[::-1]
        return np.sort(first[first >= 0])

    @lazy
    def _parts(self) -> list[tuple[_GroupRecord, KeyedColumns]]:
        """The records of `events`, by type."""
        rows, found = self.commits.rows[self._telling_commits], list(self._others)
        number = self.records.frames.api_key[rows]
        for kind in _GROUP_RECORDS:
            if kind.event == GroupEvent.COMMIT:
                these = rows[number == self.records.types.by_name[kind.name].number]
                found.append((kind, self.records.decode(kind.name, these, COMMIT_KEY, ())))
        return found

    @lazy
    def _order(self) -> I64:
        """The permutation of all records of `_parts`, part by part, into the log's order."""
        return np.argsort(np.concatenate([c.rows for _, c in self._parts]), kind="stable")

    @lazy
    def _places(self) -> tuple[I64, I64]:
        """For each event, by row: the index of its part in `_parts`, and its place there."""
        sizes = [len(columns) for _, columns in self._parts]
        part = np.repeat(np.arange(len(sizes)), sizes)
        place = np.concatenate([np.arange(size) for size in sizes])
        return part[self._order], place[self._order]

    @lazy
    def group_names(self) -> SpanColumn:
        """The group of each event."""
        return self._joined([columns.key.span(kind.group_field) for kind, columns in self._parts])

    @lazy
    def _member_names(self) -> SpanColumn:
        """The member of each event; the group where there is none."""
        fields = [(kind, "member_id" in columns.key.fields) for kind, columns in self._parts]
        names = ["member_id" if is_there else kind.group_field for kind, is_there in fields]
        parts = zip(self._parts, names, strict=True)
        return self._joined([columns.key.span(name) for (_, columns), name in parts])

    def _joined(self, parts: Sequence[SpanColumn]) -> SpanColumn:
        """A column of all parts, in the order of the log."""
        return join_spans(*parts).take(self._order)

    @lazy
    def events(self) -> GroupEvents:
        """All that tells of groups, in the order of the log; commits that change nothing are left
        out.
        """
        part = self._places[0]
        n = len(part)
        joined: dict[str, list[AnyArray]] = {"row": [], "put": [], "epoch": [], "simple": []}
        for kind, columns in self._parts:
            joined["row"].append(columns.rows)
            joined["put"].append(~columns.is_tombstone)
            epochs = columns.value.fixed(kind.epoch) if kind.epoch else np.zeros(len(columns))
            joined["epoch"].append(np.where(columns.is_tombstone, 0, epochs).astype(np.int32))
            joined["simple"].append(_is_simple(kind, columns))
        of = {name: np.concatenate(parts)[self._order] for name, parts in joined.items()}
        events = np.array([kind.event for kind, _ in self._parts], dtype=np.int8)[part]
        numbers, of_keys = self._group_numbers
        commits = np.searchsorted(self.commits.rows, np.concatenate(joined["row"])[len(numbers) :])
        group = np.concatenate([numbers, of_keys[self.commit_keys[commits]]])[self._order]
        has_member = np.isin(events, (GroupEvent.MEMBER, GroupEvent.TARGET, GroupEvent.CURRENT))
        member = np.full(n, -1, dtype=np.int64)
        chosen = np.flatnonzero(has_member)
        if chosen.size:
            member[chosen] = group_keys(
                [group[chosen], self._member_names.take(chosen)], len(chosen)
            )
        types = np.array([kind.type for kind, _ in self._parts], dtype=np.int8)[part]
        return GroupEvents(
            of["row"], group, member, events, types, of["put"], of["epoch"], of["simple"]
        )

    @property
    def n_groups(self) -> int:
        """How many different groups the events name, also those that are gone."""
        return int(self.events.group.max(initial=-1)) + 1

    @lazy
    def state(self) -> GroupsState:
        """Which groups and members there are: indexes of `events`."""
        return fold_groups(self.events)

    def values(self, event: GroupEvent, type: GroupType, at: I64) -> tuple[Columns, Bools]:
        """Values of the records that some events are.

        Args:
            event: The subject of the records.
            type: The type of the groups.
            at: int64[k], indexes of `events`, -1 for none.

        Returns:
            (k values, which of them are there: those of others hold their defaults).
        """
        kind = next(each for each in _GROUP_RECORDS if each.event == event and each.type == type)
        parts = {each.name: (i, columns) for i, (each, columns) in enumerate(self._parts)}
        part, place = self._places
        has = np.zeros(len(at), dtype=np.bool_)
        if kind.name in parts and len(part):
            has = (at >= 0) & (part[at] == parts[kind.name][0])
        there, missing = np.flatnonzero(has), np.flatnonzero(~has)
        spec = self.records.types.by_name[kind.name].value
        if not there.size:
            return default_columns(self.records.frames.arena, spec, len(at)), has
        pieces = [(there, parts[kind.name][1].value.take(place[at[there]]))]
        if missing.size:
            nothing = default_columns(self.records.frames.arena, spec, len(missing))
            pieces.insert(0, (missing, nothing))
        return merge_columns(pieces)[1], has

    @property
    def types_by_key(self) -> Sequence[str]:
        """Types of which the last record of each key counts, whatever else is there."""
        events = (GroupEvent.OTHER, GroupEvent.TARGET)
        return [kind.name for kind, _ in self._parts if kind.event in events]

    @lazy
    def refused(self) -> list[tuple[int, str]]:
        """The rows of records at which a broker stops in replay, `MAX_FAULTS` at most, and why."""
        by_state = self.events.row[self.state.refused][:MAX_FAULTS].tolist()
        reasons = dict.fromkeys(by_state, REFUSED)
        reasons |= dict.fromkeys(self._repeating_members()[:MAX_FAULTS].tolist(), REPEATED)
        return sorted(reasons.items())[:MAX_FAULTS]

    def _repeating_members(self) -> I64:
        """Rows of classic groups with a member that is listed twice, not counting the last one."""
        found = self.records.columns(_CLASSIC)
        members = found.value.structs("members")
        several = np.flatnonzero(members.counts > 2)
        if not several.size:
            return found.rows[:0]
        listed = members.take(several)
        of = np.repeat(np.arange(len(several)), listed.counts)
        first = np.ones(len(of), dtype=np.bool_)
        first[listed.list_offsets[1:] - 1] = False
        of, names = of[first], listed.items.span("member_id").take(np.flatnonzero(first))
        one_each = np.unique(group_keys([of, names], len(of)), return_index=True)[1]
        distinct = np.bincount(of[one_each], minlength=len(several))
        rows: I64 = found.rows[several[distinct < listed.counts - 1]]
        return rows

    def refusals(self) -> list[Fault]:
        """Records at which a broker stops because of what groups are, or were before them."""
        found = []
        for row, reason in self.refused:
            offset = int(self.records.frames.offset[row])
            name, position = self.records.file_of(row).name, self.records.batch_position(row)
            text = f"{STOPS_HERE}: {reason}"
            found.append(Fault(FaultKind.REPLAY, text, name, position, offset))
        return found

    def names(self, at: I64) -> SpanColumn:
        """The groups of the events given."""
        return self.group_names.take(at)

    def member_names(self, at: I64) -> SpanColumn:
        """The members of the events given."""
        return self._member_names.take(at)


def _is_simple(kind: _GroupRecord, columns: KeyedColumns) -> Bools:
    """Classic groups without protocol type and members. Source: ClassicGroup.isSimpleGroup."""
    if kind.event != GroupEvent.CLASSIC:
        return np.zeros(len(columns), dtype=np.bool_)
    none = columns.value.span("protocol_type").counts <= 0
    simple: Bools = none & (columns.value.structs("members").counts <= 0)
    return simple


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
