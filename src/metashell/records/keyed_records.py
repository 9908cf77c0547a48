"""The records of a coordinator's log, by type: what its state is folded from.

Owns which records can be read, as columns of their keys and of their values, and what is wrong with
the others. Must not fold. Rows are numbered in log order, control records among them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from threading import RLock
from typing import Final, TypeAlias

import numpy as np

from metashell.dataclass import dataclass
from metashell.errors import DecodeError
from metashell.lazy import lazy
from metashell.log.control import ControlType
from metashell.log.fault import Fault, FaultKind
from metashell.log.frames import Frames, is_keyed_control
from metashell.log.framing import build_frames
from metashell.log.read import Loaded, LogFile
from metashell.records.flaws import (
    I8,
    Flaw,
    LoadVerdict,
    flaws_by_version,
    reason_of,
    verdict_of,
    what_a_broker_does,
)
from metashell.schema.arena import I32, I64, AnyArray, Bools
from metashell.schema.columnar import default_columns
from metashell.schema.columns import Columns, StructArrayColumn, merge_columns
from metashell.schema.coordinators import CoordinatorLog, RecordType, RecordTypes
from metashell.schema.decoding import check_keyed, decode
from metashell.schema.scalar import decode_prefix

MAX_FAULTS: Final = 100_000
"""Records at fault that are told one by one: a log may consist of nothing else."""

TRANSACTION_STATES: Final = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
"""Names of the states of transactions, by number. Source: TransactionState."""

_CHECKED_TOGETHER: Final = 1 << 18
"""Records that are looked at together where nothing of them is kept."""

_TRANSACTION_VERSIONS: Final = 3
"""Levels of transaction.version that Kafka 4.4 knows. Source: TransactionVersion."""
_TRANSACTION_FIELDS: Final = (
    "transaction_status",
    "transaction_partitions",
    "client_transaction_version",
)

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


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first record that ends the load of a partition."""

    row: int
    offset: int
    flaw: Flaw
    reason: str
    """Why it does."""
    text: str
    """The reason, and the state that a broker then has: ``a broker stops at offset 7: ...``."""


