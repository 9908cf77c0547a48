"""The time tests of ``find``, answered for nodes by the rows of their last changes.

What the tests of a query say of one node is a *code*: bit i is set where test i passes. Codes are
computed for whole grids at once (`metashell.commands.find.codes`), and `Expression.given` takes
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metashell.commands.find.expression import Changed
from metashell.commands.framework.command import Context
from metashell.fs.node import Node

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
        self._tests: list[tuple[int, bool, int | None]] = []
        if moments is None or source is None:
            return
        from metashell.sources.log_clock import clock_of

        clock = clock_of(source)
        for test in tests:
            point = clock.covered(test.point)
            offset = point.offset
            if point.timestamp_ms is not None:
                offset = moments.offset_at(point.timestamp_ms)
            self._tests.append((test.index, test.before, offset))
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
        for i, before, offset in self._tests:
            assert self._moments is not None
            passes = (self._moments.before if before else self._moments.since)(offset, rows)
            codes |= passes.astype(np.int64) << i
        return codes

    def code(self, node: Node | None) -> int:
        """The code of a node."""
        import numpy as np

        times = None if node is None or self._moments is None else node.times()
        if times is None or times.changed is None:
            return 0
        return int(self.codes(np.array([times.changed], dtype=np.int64))[0])
