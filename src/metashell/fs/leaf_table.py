"""Leaves in columns: those of a directory lie side by side, in the order of their names.

A leaf mostly comes from one record of a coordinator's partition. It may be several, of which some
wait for the end of a transaction, or a row of a state that was folded.

The texts of a table's leaves, many at a time, as `fields_text` and JSON write each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

from metashell.dataclass import dataclass
from metashell.fs.record_moments import ROW_BITS, ROW_OF_TIME, RecordHeads
from metashell.fs.record_paths import Fields
from metashell.fs.texts import Texts
from metashell.image.coordinators.surviving import LeafSources
from metashell.image.fold import begins_of, group_keys, places_by_number
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.columns import SpanColumn
from metashell.schema.uuids import uuid_text

_ONE_BY_ONE: Final = 16
"""Leaves that are read singly; of more, those beside each are read with it."""
_READ_TOGETHER: Final = 1024


class FieldsReader(Protocol):
    """Reads what a partition's rows say."""

    def values(self, places: I64) -> Sequence[Fields]:
        """The fields that some say."""

    def lines(self, places: I64, *, as_json: bool) -> pa.LargeStringArray:
        """The text of each, or its fields as JSON, and a line feed."""


@dataclass(slots=True)
class Entries:
    """The leaves of one partition: n entries."""

    rows: LeafSources
    fields: FieldsReader
    heads: RecordHeads | None = None


class LeafTable:
    """Leaves, numbered in the order of a walk; their names are sorted in each directory.

    Args:
        entries: Gives what tells of leaves in a partition.
        numbers: int64[m]: the partition of each entry.
        places: int64[m]: its place there.
        names: int64[l] and texts: the place of each leaf's name among them.
        bounds: int64[l + 1]: where the entries of each begin; None where each has one.
    """

    last_texts: tuple[tuple[int, bool], pa.LargeStringArray] | None = None
    """The texts of the last grid."""

    def __init__(
        self,
        entries: Callable[[int], Entries],
        numbers: I64,
        places: I64,
        names: tuple[I64, Sequence[str]],
        bounds: I64 | None = None,
    ) -> None:
        self._entries, self._numbers, self._places = entries, numbers, places
        self._name, self._texts = names
        self._bounds = np.arange(len(self._name) + 1) if bounds is None else bounds

    def __len__(self) -> int:
        return len(self._name)

    @cached_property
    def created(self) -> I64:
        """int64[l]: the time that each was made, -1 where nobody knows."""
        return self._times("created")

    @cached_property
    def changed(self) -> I64:
        """int64[l]: the time of the newest record that tells of each, -1 where nobody knows."""
        return self._times("row")

    def _times(self, name: str) -> I64:
        found = np.empty(len(self._numbers), dtype=np.int64)
        for number, at in places_by_number(self._numbers):
            rows: I64 = getattr(self._entries(number).rows.rows, name)
            # -1 stays what it is.
            found[at] = rows[self._places[at]] | number << ROW_BITS
        return highest(found, self._bounds)

    @cached_property
    def _waits(self) -> Bools:
        """bool[m]: entries that wait for the end of a transaction."""
        found = np.zeros(len(self._numbers), dtype=np.bool_)
        for number, at in places_by_number(self._numbers):
            waits = self._entries(number).rows.waits
            if waits is not None:
                found[at] = waits()[self._places[at]]
        return found

    def names(self, leaves: range) -> Sequence[str]:
        """Their names."""
        return [self._texts[i] for i in self._name[leaves.start : leaves.stop].tolist()]

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

    def values(self, leaves: I64) -> Sequence[Fields]:
        """The fields of some leaves."""
        first, sizes = self._bounds[leaves], self._bounds[leaves + 1] - self._bounds[leaves]
        stops = np.cumsum(sizes)
        at = np.arange(int(sizes.sum())) + np.repeat(first - (stops - sizes), sizes)
        said: list[Fields] = [{}] * len(at)
        for read, places, some in self._by_partition(at):
            for i, fields in zip(some.tolist(), read.values(places), strict=True):
                said[i] = fields
        waits = self._waits[at].tolist()
        spans = zip((stops - sizes).tolist(), stops.tolist(), strict=True)
        return [_together(said[i:j], waits[i:j]) for i, j in spans]

    def _by_partition(self, entries: I64) -> Iterator[tuple[FieldsReader, I64, I64]]:
        """For each partition: a reader of its entries, their places there, and their indexes."""
        for number, at in places_by_number(self._numbers[entries]):
            yield self._entries(number).fields, self._places[entries[at]], at

    def lines(self, wanted: I64, *, as_json: bool) -> pa.LargeStringArray:
        """The text of each of some leaves, or its value as JSON, and a line feed."""
        import pyarrow as pa

        from metashell.fs.field_texts import lines_one_by_one

        first = self._bounds[wanted]
        is_one = (self._bounds[wanted + 1] - first == 1) & ~self._waits[first]
        single, several = np.flatnonzero(is_one), np.flatnonzero(~is_one)
        pieces, order = [pa.array([], pa.large_string())], [several]
        if several.size:
            pieces.append(lines_one_by_one(self.values(wanted[several]), as_json=as_json))
        for read, places, at in self._by_partition(first[single]):
            pieces.append(read.lines(places, as_json=as_json))
            order.append(single[at])
        return pa.concat_arrays(pieces).take(pa.array(np.argsort(np.concatenate(order))))


