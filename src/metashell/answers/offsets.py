"""Committed offsets, as the log of a coordinator's partition has them: expiry and lag.

Committed offsets that stand still while their partition's log grows, and what is known of why.

Lag tools ask brokers for the end of a log and the last commit; here the history of commits tells
since when nothing moves, and the log how old the first record is that was not consumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.assume import NO_ASSUMPTIONS, Assumptions
from metashell.answers.config_defaults import BROKER, default_of
from metashell.answers.coordinator_tables import PartitionState
from metashell.answers.groups import members_table, partition_texts
from metashell.answers.topic_settings import positive_int
from metashell.dataclass import dataclass
from metashell.image.coordinators.group_log import GroupLog, last_moves, rebalances_since
from metashell.image.coordinators.record_tables import TIME, part_table, sorted_rows
from metashell.image.coordinators.subscriptions import NEVER, expire_times, says_itself
from metashell.image.fold import group_keys
from metashell.parts.coordinators.offsets import PART
from metashell.schema.arena import I64, Bools
from metashell.schema.arrow import number_array, string_array

RETENTION: Final = "offsets.retention.minutes"
"""The broker's config that says when offsets expire. It is read-only, so no log has it."""
COMMIT: Final = "COMMIT"
"""The source of a time that the commit says itself."""
_MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Retention:
    """How long committed offsets are kept."""

    ms: int
    source: str
    """Where that is from, as Kafka names the sources of configs."""


def retention_of(assumptions: Assumptions = NO_ASSUMPTIONS) -> Retention:
    """How long committed offsets are kept, as far as anybody says."""
    minutes = positive_int(assumptions.get(RETENTION) or "")
    if minutes is not None:
        return Retention(minutes * _MINUTE_MS, "STATIC_BROKER_CONFIG")
    minutes = positive_int(default_of(BROKER, RETENTION) or "")
    assert minutes is not None, RETENTION
    return Retention(minutes * _MINUTE_MS, "DEFAULT_CONFIG")


def offset_rows(state: PartitionState) -> pa.Table:
    """The rows of the table `offsets`; when they expire by Kafka's default."""
    return offsets_table(GroupLog(state.records, state.number))


def offsets_table(log: GroupLog, retention: Retention | None = None) -> pa.Table:
    """Committed offsets, by group, topic and partition: the columns of the part but those of lag.

    A key that has only a pending commit has a row with null for its offset.

    Args:
        log: The partition's log.
        retention: How long offsets are kept; None for Kafka's default.
    """
    retention = retention or retention_of()
    state, keys = log.offsets, log.commit_keys
    alone = ~np.isin(keys[state.pending], keys[state.last])
    _, first = np.unique(keys[state.pending[alone]], return_index=True)
    only = state.pending[alone][first]
    at = np.concatenate([state.last, only])
    lacks = np.arange(len(at)) >= len(state.last)
    never = np.full(len(only), NEVER)
    expires = np.concatenate([expire_times(log, retention.ms), never])
    sources = pa.array([COMMIT, retention.source], pa.string()).take(
        number_array(np.where(np.append(says_itself(log), never >= 0), 0, 1))
    )
    pending = np.isin(keys[at], keys[state.pending])
    return sorted_rows(PART, _rows(log, at, lacks, pending, expires, sources))


def commits_table(log: GroupLog) -> pa.Table:
    """Commits as they were written, one after the other: the columns of the part but those of lag.

    ``pending`` says that a commit is of a transaction, whose end decides. ``expire_time`` is what
    the commit says itself.
    """
    at = np.flatnonzero(~log.commits.is_tombstone)
    pending, expires = log.commits.producer[at] >= 0, log.commits.values(at).expire_ms
    none = np.zeros(len(at), dtype=np.bool_)
    return _rows(log, at, none, pending, expires, pa.repeat(COMMIT, len(at)))


def _rows(
    log: GroupLog, at: I64, lacks: Bools, pending: Bools, expires: I64, sources: pa.Array
) -> pa.Table:
    """A row for each of some commits; of those of `lacks` the key alone."""
    key, values = log.keys(at), log.commits.values(at)
    epochs = values.leader_epoch
    metadata = string_array(values.metadata).cast(pa.string())
    missing = pa.scalar(None, pa.string())
    return part_table(
        PART,
        key,
        offset=number_array(values.offset, ~lacks),
        leader_epoch=number_array(epochs, ~lacks & (epochs >= 0)),
        metadata=pc.if_else(number_array(lacks), missing, metadata),
        committed_time=number_array(values.time_ms, ~lacks, TIME),
        expire_time=expires,
        pending=pending,
        expire_source=pc.if_else(number_array(expires >= 0), sources, missing),
    )


