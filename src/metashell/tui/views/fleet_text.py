"""The content of the fleet view: rows as they come, differences, and words for them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.fleet.columns import VERIFY_COLUMNS
from metashell.commands.rows.cell_colours import with_colours
from metashell.commands.rows.columns import text
from metashell.judgement.copies import DIFFERS, DIVERGED
from metashell.sources.engine import core_count
from metashell.sources.fleet.source import SMALL_BYTES

if TYPE_CHECKING:
    from metashell.sources.fleet.errors import FleetRow
    from metashell.sources.fleet.source import FleetSource

UNREAD: Final = "not read yet"
NOT_READ: Final = "unreadable"
FAULTY: Final = "faults"
HEALTHY: Final = "ok"
_WORST_FIRST: Final = {
    NOT_READ: "error",
    "offline-partitions": "offline",
    FAULTY: "faults",
    DIVERGED: None,
    DIFFERS: None,
    "under-min-isr": "under_min_isr",
    "under-replicated": "under_replicated",
    "fenced-broker": "fenced",
    HEALTHY: None,
    UNREAD: None,
}
"""States, in the words of `health` and of ``fleet --verify``, and the column that tells of each."""
_COUNTED: Final = tuple(name for name in _WORST_FIRST.values() if name not in (None, "error"))
_STATE: Final = text(
    "state",
    "",
    red=(NOT_READ, "offline-partitions", FAULTY, DIVERGED, DIFFERS, "under-min-isr"),
    yellow=("under-replicated", "fenced-broker"),
)
_COMPARED: Final = ("cluster_id", "metadata_version")
FLEET_COLUMNS: Final = (
    "cluster", "state", "verdict", "offline", "under_min_isr", "under_replicated", "fenced",
    "differs_in", "brokers", "topics",
    "partitions", "metadata_version", "offset", "time", "faults",
)  # fmt: skip
_VERDICT: Final = ("cluster", "verdict")
_COMPARISON: Final = (
    "verdict", "offset", "diverged_at", "epoch", "other_epoch", "checksum", "error",
)  # fmt: skip
"""Columns of ``fleet --verify`` that are told of a directory."""
_TELL_EVERY_S: Final = 0.25


def watched(
    fleet: FleetSource,
    tell: Callable[[int, int], None],
    came: Callable[[Sequence[FleetRow]], object] | None = None,
) -> FleetSource:
    """A copy of a fleet in its opened state, which reports rows while it computes them.

    The offset shown of a cluster does not matter: rows of different times are not compared.

    Args:
        fleet: The fleet, which is left as it is.
        tell: Called with (bytes done, bytes in all).
        came: Called with rows that came, now and then.
    """
    watching = fleet.as_opened()
    watching.progress = lambda: nullcontext(tell)
    if came is not None:
        watching.runner = _runner(fleet, came)
    return watching


def _runner(fleet: FleetSource, came: Callable[[Sequence[FleetRow]], object]) -> Any:
    names = {member.path: member for member in fleet.members.values()}

    def run(
        function: Callable[..., FleetRow],
        jobs: Sequence[tuple[object, ...]],
        weights: Sequence[int],
        stop: Callable[[], None],
    ) -> Iterator[tuple[int, FleetRow | None]]:
        told, waiting = time.monotonic(), list[Any]()
        for i, row in _results(fleet, function, jobs, weights, stop):
            if row is not None:
                member = names[str(jobs[i][0])]
                cluster_id = row.get("clusterId") or member.cluster_id
                waiting.append({"name": member.name, **row, "clusterId": cluster_id})
            if waiting and time.monotonic() - told >= _TELL_EVERY_S:
                came(waiting)
                told, waiting = time.monotonic(), []
            yield i, row

    return run


def _results(
    fleet: FleetSource,
    function: Callable[..., FleetRow],
    jobs: Sequence[tuple[object, ...]],
    weights: Sequence[int],
    stop: Callable[[], None],
) -> Iterator[tuple[int, FleetRow | None]]:
    from metashell.sources.fleet.pool import run_all

    if fleet.runner is not None:
        return fleet.runner(function, jobs, weights, stop)
    n_workers = core_count() if sum(weights) >= SMALL_BYTES else 1
    return run_all(function, jobs, n_workers, stop=stop)


def fleet_table(
    rows: pa.Table, unread: Collection[str] = (), verified: pa.Table | None = None
) -> pa.Table:
    """Rows of ``fleet``, the worst first, with the state of each directory and its differences.

    Args:
        rows: All columns.
        unread: Names of the directories that are being read.
        verified: The rows of ``fleet --verify``; None if it was not asked.
    """
    told = None if verified is None else [verified[name].to_pylist() for name in _VERDICT]
    verdicts = {} if told is None else dict(zip(*told, strict=True))
    counts = rows.select(["cluster", "error", *_COUNTED]).to_pylist()
    states = [_state(row, unread, verdicts) for row in counts]
    order = _worst_first(counts, states)
    rows, states = rows.take(order), [states[at] for at in order]
    table = rows.append_column("state", pa.array(states, pa.string()))
    differing = [differences(rows[name].to_pylist()) for name in _COMPARED]
    words = [
        ",".join(name for name, is_unlike in zip(_COMPARED, row, strict=True) if is_unlike)
        for row in zip(*differing, strict=True)
    ]
    if any(words):
        table = table.append_column("differs_in", pa.array(words, pa.string()))
    if verified is not None:
        at = pc.index_in(rows["cluster"], verified["cluster"].combine_chunks())
        for name in _COMPARISON:
            table = table.append_column(f"compared_{name}".replace("compared_verdict", "verdict"),
                                        verified[name].take(at))  # fmt: skip
    return with_colours(table, (_STATE, *(c for c in VERIFY_COLUMNS if c.name == "verdict")))


def _state(row: Mapping[str, Any], unread: Collection[str], verdicts: Mapping[str, str]) -> str:
    """The worst that is known of a directory, in a word."""
    name = row["cluster"]
    if name in unread:
        return UNREAD
    found = {verdicts.get(name), *(word for word, by in _WORST_FIRST.items() if by and row[by])}
    return next((word for word in _WORST_FIRST if word in found), HEALTHY)


def _worst_first(counts: Sequence[Mapping[str, Any]], states: Sequence[str]) -> list[int]:
    """Rows in order: by their state, then by how much of each there is, then by name."""
    ranks = {word: rank for rank, word in enumerate(_WORST_FIRST)}

    def key(at: int) -> tuple[int, list[int], str]:
        row = counts[at]
        found = [-int(row[column] or 0) for column in _COUNTED]
        return ranks[states[at]], found, row["cluster"]

    return sorted(range(len(counts)), key=key)


def differences(values: Sequence[object]) -> list[bool]:
    """Which values are unlike what more than half of those known are."""
    known = Counter(value for value in values if value is not None)
    if not known:
        return [False] * len(values)
    ((usual, n),) = known.most_common(1)
    if 2 * n <= known.total():
        return [False] * len(values)
    return [value is not None and value != usual for value in values]


def copies_words(rows: Sequence[Mapping[str, Any]]) -> str:
    """Copies of one cluster's log compared: who would win a vote, which is behind, by how much.

    Args:
        rows: The rows of ``quorum --copies``.
    """
    furthest = max(rows, key=lambda row: (row["log_epoch"] or -1, row["log_end_offset"] or 0))
    winners = [str(row["copy"]) for row in rows if row["can_win"]]
    told = [f"{len(rows)} copies of this cluster: " + (
        f"{' or '.join(winners)} would win a vote" if winners else "none would win a vote"
    )]  # fmt: skip
    for row in rows:
        end = row["log_end_offset"]
        n_behind = 0 if end is None else furthest["log_end_offset"] - end
        if end is None:
            told.append(f"{row['copy']} has no log")
        elif row["departs_at"] is not None:
            told.append(f"{row['copy']} has other records from offset {row['departs_at']} on")
        elif n_behind > 0:
            s = "s" * (n_behind != 1)
            told.append(f"{row['copy']} is {n_behind:,} record{s} behind {furthest['copy']}")
    if len(told) == 1:
        told.append("all end at the same record")
    return "; ".join(told)


def heading(table: pa.Table) -> str:
    """How many there are, and how they are."""
    states = Counter(table["state"].to_pylist())
    n = len(table)
    parts = [f"{n} director{'y' if n == 1 else 'ies'}"]
    parts += [f"{states[state]} {state}" for state in _WORST_FIRST if states[state]]
    clusters = {value for value in table["cluster_id"].to_pylist() if value is not None}
    parts.append(f"{len(clusters)} cluster{'' if len(clusters) == 1 else 's'}")
    return " · ".join(parts)
