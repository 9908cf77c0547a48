"""The records of a coordinator's log, by type: what its state is folded from.

Owns which records can be read, as columns of their keys and of their values, and what is wrong with
the others. Must not fold. Rows are numbered in log order, control records among them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, TypeAlias

import numpy as np

from metashell.dataclass import dataclass
from metashell.lazy import lazy
from metashell.log.control import ControlType, control_type_name
from metashell.log.fault import Fault, FaultKind
from metashell.log.frames import KEYED_CONTROL_KEY, NO_NUMBER, is_keyed_control
from metashell.log.read import Loaded
from metashell.records.flaws import (
    I8,
    TRANSACTION_FIELDS,
    Flaw,
    LoadVerdict,
    flaws_by_version,
    reason_of,
    transaction_flaws,
    verdict_of,
    what_a_broker_does,
    why_undecodable,
)
from metashell.records.log_records import MAX_FAULTS, LogRecords
from metashell.schema.arena import I32, I64, Bools
from metashell.schema.columnar import default_columns
from metashell.schema.columns import Columns, merge_columns
from metashell.schema.coordinators import CoordinatorLog, RecordType, RecordTypes
from metashell.schema.decoding import check_keyed, decode
from metashell.schema.model import MessageSpec

_CHECKED_TOGETHER: Final = 1 << 18
"""Records that are looked at together where nothing of them is kept."""

_Wanted: TypeAlias = Collection[str] | None


def lost_text(partition: str, offset: int) -> str:
    """That compaction removed records which a state of the past was made of."""
    return (
        f"{partition}: compaction removed records before offset {offset}:"
        " the state of that time may lack some"
    )


@dataclass(slots=True)
class KeyedColumns:
    """Sound records of one type, in log order; every array and column has one element a record."""

    rows: I64
    """int64: row numbers, ascending."""
    key: Columns
    """The fields of the keys."""
    value: Columns
    """The fields of the values; a tombstone's hold their defaults."""
    is_tombstone: Bools
    """Whether the value is null."""

    def __len__(self) -> int:
        return len(self.rows)

    def head(self, n: int) -> KeyedColumns:
        """The first n records, nothing copied."""
        return KeyedColumns(
            self.rows[:n], self.key.head(n), self.value.head(n), self.is_tombstone[:n]
        )


@dataclass(slots=True)
class Markers:
    """The markers that end transactions, in log order."""

    rows: I64
    """int64: row numbers, ascending."""
    producer_id: I64
    """int64: of the producer whose transaction ends."""
    is_commit: Bools
    """Whether it commits; else it aborts."""
    coordinator_epoch: I32
    """int32: epoch of the transaction coordinator that ended it."""


