"""``/groups`` and ``/transactions``: what a broker's coordinator logs say.

A node is what records say of it that count (`metashell.image.coordinators.living`). One group is
looked up by its own records alone; who lists all groups folds whole partitions, which are kept as
far as their size allows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from threading import RLock
from typing import Any, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import PathError, SourceError
from metashell.fs.change_texts import whole_text, with_names
from metashell.fs.coordinator_paths import STATE, Fields, Names, Telling, path_of, tellings
from metashell.fs.node import Directory, FixedDirectory, Leaf, Node, TextLeaf
from metashell.fs.touch_times import Times
from metashell.image.coordinators.group_events import GroupType
from metashell.image.coordinators.group_log import GroupLog
from metashell.image.coordinators.group_states import group_states
from metashell.image.coordinators.living import (
    LivingRows,
    living_records,
    living_transactions,
)
from metashell.image.touched import Moment
from metashell.log.fault import Fault
from metashell.records.consumer_protocol import MEMBERS_RECORD
from metashell.records.keyed_records import KeyedRecords, lost_text
from metashell.schema.arena import I64
from metashell.schema.rows import to_rows

_ONE_BY_ONE: Final = 16
"""Groups whose nodes are made singly; of more, those of all are."""
_KEPT_BYTES: Final = 512 << 20
"""Bytes of logs whose partitions are kept when all are listed."""
_ROW_BITS: Final = 40
"""Bits of a time for the row; the partition stands above them."""


@dataclass(slots=True)
class NodeRows:
    """The records that tell of a node, and the one that made it, -1 where nobody knows."""

    rows: list[int] = field(default_factory=list)
    created: int = -1


Nodes = dict[Names, NodeRows]
"""What tells of the nodes of a group, by their names below it; by none for the group itself."""


class CoordinatorState(ABC):
    """What records of one partition say of groups, or of transactions.

    Args:
        records: All of the partition, or those about one name.
        topics: Names of topics by the text of their ids.
    """

    def __init__(self, records: KeyedRecords, topics: Mapping[str, str]) -> None:
        self.records, self.topics = records, topics
        self._values: dict[int, list[Telling]] = {}

    @property
    @abstractmethod
    def places(self) -> Mapping[str, int]:
        """Names of the groups or transactions that there are, and their places."""

    @property
    @abstractmethod
    def living(self) -> LivingRows:
        """The records that count."""

    def nodes(self, place: int) -> Nodes:
        """What there is of one group or transaction."""
        self._n_asked += 1
        if self._n_asked > _ONE_BY_ONE:
            return self._all_nodes[place]
        rows, created = self.living.rows_of(place)
        return self._nodes_of(rows, created, np.full(len(rows), place))[place]

    _n_asked = 0

    @cached_property
    def _all_nodes(self) -> Mapping[int, Nodes]:
        living = self.living
        return self._nodes_of(living.row, living.created, living.of)

    def _nodes_of(self, rows: I64, created: I64, places: I64) -> dict[int, Nodes]:
        found: dict[int, Nodes] = {place: {} for place in self.places.values()}
        made = dict(zip(rows.tolist(), created.tolist(), strict=True))
        of = dict(zip(rows.tolist(), places.tolist(), strict=True))
        for row, paths in self._paths(rows):
            for path in paths:
                node = found[of[row]].setdefault(path[2:], NodeRows())
                node.rows.append(row)
                node.created = max(node.created, made[row])
        return found

    def _paths(self, rows: I64) -> Iterable[tuple[int, list[Names]]]:
        """The nodes that each record tells of; its value is read only where more than one is."""
        types = self.records.frames.key_type[rows]
        for number in np.unique(types).tolist():
            record_type, these = self.records.types.by_number[number], rows[types == number]
            if record_type.name == MEMBERS_RECORD:
                for row in these.tolist():
                    yield row, [each.path for each in self.told(row)]
                continue
            found = self.records.decode(record_type.name, np.sort(these), None, ())
            spec = record_type.key
            named = [(f.column_name, f.json_name) for f in spec.fields]
            for row, key in zip(found.rows.tolist(), to_rows(found.key), strict=True):
                shown = {json: _text(key[column]) for column, json in named}
                yield row, [path_of(record_type, shown, self.topics)]

    def told(self, row: int) -> list[Telling]:
        """What one record says."""
        if row not in self._values:
            some = np.array([row])
            if len(self._values) >= _ONE_BY_ONE:
                some = np.sort(self.living.row)
            self._values.update(tell(self.records, some, self.topics))
        return self._values[row]

    def value(self, place: int, below: Names, rows: Sequence[int]) -> Fields:
        """The fields of a node, as its records have them."""
        fields: dict[str, Any] = {}
        for row in rows:
            for each in self.told(row):
                if each.path[2:] == below and each.fields is not None:
                    fields.update(each.fields)
        return fields


def _text(value: object) -> object:
    from metashell.schema.uuids import uuid_text

    return uuid_text(value) if isinstance(value, bytes) else value


def tell(records: KeyedRecords, rows: I64, topics: Mapping[str, str]) -> dict[int, list[Telling]]:
    """What records say, by row; those that can't be read are left out.

    Args:
        records: All.
        rows: int64, ascending: those that are asked for.
        topics: Names of topics by the text of their ids.
    """
    out: dict[int, list[Telling]] = {}
    types = records.frames.key_type[rows]
    for number in np.unique(types).tolist():
        record_type = records.types.by_number.get(number)
        if record_type is None:
            continue
        found = records.decode(record_type.name, rows[types == number])
        for row, key, value, is_gone in zip(
            found.rows.tolist(),
            to_rows(found.key),
            to_rows(found.value),
            found.is_tombstone.tolist(),
            strict=True,
        ):
            out[row] = list(tellings(record_type, key, None if is_gone else value, topics))
    return out


class GroupsOf(CoordinatorState):
    """Groups.

    Args:
        records: All of the partition, or those about one group.
        topics: Names of topics by the text of their ids.
        partition: Which partition it is.
    """

    def __init__(self, records: KeyedRecords, topics: Mapping[str, str], partition: int) -> None:
        super().__init__(records, topics)
        self.log = GroupLog(records, partition)

    @cached_property
    def places(self) -> Mapping[str, int]:
        names = self.log.names(self.log.state.made).texts()
        return {name: place for place, name in enumerate(names)}

    @cached_property
    def living(self) -> LivingRows:
        return living_records(self.log)

    @cached_property
    def _states(self) -> Sequence[str]:
        return list(group_states(self.log))

    @cached_property
    def _pending(self) -> frozenset[int]:
        log = self.log
        return frozenset(log.commits.rows[log.offsets.pending].tolist())

    def nodes(self, place: int) -> Nodes:
        found = super().nodes(place)
        state = found.setdefault((STATE,), NodeRows())
        state.created = int(self.log.events.row[self.log.state.made[place]])
        return found

    def value(self, place: int, below: Names, rows: Sequence[int]) -> Fields:
        if below == (STATE,):
            kind = GroupType(int(self.log.state.type[place])).name.lower()
            derived = {"type": kind, "state": self._states[place]}
            return derived | dict(super().value(place, below, rows))
        waiting = [row for row in rows if row in self._pending]
        found = dict(super().value(place, below, [row for row in rows if row not in waiting]))
        if waiting:
            found["pending"] = [
                dict(super(GroupsOf, self).value(place, below, [row])) for row in waiting
            ]
        return found


class TransactionsOf(CoordinatorState):
    """Transactional ids, each of which is one node."""

    @cached_property
    def _found(self) -> tuple[LivingRows, Sequence[str]]:
        return living_transactions(self.records)

    @cached_property
    def places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self._found[1])}

    @property
    def living(self) -> LivingRows:
        return self._found[0]


@dataclass(slots=True)
class CoordinatorReader:
    """What reads the partitions of a coordinator's topic."""

    topic: str
    """Its name."""
    partitions: Sequence[int]
    """Those that are there, ascending."""
    read: Callable[[int], tuple[KeyedRecords, Sequence[Fault]]]
    """Gives the records of one, and faults of its files; raises SourceError where it can't."""
    partition_of: Callable[[str], int | None]
    """Gives the partition that a name is in; None where nobody knows how many there are."""
    topics: Callable[[], Mapping[str, str]]
    """Gives names of topics by the text of their ids."""


