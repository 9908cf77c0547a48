"""The time tests of ``find``, answered for nodes by the rows of their last changes.

What the tests of a query say of one node is a *code*: bit i is set where test i passes. Codes are
computed for whole grids at once (`metashell.commands.find.codes`), and `Expression.given` takes
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from metashell.commands.find.expression import Changed
from metashell.commands.framework.command import Context
from metashell.fs.node import Node
from metashell.log.point import Point

if TYPE_CHECKING:
    from metashell.image.touched import Moments
    from metashell.schema.arena import I64
    from metashell.sources.source import Source


class TimeTests:
    """The time tests of a query, their points made offsets of one source.

    Args:
        context: For the warning that a point lies before what is known exactly.
        tests: The tests.
        moments: What rows mean; None where nothing has times: then no test passes.
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
            bound = moments.bound(_reached(source, moments, test.point))
            self._tests.append((test.index, test.before, bound))
        base = moments.base
        if base is not None and any(o is not None and o <= base for _, _, o in self._tests):
            context.warn(
                f"find: of what happened at or before checkpoint {base} it is not known more"
                " exactly when; such changes do not pass"
            )

    def codes(self, rows: I64) -> I64:
        """int64[n]: the code of each row, 0 for -1."""
        import numpy as np

        codes = np.zeros(len(rows), dtype=np.int64)
        for i, before, bound in self._tests:
            assert self._moments is not None
            passes = (self._moments.before if before else self._moments.since)(bound, rows)
            codes |= passes.astype(np.int64) << i
        return codes

    def code(self, node: Node | None) -> int:
        """The code of a node."""
        import numpy as np

        times = None if node is None or self._moments is None else node.times()
        if times is None or times.changed is None:
            return 0
        return int(self.codes(np.array([times.changed], dtype=np.int64))[0])


def _reached(source: Source, moments: Moments, point: Point) -> Point:
    """A point as an offset or a time that the log of some nodes has reached."""
    # Of several logs each ends elsewhere, and may do so after the metadata log.
    has_one_log = not moments.has_many_logs or source.of_coordinator is not None
    if not has_one_log and not point.is_relative:
        return point
    from metashell.sources.log_clock import clock_of

    clock = clock_of(source)
    if has_one_log:
        return clock.covered(point)
    found = clock.resolve(point)
    # The metadata log's last offset means nothing in others.
    return found if found.offset is None else Point(timestamp_ms=clock.end_ms or 0)
