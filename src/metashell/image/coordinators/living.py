"""Which records of a coordinator's log say what is so: those that a broker's state is made of.

A state that is folded by columns keeps the events that count. Here these are numbers of records,
each with the group or the transaction that it is of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.coordinators.group_events import GroupEvent
from metashell.image.coordinators.group_log import GroupLog
from metashell.image.fold import distinct, group_keys, stable_order, survivors
from metashell.image.keyed import key_part
from metashell.records.keyed_records import KeyedColumns, KeyedRecords
from metashell.schema.arena import I64, Bools
from metashell.schema.columns import Columns


@dataclass(slots=True)
class LivingRows:
    """Records that count, by what they are of and then in the order of the log.

    ``of``: int64[n], the place of the group or transaction; ``row``: int64[n]; ``created``:
    int64[n], the record that made what the row tells of, -1 where nobody knows.
    """

    of: I64
    row: I64
    created: I64

    def rows_of(self, place: int) -> tuple[I64, I64]:
        """Rows of one group or transaction, and what made them."""
        begin, end = np.searchsorted(self.of, [place, place + 1]).tolist()
        return self.row[begin:end], self.created[begin:end]

    def where(self, chosen: Bools) -> LivingRows:
        """Those chosen: bool[n]."""
        return LivingRows(self.of[chosen], self.row[chosen], self.created[chosen])


_NONE: Final = np.empty(0, dtype=np.int64)
NO_ROWS: Final = LivingRows(_NONE, _NONE, _NONE)


def living_records(log: GroupLog, also: LivingRows) -> LivingRows:
    """Those of groups; places are those of the groups in `GroupLog.state`.

    Args:
        log: The log.
        also: Records of groups that are there which decide nothing.
    """
    state, commits, offsets, events = log.state, log.commits, log.offsets, log.events
    told = [state.about, state.target_epoch, state.told, state.current]
    event_rows = distinct(np.concatenate([events.row[at[at >= 0]] for at in told]))
    # Targets of members that are not there yet are among these.
    refused = events.row[state.refused]
    others_found = map(log.records.columns, log.types_by_key)
    others = [surviving(found, refused)[1].row for found in others_found]
    keyed = np.concatenate([np.empty(0, dtype=np.int64), *others])
    keyed = keyed[keyed > _ends(log)[events.group[np.searchsorted(events.row, keyed)]]]
    plain = np.concatenate([event_rows, commits.rows[offsets.pending], keyed])
    rows = np.concatenate([commits.rows[offsets.last], plain])
    created = np.concatenate([commits.rows[offsets.created], np.full(len(plain), -1)])
    group = log.groups_of_rows(rows)
    place = np.searchsorted(state.group, group)
    known = np.flatnonzero(state.group[np.minimum(place, len(state.group) - 1)] == group)
    if not len(state.group):
        known = known[:0]
    return _by_place([LivingRows(place[known], rows[known], created[known]), also])


def _ends(log: GroupLog) -> I64:
    """int64: by group, the last record that removed or replaced it as a whole; -1 for none."""
    events = log.events
    ends = events.event == GroupEvent.CLASSIC
    ends |= (events.event == GroupEvent.GROUP) & ~events.is_put
    ends[log.state.refused] = False
    last = np.full(log.n_groups, -1, dtype=np.int64)
    np.maximum.at(last, events.group[ends], events.row[ends])
    return last


def surviving_records(records: KeyedRecords, types: Sequence[str]) -> tuple[LivingRows, list[str]]:
    """The newest record of each key of some types, without tombstones, and the names of places.

    A place is a name that keys begin with. With one type whose key is that name, each has a place
    of its own, also of several whose bytes are no UTF-8 and have one text.
    """
    found = [surviving(records.columns(name, None, ())) for name in types]
    names = [key.span(next(iter(key.fields))) for key, _ in found]
    if len(found) == 1 and len(found[0][0].fields) == 1:
        return found[0][1], names[0].texts()
    places: dict[str, int] = {}
    every = [NO_ROWS]
    for column, (_, rows) in zip(names, found, strict=True):
        of = [places.setdefault(name, len(places)) for name in column.texts()]
        every.append(LivingRows(np.array(of, dtype=np.int64), rows.row, rows.created))
    return _by_place(every), list(places)


def surviving(found: KeyedColumns, refused: I64 | None = None) -> tuple[Columns, LivingRows]:
    """The newest record of each key, without tombstones: the keys, and records at places.

    Args:
        found: Records of a type.
        refused: Rows that do not count.
    """
    at = np.arange(len(found))
    if refused is not None:
        at = np.flatnonzero(~np.isin(found.rows, refused))
    key, rows = found.key.take(at), found.rows[at]
    keys = [key_part(key, name) for name in key.fields]
    alive = survivors(group_keys(keys, len(at)), rows, found.is_tombstone[at])
    places = np.arange(len(alive.last))
    return key.take(alive.last), LivingRows(places, rows[alive.last], rows[alive.created])


def _by_place(found: Sequence[LivingRows]) -> LivingRows:
    place, rows, created = (
        np.concatenate([getattr(each, name) for each in found]) for name in ("of", "row", "created")
    )
    by_row = stable_order(rows)
    order = by_row[stable_order(place[by_row])]
    return LivingRows(place[order], rows[order], created[order])
