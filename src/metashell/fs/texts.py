"""The texts of a grid's leaves, many at a time.

The tests of a search about contents of nodes, answered without reading nodes one by one.

A search brings a `Judge`, which knows its tests. A node says what it is about (a partition, a
broker, a config) and returns the judge's *code* for that: bit i is set where test i passes. The
judge computes codes for all partitions of an image at once, from columns, so a grid of millions of
leaves only has to put them in the order of its leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from metashell.dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

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


@dataclass(frozen=True, slots=True)
class Texts:
    """n texts as UTF-8, a line feed after each.

    ``bounds``: int64[n + 1], where each begins in ``data``; the last is where all end.
    """

    data: bytes
    bounds: I64

    @classmethod
    def of(cls, lines: pa.LargeStringArray) -> Texts:
        """Make them of texts that end with a line feed each."""
        import numpy as np

        bounds = np.frombuffer(lines.buffers()[1], dtype=np.int64)
        bounds = bounds[lines.offset : lines.offset + len(lines) + 1]
        data = lines.buffers()[2]
        whole = b"" if data is None else data.slice(int(bounds[0]), int(bounds[-1] - bounds[0]))
        return cls(bytes(whole), bounds - bounds[0])

    def text(self, i: int) -> str:
        """One of them."""
        start, stop = int(self.bounds[i]), int(self.bounds[i + 1]) - 1
        return self.data[start:stop].decode("utf-8", "replace")


class GridTexts(Protocol):
    """Gives the texts of a grid's leaves, one directory's after the other's."""

    @property
    def bounds(self) -> I64:
        """int64[n + 1]: where each directory's leaves begin."""

    def texts(self, start: int, stop: int) -> Texts:
        """The texts of leaves `start` up to `stop`."""

    def texts_of(self, leaves: I64) -> Texts:
        """The texts of some leaves."""

    def holders(self, literal: str) -> I64 | None:
        """int64[k], ascending: leaves whose text may hold a literal, in whatever case.

        None where that takes their texts.
        """
