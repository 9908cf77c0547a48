"""The texts of topics' leaves, many at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.fs.texts import Texts
from metashell.schema.arena import I64, Bools
from metashell.schema.json_writer import text_to_json
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

    def topic_of_leaves(self, leaves: I64 | None = None) -> I64:
        """Index of the topic of each of some leaves; None for all."""
        if leaves is None:
            return np.repeat(self.topics, np.diff(self.bounds))
        return self.topics[np.searchsorted(self.bounds, leaves, side="right") - 1]


class TopicTexts:
    """Gives texts of the leaves of a grid of topics; a `GridTexts`.

    Args:
        image: The image.
        layout: The leaves.
        as_json: Whether a leaf's text is its value as JSON, else what ``cat`` prints.
    """

    def __init__(self, image: Image, layout: LeafLayout, *, as_json: bool = False) -> None:
        self._image, self._layout, self._as_json = image, layout, as_json

    @property
    def bounds(self) -> I64:
        """int64[n + 1]: where each directory's leaves begin."""
        return self._layout.bounds

    def texts(self, start: int, stop: int) -> Texts:
        """The texts of leaves `start` up to `stop`."""
        return self.texts_of(np.arange(start, stop, dtype=np.int64))

    def texts_of(self, leaves: I64) -> Texts:
        """The texts of some leaves."""
        import pyarrow as pa

        from metashell.image.texts import JSON, KAFKA, partition_texts

        rows = self._layout.rows[leaves]
        topics = self._layout.topic_of_leaves(leaves)
        numbered, ids, names = (np.flatnonzero(of) for of in (rows >= 0, rows == ID, rows == NAME))
        form = JSON if self._as_json else KAFKA
        pieces: list[pa.Array] = [
            partition_texts(self._image.partitions, rows[numbered], form),
            self._lines(uuid_texts(self._image.topics.ids[topics[ids]])),
            self._lines(self._image.topics.raw_names.take(topics[names]).texts()),
        ]
        order = np.empty(len(rows), dtype=np.int64)
        order[np.concatenate([numbered, ids, names])] = np.arange(len(rows))
        return Texts.of(pa.concat_arrays(pieces).take(pa.array(order)))

    def holders(self, literal: str) -> I64 | None:
        """Leaves whose text may hold a literal; None where that takes their texts."""
        from metashell.image.texts import rows_holding

        held = None if self._as_json else rows_holding(self._image.partitions, literal)
        if held is None:
            return None
        rows, topics = self._layout.rows, self._image.topics
        may = np.append(held, [False, False])[rows]
        for kind, texts in ((ID, topics.id_texts), (NAME, topics.names)):
            leaves = np.flatnonzero(rows == kind)
            may[leaves] = _holding(texts, literal)[self._layout.topic_of_leaves(leaves)]
        return np.flatnonzero(may)

    def _lines(self, texts: list[str]) -> pa.LargeStringArray:
        import pyarrow as pa

        lines = map(text_to_json, texts) if self._as_json else texts
        return pa.array([f"{line}\n" for line in lines], pa.large_string())


def _holding(texts: list[str], literal: str) -> Bools:
    """bool[n]: texts that may hold a literal, in whatever case."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = pa.array(texts, pa.large_string())
    # The case of what is not ASCII is the pattern's to know.
    may = pc.invert(pc.string_is_ascii(array))
    if literal.isascii():
        same = pc.match_substring(pc.ascii_lower(array), literal.lower())
        may = pc.or_(may, same)
    held: Bools = may.to_numpy(zero_copy_only=False)
    return held