def _together(said: Sequence[Fields], waits: Sequence[bool]) -> Fields:
    """The fields of a leaf, of what its entries say: the last one counts, what waits is apart."""
    if len(said) == 1 and not waits[0]:
        return said[0]
    fields: dict[str, Any] = {}
    for each, is_pending in zip(said, waits, strict=True):
        if not is_pending:
            fields.update(each)
    pending = [each for each, is_pending in zip(said, waits, strict=True) if is_pending]
    return {**fields, "pending": pending} if pending else fields


class TopicLeaves(LeafTable):
    """Leaves below directories, such as partitions of topics, by their things.

    Args:
        entries: By partition what tells of leaves.
        chosen: By partition int64[m] each: places of entries, and a number for each one's thing.
        topics: Names of topics by the text of their ids.
    """

    def __init__(
        self,
        entries: Mapping[int, Entries],
        chosen: Mapping[int, tuple[I64, I64]],
        topics: Mapping[str, str],
    ) -> None:
        levels: tuple[list[_Named], list[_Named]] = [], []
        for number, (places, _) in chosen.items():
            for found, (name, column) in zip(
                levels, entries[number].rows.levels().items(), strict=True
            ):
                found.append(_named(column, places, topics if name == "topic_id" else {}))
        (topic, self._topic_texts), (leaf, texts) = map(_joined, levels)
        thing = np.concatenate([of for _, of in chosen.values()])
        places = np.concatenate([places for places, _ in chosen.values()])
        numbers = np.repeat(list(chosen), [len(places) for places, _ in chosen.values()])
        order = np.lexsort((leaf, topic, thing))
        thing, topic, leaf = thing[order], topic[order], leaf[order]
        begins = begins_of(thing) | begins_of(topic)
        at = np.flatnonzero(begins | begins_of(leaf))
        super().__init__(
            entries.__getitem__,
            numbers[order].astype(np.int64),
            places[order],
            (leaf[at], texts),
            np.append(at, len(order)),
        )
        directories = np.flatnonzero(begins[at])
        self.leaves = np.append(directories, len(at))
        """int64[d + 1]: where the leaves of each topic begin."""
        self._topic, self._thing = topic[at[directories]], thing[at[directories]]

    def of_thing(self, number: int) -> range:
        """The topics of a thing: a range of `leaves`."""
        return range(*np.searchsorted(self._thing, [number, number + 1]).tolist())

    def of_topic(self, topic: int) -> range:
        """The leaves of a topic."""
        return range(int(self.leaves[topic]), int(self.leaves[topic + 1]))

    def topic_names(self, topics: range) -> Sequence[str]:
        """Their names."""
        return [self._topic_texts[i] for i in self._topic[topics.start : topics.stop].tolist()]

    @cached_property
    def topics_changed(self) -> I64:
        """int64[d]: the time of the newest record that tells of each topic."""
        partition = self.changed >> ROW_BITS
        if not len(self) or (partition == partition[0]).all():
            return highest(self.changed, self.leaves)
        # Rows of several partitions tell nothing of which is newer.
        times_ms = np.empty(len(self), dtype=np.int64)
        for number, at in places_by_number(partition):
            heads = self._entries(number).heads
            assert heads is not None
            times_ms[at] = heads.timestamps(self.changed[at] & ROW_OF_TIME)
        order = np.lexsort((self.changed, times_ms))
        age = np.empty_like(order)
        age[order] = np.arange(len(order))
        return self.changed[order[highest(age, self.leaves)]]


_Named = tuple[I64, list[str]]
"""int64[n]: the place of each value's name among all names, and these, sorted."""


