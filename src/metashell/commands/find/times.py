"""The time tests of ``find``, answered for nodes by the rows of their last changes.

The outcomes of a query's tests for one node are a *code*: bit i is set where test i passes. Codes
are computed for whole grids at once (`metashell.commands.find.codes`), and `Expression.given` takes
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from metashell.commands.find.expression import Changed
from metashell.commands.framework.command import Context
from metashell.fs.node import Directory, Node
from metashell.log.time_spec import TimeSpec
from metashell.sources.log_clock import clock_of

if TYPE_CHECKING:
    from metashell.fs.touch_times import GridTimes
    from metashell.fs.walk import GridVisit
    from metashell.image.touched import Moment, Moments
    from metashell.schema.arena import I64
    from metashell.sources.source import Source

_ONE_BY_ONE: Final = 16
"""Nodes of a grid that are asked for their times singly."""
_READ_TOGETHER: Final = 1024


class TimeTests:
    """The time tests of a query, their points made offsets of one source.

    Args:
        context: For the warning that a point lies before what is known exactly.
        tests: The tests.
        moments: The moments of rows; None where nothing has times: then no test passes.
        source: Whose nodes are tested; None where nothing has times.

    Raises:
        NotCoveredError: A point lies behind the last record.
    """

    def __init__(
        self,
        context: Context,
        tests: Sequence[Changed],
        moments: Moments | None,
        source: Source | None,
    ) -> None:
        self._moments = moments if source is not None else None
        self._tests: list[tuple[int, bool, Any]] = []
        if moments is None or source is None:
            return
        for test in tests:
            bound = moments.bound(_reached(source, moments, test.time_spec))
            self._tests.append((test.index, test.before, bound))
        base = moments.base
        if base is not None and any(o is not None and o <= base for _, _, o in self._tests):
            context.warn(
                f"find: of what happened at or before checkpoint {base} it is not known more"
                " exactly when; such changes do not pass"
            )

    def codes(self, rows: I64) -> I64:
        """int64[n]: the code of each row, 0 for -1."""
        codes = np.zeros(len(rows), dtype=np.int64)
        for i, before, bound in self._tests:
            assert self._moments is not None
            passes = (self._moments.before if before else self._moments.since)(bound, rows)
            codes |= passes.astype(np.int64) << i
        return codes

    def code(self, node: Node | None) -> int:
        """The code of a node."""
        times = None if node is None or self._moments is None else node.times()
        if times is None or times.changed is None:
            return 0
        return int(self.codes(np.array([times.changed], dtype=np.int64))[0])


def last_change(node: Node | None, moments: Moments | None) -> Moment | None:
    """When a node was last changed; None where nothing is known."""
    times = None if node is None else node.times()
    if times is None or times.changed is None or moments is None:
        return None
    return moments.of([times.changed])[0]


class GridChanges:
    """When what is in a grid was last changed; where many are asked for, all around each.

    Args:
        visit: The grid.
        moments: The moments of rows; None where nothing has times.
    """

    def __init__(self, visit: GridVisit, moments: Moments | None) -> None:
        self._visit, self._moments = visit, moments
        self._n_asked = 0
        self._block: tuple[tuple[bool, int], list[Moment | None]] | None = None

    @cached_property
    def _times(self) -> GridTimes:
        return self._visit.grid.times()

    def of(self, i: int, leaf: int | None) -> Moment | None:
        """The last change of directory `i`, or of a leaf of it."""
        if self._moments is None:
            return None
        self._n_asked += 1
        if self._n_asked <= _ONE_BY_ONE:
            return last_change(node_in(self._visit, i, leaf), self._moments)
        times = self._times
        rows = times.directories if leaf is None else times.leaves
        at = i if leaf is None else int(times.bounds[i]) + leaf
        key = leaf is None, at - at % _READ_TOGETHER
        if self._block is None or self._block[0] != key:
            self._block = key, self._moments.of(rows[key[1] : key[1] + _READ_TOGETHER])
        return self._block[1][at - key[1]]


def node_in(visit: GridVisit, i: int, leaf: int | None) -> Node | None:
    """Directory `i` of a grid, or a leaf of it."""
    grid = visit.grid
    directory = visit.child(grid.names[i])
    if leaf is None or not isinstance(directory, Directory):
        return directory
    return directory.child(grid.shapes[grid.shape_of[i]][leaf])


def _reached(source: Source, moments: Moments, time_spec: TimeSpec) -> TimeSpec:
    """A point as an offset or a time that the log of some nodes has reached."""
    # Each of several logs ends elsewhere, maybe after the metadata log.
    has_one_log = not moments.has_many_logs or source.of_coordinator is not None
    if not has_one_log and not time_spec.is_relative:
        return time_spec

    clock = clock_of(source)
    if has_one_log:
        return clock.covered(time_spec)
    found = clock.resolve(time_spec)
    # The metadata log's last offset means nothing in others.
    return found if found.offset is None else TimeSpec(timestamp_ms=clock.end_ms or 0)
