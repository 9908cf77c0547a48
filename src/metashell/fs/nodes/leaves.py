"""Directories of a table's leaves: of these alone, or of topics with partitions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np

from metashell.fs.leaf_table import LeafTable, LeafTexts, TopicLeaves
from metashell.fs.node import Directory, Grid, Leaf, Node, TextLeaf
from metashell.fs.record_paths import fields_text
from metashell.fs.texts import GridCodes, Judge
from metashell.fs.touch_times import GridTimes, Times, changed_at
from metashell.schema.arena import I64

_FEW: Final = 32
"""Nodes of fewer leaves are made sooner than a grid: there may be very many small groups."""


class LeavesDirectory(Directory):
    """A directory of leaves.

    Args:
        table: All leaves.
        leaves: The leaves in it.
        changed: When it was last changed; -1 where nobody knows.
    """

    def __init__(self, table: LeafTable, leaves: range, changed: int) -> None:
        self._table, self._leaves, self._changed = table, leaves, changed

    @cached_property
    def _names(self) -> Sequence[str]:
        return self._table.names(self._leaves)

    def names(self) -> Sequence[str]:
        return self._names

    def child(self, name: str) -> Node | None:
        at = place_of(self._names, name)
        return None if at is None else leaf_of(self._table, self._leaves[at])

    def child_times(self, names: Sequence[str]) -> tuple[I64, I64]:
        if names is not self._names:
            return super().child_times(names)
        here = slice(self._leaves.start, self._leaves.stop)
        return self._table.created[here], self._table.changed[here]

    @cached_property
    def _leaf_grid(self) -> Grid:
        return LeavesGrid(self, self._names, self._table, self._leaves)

    def leaf_grid(self) -> Grid | None:
        return self._leaf_grid if len(self._leaves) >= _FEW else None

    def times(self) -> Times | None:
        return changed_at(self._changed)


class TopicLeavesDirectory(Directory):
    """Topics, of which each is a directory of its partitions.

    Args:
        table: The leaves of many such directories.
        topics: Which of its topics are in this one.
    """

    def __init__(self, table: TopicLeaves, topics: range) -> None:
        self.table, self.topics = table, topics

    @cached_property
    def _names(self) -> Sequence[str]:
        return self.table.topic_names(self.topics)

    def names(self) -> Sequence[str]:
        return self._names

    def child(self, name: str) -> Node | None:
        at = place_of(self._names, name)
        if at is None:
            return None
        topic = self.topics[at]
        changed = int(self.table.topics_changed[topic])
        return LeavesDirectory(self.table, self.table.of_topic(topic), changed)

    @cached_property
    def _grid(self) -> Grid:
        return TopicsGrid(self)

    def grid(self) -> Grid | None:
        first, last = (self.table.of_topic(topic) for topic in (self.topics[0], self.topics[-1]))
        return self._grid if last.stop - first.start >= _FEW else None

    def times(self) -> Times | None:
        newest = self.table.topics_changed[self.topics.start : self.topics.stop].max()
        return changed_at(int(newest))


def leaf_of(table: LeafTable, leaf: int) -> Leaf:
    """A leaf of a table as a node."""

    def times() -> Times:
        # -1 stays what it is.
        each = (int(rows[leaf]) for rows in (table.created, table.changed))
        return Times(*(None if time < 0 else time for time in each))

    return TextLeaf(lambda: fields_text(table.value(leaf)), lambda: table.value(leaf)).timed(times)


class _TableGrid(Grid):
    """A grid whose leaves lie side by side in a table."""

    _table: LeafTable
    _leaves: range

    def times(self) -> GridTimes:
        changed = self._table.changed[self._leaves.start : self._leaves.stop]
        return GridTimes(self._directories_changed(), changed, self.bounds)

    def _directories_changed(self) -> I64:
        return np.full(len(self.names), -1, dtype=np.int64)

    def texts(self) -> LeafTexts:
        return self._texts(as_json=False)

    def json(self) -> LeafTexts:
        return self._texts(as_json=True)

    def _texts(self, *, as_json: bool) -> LeafTexts:
        from metashell.fs.leaf_table import LeafTexts

        return LeafTexts(self._table, self._leaves.start, self.bounds, as_json=as_json)

    def judged(self, judge: Judge) -> GridCodes:
        # No test of contents is about such a leaf.
        zeros = np.zeros(len(self._leaves), dtype=np.int64)
        return GridCodes(np.zeros(len(self.names), dtype=np.int64), zeros, self.bounds)


class LeavesGrid(_TableGrid):
    """The leaves of one directory.

    Args:
        directory: The directory.
        names: Their names.
        table: All leaves.
        leaves: The leaves in it.
    """

    def __init__(
        self,
        directory: Directory,
        names: Sequence[str],
        table: LeafTable,
        leaves: range,
    ) -> None:
        super().__init__(directory, [""], [tuple(names)], [0])
        self._table, self._leaves = table, leaves


class TopicsGrid(_TableGrid):
    """The leaves of a `TopicLeavesDirectory`."""

    def __init__(self, directory: TopicLeavesDirectory) -> None:
        table, topics = directory.table, directory.topics
        shapes: dict[tuple[str, ...], int] = {}
        names = (table.names(table.of_topic(topic)) for topic in topics)
        shape_of = [shapes.setdefault(tuple(each), len(shapes)) for each in names]
        super().__init__(directory, directory.names(), list(shapes), shape_of)
        first, last = (table.of_topic(topic) for topic in (topics[0], topics[-1]))
        self._table, self._leaves = table, range(first.start, last.stop)
        self._changed = table.topics_changed[topics.start : topics.stop]
        self.bounds = table.leaves[topics.start : topics.stop + 1] - first.start

    def _directories_changed(self) -> I64:
        return self._changed


def place_of(names: Sequence[str], name: str) -> int | None:
    """Where a name is among sorted ones."""
    at = bisect_left(names, name)
    return at if at < len(names) and names[at] == name else None