def with_lag(
    offsets: pa.Table, ends_of: Callable[[str, int], tuple[int | None, int | None]] | None
) -> pa.Table:
    """Offsets with the columns ``log_end_offset``, ``lag`` and ``high_watermark``.

    Args:
        offsets: Rows without these columns.
        ends_of: Gives of a topic's partition where its log ends, and its high watermark; None for
            what is not known. Asked once for each. None: nothing is known.
    """
    if ends_of is None:
        for name in PART.asked_for:
            offsets = offsets.append_column(name, pa.nulls(len(offsets), pa.int64()))
        return offsets
    places = pa.table([offsets.column("topic"), offsets.column("partition")], ["topic", "of"])
    distinct = places.group_by(["topic", "of"]).aggregate([])
    ends = [
        ends_of(topic, partition)
        for topic, partition in zip(
            distinct.column("topic").to_pylist(), distinct.column("of").to_pylist(), strict=True
        )
    ]
    keys, known = (partition_texts(*each.columns) for each in (places, distinct))
    at = pc.index_in(keys, value_set=known)
    end, mark = (pa.array([pair[i] for pair in ends], pa.int64()).take(at) for i in range(2))
    lag = pc.subtract(end, offsets.column("offset").combine_chunks())
    table = offsets.append_column("log_end_offset", end)
    return table.append_column("lag", lag).append_column("high_watermark", mark)


def lag_by_group(offsets: pa.Table) -> pa.Table:
    """The lag of each group: ``group``, ``lag``, ``max_lag``, ``partitions``, ``not_counted``.

    ``lag`` and ``max_lag`` are null where no partition's lag is known; int64 like the counts.

    Args:
        offsets: Rows as `with_lag` gives them.
    """
    sums = offsets.group_by("group", use_threads=False).aggregate(
        [("lag", "sum"), ("lag", "max"), ("partition", "count"), ("lag", "count")]
    )
    n, known = sums.column("partition_count"), sums.column("lag_count")
    columns = [sums.column("group"), sums.column("lag_sum"), sums.column("lag_max"), n]
    names = ["group", "lag", "max_lag", "partitions", "not_counted"]
    return pa.table([*columns, pc.subtract(n, known)], names)


HOUR_MS: Final = 3_600_000

