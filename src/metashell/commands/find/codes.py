"""Codes of nodes: what the tests of times and of contents of a query say of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from metashell.fs.node import Grid, Node

if TYPE_CHECKING:
    from metashell.commands.find.contents import ContentTests
    from metashell.commands.find.times import TimeTests
    from metashell.schema.arena import I64


class Codes:
    """The tests that nodes answer, of both kinds."""

    def __init__(self, times: TimeTests | None, contents: ContentTests | None) -> None:
        self._times, self._contents = times, contents

    def code(self, node: Node | None) -> int:
        """The code of a node."""
        code = 0 if self._times is None else self._times.code(node)
        if self._contents is not None and node is not None:
            code |= node.judged(self._contents)
        return code

    def changed_codes(self, rows: I64) -> I64:
        """int64[n]: what tests of times say of nodes that were last changed by these records."""
        return rows * 0 if self._times is None else self._times.codes(rows)

    def of_grid(self, grid: Grid) -> SearchedGrid:
        """The codes of everything in a grid."""
        found = None
        if self._times is not None:
            times = grid.times()
            directories = self._times.codes(times.directories)
            found = SearchedGrid(directories, self._times.codes(times.leaves), times.bounds)
        if self._contents is not None:
            judged = grid.judged(self._contents)
            if found is not None:
                return SearchedGrid(
                    found.directories | judged.directories,
                    found.leaves | judged.leaves,
                    found.bounds,
                )
            found = SearchedGrid(judged.directories, judged.leaves, judged.bounds)
        assert found is not None
        return found


class SearchedGrid:
    """The codes of everything in a grid.

    ``directories`` and ``leaves`` are int64, ``bounds`` int64[n + 1], as in
    `metashell.fs.texts.GridCodes`.
    """

    def __init__(self, directories: I64, leaves: I64, bounds: I64) -> None:
        self.directories, self.leaves, self.bounds = directories, leaves, bounds

    def chosen(
        self, directory_codes: Sequence[int], leaf_codes: Sequence[int]
    ) -> tuple[list[bool], I64, I64]:
        """Where something may happen, given the codes with which something may.

        Returns:
            (of each directory whether, positions of leaves ascending, bounds int64[n + 1] of each
            directory's among these).
        """
        leaves = np.flatnonzero(np.isin(self.leaves, leaf_codes))
        bounds = np.searchsorted(leaves, self.bounds)
        return np.isin(self.directories, directory_codes).tolist(), leaves, bounds