def _named(column: AnyArray | SpanColumn, at: I64, topics: Mapping[str, str]) -> _Named:
    """The names that some values of a column have."""
    if isinstance(column, SpanColumn):
        column = column.take(at)
        numbers = group_keys([column], len(at))
        texts = column.take(np.unique(numbers, return_index=True)[1]).texts()
    elif column.dtype.kind == "V":
        numbers = group_keys([column[at]], len(at))
        ids = column[at][np.unique(numbers, return_index=True)[1]]
        texts = [uuid_text(each.tobytes()) for each in ids]
        texts = [topics.get(text, text) for text in texts]
    else:
        distinct, numbers = np.unique(column[at], return_inverse=True)
        texts = list(map(str, distinct.tolist()))
    return _ranked(numbers, texts)


def _ranked(numbers: I64, texts: Sequence[str]) -> _Named:
    """Names by number, sorted. Bytes that are no UTF-8 may have the text of others."""
    names = sorted(set(texts))
    place = {name: i for i, name in enumerate(names)}
    return np.array([place[text] for text in texts], dtype=np.int64)[numbers], names


def _joined(found: Sequence[_Named]) -> _Named:
    """The names of several partitions."""
    if len(found) == 1:
        return found[0]
    begins = np.cumsum([0, *(len(names) for _, names in found)])
    numbers = [ranks + begin for (ranks, _), begin in zip(found, begins, strict=False)]
    return _ranked(np.concatenate(numbers), [name for _, names in found for name in names])


def leaves_by_name(entries: Entries, column: AnyArray) -> LeafTable:
    """A table of one partition whose leaves are named by a column's values."""
    rank, names = _named(column, np.arange(len(column)), {})
    order = np.argsort(rank)
    return LeafTable(lambda _: entries, np.zeros_like(order), order, (rank[order], names))


def highest(values: I64, bounds: I64) -> I64:
    """The highest of each slice; none is empty."""
    starts = bounds[:-1]
    if len(starts) == len(values):
        return values
    return np.maximum.reduceat(values, starts) if len(starts) else starts.copy()


_TOGETHER: Final = 8192
"""Leaves whose texts are made together: groups are mostly small."""


class LeafTexts:
    """Gives texts of some leaves of a table that lie side by side; a `GridTexts`.

    Args:
        leaves: All of the table.
        first: The first of them.
        bounds: int64[n + 1]: where the leaves of each directory begin, from there on.
        as_json: Whether a leaf's text is its value as JSON, else what ``cat`` prints.
    """

    def __init__(
        self, leaves: LeafTable, first: int, bounds: I64, *, as_json: bool = False
    ) -> None:
        self._leaves, self._first, self.bounds = leaves, first, bounds
        self._as_json = as_json

    def texts(self, start: int, stop: int) -> Texts:
        """The texts of leaves `start` up to `stop`."""
        first, last = self._first + start, self._first + stop - 1
        if start < stop and first // _TOGETHER == last // _TOGETHER:
            lines = self._block(first // _TOGETHER)
            return Texts.of(lines.slice(first % _TOGETHER, stop - start))
        return self.texts_of(np.arange(start, stop, dtype=np.int64))

    def texts_of(self, leaves: I64) -> Texts:
        """The texts of some leaves."""
        wanted = self._first + leaves
        pieces = [pa.array([], pa.large_string())]
        for block in np.unique(wanted // _TOGETHER).tolist():
            these = wanted[wanted // _TOGETHER == block] - block * _TOGETHER
            pieces.append(self._block(block).take(pa.array(these)))
        lines = pa.concat_arrays(pieces)
        if (np.diff(wanted) < 0).any():
            by_block = np.argsort(wanted // _TOGETHER, kind="stable")
            place = np.empty(len(wanted), dtype=np.int64)
            place[by_block] = np.arange(len(wanted))
            lines = lines.take(pa.array(place))
        return Texts.of(lines)

    def holders(self, literal: str) -> I64 | None:
        """None: what texts hold is not known without them."""
        return None

    def _block(self, number: int) -> pa.LargeStringArray:
        key = (number, self._as_json)
        kept = self._leaves.last_texts
        if kept is None or kept[0] != key:
            first = number * _TOGETHER
            stop = min(first + _TOGETHER, len(self._leaves))
            lines = self._leaves.lines(np.arange(first, stop), as_json=self._as_json)
            kept = self._leaves.last_texts = (key, lines)
        return kept[1]
