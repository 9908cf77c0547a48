"""Leaves in columns: those of a directory lie side by side, in the order of their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from metashell.fs.record_moments import ROW_BITS, ROW_OF_TIME, RecordHeads
from metashell.image.fold import begins_of, places_by_number
from metashell.schema.arena import I64, AnyArray

if TYPE_CHECKING:
    import pyarrow as pa

Fields = Mapping[str, Any]

_ONE_BY_ONE: Final = 16
"""Leaves that are read singly; of more, those beside each are read with it."""
_READ_TOGETHER: Final = 1024


class LeafTable(ABC):
    """Leaves, numbered in the order of a walk; their names are sorted in each directory."""

    last_texts: tuple[tuple[int, bool], pa.LargeStringArray] | None = None
    """What `metashell.fs.leaf_texts` made last."""

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def created(self) -> I64:
        """int64[l]: the time that each was made, -1 where nobody knows."""

    @property
    @abstractmethod
    def changed(self) -> I64:
        """int64[l]: the time of the newest record that tells of each, -1 where nobody knows."""

    @abstractmethod
    def names(self, leaves: range) -> Sequence[str]:
        """Their names."""

    _values: Mapping[int, Fields] = {}
    """The fields that were read last."""
    _n_asked = 0

    def value(self, leaf: int) -> Fields:
        """The fields of a leaf."""
        if leaf not in self._values:
            self._n_asked += 1
            wanted = np.array([leaf], dtype=np.int64)
            if self._n_asked > _ONE_BY_ONE:
                first = leaf - leaf % _READ_TOGETHER
                wanted = np.arange(first, min(first + _READ_TOGETHER, len(self)))
            self._values = dict(zip(wanted.tolist(), self.values(wanted), strict=True))
        return self._values[leaf]

    @abstractmethod
    def values(self, leaves: I64) -> Sequence[Fields]:
        """The fields of some leaves."""

    @abstractmethod
    def lines(self, wanted: I64, *, as_json: bool) -> pa.LargeStringArray:
        """The text of each of some leaves, or its value as JSON, and a line feed."""


class TopicLeaves(LeafTable):
    """Partitions of topics, by what these are topics of."""

    leaves: I64
    """int64[d + 1]: where the leaves of each topic begin."""

    @property
    @abstractmethod
    def topics_changed(self) -> I64:
        """int64[d]: the time of the newest record that tells of each topic."""

    @abstractmethod
    def topic_names(self, topics: range) -> Sequence[str]:
        """Their names."""

    def of_topic(self, topic: int) -> range:
        """The leaves of a topic."""
        return range(int(self.leaves[topic]), int(self.leaves[topic + 1]))


class LeafState(Protocol):
    """What is known of the leaves of one coordinator's partition, by their place there."""

    @property
    def heads(self) -> RecordHeads:
        """Times of its records."""

    @property
    def leaf_rows(self) -> tuple[I64, I64]:
        """int64[n] each: the records that made and last changed each; -1 for none."""

    def leaf_values(self, places: I64) -> Sequence[Fields]:
        """The fields of some."""

    def leaf_lines(self, places: I64, *, as_json: bool) -> pa.LargeStringArray:
        """The lines of some; see `LeafTable.lines`."""


