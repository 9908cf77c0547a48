"""The groups or transactions in the records of one partition of a coordinators' topic.

A node is what records say of it that count (`metashell.image.coordinators.surviving`). Where one is
asked for it is read alone; from some on all are read together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from metashell.dataclass import dataclass
from metashell.fs.leaf_table import Entries, FieldsReader, TopicLeaves
from metashell.fs.record_moments import RecordHeads
from metashell.fs.record_paths import SOME, Fields, NodeUpdate, tell
from metashell.image.coordinators.surviving import LeafSources, SurvivingFold
from metashell.parts.spec import NodeNames, PartSpec, hook
from metashell.records.keyed_records import KeyedRecords
from metashell.redact import Redaction
from metashell.schema.arena import I64

_ONE_BY_ONE: Final = 16
"""Things whose nodes are made singly; of more, those of all are."""


@dataclass(slots=True)
class NodeRows:
    """The records that tell of a node, and the one that made it, -1 where nobody knows."""

    rows: list[int] = field(default_factory=list)
    created: int = -1


Nodes = dict[NodeNames, NodeRows]
"""The rows of the nodes of a thing, by their names below it."""


@dataclass(slots=True)
class _RecordFields:
    """Reads what records say of leaves; as `metashell.fs.leaf_table.FieldsReader`."""

    records: KeyedRecords
    rows: I64
    topics: Mapping[str, str]
    redaction: Redaction

    def values(self, places: I64) -> Sequence[Fields]:
        rows = self.rows[places]
        updates = tell(self.records, np.sort(rows), self.topics, self.redaction)
        return [updates[row][0].fields or {} for row in rows.tolist()]

    def lines(self, places: I64, *, as_json: bool) -> pa.LargeStringArray:
        from metashell.fs.field_texts import row_lines

        rows = self.rows[places]
        return row_lines(self.records, rows, lambda at: self.values(places[at]), as_json=as_json)


class PartitionNodes:
    """The things of one partition, and the nodes below each.

    Args:
        records: All of the partition, or those about one name.
        number: The partition.
        topics: Names of topics by the text of their ids.
        parts: The parts below the directory.
        redaction: Says what may be shown.
    """

    def __init__(
        self,
        records: KeyedRecords,
        number: int,
        topics: Mapping[str, str],
        parts: Sequence[PartSpec],
        redaction: Redaction,
    ) -> None:
        self.records, self.number, self.topics = records, number, topics
        self._redaction = redaction
        fold = next((part.fold for part in parts if part.fold), None)
        self.fold: SurvivingFold = (hook(fold) if fold else SurvivingFold)(records, parts)
        self.heads = RecordHeads(records)
        self._values: dict[int, list[NodeUpdate]] = {}
        self._entries: dict[NodeNames, Entries] = {}
        self._tables: dict[NodeNames, TopicLeaves] = {}

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Names of the things that there are, and their places."""
        return self.fold.places

    # Leaves that lie in tables.

    def entries(self, below: NodeNames) -> Entries:
        """The leaves of a table, by the names of its directory below a thing."""
        if below not in self._entries:
            rows = self.fold.tables[below]
            self._entries[below] = Entries(rows, self._reader(rows), self.heads)
        return self._entries[below]

    def _reader(self, rows: LeafSources) -> FieldsReader:
        if rows.fields is None:
            return _RecordFields(self.records, rows.rows.row, self.topics, self._redaction)
        from metashell.fs.field_texts import ColumnFields

        return ColumnFields(rows.fields())

    @cached_property
    def _rank(self) -> I64:
        """int64[n]: the place of each thing in the order of their names."""
        names = self.fold.names
        rank = np.empty(len(names), dtype=np.int64)
        rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        return rank

    def topics_of(self, place: int, below: NodeNames) -> tuple[TopicLeaves, range]:
        """The table of all things' leaves below a directory, and which topics are a thing's."""
        if below not in self._tables:
            of = self.fold.tables[below].rows.of
            chosen = {self.number: (np.arange(len(of)), self._rank[of])}
            entries = {self.number: self.entries(below)}
            self._tables[below] = TopicLeaves(entries, chosen, self.topics)
        table = self._tables[below]
        return table, table.of_thing(int(self._rank[place]))

    # Other nodes.

    def _tell(self, rows: I64, *, values: bool = True) -> dict[int, list[NodeUpdate]]:
        rows = np.sort(rows)
        return tell(self.records, rows, self.topics, self._redaction, values=values)

    def nodes(self, place: int) -> Nodes:
        """The nodes of one thing, without leaves of tables."""
        self._n_asked += 1
        if self._n_asked > _ONE_BY_ONE:
            found = self._all_nodes.get(place, {})
        else:
            rows, created = self.fold.rows.rows_of(place)
            found = self._nodes_of(rows, created, np.full(len(rows), place)).get(place, {})
        for below, row in self.fold.made(place).items():
            found.setdefault(below, NodeRows()).created = row
        return found

    _n_asked = 0

    @cached_property
    def _all_nodes(self) -> Mapping[int, Nodes]:
        rows = self.fold.rows
        return self._nodes_of(rows.row, rows.created, rows.of)

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

    def updates_of(self, row: int) -> list[NodeUpdate]:
        """The nodes that one record tells of."""
        if row not in self._values:
            some = np.array([row])
            if len(self._values) >= _ONE_BY_ONE:
                rows, types = self.fold.rows.row, self.records.frames.api_key.narrow
                some = rows[types[rows] == types[row]]
            self._values.update(self._tell(some))
        return self._values[row]

    def value(self, place: int, below: NodeNames, rows: Sequence[int]) -> Fields:
        """The fields of a node that rows tell of."""
        fields: dict[str, Any] = dict(self.fold.derived(place, below))
        for row in rows:
            for each in self.updates_of(row):
                if each.path[2:] == below and each.fields is not None:
                    fields.update(each.fields)
        return fields


def has_nodes_below(parts: Sequence[PartSpec]) -> bool:
    """Whether each thing that parts have in common is a directory, and no leaf."""
    return any("/" in put.at for part in parts for put in part.puts)
