"""``/groups``, ``/transactions`` and ``/share``: what a broker's coordinator logs say.

One group is looked up by its own records alone; who lists all groups folds whole partitions, which
are kept as far as their size allows.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from threading import RLock
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import PathError, SourceError
from metashell.fs.leaf_table import Entries, LeafTable, TopicLeaves
from metashell.fs.node import Directory, FixedDirectory, Grid, LateDirectory, Leaf, Node, TextLeaf
from metashell.fs.nodes.leaves import LeavesGrid, TopicLeavesDirectory, leaf_of, place_of
from metashell.fs.record_moments import ROW_BITS, RecordHeads, RecordMoments
from metashell.fs.record_nodes import NodeRows, PartitionNodes, has_nodes_below
from metashell.fs.record_paths import Fields, fields_text
from metashell.fs.touch_times import Times, changed_at
from metashell.image.coordinators.placement import partition_of
from metashell.image.fold import places_by_number
from metashell.parts.spec import NodeNames, PartSpec
from metashell.records.keyed_records import KeyedRecords, lost_text
from metashell.redact import Redaction
from metashell.schema.arena import I64

_KEPT_BYTES: Final = 512 << 20
"""Bytes of logs whose partitions are kept when all are listed."""


@dataclass(slots=True)
class PartitionsReader:
    """A reader of the partitions of a coordinator's topic."""

    topic: str
    """Its name."""
    partitions: Sequence[int]
    """The partitions that are there, ascending."""
    read: Callable[[int], tuple[KeyedRecords, Sequence[str]]]
    """Gives the records of one, and what is wrong with its files and replicas; raises SourceError
    where it can't."""
    partition_of: Callable[[str], int | None]
    """Gives the partition that a name is in; None where it may be in any."""
    topics: Callable[[], Mapping[str, str]]
    """Gives names of topics by the text of their ids."""
    redaction: Redaction
    """Says what may be shown."""
    is_shards: bool = False
    """Whether a name can be in several."""


