"""The texts of topics' leaves, many at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.fs.texts import Texts
from metashell.schema.arena import I64
from metashell.schema.uuids import uuid_texts

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.image.image import Image

ID: Final = -1
"""In place of a partition's row: the leaf is the topic's id."""
NAME: Final = -2
"""The leaf is its name."""


@dataclass(frozen=True, slots=True)
class LeafLayout:
    """The leaves of a grid of topics, one topic's after the other's.

    ``topics``: int64[n], index of each directory's topic; ``bounds``: int64[n + 1], where each
    directory's leaves begin; ``rows``: int64, each leaf's partition, `ID` or `NAME`.
    """

    topics: I64
    bounds: I64
    rows: I64

    def topic_of_leaves(self, start: int = 0, stop: int | None = None) -> I64:
        """Index of the topic of each leaf from `start` up to `stop`."""
        leaves = np.arange(start, len(self.rows) if stop is None else stop, dtype=np.int64)
        return self.topics[np.searchsorted(self.bounds, leaves, side="right") - 1]


class TopicTexts:
    """Gives texts of the leaves of a grid of topics; a `GridTexts`."""

    def __init__(self, image: Image, layout: LeafLayout) -> None:
        self._image, self._layout = image, layout

    @property
    def bounds(self) -> I64:
        """int64[n + 1]: where each directory's leaves begin."""
        return self._layout.bounds

    def texts(self, start: int, stop: int) -> Texts:
        """The texts of leaves `start` up to `stop`."""
        import pyarrow as pa

        from metashell.image.texts import partition_texts

        rows = self._layout.rows[start:stop]
        topics = self._layout.topic_of_leaves(start, stop)
        numbered, ids, names = (np.flatnonzero(of) for of in (rows >= 0, rows == ID, rows == NAME))
        pieces: list[pa.Array] = [
            partition_texts(self._image.partitions, rows[numbered]),
            _lines(uuid_texts(self._image.topics.ids[topics[ids]])),
            _lines(self._image.topics.raw_names.take(topics[names]).texts()),
        ]
        order = np.empty(len(rows), dtype=np.int64)
        order[np.concatenate([numbered, ids, names])] = np.arange(len(rows))
        return _texts(pa.concat_arrays(pieces).take(pa.array(order)))


def _lines(texts: list[str]) -> pa.LargeStringArray:
    import pyarrow as pa

    return pa.array([f"{text}\n" for text in texts], pa.large_string())


def _texts(lines: pa.LargeStringArray) -> Texts:
    bounds = np.frombuffer(lines.buffers()[1], dtype=np.int64)
    bounds = bounds[lines.offset : lines.offset + len(lines) + 1]
    data = lines.buffers()[2]
    whole = b"" if data is None else data.slice(int(bounds[0]), int(bounds[-1] - bounds[0]))
    return Texts(bytes(whole), bounds - bounds[0])
