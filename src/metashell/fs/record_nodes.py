"""What the records of one partition of a coordinators' topic say of groups or transactions.

A node is what records say of it that count (`metashell.image.coordinators.living`). Where one is
asked for it is read alone; from some on all are read together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.fs.offset_leaves import OffsetLeaves
from metashell.fs.record_moments import RecordHeads
from metashell.fs.record_paths import (
    SOME,
    STATE,
    Fields,
    Telling,
    tell,
)
from metashell.image.coordinators.commits import COMMITS
from metashell.image.coordinators.group_events import GroupType
from metashell.image.coordinators.group_log import TOLD_TYPES, GroupLog
from metashell.image.coordinators.group_states import group_states
from metashell.image.coordinators.living import (
    LivingRows,
    living_records,
    surviving_records,
)
from metashell.image.coordinators.share_state import ShareState, fold_share, share_fields
from metashell.image.fold import group_keys
from metashell.parts.spec import NodeNames, PartSpec
from metashell.records.keyed_records import KeyedRecords
from metashell.redact import Redaction
from metashell.schema.arena import I32, I64
from metashell.schema.uuids import uuid_text

if TYPE_CHECKING:
    import pyarrow as pa

_ONE_BY_ONE: Final = 16
"""Groups whose nodes are made singly; of more, those of all are."""


@dataclass(slots=True)
class NodeRows:
    """The records that tell of a node, and the one that made it, -1 where nobody knows."""

    rows: list[int] = field(default_factory=list)
    created: int = -1


Nodes = dict[NodeNames, NodeRows]
"""What tells of the nodes of a group, by their names below it; by none for the group itself."""


class PartitionNodes(ABC):
    """What records of one partition say of groups, or of transactions.

    Args:
        records: All of the partition, or those about one name.
        topics: Names of topics by the text of their ids.
        parts: Those that are below the directory.
        redaction: What may be shown.
    """

    def __init__(
        self,
        records: KeyedRecords,
        topics: Mapping[str, str],
        parts: Sequence[PartSpec],
        redaction: Redaction,
    ) -> None:
        self.records, self.topics, self.parts = records, topics, parts
        self._redaction = redaction
        self.heads = RecordHeads(records)

    @property
    @abstractmethod
    def places(self) -> Mapping[str, int]:
        """Names of the groups or transactions that there are, and their places."""

    def nodes(self, place: int) -> Nodes:
        """What there is of one group or transaction, without leaves of tables."""
        del place
        return {}

    @property
    def offsets(self) -> OffsetLeaves | None:
        """The committed offsets of groups; None where nothing has any."""
        return None

    @property
    @abstractmethod
    def times(self) -> tuple[I64, I64]:
        """int64[n] each, by place: the record that made what is no directory, and the newest one
        that tells of it or of what is below; -1 for none.
        """

    def value(self, place: int, below: NodeNames, rows: Sequence[int]) -> Fields:
        """The fields of a node that rows tell of."""
        del place, below, rows
        return {}


class RecordedState(PartitionNodes):
    """Of which each node is what some records say, the newest of their types."""

    @cached_property
    def _values(self) -> dict[int, list[Telling]]:
        """What was read of some records."""
        return {}

    def _tell(self, rows: I64, *, values: bool = True) -> dict[int, list[Telling]]:
        rows = np.sort(rows)
        return tell(self.records, rows, self.topics, self._redaction, values=values)

    @property
    @abstractmethod
    def living(self) -> LivingRows:
        """The records that count."""

    @cached_property
    def types(self) -> Sequence[str]:
        """Record types that tell of these parts and have a definition."""
        names = [put.message for part in self.parts for put in part.puts]
        return [name for name in names if name in self.records.types.by_name]

    def nodes(self, place: int) -> Nodes:
        self._n_asked += 1
        if self._n_asked > _ONE_BY_ONE:
            return self._all_nodes.get(place, {})
        rows, created = self.living.rows_of(place)
        return self._nodes_of(rows, created, np.full(len(rows), place)).get(place, {})

    _n_asked = 0

    @cached_property
    def _all_nodes(self) -> Mapping[int, Nodes]:
        living = self.living
        return self._nodes_of(living.row, living.created, living.of)

    def _nodes_of(self, rows: I64, created: I64, places: I64) -> dict[int, Nodes]:
        found: dict[int, Nodes] = {}
        made = dict(zip(rows.tolist(), created.tolist(), strict=True))
        of = dict(zip(rows.tolist(), places.tolist(), strict=True))
        for row, says in self._tell(rows, values=False).items():
            if says[0].fields is not SOME:
                self._values[row] = says
            for each in says:
                node = found.setdefault(of[row], {}).setdefault(each.path[2:], NodeRows())
                node.rows.append(row)
                node.created = max(node.created, made[row])
        return found

    def told(self, row: int) -> list[Telling]:
        """What one record says."""
        if row not in self._values:
            some = np.array([row])
            if len(self._values) >= _ONE_BY_ONE:
                rows, types = self.living.row, self.records.frames.api_key.narrow
                some = rows[types[rows] == types[row]]
            self._values.update(self._tell(some))
        return self._values[row]

    def value(self, place: int, below: NodeNames, rows: Sequence[int]) -> Fields:
        fields: dict[str, Any] = {}
        for row in rows:
            for each in self.told(row):
                if each.path[2:] == below and each.fields is not None:
                    fields.update(each.fields)
        return fields


def has_nodes_below(parts: Sequence[PartSpec]) -> bool:
    """Whether each thing that parts have in common is a directory, and no leaf."""
    return any("/" in put.at for part in parts for put in part.puts)


class GroupsOf(RecordedState):
    """Groups."""

    @cached_property
    def log(self) -> GroupLog:
        """The log."""
        # Nothing that is asked of it says which partition it is.
        return GroupLog(self.records, 0)

    @cached_property
    def _names(self) -> Sequence[str]:
        return self.log.names(self.log.state.made).texts()

    @cached_property
    def places(self) -> Mapping[str, int]:
        # Of several whose bytes are no UTF-8 and have one text, the newest.
        return {name: place for place, name in enumerate(self._names)}

    @cached_property
    def _living(self) -> tuple[LivingRows, LivingRows, I64]:
        """Commits, other records, and the newest of each group: int64[groups], -1 for none."""
        living = living_records(self.log, self._plain_rows())
        newest = np.full(len(self._names), -1, dtype=np.int64)
        np.maximum.at(newest, living.of, living.row)
        numbers = [self.records.types.by_name[name].number for name in COMMITS]
        is_commit = np.isin(self.records.frames.api_key[living.row], numbers)
        return living.where(is_commit), living.where(~is_commit), newest

    def _plain_rows(self) -> LivingRows:
        """The records of types that tell of groups and decide nothing about them."""
        types = [name for name in self.types if name not in TOLD_TYPES]
        rows, names = surviving_records(self.records, types)
        of = np.array([self.places.get(name, -1) for name in names], dtype=np.int64)[rows.of]
        return LivingRows(of, rows.row, rows.created).where(of >= 0)

    @property
    def living(self) -> LivingRows:
        return self._living[1]

    @cached_property
    def offsets(self) -> OffsetLeaves:
        return OffsetLeaves(self.log, self._living[0], self._names, self.topics)

    @property
    def times(self) -> tuple[I64, I64]:
        newest = self._living[2]
        return np.full_like(newest, -1), newest

    @cached_property
    def _states(self) -> Sequence[str]:
        return list(group_states(self.log))

    def nodes(self, place: int) -> Nodes:
        found = super().nodes(place)
        state = found.setdefault((STATE,), NodeRows())
        state.created = int(self.log.events.row[self.log.state.made[place]])
        return found

    def value(self, place: int, below: NodeNames, rows: Sequence[int]) -> Fields:
        if below == (STATE,):
            kind = GroupType(int(self.log.state.type[place])).name.lower()
            derived = {"type": kind, "state": self._states[place]}
            return derived | dict(super().value(place, below, rows))
        return super().value(place, below, rows)


class PutNodes(RecordedState):
    """What the newest record of each key says, by the first name in its path."""

    @cached_property
    def _found(self) -> tuple[LivingRows, Sequence[str]]:
        return surviving_records(self.records, self.types)

    @cached_property
    def places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self._found[1])}

    @property
    def living(self) -> LivingRows:
        return self._found[0]

    @property
    def times(self) -> tuple[I64, I64]:
        living = self.living
        if not has_nodes_below(self.parts):
            return living.created, living.row
        newest = np.full(len(self._found[1]), -1, dtype=np.int64)
        np.maximum.at(newest, living.of, living.row)
        return np.full_like(newest, -1), newest

    @property
    def leaf_rows(self) -> tuple[I64, I64]:
        return self.times

    def leaf_values(self, places: I64) -> Sequence[Fields]:
        rows = self.living.row[places]
        told = self._tell(rows)
        return [told[row][0].fields or {} for row in rows.tolist()]

    def leaf_lines(self, places: I64, *, as_json: bool) -> pa.LargeStringArray:
        from metashell.fs.field_texts import row_lines

        return row_lines(
            self.records,
            self.living.row[places],
            lambda at: self.leaf_values(places[at]),
            as_json=as_json,
        )


class ShareOf(PartitionNodes):
    """Share groups, whose partitions' state is merged of several records."""

    @cached_property
    def _state(self) -> ShareState:
        return fold_share(self.records)

    @cached_property
    def _groups(self) -> Sequence[str]:
        return self._state.group.texts()

    @cached_property
    def places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(dict.fromkeys(self._groups))}

    @cached_property
    def _of(self) -> I64:
        """int64[n]: the place of each share partition's group."""
        return np.array([self.places[group] for group in self._groups], dtype=np.int64)

    @cached_property
    def times(self) -> tuple[I64, I64]:
        newest = np.full(len(self.places), -1, dtype=np.int64)
        np.maximum.at(newest, self._of, self._state.changed)
        return np.full_like(newest, -1), newest

    def partitions(self, place: int) -> tuple[I64, list[str], I32]:
        """The share partitions of a group: their places here, topics and numbers."""
        at = np.flatnonzero(self._of == place)
        ids = self._state.topic_id[at]
        numbers = group_keys([ids], len(ids))
        some, index = np.unique(numbers, return_index=True, return_inverse=True)[1:]
        texts = [uuid_text(ids[i].tobytes()) for i in some.tolist()]
        names = [self.topics.get(text, text) for text in texts]
        return at, [names[i] for i in index.tolist()], self._state.partition[at]

    @property
    def leaf_rows(self) -> tuple[I64, I64]:
        return self._state.created, self._state.changed

    def leaf_values(self, places: I64) -> Sequence[Fields]:
        return [share_fields(self._state, place) for place in places.tolist()]

    def leaf_lines(self, places: I64, *, as_json: bool) -> pa.LargeStringArray:
        from metashell.fs.field_texts import share_lines

        return share_lines(self._state, places, as_json=as_json)