class KeyedRecords:
    """Records of a coordinator's log, decoded by type when asked for.

    Args:
        loaded: The files.
        types: Definitions of the log's records.
        before: Rows at or after this number do not count; None for all.
        whole: The records without that end, whose frames and columns are used.
        chosen: int64, ascending: rows that count beside the markers; None for all.
    """

    def __init__(
        self,
        loaded: Loaded,
        types: RecordTypes,
        before: int | None = None,
        whole: KeyedRecords | None = None,
        chosen: I64 | None = None,
    ) -> None:
        self.lock = RLock()
        """Held while anything is decoded: a state is read by several threads."""
        self.loaded = loaded
        self.types = types
        self.before = before
        self._whole = whole
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

    @property
    def whole(self) -> KeyedRecords:
        """All records of the files."""
        return self._whole or self

    def until(self, before: int) -> KeyedRecords:
        """The records before a row, as of then; what is decoded of these is used for those."""
        return KeyedRecords(
            self.loaded, self.types, before, whole=self._whole or self, chosen=self._chosen
        )

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
        return KeyedRecords(self.loaded, self.types, self.before, self._whole or self, chosen)

    @property
    def lost_before(self) -> int | None:
        """The offset before which compaction removed records that counted at the end of these.

        None where these end behind all that compaction removed. At the end of a log it removes
        only what counts no more.
        """
        whole = self._whole or self
        first = whole.complete_from
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
        last = base + np.maximum(batches.header["last_delta"].astype(np.int64), 0)
        kept = np.diff(batches.first_row)
        gaps = kept < last - base + 1
        # Records behind a gap are whole; records in a batch with a gap are not.
        ends = np.flatnonzero(gaps)
        after = int(batches.first_row[ends[-1] + 1]) if ends.size else 0
        breaks = np.flatnonzero(base[1:] > last[:-1] + 1)
        if breaks.size:
            after = max(after, int(batches.first_row[breaks[-1] + 1]))
        return after

    @lazy
    def _framed(self) -> tuple[Frames, list[Fault]]:
        if self._whole is not None:
            return self._whole._framed
        return build_frames(self.loaded, has_keys=True)

    @property
    def frames(self) -> Frames:
        """Every record of the files, those behind `before` too. Cost: the first look at them."""
        return self._framed[0]

    @property
    def unframed(self) -> Sequence[Fault]:
        """Faults of batches whose records could not be framed."""
        return self._framed[1]

    @property
    def n_rows(self) -> int:
        """How many records count."""
        n = len(self.frames)
        return n if self.before is None else min(self.before, n)

    def rows(self, name: str) -> I64:
        """int64: rows of a type's records, also of those at fault."""
        number = self.types.by_name[name].number
        rows: I64
        if self._chosen is None:
            common, others = self.whole._uncommon
            if number == common:
                rows = np.flatnonzero(self.frames.api_key[: self.n_rows] == number)
                return rows
            rows = others[: np.searchsorted(others, self.n_rows)]
            rows = rows[self.frames.api_key[rows] == number]
            return rows
        chosen = self._chosen[: np.searchsorted(self._chosen, self.n_rows)]
        rows = chosen[self.frames.api_key[chosen] == number]
        return rows

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
        wanted = [None if f is None else frozenset(f) for f in (key_fields, value_fields)]
        key = (name, wanted[0], wanted[1])
        with self.lock:
            if key not in self._columns:
                if self._whole is not None and self._chosen is None:
                    columns = self._whole.columns(name, key_fields, value_fields)
                    self._columns[key] = columns.head(
                        int(np.searchsorted(columns.rows, self.n_rows))
                    )
                else:
                    rows = self.rows(name)
                    self._columns[key] = self.decode(name, rows, key_fields, value_fields)
                    self._checked.add(name)
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
        source = self._whole or self
        with source.lock:
            for name in self.types.by_name:
                source._check(name)
        return self._flaws[: self.n_rows]

    def flaw(self, row: int) -> Flaw:
        """The flaw of a record. The record's type must have been checked."""
        return Flaw(int(self._flaws[row]))

    def verdict(self, row: int) -> LoadVerdict:
        """The broker's verdict on a record. The record's type must have been checked."""
        return verdict_of(self.log, self.flaw(row))

    @lazy
    def refusal(self) -> Refusal | None:
        """The first record that ends the load; None where a broker loads all of them.

        Records that a broker refuses because of the state before them are not considered.
        """
        flaws = self.flaws()
        refused = [flaw for flaw in Flaw if verdict_of(self.log, flaw) is LoadVerdict.REFUSED]
        first = np.flatnonzero(np.isin(flaws, refused))[:1].tolist()
        if not first:
            return None
        (row,) = first
        offset, flaw = int(self.frames.offset[row]), Flaw(int(flaws[row]))
        reason = self.reason(row)
        text = what_a_broker_does(self.log, flaw, offset, reason)
        return Refusal(row, offset, flaw, reason, text)

    def reason(self, row: int) -> str:
        """Why a record is at fault, whose type has been looked at; empty for a sound one."""
        flaw, frames = self.flaw(row), self.frames
        if flaw is Flaw.NONE:
            return ""
        number, version = int(frames.api_key[row]), int(frames.version[row])
        (key,), (value,) = frames.keys([row]), frames.values([row])
        return reason_of(self.types, flaw, number, version, key, value)

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
        flaws, found = self._flaws, []
        for row in rows[:MAX_FAULTS].tolist():
            flaw, offset = Flaw(int(flaws[row])), int(self.frames.offset[row])
            unknown = flaw in (Flaw.UNKNOWN_TYPE, Flaw.UNKNOWN_VERSION)
            kind = FaultKind.UNKNOWN if unknown else FaultKind.RECORD
            text = what_a_broker_does(self.log, flaw, offset, self.reason(row))
            position = self.batch_position(row)
            found.append(Fault(kind, text, self.file_of(row).name, position, offset))
        return found

    def file_of(self, row: int) -> LogFile:
        """The file that a row's record lies in."""
        return self.loaded.files[int(self.frames.batches.file[self.frames.batch[row]])]

    def batch_position(self, row: int) -> int:
        """Where the batch of a row's record begins in its file."""
        return int(self.frames.batches.pos[self.frames.batch[row]]) - self.file_of(row).start

    # Decoding.

    def _check(self, name: str) -> None:
        """See that what is wrong with a type's records is known."""
        if name not in self._checked:
            record_type, rows = self.types.by_name[name], self.rows(name)
            for first in range(0, len(rows), _CHECKED_TOGETHER):
                some = self._checked_rows(record_type, rows[first : first + _CHECKED_TOGETHER])
                if some.size:
                    some, _ = self._keys(record_type, some, ())
                    self._of_versions(record_type, some, self._readable(some), ())
            self._checked.add(name)

    def _checked_rows(self, record_type: RecordType, rows: I64) -> I64:
        """Note what is wrong with rows of a type without decoding; returns those that are left."""
        if self.log is CoordinatorLog.TRANSACTIONS:
            # Records of transactions are checked for more than whether they decode.
            return rows
        found = check_keyed(self.frames.spans(), record_type.key, record_type.value, rows)
        for bad, flaw in ((found.bad_keys, Flaw.BAD_KEY), (found.bad_values, Flaw.BAD_VALUE)):
            if bad.size:
                self._note(bad, flaw)
        return found.left

    def decode(
        self, name: str, rows: I64, key_fields: _Wanted = None, value_fields: _Wanted = None
    ) -> KeyedColumns:
        """Decode the records of the rows given, ascending and of one type: as `columns`."""
        record_type = self.types.by_name[name]
        rows, key = self._keys(record_type, rows, key_fields)
        rows, value, kept = self._values(record_type, rows, value_fields)
        if len(kept) < key.n:
            key = key.take(kept)
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

    def _values(
        self, record_type: RecordType, rows: I64, wanted: _Wanted
    ) -> tuple[I64, Columns, I64]:
        """The rows whose keys and values decode: rows, values and their places."""
        frames, spec = self.frames, record_type.value
        parts: list[tuple[I64, Columns]] = []
        readable = self._readable(rows)
        if not readable.all():
            tombstones = np.flatnonzero(~readable & (self._flaws[rows] == Flaw.NONE))
            nothing = default_columns(frames.arena, spec, len(tombstones), wanted)
            parts += [(tombstones, nothing)] if tombstones.size else []
        parts += self._of_versions(record_type, rows, readable, wanted)
        if not parts:
            return rows[:0], default_columns(frames.arena, spec, 0, wanted), rows[:0]
        kept, value = merge_columns(parts)
        return rows[kept], value, kept

    def _readable(self, rows: I64) -> Bools:
        """Whether each of the rows, whose keys decode, has a value of a known version: bool[n]."""
        readable: Bools = self.frames.value_size[rows] >= 0
        if self._flaws.any():
            readable &= self._flaws[rows] == Flaw.NONE
        return readable

    def _of_versions(
        self, record_type: RecordType, rows: I64, readable: Bools, wanted: _Wanted
    ) -> list[tuple[I64, Columns]]:
        """Decode the readable rows by version: places of rows that decode, and their values."""
        versions = self.frames.version[rows]
        if len(rows) and (readable & (versions == versions[0])).all():
            every = np.arange(len(rows))
            return [self._of_version(record_type, int(versions[0]), rows, every, wanted)]
        found = []
        # No version below 0 is of a definition.
        for version in np.flatnonzero(np.bincount(versions[readable])).tolist():
            these = np.flatnonzero(readable & (versions == version))
            found.append(self._of_version(record_type, version, rows, these, wanted))
        return found

    def _of_version(
        self, record_type: RecordType, version: int, rows: I64, places: I64, wanted: _Wanted
    ) -> tuple[I64, Columns]:
        """Decode some rows, all of one version: places of rows that decode, and their values."""
        frames, spec, these = self.frames, record_type.value, rows[places]
        asked = wanted
        if self.log is CoordinatorLog.TRANSACTIONS and wanted is not None:
            asked = {*wanted, *_TRANSACTION_FIELDS}
        begin = frames.body[these]
        starts, stops = begin + 2, begin + frames.value_size[these]
        value = decode(frames.arena, spec, version, starts, stops, asked, trailing=True)
        if not value.ok.all():
            self._note(these[~value.ok], Flaw.BAD_VALUE)
            good = np.flatnonzero(value.ok)
            value, places = value.take(good), places[good]
        if self.log is CoordinatorLog.TRANSACTIONS:
            bad = self._note_transactions(rows[places], value)
            if bad.any():
                value, places = value.take(np.flatnonzero(~bad)), places[~bad]
            if wanted is not None:
                value.fields = {n: column for n, column in value.fields.items() if n in wanted}
        return places, value

    def _note_transactions(self, rows: I64, value: Columns) -> Bools:
        """Check a transaction's contents like a broker: bool[n], those that it refuses."""
        if not set(_TRANSACTION_FIELDS) <= value.fields.keys():
            # A user's definition, of which nothing is known.
            return np.zeros(value.n, dtype=np.bool_)
        states = value.fixed("transaction_status")
        partitions = value.fields["transaction_partitions"]
        levels = value.fixed("client_transaction_version")
        nameless = (states < 0) | (states >= len(TRANSACTION_STATES))
        null = np.zeros(value.n, dtype=np.bool_)
        if isinstance(partitions, StructArrayColumn):
            null = (partitions.counts < 0) & (states != 0)
        strange = (levels < 0) | (levels >= _TRANSACTION_VERSIONS)
        for mask, flaw in (
            (strange, Flaw.UNKNOWN_TRANSACTION_VERSION),
            (null, Flaw.NO_PARTITIONS),
            (nameless, Flaw.UNKNOWN_STATE),
        ):
            self._flaws[rows[mask]] = flaw
        bad: Bools = nameless | null | strange
        return bad

    def _note(self, rows: AnyArray, flaw: Flaw) -> None:
        """Note rows that do not decode, but for those that a broker does decode."""
        self._flaws[rows] = flaw
        for row in rows[:MAX_FAULTS].tolist():
            if self._is_over_limit(row, flaw):
                self._flaws[row] = Flaw.OVER_LIMIT

    def _is_over_limit(self, row: int, flaw: Flaw) -> bool:
        """Whether only the columnar decoder refuses a record: an array in it is too large."""
        frames = self.frames
        record_type = self.types.by_number[int(frames.api_key[row])]
        if flaw is Flaw.BAD_KEY:
            spec, version, (data,) = (
                record_type.key,
                record_type.key.versions.low,
                frames.keys([row]),
            )
        else:
            spec, version = record_type.value, int(frames.version[row])
            (data,) = frames.values([row])
        try:
            decode_prefix(spec, version, (data or b"")[2:])
        except DecodeError:
            return False
        return True
