"""Which records of a split are wanted, decided before they are decoded."""

from __future__ import annotations

from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.control import CONTROL_NAMES
from metashell.log.frames import control_key
from metashell.log.read import Loaded
from metashell.records.filter import (
    MAX_OFFSET,
    Selection,
    TopicNames,
    select_batches,
    select_rows,
)
from metashell.records.records import Records, type_of
from metashell.schema.arena import I64
from metashell.schema.model import Registry
from metashell.schema.uuids import parse_uuid

_UNKNOWN: Final = "UNKNOWN("


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """The conditions on a split's records; every condition given must hold.

    Batches are left out by their headers, and what is decoded is only what may be wanted. The rows
    that are left are exactly those that the conditions hold for.
    """

    types: frozenset[str] | None = None
    """Types as the column `type` has them (``PARTITION_CHANGE_RECORD``, ``LeaderChange``)."""
    offset_min: int = 0
    offset_max: int = MAX_OFFSET
    time_min: int | None = None
    """Milliseconds since the epoch."""
    time_max: int | None = None
    topics: frozenset[str] | None = None
    """Records that speak of topics by one of these names, or by one of these ids. A split knows no
    names of topics that were made elsewhere: who wants a topic by name names its ids, too."""

    def keys(self, registry: Registry) -> frozenset[int] | None:
        """The api keys of the types; None for all."""
        if self.types is None:
            return None
        wanted = {key for key, spec in registry.metadata.items() if spec.type_name in self.types}
        wanted |= {control_key(t) for t, name in CONTROL_NAMES.items() if name in self.types}
        for name in self.types:
            digits = name.removeprefix(_UNKNOWN).removesuffix(")").removeprefix("-")
            if name.startswith(_UNKNOWN) and digits.isdecimal() and len(digits) < 10:
                number = int(name.removeprefix(_UNKNOWN).removesuffix(")"))
                wanted |= {k for k in (number, control_key(number)) if type_of(k, registry) == name}
        return frozenset(wanted)

    def selection(self, registry: Registry) -> Selection:
        """The conditions on batches and rows, topics aside."""
        return Selection(
            first_offset=self.offset_min,
            last_offset=self.offset_max,
            since_ms=self.time_min,
            until_ms=self.time_max,
            keys=self.keys(registry),
        )

    def batches(self, loaded: Loaded, registry: Registry) -> Loaded:
        """Leave out batches whose header says that no record of theirs is wanted."""
        return select_batches(loaded, self.selection(registry))

    def rows(self, records: Records) -> I64:
        """The rows wanted, ascending: int64."""
        rows = select_rows(records, self.selection(records.registry), TopicNames())
        if self.topics is None or not len(rows):
            return rows
        ids = {parsed for text in self.topics if (parsed := parse_uuid(text)) is not None}
        names = TopicNames(matching=ids)
        by_topic = Selection(topic=self.topics.__contains__)
        wanted = np.union1d(select_rows(records, by_topic, names), _made(records, ids))
        return np.intersect1d(rows, wanted, assume_unique=True)


def _made(records: Records, ids: set[bytes]) -> I64:
    """Rows of the records that make topics with one of these ids."""
    spec = records.registry.by_name.get("TopicRecord")
    nothing = np.empty(0, dtype=np.int64)
    if spec is None or not ids:
        return nothing
    rows = np.flatnonzero(records.frames.api_key.narrow == spec.api_key)
    good, columns = records.decode(spec.name, rows, ("topic_id",))
    if "topic_id" not in columns.fields:
        return nothing
    found = np.array([i in ids for i in columns.fixed("topic_id").tolist()], dtype=np.bool_)
    return good[found]
