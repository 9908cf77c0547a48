"""Brokers: their registrations.

A broker is made by RegisterBrokerRecord and gone with UnregisterBrokerRecord; in between it is
fenced, unfenced and changed by records that must name its registered epoch, or they are faults.

Source: org.apache.kafka.image.ClusterDelta, org.apache.kafka.metadata.BrokerRegistration.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.image.fold import Events, find_sorted, last_marked, sort_events
from metashell.image.keyed import join_spans
from metashell.records.records import Records
from metashell.schema.arena import I32, I64, AnyArray, Bools
from metashell.schema.columns import Columns, DecodedColumn, FixedColumn, SpanColumn

if TYPE_CHECKING:
    from metashell.image.image import Image

_REGISTER: Final = 0
_UNREGISTER: Final = 1
_FENCE: Final = 2
_UNFENCE: Final = 3
_CHANGE: Final = 4


_MOST_IN_TABLE: Final = 1 << 16
"""Broker ids below this are looked up in a table."""

CHANGED_FLAGS: Final = {-1: "false", 1: "true"}
"""The flags of a change by code; 0 leaves one as it is.

Source: org.apache.kafka.metadata.BrokerRegistrationFencingChange,
org.apache.kafka.metadata.BrokerRegistrationInControlledShutdownChange.
"""


@dataclass
class Brokers:
    """The registered brokers, by id; k of them."""

    registration: Columns
    """The RegisterBrokerRecord of each."""
    fenced: Bools
    """bool[k]."""
    in_controlled_shutdown: Bools
    """bool[k]."""
    log_dirs: SpanColumn
    """Lists of directory ids, k of them."""
    cordoned_log_dirs: SpanColumn
    """Likewise; null where the broker has not said."""
    created: I64
    """int64[k]: row of the registration that made each (a later one of the same id changes it)."""
    changed: I64
    """int64[k]: row of the record that last changed each."""
    fenced_since: I64
    """int64[k]: row of the record that fenced each that is fenced; -1 for the others."""

    def __len__(self) -> int:
        return self.registration.n

    @cached_property
    def columns(self) -> Columns:
        """The registrations, with later changes in them."""
        changed: dict[str, DecodedColumn] = {
            "fenced": FixedColumn(self.fenced),
            "in_controlled_shutdown": FixedColumn(self.in_controlled_shutdown),
            "log_dirs": self.log_dirs,
            "cordoned_log_dirs": self.cordoned_log_dirs,
        }
        own = self.registration
        return Columns(own.specs, own.n, own.ok, {**own.fields, **changed})

    @property
    def ids(self) -> I32:
        """int32[k]."""
        ids: I32 = self.registration.fixed("broker_id")
        return ids

    def places(self, ids: AnyArray) -> I64:
        """int64[n]: where brokers stand among these, which are sorted; -1 for any other."""
        known = self.ids
        if len(known) and int(known[0]) >= 0 and int(known[-1]) < _MOST_IN_TABLE:
            # One more than there are ids, for all that are outside.
            table = np.full(int(known[-1]) + 2, -1, dtype=np.int64)
            table[known] = np.arange(len(known))
            # A negative id is a large one without its sign.
            return table[np.minimum(ids.astype(np.int32).view(np.uint32), np.uint32(known[-1] + 1))]
        return find_sorted(known, ids)


@dataclass(slots=True)
class _Source:
    """Events of one record type."""

    kind: int
    rows: I64
    ids: AnyArray
    epochs: AnyArray
    columns: Columns


def fold_brokers(image: Image) -> Brokers:
    """Fold the five record types about brokers."""
    records = image.records
    sources = [
        _source(records, _REGISTER, "RegisterBrokerRecord", "broker_id", "broker_epoch"),
        _source(records, _UNREGISTER, "UnregisterBrokerRecord", "broker_id", "broker_epoch"),
        _source(records, _FENCE, "FenceBrokerRecord", "id", "epoch"),
        _source(records, _UNFENCE, "UnfenceBrokerRecord", "id", "epoch"),
        _source(records, _CHANGE, "BrokerRegistrationChangeRecord", "broker_id", "broker_epoch"),
    ]
    return _BrokerFold(records, sources).run()


def _source(records: Records, kind: int, name: str, key: str, epoch: str) -> _Source:
    rows, columns = records.columns(name)
    return _Source(kind, rows, columns.fixed(key), columns.fixed(epoch), columns)


class _BrokerFold:
    """Folds broker events; arrays are in sorted order (by broker and row) unless said otherwise."""

    def __init__(self, records: Records, sources: list[_Source]) -> None:
        self.records = records
        self.register, self.change = sources[_REGISTER].columns, sources[_CHANGE].columns
        rows = np.concatenate([s.rows for s in sources])
        ids = np.concatenate([s.ids for s in sources]).astype(np.int64)
        kinds = np.concatenate([np.full(len(s.rows), s.kind, dtype=np.int8) for s in sources])
        within = np.concatenate([np.arange(len(s.rows)) for s in sources])
        epochs = np.concatenate([s.epochs for s in sources])
        self.events: Events = sort_events(ids, rows)
        order = self.events.order
        self.rows, self.ids, self.kinds = rows[order], ids[order], kinds[order]
        self.within, self.epochs = within[order], epochs[order]
        """``within``: index of each event among those of its own record type."""

    def run(self) -> Brokers:
        anchors = last_marked(self.events, self.kinds <= _UNREGISTER)
        registered = (anchors >= 0) & (self.kinds[anchors] == _REGISTER)
        applies = self._applies(anchors, registered)
        alive = self.events.last[registered[self.events.last]]
        alive = alive[np.argsort(self.ids[alive], kind="stable")]
        applied = last_marked(self.events, applies)[alive]
        is_change = applies & (self.kinds == _CHANGE)
        is_register = self.kinds == _REGISTER
        says_fenced = (
            is_register
            | (applies & ((self.kinds == _FENCE) | (self.kinds == _UNFENCE)))
            | (is_change & (self._of_change("fenced") != 0))
        )
        fenced = last_marked(self.events, says_fenced)[alive]
        shutting = last_marked(
            self.events,
            is_register | (is_change & (self._of_change("in_controlled_shutdown") == 1)),
        )[alive]
        return Brokers(
            self.register.take(self.within[anchors[alive]]),
            self._fenced(fenced),
            self._shutting_down(shutting),
            self._list("log_dirs", is_register, is_change, 1, alive),
            self._list("cordoned_log_dirs", is_register, is_change, 0, alive),
            self.rows[self._created(alive)],
            self.rows[applied],
            self._fenced_since(says_fenced, alive),
        )

    def _of_change(self, name: str) -> AnyArray:
        """A field of the change records at each event; 0 elsewhere."""
        values = self.change.fixed(name)
        out = np.zeros(len(self.rows), dtype=values.dtype)
        mask = self.kinds == _CHANGE
        out[mask] = values[self.within[mask]]
        return out

    def _applies(self, anchors: I32, registered: Bools) -> Bools:
        """Which events count; those that do not fit the registration are faults."""
        follows = self.kinds > _UNREGISTER
        unknown = follows & ~registered
        mismatch = follows & registered & (self.epochs != self.epochs[anchors])
        fenced, shutting = self._of_change("fenced"), self._of_change("in_controlled_shutdown")
        odd_fenced = (fenced < -1) | (fenced > 1)
        odd = odd_fenced | (shutting < 0) | (shutting > 1)
        for at in np.flatnonzero(unknown).tolist():
            self._fault(at, f"broker {self.ids[at]} can't be changed: it is not registered")
        for at in np.flatnonzero(mismatch).tolist():
            self._fault(
                at,
                f"broker {self.ids[at]} can't be changed: the record names epoch {self.epochs[at]},"
                f" it has epoch {self.epochs[anchors[at]]}",
            )
        for at in np.flatnonzero(odd & ~unknown & ~mismatch).tolist():
            name, value = (
                ("fenced", fenced[at]) if odd_fenced[at] else ("inControlledShutdown", shutting[at])
            )
            self._fault(
                at, f"broker {self.ids[at]} can't be changed: unknown value {value} for {name}"
            )
        applies: Bools = ~(unknown | mismatch | odd)
        return applies

    def _fault(self, at: int, reason: str) -> None:
        self.records.fault(int(self.rows[at]), reason)

    def _fenced(self, provider: I64) -> Bools:
        kinds, within = self.kinds[provider], self.within[provider]
        out: Bools = kinds == _FENCE
        made, changed = kinds == _REGISTER, kinds == _CHANGE
        out[made] = self.register.fixed("fenced")[within[made]]
        out[changed] = self.change.fixed("fenced")[within[changed]] == 1
        return out

    def _fenced_since(self, says: Bools, alive: I64) -> I64:
        """The event that fenced a broker: a later registration of one that is fenced is none."""
        state = np.zeros(len(self.rows), dtype=np.bool_)
        at = np.flatnonzero(says)
        state[at] = self._fenced(at)
        newest = last_marked(self.events, says | (self.kinds == _UNREGISTER))
        before = np.full(len(newest), -1, dtype=np.int64)
        before[1:] = newest[:-1]
        before[before < self.events.first] = -1
        was_fenced = (before >= 0) & state[before]
        begins = last_marked(self.events, says & state & ~was_fenced)[alive]
        is_fenced = state[last_marked(self.events, says)[alive]]
        return np.where(is_fenced, self.rows[begins], -1)

    def _shutting_down(self, provider: I64) -> Bools:
        made = self.kinds[provider] == _REGISTER
        out: Bools = ~made
        out[made] = self.register.fixed("in_controlled_shutdown")[self.within[provider][made]]
        return out

    def _list(
        self, name: str, is_register: Bools, is_change: Bools, least: int, alive: I64
    ) -> SpanColumn:
        """A list that changes replace where theirs has at least `least` elements."""
        change, register = self.change.span(name), self.register.span(name)
        counts = np.full(len(self.rows), -1, dtype=np.int64)
        mask = self.kinds == _CHANGE
        counts[mask] = change.counts[self.within[mask]]
        provider = last_marked(self.events, is_register | (is_change & (counts >= least)))[alive]
        index = self.within[provider] + np.where(
            self.kinds[provider] == _CHANGE, register.counts.size, 0
        )
        return join_spans(register, change).take(index)

    def _created(self, alive: I64) -> I64:
        """The first registration since the broker was last unregistered."""
        gone = last_marked(self.events, self.kinds == _UNREGISTER)[alive]
        begin = np.where(gone >= 0, gone + 1, self.events.first[alive])
        registrations = np.flatnonzero(self.kinds == _REGISTER)
        return registrations[np.searchsorted(registrations, begin)]