class PartitionsDirectory(Directory):
    """The directory of all groups, of all share groups or of all transactional ids.

    Args:
        reader: Reads their logs.
        parts: The parts below it.
    """

    def __init__(self, reader: PartitionsReader, parts: Sequence[PartSpec]) -> None:
        self._reader, self._parts = reader, parts
        self.name = parts[0].path[0]
        """The directory's name in the root."""
        self._has_nodes_below = has_nodes_below(parts)
        self._kept: OrderedDict[int, PartitionNodes] = OrderedDict()
        self._lock = RLock()
        self._children: dict[str, Node] = {}
        self._missed: str | None = None
        self._unread: list[str] = []
        self._faults: dict[int, list[str]] = {}
        self.moments = RecordMoments(self._heads)

    @property
    def topic(self) -> str:
        """The topic whose partitions are read."""
        return self._reader.topic

    @property
    def topics(self) -> Mapping[str, str]:
        """Names of topics by the text of their ids."""
        return self._reader.topics()

    @property
    def redaction(self) -> Redaction:
        """Says what may be shown."""
        return self._reader.redaction

    def records_about(self, name: str | None) -> Iterator[tuple[int, KeyedRecords]]:
        """The records of each partition that is here, or those about one name where it may be.

        Raises:
            SourceError: A partition can't be read.
        """
        number = None if name is None else self._reader.partition_of(name)
        for each in self._reader.partitions:
            if number in (None, each):
                records = self._state(each).records
                is_all = name is None or "\ufffd" in name
                yield each, records if is_all else records.about(name or "")

    def _make(self, number: int, records: KeyedRecords) -> PartitionNodes:
        return PartitionNodes(records, number, self.topics, self._parts, self.redaction)

    def _state(self, number: int) -> PartitionNodes:
        """A partition, which is kept as long as there is room."""
        with self._lock:
            if number not in self._kept:
                records, faults = self._reader.read(number)
                self._faults[number] = [f"{self.topic}-{number}: {fault}" for fault in faults]
                self._kept[number] = self._make(number, records)
                while len(self._kept) > 1 and sum(map(_size, self._kept.values())) > _KEPT_BYTES:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(number)
            return self._kept[number]

    def _heads(self, number: int) -> RecordHeads:
        return self._state(number).heads

    @cached_property
    def _partitions_by_name(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = {}
        for number in self._reader.partitions:
            try:
                state = self._state(number)
            except SourceError as error:
                self._unread.append(error.message)
                continue
            for name in state.places:
                found.setdefault(name, []).append(number)
        return found

    @cached_property
    def _names(self) -> Sequence[str]:
        return sorted(self._partitions_by_name)

    def names(self) -> Sequence[str]:
        return self._names

    def child(self, name: str) -> Node | None:
        with self._lock:
            found = self._children.get(name) or self._found(name)
            if found is None:
                self._missed = name
            elif "_partitions_by_name" not in self.__dict__:
                # Among all it is found at once; alone it was read for itself.
                self._children[name] = found
            return found

    def child_times(self, names: Sequence[str]) -> tuple[I64, I64]:
        if "_partitions_by_name" not in self.__dict__:
            # The times of a few names are read one by one.
            return super().child_times(names)
        here: dict[int, list[int]] = {}
        n_partitions = None if self._reader.is_shards else 1
        for i, name in enumerate(names):
            for number in self._partitions_by_name.get(name, ())[:n_partitions]:
                here.setdefault(number, []).append(i)
        created, changed, newest_ms = np.full((3, len(names)), -1, dtype=np.int64)
        # Among equal times the last partition's counts, as for the node itself.
        for number, some in sorted(here.items()):
            state, at = self._state(number), np.array(some)
            places = np.array([state.places[names[i]] for i in some])
            last, made = state.fold.newest[places], np.full_like(at, -1)
            if not self._has_nodes_below:
                made = state.entries(()).rows.rows.created[places]
            if self._reader.is_shards:
                # Rows of several partitions tell nothing of which is newer.
                times_ms = state.heads.timestamps(last)
                is_newer = times_ms >= newest_ms[at]
                at, made, last = at[is_newer], made[is_newer], last[is_newer]
                newest_ms[at] = times_ms[is_newer]
            # -1 stays what it is.
            created[at], changed[at] = made | number << ROW_BITS, last | number << ROW_BITS
        return created, changed

    @cached_property
    def _leaves(self) -> LeafTable:
        """All, where nothing is below any of them."""
        found = self._partitions_by_name
        numbers = np.array([found[name][0] for name in self._names], dtype=np.int64)
        places = np.empty_like(numbers)
        for number, at in places_by_number(numbers):
            here = self._state(number).places
            places[at] = [here[self._names[i]] for i in at.tolist()]
        names = np.arange(len(places)), self._names
        return LeafTable(self._entries, numbers, places, names)

    def _entries(self, number: int) -> Entries:
        return self._state(number).entries(())

    def leaf_grid(self) -> Grid | None:
        if self._has_nodes_below:
            return None
        return LeavesGrid(self, self._names, self._leaves, range(len(self._names)))

    def _found(self, name: str) -> Node | None:
        if "_partitions_by_name" in self.__dict__ and not self._has_nodes_below:
            at = place_of(self._names, name)
            return None if at is None else leaf_of(self._leaves, at)
        things: list[_Thing] = []
        for number in self._where(name):
            state = self._state_about(number, name)
            place = state.places.get(name)
            if place is not None:
                things.append(_Thing(state, place))
                if not self._reader.is_shards:
                    break
        if not things:
            return None
        if not self._has_nodes_below:
            return things[0].whole(name)
        return _ThingDirectory(sorted(things, key=lambda thing: thing.state.number))

    def _where(self, name: str) -> Sequence[int]:
        """The partitions here that a name may be in."""
        if "_partitions_by_name" in self.__dict__:
            return self._partitions_by_name.get(name, ())
        number = self._reader.partition_of(name)
        every = self._reader.partitions
        if number is not None:
            return [each for each in every if each == number]
        # Where nobody knows how many there are, those here may well be all.
        likely = partition_of(name, every[-1] + 1) if every else 0
        return sorted(every, key=lambda each: each != likely)

    def _state_about(self, number: int, name: str) -> PartitionNodes:
        """A partition that is folded, or else what is known of one name alone."""
        whole = self._state(number)
        # Bytes that are no UTF-8 have no name that leads back to them.
        if "places" in whole.__dict__ or "\ufffd" in name:
            return whole
        return self._make(number, whole.records.about(name))

    def is_at_hand(self, name: str) -> bool:
        """Whether the partition that a name is in can be read here, as far as that is known."""
        number = self._reader.partition_of(name)
        return number is None or number in self._reader.partitions

    def missing(self, path: str) -> PathError:
        number = None if self._missed is None else self._reader.partition_of(self._missed)
        if number is None or number in self._reader.partitions:
            return super().missing(path)
        return PathError(path, f"partition {number} of {self._reader.topic} is not here")

    def remarks(self) -> list[str]:
        """The data that could not be read, of the partitions that were looked at."""
        found = [fault for faults in self._faults.values() for fault in faults]
        for number, state in self._kept.items():
            partition, lost_before = f"{self._reader.topic}-{number}", state.records.lost_before
            if lost_before is not None:
                found.append(lost_text(partition, lost_before))
            found += [f"{partition}: {fault}" for fault in state.records.known_faults()]
        return found + self._unread


@dataclass(slots=True)
class _Thing:
    """A group or a transactional id."""

    state: PartitionNodes
    place: int

    def whole(self, name: str) -> Leaf:
        """The node that it is, where nothing is below it."""
        state, place = self.state, np.array([self.place])
        names = np.zeros(1, dtype=np.int64), [name]
        table = LeafTable(lambda _: state.entries(()), np.array([state.number]), place, names)
        return leaf_of(table, 0)

    def leaf(self, below: NodeNames, found: NodeRows) -> Leaf:
        """A node that records tell of."""

        def value() -> Fields:
            return self.state.value(self.place, below, found.rows)

        def times() -> Times:
            return Times(*(self.time(row) for row in (found.created, max(found.rows, default=-1))))

        return TextLeaf(lambda: fields_text(value()), value).timed(times)

    def time(self, row: int) -> int | None:
        """The time that a row of its partition stands for; None for -1."""
        return None if row < 0 else (self.state.number << ROW_BITS) | row


class _ThingDirectory(LateDirectory):
    """A group, which is looked at when what is below it is asked for.

    Args:
        things: The things of that name, one a partition.
    """

    def __init__(self, things: Sequence[_Thing]) -> None:
        super().__init__(self._whole)
        self._things = things

    def _whole(self) -> Directory:
        tables: dict[NodeNames, list[_Thing]] = {}
        nodes: dict[NodeNames, _Found] = {}
        for thing in self._things:
            for below in thing.state.fold.tables:
                tables.setdefault(below, []).append(thing)
            found = thing.state.nodes(thing.place).items()
            nodes.update((path, (thing, rows)) for path, rows in found)
        if () in tables:
            return _table_directory((), tables[()]) or FixedDirectory({})
        whole = _below((), nodes)
        assert isinstance(whole, FixedDirectory)
        found_below = {below[0]: _table_directory(below, some) for below, some in tables.items()}
        return whole.but({name: _always(node) for name, node in found_below.items() if node})

    def times(self) -> Times | None:
        newest: tuple[int, int] | None = None
        for thing in self._things:
            row = int(thing.state.fold.newest[thing.place])
            time = thing.time(row)
            if time is not None:
                # Rows of several partitions tell nothing of which is newer.
                is_one = len(self._things) == 1
                ms = 0 if is_one else int(thing.state.heads.timestamps(np.array([row]))[0])
                newest = max(newest or (ms, time), (ms, time))
        return changed_at(None if newest is None else newest[1])


def _table_directory(below: NodeNames, things: Sequence[_Thing]) -> Directory | None:
    """The directory of a table's leaves that one thing has in some partitions; None for none."""
    if len(things) == 1:
        table, topics = things[0].state.topics_of(things[0].place, below)
    else:
        entries = {thing.state.number: thing.state.entries(below) for thing in things}
        chosen = {}
        for thing in things:
            at = np.flatnonzero(entries[thing.state.number].rows.rows.of == thing.place)
            chosen[thing.state.number] = at, np.zeros_like(at)
        table = TopicLeaves(entries, chosen, things[0].state.topics)
        topics = table.of_thing(0)
    return TopicLeavesDirectory(table, topics) if topics else None


def _always(node: Node) -> Callable[[], Node]:
    return lambda: node


_Found = tuple[_Thing, NodeRows]
"""A thing, and the rows of a node of it."""


def _below(names: NodeNames, nodes: Mapping[NodeNames, _Found]) -> Node:
    """The node at names below a group, with all below it."""
    if () in nodes:
        thing, rows = nodes[()]
        return thing.leaf(names, rows)
    children: dict[str, dict[NodeNames, _Found]] = {}
    for path, found in nodes.items():
        children.setdefault(path[0], {})[path[1:]] = found

    def maker(name: str, some: Mapping[NodeNames, _Found]) -> Callable[[], Node]:
        return lambda: _below((*names, name), some)

    return FixedDirectory({name: maker(name, some) for name, some in children.items()})


def _size(state: PartitionNodes) -> int:
    return state.records.frames.arena.size