class CoordinatorDirectory(Directory):
    """The directory of all groups, or of all transactional ids.

    Args:
        reader: What reads their logs.
        make: Makes the state of some records of a partition.
    """

    def __init__(
        self,
        reader: CoordinatorReader,
        make: Callable[[KeyedRecords, Mapping[str, str], int], CoordinatorState],
    ) -> None:
        self._reader, self._make = reader, make
        self._kept: OrderedDict[int, CoordinatorState] = OrderedDict()
        self._lock = RLock()
        self._children: dict[str, Node] = {}
        self._missed: str | None = None
        self._unread: list[str] = []
        self._faults: dict[int, list[str]] = {}
        self.moments = CoordinatorMoments(self._records)

    @property
    def topic(self) -> str:
        """The topic whose partitions are read."""
        return self._reader.topic

    @property
    def topics(self) -> Mapping[str, str]:
        """Names of topics by the text of their ids."""
        return self._reader.topics()

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

    def _state(self, number: int) -> CoordinatorState:
        """A partition, which is kept as long as there is room."""
        with self._lock:
            if number not in self._kept:
                records, faults = self._reader.read(number)
                self._faults[number] = [f"{self.topic}-{number}: {fault}" for fault in faults]
                self._kept[number] = self._make(records, self._reader.topics(), number)
                while len(self._kept) > 1 and sum(map(_size, self._kept.values())) > _KEPT_BYTES:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(number)
            return self._kept[number]

    def _records(self, number: int) -> KeyedRecords:
        return self._state(number).records

    @cached_property
    def _partition_by_name(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for number in self._reader.partitions:
            try:
                state = self._state(number)
            except SourceError as error:
                self._unread.append(error.message)
                continue
            found.update(dict.fromkeys(state.places, number))
        return found

    @cached_property
    def _names(self) -> Sequence[str]:
        return sorted(self._partition_by_name)

    def names(self) -> Sequence[str]:
        return self._names

    def child(self, name: str) -> Node | None:
        with self._lock:
            if name not in self._children:
                found = self._found(name)
                if found is None:
                    self._missed = name
                    return None
                self._children[name] = found
            return self._children[name]

    def _found(self, name: str) -> Node | None:
        if "_partition_by_name" in self.__dict__:
            number = self._partition_by_name.get(name)
            return None if number is None else self._node(self._state(number), number, name)
        number = self._reader.partition_of(name)
        numbers = self._reader.partitions if number is None else [number]
        for each in numbers:
            if each in self._reader.partitions:
                node = self._alone(each, name)
                if node is not None:
                    return node
        return None

    def _alone(self, number: int, name: str) -> Node | None:
        """One group of a partition that is not folded for it."""
        whole = self._state(number)
        # Bytes that are no UTF-8 have no name that leads back to them.
        if "places" in whole.__dict__ or "\ufffd" in name:
            return self._node(whole, number, name)
        return self._node(self._make(whole.records.about(name), whole.topics, number), number, name)

    def _node(self, state: CoordinatorState, number: int, name: str) -> Node | None:
        place = state.places.get(name)
        if place is None:
            return None
        return _below(_Thing(state, number, place), (), state.nodes(place))

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
        """What of the partitions could not be read, as far as they were looked at."""
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

    state: CoordinatorState
    partition: int
    place: int

    def leaf(self, below: Names, found: NodeRows) -> Leaf:
        """A node that records tell of."""

        def value() -> Fields:
            return self.state.value(self.place, below, found.rows)

        def times() -> Times:
            return Times(*(self._time(row) for row in (found.created, max(found.rows, default=-1))))

        return TextLeaf(lambda: _text_of(value()), value).timed(times)

    def _time(self, row: int) -> int | None:
        return None if row < 0 else (self.partition << _ROW_BITS) | row


def _below(thing: _Thing, names: Names, nodes: Nodes) -> Node:
    """The node at names below a group, with all below it."""
    if () in nodes:
        return thing.leaf(names, nodes[()])
    children: dict[str, Nodes] = {}
    for path, found in nodes.items():
        children.setdefault(path[0], {})[path[1:]] = found

    def maker(name: str, some: Nodes) -> Callable[[], Node]:
        return lambda: _below(thing, (*names, name), some)

    return FixedDirectory({name: maker(name, some) for name, some in children.items()})


def _text_of(fields: Fields) -> str:
    """The fields of a node in one line."""
    named = ((name, with_names(name, value)) for name, value in fields.items())
    return ", ".join(f"{name}={whole_text(value)}" for name, value in named)


def _size(state: CoordinatorState) -> int:
    return state.records.frames.arena.size


class CoordinatorMoments:
    """What the rows of coordinators' nodes mean.

    Args:
        records: Gives the records of a partition.
    """

    base = None

    def __init__(self, records: Callable[[int], KeyedRecords]) -> None:
        self._records = records

    def of(self, rows: Sequence[int] | I64) -> list[Moment | None]:
        """The moment of each row, None for -1."""
        return [self._one(int(row)) for row in rows]

    def _one(self, time: int) -> Moment | None:
        if time < 0:
            return None
        records, row = self._records(time >> _ROW_BITS), time & ((1 << _ROW_BITS) - 1)
        frames, at = records.frames, np.array([row])
        return Moment(
            int(frames.offset[row]),
            int(frames.epochs(at)[0]),
            int(frames.timestamps(at)[0]),
            None,
            records.types.type_name(int(frames.key_type[row])),
        )
