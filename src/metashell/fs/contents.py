"""The tests of a search about contents of nodes, answered without reading nodes one by one.

A search brings a `Judge`, which knows its tests. A node says what it is about (a partition, a
broker, a config) and returns the judge's *code* for that: bit i is set where test i passes. The
judge computes codes for all partitions of an image at once, from columns, so a grid of millions of
leaves only has to put them in the order of its leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from metashell.dataclass import dataclass

if TYPE_CHECKING:
    from metashell.image.image import Image
    from metashell.schema.arena import I64


class Judge(Protocol):
    """The tests of a search; every array is int64, a code each."""

    def partitions(self, image: Image) -> I64:
        """The code of each partition, in the order of `Image.partitions`."""

    def partition(self, image: Image, topic: int, partition: int) -> int:
        """The code of one partition; the topic is given by its index."""

    def topics(self, image: Image) -> I64:
        """The code of each topic, in the order of `Image.topics`."""

    def brokers(self, image: Image) -> I64:
        """The code of each broker, in the order of `Image.brokers`."""

    def configs(self, image: Image) -> I64:
        """The code of each config value, in the order of `Image.configs`."""


@dataclass(frozen=True, slots=True)
class GridCodes:
    """Codes of everything in a `Grid`.

    ``directories``: int64[n], of its directories; ``leaves``: int64, of their leaves, one directory
    after the other; ``bounds``: int64[n + 1], where each directory's leaves begin.
    """

    directories: I64
    leaves: I64
    bounds: I64
