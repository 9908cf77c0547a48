"""The groups of records along the whole log of a source: for ``stats`` and for bars over the log.

Segments that the newest image does not need are read one at a time, so that memory is bounded by
the largest; what is in memory already is not read again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from metashell.errors import SourceError
from metashell.log.read import load, not_read
from metashell.places.vanished import VanishedError
from metashell.records.density import Axis, Density, density_of, extended, join
from metashell.records.records import Records
from metashell.sources.reduced import ReducedSource

if TYPE_CHECKING:
    from metashell.commands.rows.query import RowMapping
    from metashell.log.fault import Fault
    from metashell.schema.arena import I64
    from metashell.schema.model import Registry
    from metashell.sources.source import Source


def density_of_source(
    source: Source,
    cancelled: Callable[[], bool] = lambda: False,
    progress: Callable[[int, int], object] = lambda _done, _whole: None,
) -> Density:
    """Look at all of a source's log that time travel covers. Cost: frames it.

    Segments that vanished or can't be read add a fault and nothing else.

    Args:
        source: At any offset; all of its log is meant.
        cancelled: Asked before each file.
        progress: Called with (files done, files in all).

    Raises:
        KeyboardInterrupt: It was cancelled.
    """
    newest = source.newest
    log = newest.log
    has_frames = not isinstance(newest, ReducedSource)
    read = {file.name for file in log.loaded.files} if has_frames else set[str]()
    files = [] if log.is_file else [s for s in log.listing.segments if s.name not in read]
    end = -1 if log.is_file else first_offset(newest)
    parts: list[Density] = []

    def add(part: Density) -> None:
        nonlocal end
        parts.append(part)
        if len(part):
            end = int(part.last[-1])

    faults: list[Fault] = []
    for i, segment in enumerate(files):
        if cancelled():
            raise KeyboardInterrupt
        progress(i, len(files))
        try:
            loaded = load([log.path_of(segment.name)])
        except (SourceError, VanishedError) as error:
            faults.append(not_read(segment.name, error, segment.base_offset))
            continue
        add(density_of(Records(loaded, newest.registry), end, loaded.faults))
    if has_frames:
        add(density_of(newest.image.records, end, log.faults))
    density = join(parts)
    return replace(density, faults=(*faults, *density.faults)) if faults else density


def grown_density(density: Density, source: Source) -> Density | None:
    """The density of a newer state of the same source; None where all has to be looked at again.

    Cost: what is new.
    """
    if isinstance(source, ReducedSource):
        return None
    return extended(density, source.image.records)


def first_offset(source: Source) -> int:
    """The first offset that a source's files hold the state of; -1 for the one before all."""
    listing = source.log.listing
    lows = [c.end_offset - 1 for c in listing.checkpoints if not c.is_bootstrap]
    if listing.segments and listing.segments[0].base_offset == 0:
        lows.append(-1)
    return min(lows, default=-1)


def reach(source: Source, density: Density) -> tuple[int, int]:
    """First and last offset whose state can be shown."""
    newest = source.newest
    if isinstance(newest, ReducedSource):
        low, high = max(first_offset(newest), 0), -1  # its history would read everything
    else:
        low, high = newest.history.range()
    if len(density) and int(density.base[0]) <= low:
        low = int(density.last[0])  # the files begin within this batch, which counts whole
    return low, max([high, low, *density.last[-1:].tolist()])


def timeline_rows(density: Density, n: int, axis: Axis, registry: Registry) -> list[RowMapping]:
    """Equal parts of a log, and how many records of which group each holds.

    Args:
        density: The log's density.
        n: How many parts.
        axis: The measure in which parts are equally long.
        registry: Names the types.
    """
    if not len(density):
        return []
    along = density.passed if axis is Axis.TIME else density.last
    n = min(n, int(along[-1]) - int(along[0]) + 1)
    edges = density.edges(n, axis)
    by_group = density.by_group(edges, registry)
    groups = {group.value: counts.tolist() for group, counts in by_group.items()}
    elections = _counted(density, density.elections, edges)
    known = [fault.offset for fault in density.faults if fault.offset is not None]
    faults = _counted(density, np.array(known, dtype=np.int64), edges)
    starts = density.starts(n, axis)
    rows: list[RowMapping] = []
    for i, (first, end) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        is_empty = first == end
        rows.append(
            {
                "begin": starts[i],
                "first_offset": None if is_empty else int(density.base[first]),
                "last_offset": None if is_empty else int(density.last[end - 1]),
                "first_time": None if is_empty else int(density.time[first]),
                "last_time": None if is_empty else int(density.time[end - 1]),
                "records": sum(counts[i] for counts in groups.values()),
                **{name: counts[i] for name, counts in groups.items()},
                "elections": elections[i],
                "faults": faults[i],
            }
        )
    return rows


def _counted(density: Density, offsets: I64, edges: I64) -> list[int]:
    """How many of some offsets lie in each column; those outside count to the nearest one."""
    columns = density.columns_of(offsets, edges)
    counts: list[int] = np.bincount(columns, minlength=len(edges) - 1).tolist()
    return counts
