"""The whole subtree of a directory that holds only directories of leaves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from metashell.fs.contents import GridCodes, Judge
from metashell.fs.touch_times import GridTimes

if TYPE_CHECKING:
    from metashell.fs.node import Directory
    from metashell.fs.texts import GridTexts
    from metashell.schema.arena import I64


class Grid:
    """A subtree that `find` and globs answer for without making its nodes.

    Many of its directories hold leaves of the same names (``0 1 2 id name``), so the distinct lists
    of names, the *shapes*, are few. Questions about everything in it are answered here by asking
    each node; a kind of directory that knows better has a grid of its own.

    Args:
        directory: The directory whose subtree it is.
        names: Its child directories, sorted by code point.
        shapes: Distinct lists of leaf names, each sorted by code point.
        shape_of: Index into `shapes` for each of `names`.
    """

    def __init__(
        self,
        directory: Directory,
        names: Sequence[str],
        shapes: Sequence[tuple[str, ...]],
        shape_of: Sequence[int],
    ) -> None:
        self.directory, self.names = directory, names
        self.shapes, self.shape_of = shapes, shape_of

    @cached_property
    def shape_numbers(self) -> I64:
        """`shape_of` as int64[n]."""
        import numpy as np

        return np.array(self.shape_of, dtype=np.int64)

    @cached_property
    def bounds(self) -> I64:
        """Where each directory's leaves begin among all leaves: int64[n + 1]."""
        import numpy as np

        sizes = np.array([len(shape) for shape in self.shapes], dtype=np.int64)
        bounds = np.zeros(len(self.names) + 1, dtype=np.int64)
        np.cumsum(sizes[self.shape_numbers], out=bounds[1:])
        return bounds

    def times(self) -> GridTimes:
        """Last changes of everything in it."""
        import numpy as np

        from metashell.fs.node import Directory

        _, changed = self.directory.child_times(self.names)
        bounds = self.bounds
        leaves = np.full(int(bounds[-1]), -1, dtype=np.int64)
        for i, name in enumerate(self.names):
            child = self.directory.child(name)
            if isinstance(child, Directory):
                shape = self.shapes[self.shape_of[i]]
                leaves[bounds[i] : bounds[i + 1]] = child.child_times(shape)[1]
        return GridTimes(changed, leaves, bounds)

    def judged(self, judge: Judge) -> GridCodes:
        """The codes of everything in it, see `Directory.judged` and `Leaf.judged`."""
        import numpy as np

        from metashell.fs.node import Directory

        bounds = self.bounds
        directories = np.zeros(len(self.names), dtype=np.int64)
        leaves = np.zeros(int(bounds[-1]), dtype=np.int64)
        for i, name in enumerate(self.names):
            child = self.directory.child(name)
            if not isinstance(child, Directory):
                continue
            directories[i] = child.judged(judge)
            at = int(bounds[i])
            for j, leaf_name in enumerate(self.shapes[self.shape_of[i]]):
                leaf = child.child(leaf_name)
                leaves[at + j] = 0 if leaf is None else leaf.judged(judge)
        return GridCodes(directories, leaves, bounds)

    def texts(self) -> GridTexts | None:
        """The texts of its leaves, where many at once are faster than each."""
        return None

    def json(self) -> GridTexts | None:
        """The values of the leaves, each as JSON on a line."""
        return None