class PartitionedLeaves(LeafTable):
    """Leaves of several partitions of a coordinators' topic.

    Args:
        state: Gives that of a partition.
        numbers: int64[l]: the partition of each leaf.
        places: int64[l]: its place there.
        names: Their names.
    """

    def __init__(
        self,
        state: Callable[[int], LeafState],
        numbers: I64,
        places: I64,
        names: Sequence[str],
    ) -> None:
        self._state, self._numbers, self._places, self._names = state, numbers, places, names
        self._created, self._changed = np.full((2, len(names)), -1, dtype=np.int64)
        for number, at in places_by_number(numbers):
            for into, rows in zip(
                (self._created, self._changed), self._state(number).leaf_rows, strict=True
            ):
                # -1 stays what it is.
                into[at] = rows[places[at]] | number << ROW_BITS

    def __len__(self) -> int:
        return len(self._names)

    @property
    def created(self) -> I64:
        return self._created

    @property
    def changed(self) -> I64:
        return self._changed

    def names(self, leaves: range) -> Sequence[str]:
        return self._names[leaves.start : leaves.stop]

    def values(self, leaves: I64) -> Sequence[Fields]:
        found: list[Fields] = [{}] * len(leaves)
        for number, at in places_by_number(self._numbers[leaves]):
            values = self._state(number).leaf_values(self._places[leaves[at]])
            for i, value in zip(at.tolist(), values, strict=True):
                found[i] = value
        return found

    def lines(self, wanted: I64, *, as_json: bool) -> pa.LargeStringArray:
        import pyarrow as pa

        pieces, order = [pa.array([], pa.large_string())], np.empty(len(wanted), dtype=np.int64)
        n = 0
        for number, at in places_by_number(self._numbers[wanted]):
            places = self._places[wanted[at]]
            pieces.append(self._state(number).leaf_lines(places, as_json=as_json))
            order[at] = np.arange(n, n + len(at))
            n += len(at)
        return pa.concat_arrays(pieces).take(pa.array(order))


class PartitionedTopicLeaves(PartitionedLeaves, TopicLeaves):
    """Partitions of topics in several partitions of a coordinators' topic.

    Args:
        state: Gives that of a partition.
        numbers: int64[n]: the partition of each.
        places: int64[n]: its place there; of several with the same names the last one counts.
        topics: The name of each one's topic.
        partitions: int32[n]: its number in that.
    """

    def __init__(
        self,
        state: Callable[[int], LeafState],
        numbers: I64,
        places: I64,
        topics: Sequence[str],
        partitions: AnyArray,
    ) -> None:
        names = sorted(set(topics))
        rank = {name: i for i, name in enumerate(names)}
        topic = np.array([rank[name] for name in topics], dtype=np.int64)
        partition, partition_names = numbers_by_text(partitions)
        order = np.lexsort((partition, topic))
        topic, partition = topic[order], partition[order]
        begins = begins_of(topic)
        last = np.append((begins | begins_of(partition))[1:], True)
        begins = begins_of(topic[last])
        self.leaves = np.append(np.flatnonzero(begins), len(begins))
        self._topic_names = [names[i] for i in topic[last][begins].tolist()]
        chosen = order[last]
        super().__init__(
            state,
            numbers[chosen],
            places[chosen],
            [partition_names[i] for i in partition[last].tolist()],
        )

    @cached_property
    def topics_changed(self) -> I64:
        # Rows of several partitions tell nothing of which is newer.
        times_ms = np.empty(len(self), dtype=np.int64)
        for number, at in places_by_number(self._numbers):
            rows = self.changed[at] & ROW_OF_TIME
            times_ms[at] = self._state(number).heads.timestamps(rows)
        order = np.lexsort((self.changed, times_ms))
        age = np.empty_like(order)
        age[order] = np.arange(len(order))
        return self.changed[order[highest(age, self.leaves)]]

    def topic_names(self, topics: range) -> Sequence[str]:
        return self._topic_names[topics.start : topics.stop]


def numbers_by_text(numbers: AnyArray) -> tuple[I64, list[str]]:
    """The place of each number among all texts, and these, sorted."""
    distinct, index = np.unique(numbers, return_inverse=True)
    texts = list(map(str, distinct.tolist()))
    order = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.empty(len(texts), dtype=np.int64)
    rank[order] = np.arange(len(texts))
    return rank[index], [texts[i] for i in order]


def highest(values: I64, bounds: I64) -> I64:
    """The highest of each slice; none is empty."""
    starts = bounds[:-1]
    return np.maximum.reduceat(values, starts) if len(starts) else starts.copy()
