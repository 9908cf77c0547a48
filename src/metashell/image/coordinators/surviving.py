"""Which records of a coordinator's log say what is so: those that a broker's state is made of.

The records of a partition are about *things*: groups, or transactional ids. The fold of a
directory tells which things there are and which records count. Parts that name no fold have
`SurvivingFold`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from metashell.dataclass import dataclass
from metashell.image.coordinators.commits import fold_offsets
from metashell.image.fold import group_keys, stable_order
from metashell.image.keyed import fold_nullable, key_part
from metashell.parts.paths import check_record, table_levels
from metashell.parts.spec import NodeNames, PartSpec, Put
from metashell.records.keyed_records import KeyedColumns, KeyedRecords
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.columns import Columns, SpanColumn

Levels: TypeAlias = Mapping[str, AnyArray | SpanColumn]
"""The columns whose values name a leaf below its thing's directory, by their names."""

_IN_TABLES: Final = frozenset({"int8", "int16", "int32", "int64", "string", "uuid"})
"""Types of key fields that name leaves of a table."""


@dataclass(slots=True)
class ThingRows:
    """Records that count, by their things and then in the order of the log.

    ``of``: int64[n], the place of the thing; ``row``: int64[n]; ``created``: int64[n], the record
    that made what the row tells of, -1 where nobody knows.
    """

    of: I64
    row: I64
    created: I64

    def rows_of(self, place: int) -> tuple[I64, I64]:
        """Rows of one thing, and what made them."""
        begin, end = np.searchsorted(self.of, [place, place + 1]).tolist()
        return self.row[begin:end], self.created[begin:end]

    def where(self, chosen: Bools) -> ThingRows:
        """The chosen rows: bool[n]."""
        return ThingRows(self.of[chosen], self.row[chosen], self.created[chosen])


NO_ROWS: Final = ThingRows(*np.empty((3, 0), dtype=np.int64))


@dataclass(slots=True)
class LeafSources:
    """The sources of the leaves of a table: n records, or n rows of a state."""

    rows: ThingRows
    """For each row of a state, the newest record about it."""
    levels: Callable[[], Levels] = dict
    """Gives n values a level; a leaf without any is its thing."""
    waits: Callable[[], Bools] | None = None
    """Gives bool[n]: what waits for the end of a transaction; None for nothing."""
    fields: Callable[[], Mapping[str, AnyArray | pa.Array]] | None = None
    """Gives the fields of a state, n values each; None where the records have them."""


@dataclass(slots=True)
class SurvivingRecords:
    """Records of a type that count: n of them, each a thing of its own.

    ``waits``: bool[n], those that wait for the end of a transaction; None where none may.
    """

    key: Columns
    rows: ThingRows
    waits: Bools | None = None

    def levels(self, names: NodeNames, at: I64) -> Levels:
        """Columns of some keys."""
        found = self.key.take(at)
        return {name: key_part(found, name) for name in names}

    def waits_at(self, at: I64) -> Callable[[], Bools] | None:
        """Gives bool[k]: which of some wait."""
        waits = self.waits
        return None if waits is None else lambda: waits[at]


