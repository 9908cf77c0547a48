"""Which records of a coordinator's log say what is so: those that a broker's state is made of.

A state that is folded by columns keeps the events that count. Here these are numbers of records,
each with the group or the transaction that it is of.
"""

from __future__ import annotations

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.coordinators.group_events import GroupEvent
from metashell.image.coordinators.group_log import GroupLog
from metashell.image.fold import distinct, group_keys, stable_order, survivors
from metashell.image.keyed import key_part
from metashell.records.keyed_records import KeyedColumns, KeyedRecords
from metashell.schema.arena import I64, Bools

TRANSACTION_RECORD = "TransactionLog"


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


def living_records(log: GroupLog) -> LivingRows:
    """Those of groups; places are those of the groups in `GroupLog.state`."""
    state, commits, offsets, events = log.state, log.commits, log.offsets, log.events
    told = [state.about, state.target_epoch, state.told, state.current]
    event_rows = distinct(np.concatenate([events.row[at[at >= 0]] for at in told]))
    # Targets of members that are not there yet are among these.
    refused = events.row[state.refused]
    others = [_last_of_each(log.records.columns(name), refused) for name in log.types_by_key]
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
    return _by_place(place[known], rows[known], created[known])


def _ends(log: GroupLog) -> I64:
    """int64: by group, the last record that removed or replaced it as a whole; -1 for none."""
    events = log.events
    ends = events.event == GroupEvent.CLASSIC
    ends |= (events.event == GroupEvent.GROUP) & ~events.is_put
    ends[log.state.refused] = False
    last = np.full(log.n_groups, -1, dtype=np.int64)
    np.maximum.at(last, events.group[ends], events.row[ends])
    return last


def living_transactions(records: KeyedRecords) -> tuple[LivingRows, list[str]]:
    """Those of transactional ids, a record each, and the ids."""
    found = records.columns(TRANSACTION_RECORD, None, ())
    ids = found.key.span("transactional_id")
    alive = survivors(group_keys([ids], len(found)), found.rows, found.is_tombstone)
    places = np.arange(len(alive.last))
    rows, created = found.rows[alive.last], found.rows[alive.created]
    return LivingRows(places, rows, created), ids.take(alive.last).texts()


def _last_of_each(found: KeyedColumns, refused: I64) -> I64:
    """The last record of each key that a broker does not refuse, without tombstones."""
    at = np.flatnonzero(~np.isin(found.rows, refused))
    keys = [key_part(found.key.take(at), name) for name in found.key.fields]
    rows = found.rows[at]
    alive = survivors(group_keys(keys, len(at)), rows, found.is_tombstone[at])
    return rows[alive.last]


def _by_place(place: I64, rows: I64, created: I64) -> LivingRows:
    by_row = stable_order(rows)
    order = by_row[stable_order(place[by_row])]
    return LivingRows(place[order], rows[order], created[order])
