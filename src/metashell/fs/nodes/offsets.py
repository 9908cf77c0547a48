"""``/groups/GROUP/offsets``: the committed offsets of a group, by topic and partition."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.fs.contents import GridCodes, Judge
from metashell.fs.coordinator_paths import fields_text
from metashell.fs.grid import Grid
from metashell.fs.node import Directory, Node, TextLeaf
from metashell.fs.offset_leaves import OffsetLeaves
from metashell.fs.touch_times import GridTimes, Times, changed_at
from metashell.schema.arena import I64

if TYPE_CHECKING:
    from metashell.fs.offset_texts import OffsetTexts


_FEW: Final = 32
"""Nodes of fewer leaves are made sooner than a grid: there may be very many small groups."""


class OffsetsDirectory(Directory):
    """The topics that a group committed offsets for.

    Args:
        leaves: The offsets of all groups of its partition.
        topics: Which of its topics are those of this group.
        times_from: The time of the partition's first record.
    """

    def __init__(self, leaves: OffsetLeaves, topics: range, times_from: int) -> None:
        self.leaves, self.topics, self.times_from = leaves, topics, times_from

    @cached_property
    def _names(self) -> Sequence[str]:
        return self.leaves.topic_names(self.topics)

    def names(self) -> Sequence[str]:
        return self._names

    def child(self, name: str) -> Node | None:
        at = _place(self._names, name)
        return None if at is None else _TopicDirectory(self, self.topics[at])

    @cached_property
    def _grid(self) -> Grid:
        shapes: dict[tuple[str, ...], int] = {}
        names = (self.leaves.partition_names(self.leaves.of_topic(topic)) for topic in self.topics)
        shape_of = [shapes.setdefault(tuple(each), len(shapes)) for each in names]
        return _OffsetsGrid(self, list(shapes), shape_of)

    def grid(self) -> Grid | None:
        first, stop = self.leaves.of_topic(self.topics[0]), self.leaves.of_topic(self.topics[-1])
        return self._grid if stop.stop - first.start >= _FEW else None

    def times(self) -> Times | None:
        newest = self.leaves.topics_changed[self.topics.start : self.topics.stop].max()
        return changed_at(self.times_from | int(newest))


class _TopicDirectory(Directory):
    """A group's offsets of one topic."""

    def __init__(self, parent: OffsetsDirectory, topic: int) -> None:
        self._leaves, self._times_from = parent.leaves, parent.times_from
        self._topic, self._of = topic, parent.leaves.of_topic(topic)

    @cached_property
    def _names(self) -> Sequence[str]:
        return self._leaves.partition_names(self._of)

    def names(self) -> Sequence[str]:
        return self._names

    def child(self, name: str) -> Node | None:
        at = _place(self._names, name)
        if at is None:
            return None
        leaf, leaves = self._of[at], self._leaves

        def times() -> Times:
            created, changed = int(leaves.created[leaf]), int(leaves.changed[leaf])
            made = None if created < 0 else self._times_from | created
            return Times(made, self._times_from | changed)

        made = TextLeaf(lambda: fields_text(leaves.value(leaf)), lambda: leaves.value(leaf))
        return made.timed(times)

    def times(self) -> Times | None:
        return changed_at(self._times_from | int(self._leaves.topics_changed[self._topic]))


class _OffsetsGrid(Grid):
    """A grid whose leaves are committed offsets, read from columns."""

    def __init__(
        self,
        directory: OffsetsDirectory,
        shapes: Sequence[tuple[str, ...]],
        shape_of: Sequence[int],
    ) -> None:
        super().__init__(directory, directory.names(), shapes, shape_of)
        self._leaves, self._topics = directory.leaves, directory.topics
        self._times_from = directory.times_from

    @cached_property
    def bounds(self) -> I64:
        bounds = self._leaves.leaves[self._topics.start : self._topics.stop + 1].copy()
        bounds -= bounds[0]
        return bounds

    def times(self) -> GridTimes:
        leaves, topics = self._leaves, slice(self._topics.start, self._topics.stop)
        first, stop = leaves.leaves[[topics.start, topics.stop]].tolist()
        return GridTimes(
            leaves.topics_changed[topics] | self._times_from,
            leaves.changed[first:stop] | self._times_from,
            self.bounds,
        )

    def texts(self) -> OffsetTexts:
        return self._texts(as_json=False)

    def json(self) -> OffsetTexts:
        return self._texts(as_json=True)

    def _texts(self, *, as_json: bool) -> OffsetTexts:
        from metashell.fs.offset_texts import OffsetTexts

        first = int(self._leaves.leaves[self._topics.start])
        return OffsetTexts(self._leaves, first, self.bounds, as_json=as_json)

    def judged(self, judge: Judge) -> GridCodes:
        # No test of contents is about a committed offset.
        zeros = np.zeros(int(self.bounds[-1]), dtype=np.int64)
        return GridCodes(zeros[: len(self.names)], zeros, self.bounds)


def _place(names: Sequence[str], name: str) -> int | None:
    """Where a name is among sorted ones."""
    at = bisect_left(names, name)
    return at if at < len(names) and names[at] == name else None
