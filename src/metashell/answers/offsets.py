"""Committed offsets, as the log of a coordinator's partition has them: expiry and lag."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.answers.assume import NO_ASSUMPTIONS, Assumptions
from metashell.answers.config_defaults import BROKER, default_of
from metashell.answers.coordinator_tables import PartitionState
from metashell.answers.groups import partition_texts
from metashell.answers.topic_settings import positive_int
from metashell.dataclass import dataclass
from metashell.image.coordinators.group_log import GroupLog
from metashell.image.coordinators.subscriptions import NEVER, expire_times, says_itself
from metashell.image.coordinators.surviving import TIME, part_table, sorted_rows
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