class SurvivingFold:
    """The things in the records of a partition; for each key the newest record counts.

    Args:
        records: All of the partition, or those about one name.
        parts: The parts below the directory.
    """

    def __init__(self, records: KeyedRecords, parts: Sequence[PartSpec]) -> None:
        self.records = records
        every = [(part, put) for part in parts for put in part.puts]
        for part, put in every:
            check_record(part, put, records.types.by_name)
        self._puts = {put.message: put for _, put in every}

    def counts_by_key(self, name: str) -> bool:
        """Whether the newest record of a type counts, whatever others say."""
        del name
        return True

    @property
    def refused(self) -> Mapping[int, str]:
        """Records that a broker refuses because of those before them, and why."""
        return {}

    @cached_property
    def _surviving(self) -> Mapping[str, SurvivingRecords]:
        """The records that count, by type."""
        names = filter(self.counts_by_key, self._puts)
        return {name: surviving_of(self.records, self._puts[name]) for name in names}

    @cached_property
    def names(self) -> Sequence[str]:
        """The thing of each place."""
        spans = [_first(found.key) for found in self._surviving.values()]
        if self._is_one_each:
            # Several whose bytes are no UTF-8 may have one text.
            return spans[0].texts()
        return list(dict.fromkeys(chain.from_iterable(span.texts() for span in spans)))

    @property
    def _is_one_each(self) -> bool:
        """Whether each record that counts is of a thing of its own."""
        return len(self._surviving) == 1 and all(
            len(found.key.fields) == 1 for found in self._surviving.values()
        )

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each thing; of several of one text the newest."""
        return {name: place for place, name in enumerate(self.names)}

    def _places_of(self, key: Columns) -> I64:
        """int64[n]: the place of each key's thing; -1 where it is not there."""
        if self._is_one_each:
            return np.arange(key.n)
        names = _first(key).texts()
        return np.array([self.places.get(name, -1) for name in names], dtype=np.int64)

    @cached_property
    def _split(self) -> tuple[ThingRows, Mapping[NodeNames, LeafSources]]:
        """The rows of nodes, and those of leaves of tables, by the directory below a thing."""
        every, tables = [NO_ROWS], dict[NodeNames, LeafSources]()
        for name, found in self._surviving.items():
            of = self._places_of(found.key)
            at = np.flatnonzero(of >= 0)
            rows = ThingRows(of[at], found.rows.row[at], found.rows.created[at])
            table = table_levels(self._puts[name])
            types = {field.column_name: field.type for field in found.key.specs}
            if table is None or not _IN_TABLES.issuperset(types[level] for level in table[1]):
                every.append(rows)
                continue
            fixed, levels = table
            tables[fixed] = LeafSources(rows, partial(found.levels, levels, at), found.waits_at(at))
        return by_place(every), tables

    @property
    def rows(self) -> ThingRows:
        """The records that tell of nodes which are in no table."""
        return self._split[0]

    @property
    def tables(self) -> Mapping[NodeNames, LeafSources]:
        """Tables of leaves, by the names of their directory below a thing."""
        return self._split[1]

    @cached_property
    def newest(self) -> I64:
        """int64[n], by place: the newest record that tells of each thing; -1 for none."""
        newest = np.full(len(self.names), -1, dtype=np.int64)
        for rows in (self.rows, *(table.rows for table in self.tables.values())):
            np.maximum.at(newest, rows.of, rows.row)
        return newest

    def made(self, place: int) -> Mapping[NodeNames, int]:
        """Nodes of a thing that are there whatever records tell, and the record that made each."""
        del place
        return {}

    def derived(self, place: int, below: NodeNames) -> Mapping[str, Any]:
        """The fields of a node that follow from the state."""
        del place, below
        return {}


def surviving_of(records: KeyedRecords, put: Put) -> SurvivingRecords:
    """The records of a type that count."""
    found = records.columns(put.message, None, ())
    if not put.waits:
        return surviving(found)
    keys = group_keys([key_part(found.key, name) for name in found.key.fields], len(found))
    producers = records.frames.producer_ids(found.rows)
    held = fold_offsets(keys, found.rows, producers, found.is_tombstone, records.markers)
    at = np.concatenate([held.last, held.pending])
    places, made = np.arange(len(at)), np.full(len(at), -1, dtype=np.int64)
    made[: len(held.last)] = found.rows[held.created]
    rows = ThingRows(places, found.rows[at], made)
    return SurvivingRecords(found.key.take(at), rows, places >= len(held.last))


def surviving(found: KeyedColumns, refused: I64 | None = None) -> SurvivingRecords:
    """The newest record of each key, without tombstones.

    Args:
        found: Records of a type.
        refused: Rows that do not count.
    """
    at = np.arange(len(found))
    if refused is not None:
        at = np.flatnonzero(~np.isin(found.rows, refused))
    key, rows = found.key.take(at), found.rows[at]
    alive = fold_nullable(rows, key, list(key.fields), found.is_tombstone[at])
    places = np.arange(len(alive))
    return SurvivingRecords(alive.columns, ThingRows(places, alive.changed, alive.created))


def by_place(found: Sequence[ThingRows]) -> ThingRows:
    """All of some, by place and then in the order of the log."""
    place, rows, created = (
        np.concatenate([getattr(each, name) for each in found]) for name in ("of", "row", "created")
    )
    by_row = stable_order(rows)
    order = by_row[stable_order(place[by_row])]
    return ThingRows(place[order], rows[order], created[order])


def _first(key: Columns) -> SpanColumn:
    """The column that a key begins with."""
    return key.span(next(iter(key.fields)))
