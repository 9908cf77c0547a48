"""What the view of a fleet shows: rows as they come, what differs, and words for it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from copy import copy
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from metashell.tui.rows.drawn import with_columns

if TYPE_CHECKING:
    from metashell.sources.fleet import FleetSource
    from metashell.sources.fleet.rows import FleetRow

UNREAD: Final = "not read yet"
NOT_READ: Final = "unreadable"
FAULTY: Final = "faults"
SOUND: Final = "sound"
_COMPARED: Final = ("cluster_id", "metadata_version")
_FIRST: Final = (
    "cluster", "offline", "under_replicated", "fenced", "brokers", "topics", "partitions",
    "metadata_version", "offset", "time", "faults",
)  # fmt: skip
_TELL_EVERY_S: Final = 0.25


def watched(
    fleet: FleetSource,
    tell: Callable[[int, int], None],
    came: Callable[[Sequence[FleetRow]], object] | None = None,
) -> FleetSource:
    """The same fleet, which tells what it computes while it does.

    Args:
        fleet: The fleet, which is left as it is.
        tell: Called with (bytes done, bytes in all).
        came: Called with rows that came, now and then.
    """
    watching = copy(fleet)
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
    from metashell.sources.engine import core_count
    from metashell.sources.fleet.pool import run_all
    from metashell.sources.fleet.source import SMALL_BYTES

    if fleet.runner is not None:
        return fleet.runner(function, jobs, weights, stop)
    n_workers = core_count() if sum(weights) >= SMALL_BYTES else 1
    return run_all(function, jobs, n_workers, stop=stop)


def fleet_table(
    rows: pa.Table, unread: Collection[str] = (), verdicts: dict[str, str] | None = None
) -> pa.Table:
    """Rows of ``fleet`` with how each directory is in words, and what it has unlike most.

    Args:
        rows: All columns.
        unread: Names of those that are being read.
        verdicts: What ``fleet --verify`` said, by name; None where it was not asked.
    """
    rest = [name for name in rows.column_names if name not in _FIRST]
    table = rows.select([*_FIRST, *rest])
    names = rows["cluster"].to_pylist()
    states = [
        UNREAD if name in unread else NOT_READ if error else FAULTY if faults else SOUND
        for name, error, faults in zip(
            names, rows["error"].to_pylist(), rows["faults"].to_pylist(), strict=True
        )
    ]
    table = with_columns(table, ("state", "cluster", states))
    differing = [differences(rows[name].to_pylist()) for name in _COMPARED]
    words = [
        ",".join(name for name, is_unlike in zip(_COMPARED, row, strict=True) if is_unlike)
        for row in zip(*differing, strict=True)
    ]
    if any(words):
        table = with_columns(table, ("differs_in", "fenced", words))
    if verdicts is not None:
        told = [verdicts.get(name, "") for name in names]
        table = with_columns(table, ("verdict", "state", told))
    return table


def differences(values: Sequence[object]) -> list[bool]:
    """Which values are unlike what more than half of those known are."""
    known = Counter(value for value in values if value is not None)
    if not known:
        return [False] * len(values)
    ((usual, n),) = known.most_common(1)
    if 2 * n <= known.total():
        return [False] * len(values)
    return [value is not None and value != usual for value in values]


def heading(table: pa.Table) -> str:
    """How many there are, and how they are."""
    states = Counter(table["state"].to_pylist())
    n = len(table)
    parts = [f"{n} director{'y' if n == 1 else 'ies'}"]
    parts += [
        f"{states[state]} {state}" for state in (UNREAD, SOUND, FAULTY, NOT_READ) if states[state]
    ]
    clusters = {value for value in table["cluster_id"].to_pylist() if value is not None}
    parts.append(f"{len(clusters)} cluster{'' if len(clusters) == 1 else 's'}")
    return " · ".join(parts)