STALLED_SCHEMA: Final = pa.schema(
    [
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("lag", pa.int64()),
        ("lag_ms", pa.int64()),
        ("stalled_ms", pa.int64()),
        ("moved_time", TIME),
        ("why", pa.string()),
        ("log_end_offset", pa.int64()),
        ("repeats", pa.int64()),
        ("held", pa.bool_()),
        ("members", pa.int64()),
        ("idle_members", pa.int64()),
        ("rebalances", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class LogBehind:
    """The part of a partition's log behind some offsets."""

    end_offset: int
    """The log end offset."""
    end_ms: int
    """Time of the log's last batches, ms since the epoch."""
    first_ms: Sequence[int | None]
    """By offset, the time of the batch with the first record behind it; None for none."""
    open_offset: int | None = None
    """Where the oldest open transaction begins; None where none is open."""


LookBehind: TypeAlias = Callable[[str, int, Sequence[int]], LogBehind | None]
"""(topic, partition, offsets) -> what lies behind each; None where the log is not at hand."""


def stalled_table(
    log: GroupLog,
    look: LookBehind,
    end_ms: int,
    least_ms: int,
    wanted: Callable[[str], object] | None = None,
) -> pa.Table:
    """Offsets that stand still: columns of `STALLED_SCHEMA`.

    Args:
        log: The partition's log.
        look: Looks at the logs of topics' partitions, once at each.
        end_ms: The end of the logs, ms since the epoch; times are counted to it.
        least_ms: How long an offset must have stood still.
        wanted: Tells of a group's id whether it is looked at; None for all.
    """
    at, commits = log.offsets.last, log.commits
    moves = last_moves(log)
    moved_ms, offset = commits.values(moves.moved).time_ms, commits.values(at).offset
    # Offsets that moved since need no look-up.
    old = end_ms - moved_ms >= least_ms
    if wanted is not None:
        old &= _chosen(string_array(log.keys(at).group).cast(pa.string()), wanted)
    chosen = np.flatnonzero(old)
    behind = _behind(log, at[chosen], offset[chosen], look)
    since = np.maximum(behind.first_ms, moved_ms[chosen])
    kept = np.flatnonzero((behind.first_ms >= 0) & (end_ms - since >= least_ms))
    chosen, last = chosen[kept], at[chosen[kept]]
    ends, first_ms = behind.end_offset[kept], behind.first_ms[kept]
    key = log.keys(last)
    groups = string_array(key.group).cast(pa.string())
    members, idle = (_of_groups(counts, groups) for counts in _members(log))
    rebalances = rebalances_since(log, end_ms - HOUR_MS)[log.groups_of_commits(last)]
    repeats = moves.repeats[chosen]
    return pa.table(
        [
            groups,
            string_array(key.topic),
            pa.array(key.partition),
            pa.array(offset[chosen]),
            pa.array(ends - offset[chosen]),
            pa.array(np.maximum(behind.end_ms[kept] - first_ms, 0)),
            pa.array(end_ms - since[kept]),
            pa.array(moved_ms[chosen]).cast(TIME),
            _reasons(behind.is_held[kept], members, idle, rebalances, repeats),
            pa.array(ends),
            pa.array(repeats),
            pa.array(behind.is_held[kept]),
            pa.array(members),
            pa.array(idle),
            pa.array(rebalances),
        ],
        schema=STALLED_SCHEMA,
    )


@dataclass(slots=True)
class _Behind:
    """The log behind commits, an element each: int64, -1 where there is none.

    ``is_held``: bool, whether a transaction is open at the offset.
    """

    end_offset: I64
    end_ms: I64
    first_ms: I64
    is_held: Bools


def _behind(log: GroupLog, at: I64, offset: I64, look: LookBehind) -> _Behind:
    """Look at each partition once."""
    nothing = np.full(len(at), -1, dtype=np.int64)
    found = _Behind(nothing, nothing.copy(), nothing.copy(), np.zeros(len(at), dtype=np.bool_))
    key = log.keys(at)
    keys = group_keys([key.topic, key.partition], len(at))
    order = np.argsort(keys, kind="stable")
    bounds = np.flatnonzero(np.diff(keys[order])) + 1
    for places in np.split(order, bounds) if len(order) else ():
        one = int(places[0])
        end = look(key.topic.text(one) or "", int(key.partition[one]), offset[places].tolist())
        if end is not None:
            found.end_offset[places], found.end_ms[places] = end.end_offset, end.end_ms
            found.first_ms[places] = [-1 if time is None else time for time in end.first_ms]
            found.is_held[places] = offset[places] == end.open_offset
    return found


def _chosen(groups: pa.Array, wanted: Callable[[str], object]) -> Bools:
    """Which of the groups are looked at: each name is asked for once."""
    encoded = groups.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    hits = np.fromiter((bool(wanted(name)) for name in names), np.bool_, len(names))
    found: Bools = hits[encoded.indices.to_numpy()]
    return found


def _members(log: GroupLog) -> tuple[dict[str, int], dict[str, int]]:
    """How many members each group has, and how many of them without partitions."""
    table = members_table(log)
    sizes = pc.fill_null(pc.list_value_length(table.column("assigned")), 0)
    idle = table.filter(pc.equal(sizes, 0))
    return _counts(table.column("group")), _counts(idle.column("group"))


def _counts(names: pa.ChunkedArray) -> dict[str, int]:
    counted = pc.value_counts(names)
    values, counts = counted.field("values").to_pylist(), counted.field("counts").to_pylist()
    return dict(zip(values, counts, strict=True))


def _of_groups(counts: dict[str, int], groups: pa.Array) -> I64:
    encoded = groups.dictionary_encode()
    of = np.array([counts.get(name, 0) for name in encoded.dictionary.to_pylist()], np.int64)
    return of[encoded.indices.to_numpy()] if len(groups) else of


def _reasons(is_held: Bools, members: I64, idle: I64, rebalances: I64, repeats: I64) -> pa.Array:
    """The known reasons why each offset stands still."""
    columns = (is_held, members, idle, rebalances, repeats)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return pa.array([_why(*row) for row in rows], pa.string())


def _why(is_held: bool, members: int, idle: int, rebalances: int, repeats: int) -> str:
    reasons = ["a transaction is open there"] if is_held else []
    if not members:
        reasons.append("the group has no members")
    elif idle == members:
        reasons.append("no member has a partition")
    elif idle:
        reasons.append(f"{idle} of {members} members have no partition")
    if repeats:
        reasons.append(f"{_times(repeats, 'more commit')} of the same offset")
    elif members:
        reasons.append("no commit since")
    if rebalances > 1:
        reasons.append(f"{_times(rebalances, 'rebalance')} in the last hour")
    return "; ".join(reasons)


def _times(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
