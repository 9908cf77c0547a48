"""What a search asks of the contents of nodes, and how nodes answer without being read one by one.

A search brings a `Judge`, which knows its tests. A node says what it is about (a partition, a
broker, a config) and returns the judge's *code* for that: bit i is set where test i passes. The
judge computes codes for all partitions of an image at once, from columns, so a grid of millions of
leaves only has to put them in the order of its leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from metashell.fs.node import Directory
    from metashell.image.image import Image
    from metashell.schema.arena import I64


class Judge(Protocol):
    """The tests of a search; every array is int64, a code each."""

    def partitions(self, image: Image) -> I64:
        """Of each partition, in the order of `Image.partitions`."""

    def partition(self, image: Image, topic: int, partition: int) -> int:
        """Of one; the topic is given by its index."""

    def topics(self, image: Image) -> I64:
        """Of each topic, in the order of `Image.topics`."""

    def brokers(self, image: Image) -> I64:
        """Of each broker, in the order of `Image.brokers`."""

    def configs(self, image: Image) -> I64:
        """Of each config value, in the order of `Image.configs`."""


@dataclass(frozen=True, slots=True)
class GridCodes:
    """Codes of everything in a `Grid`.

    ``directories``: int64[n], of its directories; ``leaves``: int64, of their leaves, one directory
    after the other; ``bounds``: int64[n + 1], where each directory's leaves begin.
    """

    directories: I64
    leaves: I64
    bounds: I64


def ask_grid_codes(directory: Directory, judge: Judge) -> GridCodes:
    """Ask every directory and leaf of a grid."""
    import numpy as np

    from metashell.fs.node import Directory

    grid = directory.grid()
    assert grid is not None
    sizes = [len(grid.shapes[shape]) for shape in grid.shape_of]
    bounds = np.zeros(len(grid.names) + 1, dtype=np.int64)
    np.cumsum(sizes, out=bounds[1:])
    directories = np.zeros(len(grid.names), dtype=np.int64)
    leaves = np.zeros(int(bounds[-1]), dtype=np.int64)
    for i, name in enumerate(grid.names):
        child = directory.child(name)
        if not isinstance(child, Directory):
            continue
        directories[i] = child.judged(judge)
        at = int(bounds[i])
        for j, leaf_name in enumerate(grid.shapes[grid.shape_of[i]]):
            leaf = child.child(leaf_name)
            leaves[at + j] = 0 if leaf is None else leaf.judged(judge)
    return GridCodes(directories, leaves, bounds)
