"""The records that count, by type: what the parts of the image are folded from.

Owns which records of a source contribute (those of the checkpoint, then those at or after its end
offset, without the ones of aborted or unfinished transactions) and the faults met on the way.
Rows are numbered in replay order; a row's number is what folds compare, and what created or last
changed a thing is kept as a row number until somebody asks for its offset.

Transactions in the metadata log: which records belong to one that was aborted or is still open.

Source: KIP-868, org.apache.kafka.image.loader.MetadataBatchLoader.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from metashell.lazy import lazy
from metashell.log.control import control_type_name
from metashell.log.fault import Fault, FaultKind
from metashell.log.frames import CONTROL_FRAME, CONTROL_KEY, NO_KEY, Frames, control_key
from metashell.log.framing import extend_frames
from metashell.log.read import Loaded
from metashell.records.late_fields import early_fields, rows_by_version, with_late_fields
from metashell.records.log_records import MAX_FAULTS, LogRecords
from metashell.records.record_faults import report_undecodable, report_unread, set_aside
from metashell.schema.arena import I64, AnyArray, Bools
from metashell.schema.columnar import prefix_distance
from metashell.schema.columns import Columns, LateFields, concat_columns, merge_columns
from metashell.schema.model import MessageSpec, Registry

_BEGIN, _END, _ABORT = 23, 24, 25
MARKERS: Final = {
    _BEGIN: "BeginTransactionRecord",
    _END: "EndTransactionRecord",
    _ABORT: "AbortTransactionRecord",
}
"""Messages that begin, end and abort a transaction, by their api keys. Source: KIP-868."""


def is_marker(keys: AnyArray) -> Bools:
    """Which api keys are those of `MARKERS`: bool[n]."""
    marks: Bools = (keys >= _BEGIN) & (keys <= _ABORT)
    return marks


def applied_rows(records: Records) -> tuple[Bools, int | None]:
    """Which records are replayed and belong to no aborted or unfinished transaction.

    Returns:
        (bool[n], the row of the record that began a transaction which is still open, or None).
    """
    applied = records.counted.copy()
    keys = records.frames.api_key.narrow
    markers = np.flatnonzero(is_marker(keys) & applied)
    if markers.size:
        # One that can't be read is no marker.
        markers = np.sort(
            np.concatenate(
                [
                    records.decode(name, markers[keys[markers] == key], ())[0]
                    for key, name in MARKERS.items()
                ]
            )
        )
    begun = -1
    for row in markers.tolist():
        key = int(keys[row])
        if key == _BEGIN:
            if begun < 0:
                begun = row
            else:
                records.fault(row, "a transaction begins inside an open one")
        elif begun < 0:
            what = "ends" if key == _END else "is aborted"
            records.fault(row, f"a transaction {what} that never began")
        else:
            if key == _ABORT:
                applied[begun:row] = False
            begun = -1
    if begun < 0:
        return applied, None
    applied[begun:] = False
    return applied, begun


_SEARCH_ROWS = 32_768
"""Rows compared together, so that what is gathered stays in the cache."""


class Records(LogRecords):
    """Records of a metadata log, decoded by type when asked for; see `LogRecords`.

    Args:
        loaded: The files.
        registry: Message definitions.
        before: Rows at or after this number do not count (time travel, ``--strict``); None for all.
        whole: The records without that end, whose frames and columns are used.
    """

    has_keys = False

    def __init__(
        self,
        loaded: Loaded,
        registry: Registry,
        before: int | None = None,
        whole: Records | None = None,
    ) -> None:
        super().__init__(loaded, before, whole)
        self.registry = registry
        self.faults_left_out = 0
        """Records at fault beyond `MAX_FAULTS`, which are not in `faults`."""
        self._fault_rows: dict[int, Fault] = {}
        self._undecodable: list[I64] = []
        self._columns: dict[tuple[str, frozenset[str] | None], tuple[I64, Columns]] = {}
        self._rows: dict[str, I64] = {}
        self._earlier: dict[tuple[str, frozenset[str] | None], tuple[int, I64, Columns]] = {}
        """The columns of the first so many rows, decoded before the others came; see `grown`."""
        self.n_earlier = 0
        """How many of the first rows are those that `grown` was called on; 0 without any."""
        self._expected: frozenset[str] = frozenset()
        """Fields that are decoded with the first ones of their records."""

    def grown(self, loaded: Loaded) -> Records:
        """The records of the same log after batches came behind its last one.

        Frames and columns of these are used again, but where a transaction was open, compressed
        batches are among them, or nothing was framed yet.

        Args:
            loaded: The files, the last one longer, in a buffer that begins with the same bytes.
        """
        new = Records(loaded, self.registry)
        if not Records.frames.is_known(self) or self.before is not None:
            return new
        extended = extend_frames(self.frames, loaded)
        if extended is None:
            return new
        _ = self.applied
        with self.lock:
            frames, faults = extended
            Records.frames.preset(new, frames)
            new._unframed = [*self._unframed, *faults]
            if self.open_transaction is not None:
                return new
            new.faults_left_out = self.faults_left_out
            new._fault_rows = dict(self._fault_rows)
            n = new.n_earlier = len(self.frames)
            decoded = {key: (n, *columns) for key, columns in self._columns.items()}
            new._earlier = {**self._earlier, **decoded}
        return new

    @classmethod
    def of_frames(
        cls, frames: Frames, loaded: Loaded, registry: Registry, faults: Sequence[Fault] = ()
    ) -> Records:
        """Records that are framed already, such as those of a reduced log."""
        records = cls(loaded, registry)
        records._framed = frames, faults
        return records

    def let_go(self) -> None:
        """Drop frames, columns and faults; who asks for them all the same has them made again."""
        with self.lock:
            for value in (Records.frames, Records.counted, Records.applied):
                value.forget(self)
            self._columns, self._rows, self._undecodable = {}, {}, []
            self._unframed, self._fault_rows = (), {}

    @property
    def faults(self) -> list[Fault]:
        """The faults found so far; more come as records are decoded and folded."""
        return [*self._unframed, *self._fault_rows.values()]

    last_applied: tuple[int, int, int] | None = None
    """Offset, epoch and time of the last record that counts, where they are known already."""

    merges_at_fault = False
    """Whether records at fault stand for others as well, whose faults nobody knows any more."""

    def until(self, before: int) -> Records:
        return Records(self.loaded, self.registry, before, self.whole)

    @lazy
    def every(self) -> Records:
        """The records together with those that the checkpoint stands for: nothing is left out."""
        files = [f if not f.end_offset else replace(f, end_offset=None) for f in self.loaded.files]
        loaded = Loaded(self.loaded.buffer, self.loaded.size, files)
        every = Records(loaded, self.registry, self.before)
        Records.frames.preset(every, self.frames)
        return every

    @lazy
    def counted(self) -> Bools:
        """bool[n]: records that are replayed, control records included."""
        frames = self.frames
        counts = np.ones(len(frames), dtype=np.bool_)
        for i, file in enumerate(self.loaded.files):
            if file.end_offset is None:
                continue
            inside = frames.batches.file == i
            if file.end_offset == 0:
                # Bootstrap metadata stands in the log again; only its control records count.
                counts[inside[frames.batch] & (frames.api_key.narrow > CONTROL_KEY)] = False
            else:
                early = ~inside & (frames.batches.header["base_offset"] < file.end_offset)
                rows = np.flatnonzero(early[frames.batch])
                counts[rows[frames.offset[rows] < file.end_offset]] = False
        if self.before is not None:
            counts[self.before :] = False
        return counts

    @lazy
    def applied(self) -> Bools:
        """bool[n]: records that are replayed and belong to no aborted or unfinished transaction."""
        applied, self.open_transaction = applied_rows(self)
        return applied

    open_transaction: int | None = None
    """Row of the record that began a transaction which is still open; set by `applied`."""

    def rows(self, name: str) -> I64:
        """Rows of a message's records that count, in replay order: int64."""
        if name not in self._rows:
            spec = self.registry.by_name[name]
            if spec.api_key is not None:
                mask = (self.frames.api_key.narrow == spec.api_key) & self.applied
            else:
                assert spec.control_type is not None
                mask = (self.frames.api_key.narrow == control_key(spec.control_type)) & self.counted
            self._rows[name] = np.flatnonzero(mask)
        return self._rows[name]

    def columns(self, name: str, fields: Collection[str] | None = None) -> tuple[I64, Columns]:
        """Every record of a message that counts and decodes: (rows: int64[n], columns of n).

        Records that do not decode become faults. The result is kept.
        """
        key = (name, None if fields is None else frozenset(fields))
        known = self._columns.get(key)
        if known is not None:
            return known
        with self.lock:
            if key not in self._columns:
                if self._whole is not None:
                    self._columns[key] = self._prefix(self._whole, name, fields)
                elif key in self._earlier:
                    self._columns[key] = self._extended(name, fields, *self._earlier[key])
                elif fields is None:
                    self._columns[key] = self._decode_late(name)
                else:
                    self._columns[key] = self.decode(name, self.rows(name), fields)
            return self._columns[key]

    def expect(self, fields: Collection[str]) -> None:
        """Decode some fields together with those that every fold looks at.

        For one who asks for them next: the records are then walked over once. Columns that are
        decoded already stay unchanged, and fields that nobody asks for are not decoded for this.

        Args:
            fields: Names of columns, of any message.
        """
        with self.lock:
            self.whole._expected |= frozenset(fields)

    def _decode_late(self, name: str) -> tuple[I64, Columns]:
        """Decode all fields, of which few may be decoded yet; see `columns`."""
        rows, spec = self.rows(name), self.registry.by_name[name]
        first = early_fields(spec, len(rows), self._expected)
        rows, columns = self.decode(name, rows, first)
        if first is not None:
            columns = with_late_fields(columns, self.frames_at(rows), spec, rows)
        return rows, columns

    def _extended(
        self, name: str, fields: Collection[str] | None, n: int, rows: I64, columns: Columns
    ) -> tuple[I64, Columns]:
        """The columns of the first n rows, given, and of those behind them; see `columns`."""
        every = self.rows(name)
        is_late, columns = isinstance(columns.fields, LateFields), columns.decoded()
        if is_late:
            fields = tuple(columns.fields)
        new, added = self.decode(name, every[np.searchsorted(every, n) :], fields)
        # Columns that are folded together have to lie in one arena.
        columns = columns.on(self.frames.arena)
        if len(new):
            rows, columns = np.concatenate([rows, new]), concat_columns([columns, added])
        if is_late:
            columns = with_late_fields(columns, self.frames, self.registry.by_name[name], rows)
        return rows, columns

    def _prefix(
        self, whole: Records, name: str, fields: Collection[str] | None
    ) -> tuple[I64, Columns]:
        """The columns that the whole has decoded, up to the end of these; see `columns`."""
        rows, columns = whole.columns(name, fields)
        end = self.before if self.before is not None else len(self.frames)
        _ = self.applied
        if self.open_transaction is not None and self.registry.by_name[name].api_key is not None:
            end = self.open_transaction
        for row, fault in whole.faults_by_row():
            if row < end and fault.kind is not FaultKind.REPLAY and row not in self._fault_rows:
                self._fault_rows[row] = fault
        n = int(np.searchsorted(rows, end))
        return rows[:n], columns.head(n)

    def decode(
        self, name: str, rows: I64, fields: Collection[str] | None = None
    ) -> tuple[I64, Columns]:
        """Decode the records of the rows given, all of one message: as `columns`."""
        return merge_columns(self._by_version(self.registry.by_name[name], rows, fields))

    def _readable(self, spec: MessageSpec, version: int, rows: I64) -> I64:
        if version not in spec.versions or (
            spec.api_key is not None and self.any_odd and self.odd(rows).any()
        ):
            rows = set_aside(self, spec, rows, version)
        unread = self.frames_at(rows).unread(rows)
        if unread.any():
            report_unread(self, rows[unread])
            rows = rows[~unread]
        return rows

    def _note_undecodable(self, spec: MessageSpec, rows: I64) -> None:
        self._undecodable.append(rows)
        report_undecodable(self, spec, rows)

    def check_the_rest(self) -> None:
        """Decode the types that nothing asked for, a vendor's among them, for their faults."""
        asked = {name for name, _ in self._columns}
        for spec in self.registry.metadata.values():
            if spec.name not in asked:
                self.columns(spec.name, ())

    def rows_with(self, name: str, field: str, wanted: bytes) -> I64:
        """Rows of a message whose uuid field has a value, found without decoding them.

        Nothing else is checked. Only in versions that have no such field at a fixed place near the
        front are the rows decoded.
        """
        spec, rows = self.registry.by_name[name], self.rows(name)
        found = []
        for version, these in rows_by_version(self.frames_at(rows), rows):
            if version not in spec.versions:
                continue
            distance = prefix_distance(spec, version, field)
            if distance is None:
                _, columns = self.decode(name, these, [field])
                hits = columns.fixed(field) == np.void(wanted)
                found.append(these[hits])
            else:
                # Which topic a record is about whose bytes are not there nobody knows.
                unread = self.frames.unread(these)
                found += [these[unread], self._search_uuid(these[~unread], distance, wanted)]
        return np.sort(np.concatenate(found)) if found else rows[:0]

    def _search_uuid(self, rows: I64, distance: int, wanted: bytes) -> I64:
        """Rows with sixteen bytes at a distance from their body; half are compared first."""
        arena, body = self.frames.arena, self.frames.body
        low = np.frombuffer(wanted, dtype="<u8")[1]
        found = []
        for first in range(0, len(rows), _SEARCH_ROWS):
            block = rows[first : first + _SEARCH_ROWS]
            at = body[block]
            at += distance + 8
            found.append(block[arena.le64[at] == low])
        candidates = np.concatenate([rows[:0], *found])
        whole = arena.gather("V16", body[candidates] + distance)
        return candidates[[value.tobytes() == wanted for value in whole]]

    @lazy
    def any_odd(self) -> bool:
        """Whether any metadata record has a frame version other than 1."""
        versions = self.frames.frame_version.narrow
        return bool(((versions != 1) & (versions != CONTROL_FRAME)).any())

    def odd(self, rows: I64) -> Bools:
        """bool[n]: rows whose record has a frame version other than 1."""
        odd: Bools = self.frames_at(rows).frame_version[rows] != 1
        return odd

    @property
    def undecodable(self) -> I64:
        """int64: rows that did not decode, of what was decoded so far."""
        return np.concatenate([np.empty(0, dtype=np.int64), *self._undecodable])

    def type_name(self, key: int) -> str | None:
        return type_of(key, self.registry)

    def spec_of_key(self, key: int) -> MessageSpec | None:
        """The definition of the records of an api key; None where there is none."""
        if key <= CONTROL_KEY:
            return self.registry.control.get(CONTROL_KEY - key)
        return self.registry.metadata.get(key)

    def fault(self, row: int, reason: str, kind: FaultKind = FaultKind.REPLAY) -> None:
        """Note that a record can't be read or applied, once a row."""
        if row in self._fault_rows:
            return
        if len(self._fault_rows) >= MAX_FAULTS:
            self.faults_left_out += 1
            return
        self._fault_rows[row] = self.fault_at(row, reason, kind)

    def report(self, rows: I64, reason_of: Callable[[int], str], kind: FaultKind) -> None:
        """Note records at fault, with their reasons; those beyond `MAX_FAULTS` are counted."""
        room = max(MAX_FAULTS - len(self._fault_rows), 0)
        self.faults_left_out += max(len(rows) - room, 0)
        for row in rows[:room].tolist():
            self.fault(row, reason_of(row), kind)

    def faults_by_row(self) -> Iterator[tuple[int, Fault]]:
        """Faults of single records, by row."""
        yield from self._fault_rows.items()

    def unknown_rows(self) -> I64:
        """Rows of metadata records whose type, version or frame no definition describes."""
        frames = self.frames
        known, versions = np.zeros(len(frames), dtype=np.bool_), frames.version.narrow
        for key, spec in self.registry.metadata.items():
            low, high = spec.versions.low, spec.versions.high
            known |= (frames.api_key.narrow == key) & (versions >= low) & (versions <= high)
        known &= frames.frame_version.narrow == 1
        return np.flatnonzero(self.counted & ~known & (frames.api_key.narrow > CONTROL_KEY))

    @property
    def checkpoint_time_ms(self) -> int | None:
        """When the checkpoint's last record was appended to the log, as its header says."""
        rows, header = self.columns("SnapshotHeaderRecord")
        return int(header.fixed("last_contained_log_timestamp")[0]) if len(rows) else None

    @lazy
    def last_row(self) -> int:
        """The last row that counts, control records included; -1 for none.

        Where a transaction is open it is the one before it: what follows does not count yet.
        """
        counted = self.counted
        _ = self.applied
        if self.open_transaction is not None:
            counted = counted[: self.open_transaction]
        last = np.flatnonzero(counted)[-1:]
        return int(last[0]) if last.size else -1

    def raw(self, row: int) -> bytes:
        """The whole value of a record."""
        return self.raws(np.array([row]))[0]

    def raws(self, rows: AnyArray) -> list[bytes]:
        """The whole value of each row's record."""
        frames = self.frames_at(rows)
        values, stops = frames.value_starts(rows).tolist(), frames.stop[rows].tolist()
        return [frames.arena.slice(*span) for span in zip(values, stops, strict=True)]

    def offsets(self, rows: AnyArray) -> tuple[I64, Bools]:
        """Log offsets of rows, and whether each is known.

        Returns:
            (offset: int64[n], known: bool[n]); for a checkpoint's records the offset is that of the
            last record it holds, and known is False: it happened then or before.
        """
        frames = self.frames_at(rows)
        offset = frames.offset[rows].copy()
        known = np.ones(len(offset), dtype=np.bool_)
        for i, file in enumerate(self.loaded.files):
            if file.end_offset is not None:
                inside = frames.batches.file[frames.batch[rows]] == i
                offset[inside] = file.end_offset - 1
                known[inside] = False
        return offset, known


def type_of(key: int, registry: Registry) -> str | None:
    """The type of records with an api key (`metashell.log.frames`); None for values without."""
    if key <= CONTROL_KEY:
        return control_type_name(CONTROL_KEY - key)
    return None if key == NO_KEY else registry.type_name(key)