class KeyedRecords(LogRecords):
    """Records of a coordinator's log, decoded by type when asked for; see `LogRecords`.

    Args:
        loaded: The files.
        types: Definitions of the log's records.
        before: Rows at or after this number do not count; None for all.
        whole: The records without that end, whose frames and columns are used.
        chosen: int64, ascending: rows that count beside the markers; None for all.
    """

    has_keys = True

    def __init__(
        self,
        loaded: Loaded,
        types: RecordTypes,
        before: int | None = None,
        whole: KeyedRecords | None = None,
        chosen: I64 | None = None,
    ) -> None:
        super().__init__(loaded, before, whole)
        self.types = types
        self._chosen = chosen
        self.stopped_by: Fault | None = None
        """The record that a broker refuses, where these are those that it has all the same."""
        self._checked: set[str] = set()
        self._columns: dict[tuple[str, frozenset[str] | None, frozenset[str] | None], KeyedColumns]
        self._columns = {}

    @property
    def log(self) -> CoordinatorLog:
        """Which coordinator's log it is."""
        return self.types.log

    def until(self, before: int) -> KeyedRecords:
        return KeyedRecords(self.loaded, self.types, before, self.whole, self._chosen)

    def until_offset(self, offset: int) -> KeyedRecords:
        """The records up to an offset, which is included."""
        return self.until(int(np.searchsorted(self.frames.offset.narrow, offset, side="right")))

    def until_time(self, timestamp_ms: int) -> KeyedRecords:
        """The records before the first that is later than a time, in ms since the epoch."""
        later = self.frames.timestamps(np.arange(self.n_rows)) > timestamp_ms
        return self.until(int(np.argmax(later))) if later.any() else self

    def about(self, name: str) -> KeyedRecords:
        """The records whose key begins with a name (a group's, a transaction's) and all markers.

        Cost: looks at the keys; nothing is decoded.
        """
        chosen = self.frames.first_names().find(name.encode("utf-8", "surrogatepass"))
        return KeyedRecords(self.loaded, self.types, self.before, self.whole, chosen)

    @property
    def lost_before(self) -> int | None:
        """The offset before which compaction removed records that counted at the end of these.

        None where these end behind all that compaction removed. At the end of a log it removes
        only what counts no more.
        """
        first = self.whole.complete_from
        if self.before is None or self.before >= first or first >= len(self.frames):
            return None
        if self.stopped_by is not None:
            return None
        return int(self.frames.offset[first])

    @lazy
    def complete_from(self) -> int:
        """The first row behind all that compaction removed: from there on nothing is missing.

        Compaction leaves gaps between batches, and batches with fewer records than offsets.
        """
        batches = self.frames.batches
        base = batches.header["base_offset"].astype(np.int64)
        end = base + np.maximum(batches.header["last_delta"].astype(np.int64), 0) + 1
        # Records behind a gap are whole; records in a batch with a gap are not.
        end = np.maximum(end, np.append(base, 0)[1:])
        gaps = np.flatnonzero(np.diff(batches.first_row) < end - base)
        return int(batches.first_row[gaps[-1] + 1]) if gaps.size else 0

    def type_name(self, key: int) -> str | None:
        if is_keyed_control(key):
            return control_type_name(KEYED_CONTROL_KEY - key)
        return None if key == NO_NUMBER else self.types.type_name(key)

    def rows(self, name: str) -> I64:
        """int64: rows of a type's records, also of those at fault."""
        number = self.types.by_name[name].number
        common, rows = self.whole._uncommon
        if self._chosen is not None:
            rows = self._chosen
        elif number == common:
            return np.flatnonzero(self.frames.api_key[: self.n_rows] == number)
        rows = rows[: np.searchsorted(rows, self.n_rows)]
        is_of_type: Bools = self.frames.api_key[rows] == number
        return rows[is_of_type]

    @lazy
    def _uncommon(self) -> tuple[int | None, I64]:
        """A type that most records may have, and the rows of all others: int64, ascending.

        It is that of the record in the middle. In most logs there are few others.
        """
        types = self.frames.api_key.narrow
        if not len(types):
            return None, np.empty(0, dtype=np.int64)
        common = int(types[len(types) // 2])
        return common, np.flatnonzero(types != common)

    def known_rows(self) -> I64:
        """int64: rows of all types that are known, and of markers."""
        numbers = [*self.types.by_number]
        chosen = np.arange(self.n_rows) if self._chosen is None else self._chosen
        rows = chosen[np.isin(self.frames.api_key[chosen], numbers) & (chosen < self.n_rows)]
        return np.union1d(rows, self.markers.rows)

    def columns(
        self, name: str, key_fields: _Wanted = None, value_fields: _Wanted = None
    ) -> KeyedColumns:
        """Every sound record of a type, tombstones too, as columns of key and value.

        Args:
            name: The type's name, such as ``OffsetCommit``.
            key_fields: Names of the key's fields wanted (snake_case), None for all.
            value_fields: Names of the value's, None for all.

        Returns:
            The columns, which are kept. Faults of the type's other records are noted.
        """
        key = (
            name,
            None if key_fields is None else frozenset(key_fields),
            None if value_fields is None else frozenset(value_fields),
        )
        with self.lock:
            if key not in self._columns:
                if self._whole is not None and self._chosen is None:
                    every = self._whole.columns(name, key_fields, value_fields)
                    found = every.head(int(np.searchsorted(every.rows, self.n_rows)))
                else:
                    found = self.decode(name, self.rows(name), key_fields, value_fields)
                    self._checked.add(name)
                self._columns[key] = found
            return self._columns[key]

    def sound_rows(self, name: str) -> I64:
        """int64: rows of a type's records that decode, ascending."""
        with self.lock:
            rows = self.rows(name)
            if self._chosen is not None:
                return self.decode(name, rows, (), ()).rows
            self.whole._check(name)
            sound: I64 = rows[self._flaws[rows] == Flaw.NONE] if self._flaws.any() else rows
            return sound

    @lazy
    def markers(self) -> Markers:
        """The markers of transactions; other control records have no meaning in these logs."""
        frames = self.frames
        common, others = self.whole._uncommon
        if common is not None and is_keyed_control(common):
            others = np.arange(len(frames))
        rows = others[is_keyed_control(frames.api_key[others])]
        rows = rows[: np.searchsorted(rows, self.n_rows)]
        kinds = frames.control_types(rows)
        ends = (kinds == ControlType.COMMIT) | (kinds == ControlType.ABORT)
        rows = rows[ends]
        return Markers(
            rows,
            frames.producer_ids(rows),
            kinds[ends] == ControlType.COMMIT,
            frames.coordinator_epochs(rows),
        )

    # Faults.

    @lazy
    def _flaws(self) -> I8:
        """int8[number of frames]: what is wrong, as far as it was looked at."""
        if self._whole is not None:
            return self._whole._flaws
        return flaws_by_version(self.frames, self.types)

    def flaws(self) -> I8:
        """int8[n]: the `Flaw` of every record that counts. Cost: every type is walked."""
        with self.whole.lock:
            for name in self.types.by_name:
                self.whole._check(name)
        return self._flaws[: self.n_rows]

    def flaw(self, row: int) -> Flaw:
        """The flaw of a record. The record's type must have been checked."""
        return Flaw(int(self._flaws[row]))

    def verdict(self, row: int) -> LoadVerdict:
        """The broker's verdict on a record. The record's type must have been checked."""
        return verdict_of(self.log, self.flaw(row))

    @lazy
    def refusal(self) -> tuple[int, Fault] | None:
        """The row and the fault of the first record that ends the load; None for none.

        Records that a broker refuses because of the state before them are not considered.
        """
        refused = [flaw for flaw in Flaw if verdict_of(self.log, flaw) is LoadVerdict.REFUSED]
        rows = np.flatnonzero(np.isin(self.flaws(), refused))[:1]
        return next(zip(rows.tolist(), self._faults(rows), strict=True), None)

    def reason(self, row: int) -> str:
        """Why a record is at fault, whose type has been looked at; empty for a sound one."""
        flaw = self.flaw(row)
        return "" if flaw is Flaw.NONE else reason_of(self.types, flaw, *self._parts(row))

    def _parts(self, row: int) -> tuple[int, int, bytes | None, bytes | None]:
        """The number of a record's type, the version of its value, its key and its value."""
        frames = self.frames
        (key,), (value,) = frames.keys([row]), frames.values([row])
        return int(frames.api_key[row]), int(frames.version[row]), key, value

    def faults(self, rows: I64 | None = None) -> list[Fault]:
        """Faults of records, in log order, `MAX_FAULTS` at most; those of batches are not in it.

        Args:
            rows: The rows that are looked at; None for all.
        """
        flaws = self.flaws()
        if rows is None:
            return self._faults(np.flatnonzero(flaws))
        return self._faults(rows[flaws[rows] != Flaw.NONE])

    def known_faults(self) -> list[Fault]:
        """The faults of records decoded so far, and of batches that were not framed."""
        return [*self.unframed, *self._faults(np.flatnonzero(self._flaws[: self.n_rows]))]

    def _faults(self, rows: I64) -> list[Fault]:
        found = []
        for row in rows[:MAX_FAULTS].tolist():
            flaw, offset = self.flaw(row), int(self.frames.offset[row])
            unknown = flaw in (Flaw.UNKNOWN_TYPE, Flaw.UNKNOWN_VERSION)
            text = what_a_broker_does(self.log, flaw, offset, self.reason(row))
            found.append(
                self.fault_at(row, text, FaultKind.UNKNOWN if unknown else FaultKind.RECORD)
            )
        return found

    # Decoding.

    def _check(self, name: str) -> None:
        """See that what is wrong with a type's records is known."""
        if name in self._checked:
            return
        kind, rows = self.types.by_name[name], self.rows(name)
        for first in range(0, len(rows), _CHECKED_TOGETHER):
            some = rows[first : first + _CHECKED_TOGETHER]
            # Records of transactions are checked for more than whether they decode.
            if self.log is not CoordinatorLog.TRANSACTIONS:
                found = check_keyed(self.frames.spans(), kind.key, kind.value, some)
                self._note(found.bad_keys, Flaw.BAD_KEY)
                self._note(found.bad_values, Flaw.BAD_VALUE)
                some = found.left
            if some.size:
                self.decode(name, some, (), ())
        self._checked.add(name)

    def decode(
        self, name: str, rows: I64, key_fields: _Wanted = None, value_fields: _Wanted = None
    ) -> KeyedColumns:
        """Decode the records of the rows given, ascending and of one type: as `columns`."""
        kind = self.types.by_name[name]
        keyed, key = self._keys(kind, rows, key_fields)
        rows, value = self._values(kind, keyed, value_fields)
        if len(rows) < key.n:
            key = key.take(np.searchsorted(keyed, rows))
        return KeyedColumns(rows, key, value, self.frames.value_size[rows] < 0)

    def keys_of(self, record_type: RecordType, rows: I64, wanted: _Wanted = None) -> Columns:
        """The keys that decode among rows of a type, whatever their values are."""
        return self._keys(record_type, rows, wanted)[1]

    def values_of(self, record_type: RecordType, rows: I64, wanted: _Wanted = None) -> Columns:
        """The values that decode among rows of a type, whose keys do; as `KeyedColumns.value`."""
        return self._values(record_type, rows, wanted)[1]

    def _keys(self, record_type: RecordType, rows: I64, wanted: _Wanted) -> tuple[I64, Columns]:
        """The rows whose keys decode, and those keys."""
        frames, spec = self.frames, record_type.key
        begin = frames.key[rows]
        starts, stops = begin + 2, begin + frames.key_size[rows]
        key = decode(frames.arena, spec, spec.versions.low, starts, stops, wanted, trailing=True)
        if key.ok.all():
            return rows, key
        self._note(rows[~key.ok], Flaw.BAD_KEY)
        good = np.flatnonzero(key.ok)
        return rows[good], key.take(good)

    def _values(self, kind: RecordType, rows: I64, wanted: _Wanted) -> tuple[I64, Columns]:
        """The rows whose values decode, among those whose keys do, and those values."""
        if self._flaws.any():
            rows = rows[self._flaws[rows] == Flaw.NONE]
        parts: list[tuple[I64, Columns]] = []
        is_tombstone = self.frames.value_size[rows] < 0
        if is_tombstone.any():
            gone, rows = rows[is_tombstone], rows[~is_tombstone]
            nothing = default_columns(self.frames.arena, kind.value, len(gone), wanted)
            parts.append((gone, nothing))
        if self.log is not CoordinatorLog.TRANSACTIONS:
            parts += self._by_version(kind.value, rows, wanted)
        else:
            asked = None if wanted is None else {*wanted, *TRANSACTION_FIELDS}
            for part in self._by_version(kind.value, rows, asked):
                parts.append(self._loaded_transactions(*part, wanted))
        return merge_columns(parts)

    def _loaded_transactions(
        self, rows: I64, value: Columns, wanted: _Wanted
    ) -> tuple[I64, Columns]:
        """The transactions that a broker loads; the flaws of the others are noted."""
        flaws = transaction_flaws(value)
        if flaws.any():
            self._flaws[rows] = flaws
            good = np.flatnonzero(flaws == Flaw.NONE)
            rows, value = rows[good], value.take(good)
        if wanted is not None:
            value.fields = {n: column for n, column in value.fields.items() if n in wanted}
        return rows, value

    def _note_undecodable(self, spec: MessageSpec, rows: I64) -> None:
        self._note(rows, Flaw.BAD_VALUE)

    def _note(self, rows: I64, flaw: Flaw) -> None:
        """Note rows that do not decode, but for those that a broker does decode."""
        self._flaws[rows] = flaw
        for row in rows[:MAX_FAULTS].tolist():
            if why_undecodable(self.types, flaw, *self._parts(row)) is None:
                self._flaws[row] = Flaw.OVER_LIMIT
