"""The rows of ``offsets``: committed offsets, their lag, or offsets that stand still."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import pyarrow as pa

from metashell.answers.coordinator_tables import PartitionState
from metashell.answers.offsets import (
    Retention,
    lag_by_group,
    offsets_table,
    retention_of,
    stalled_table,
    with_lag,
)
from metashell.commands.rows.query import RowsQuery
from metashell.commands.shared.assume_option import assumptions_of
from metashell.commands.shared.coordinator_logs import QueryReport, coordinator_rows
from metashell.commands.shared.partition_logs import needs_partition_logs
from metashell.errors import UsageError
from metashell.fs.pattern import Pattern
from metashell.image.coordinators.group_log import GroupLog
from metashell.parts.coordinators.offsets import PART
from metashell.sources.partition_ends import PartitionEnds, latest_ms

_LEAST_MS: Final = 60_000


def answer(query: RowsQuery) -> None:
    """Add the offsets in every partition."""
    switches = query.parsed.switches
    sums = "--summary" in switches
    if sums and "--lag" not in switches:
        raise UsageError("--summary goes with --lag", hint="write offsets --lag --summary")
    if "--stalled" in switches:
        if "--lag" in switches:
            raise UsageError("--stalled and --lag exclude each other")
        ends = _ends(query)
        answer: Callable[..., pa.Table] = partial(_stalled, query, ends)
        what = "group with offsets that stand still"
    else:
        ends = None
        if "--lag" in switches:
            ends = _ends(query)
        answer = partial(_offsets, ends, retention_of(assumptions_of(query.parsed)), sums)
        what = "group with offsets"
    coordinator_rows(query, PART, what, answer)
    # Lag is looked up for all groups, whatever the words choose of them.
    counts = "--stalled" in switches or not query.parsed.arguments
    if ends is not None and ends.n_missing and counts:
        query.remarks.append(f"partitions whose logs are not here: {ends.n_missing}")


def _ends(query: RowsQuery) -> PartitionEnds:
    """Where the logs of partitions in the log directory end."""
    return PartitionEnds(needs_partition_logs(query), QueryReport(query))


def _offsets(
    ends: PartitionEnds | None,
    retention: Retention,
    sums: bool,
    state: PartitionState,
) -> pa.Table:
    table = offsets_table(GroupLog(state.records, state.number), retention)
    table = with_lag(table, None if ends is None else ends.ends_of)
    return lag_by_group(table) if sums else table


def _stalled(query: RowsQuery, ends: PartitionEnds, state: PartitionState) -> pa.Table:
    log = GroupLog(state.records, state.number)
    newest = int(log.commits.values(log.offsets.last).time_ms.max(initial=-1))
    end_ms = max(latest_ms(query.source), newest)
    return stalled_table(log, ends.behind, end_ms, _LEAST_MS, _wanted(query.parsed.arguments))


def _wanted(words: list[str]) -> Callable[[str], object] | None:
    """Tells whether a word names a group; None where there is no word."""
    if not words:
        return None
    matches = [Pattern(word).match for word in words]
    return lambda name: any(match(name) for match in matches)
