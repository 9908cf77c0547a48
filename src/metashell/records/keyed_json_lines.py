"""Which implementation writes a coordinator's records as JSON lines: the kernel's or Python's.

The one place that knows. Both write the same lines. Types that hold messages of the consumer
protocol are left to Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import CDLL

import numpy as np

from metashell.kernel import load
from metashell.kernel.lines import LineTexts
from metashell.log.frames import NO_NUMBER
from metashell.log.layout import TRANSACTIONAL
from metashell.records.consumer_protocol import MEMBERS_RECORD, PROTOCOLS_RECORD
from metashell.records.keyed_lines import KeyedJsonLines, status_field
from metashell.records.keyed_records import TRANSACTION_STATES, KeyedColumns, KeyedRecords
from metashell.records.lines import field_key
from metashell.records.native_lines import (
    add_choice,
    add_fields,
    add_flag,
    add_literal,
    add_numbers,
    write_lines,
)
from metashell.redact import Redaction, type_may_hold_secrets
from metashell.schema.arena import I64
from metashell.schema.columns import Columns
from metashell.schema.coordinators import RecordType
from metashell.schema.dump import json_text


def keyed_json_lines(redaction: Redaction) -> KeyedJsonLines:
    """A writer of JSON lines."""
    found = load.library()
    return KeyedJsonLines(redaction) if found is None else _ByKernel(redaction, found)


class _ByKernel(KeyedJsonLines):
    """Writes with the kernel, and the lines that it leaves with Python."""

    def __init__(self, redaction: Redaction, library: CDLL) -> None:
        super().__init__(redaction)
        self._library = library

    def lines(self, records: KeyedRecords, rows: I64) -> Sequence[str]:
        """The line of each row, without its end. Rows ascend."""
        kind_of = np.full(len(rows), -1, dtype=np.int32)
        kinds: list[tuple[LineTexts, int]] = []
        numbers, lead = records.frames.api_key[rows], self._places_of(records, rows)
        for number in np.unique(numbers).tolist():
            record_type = records.types.by_number.get(number)
            if record_type is None or not _is_plain(record_type):
                continue
            columns = records.decode(record_type.name, rows[numbers == number])
            places = np.searchsorted(rows, columns.rows)
            for version, at in _by_version(records, columns):
                texts, whole = lead.copy(), len(at) == len(columns)
                key = columns.key if whole else columns.key.take(at)
                value = columns.value if whole else columns.value.take(at)
                if _add_message(texts, record_type, version, key, value, records):
                    kind_of[places[at]] = len(kinds)
                    kinds.append((texts, len(at)))
        written, left = write_lines(self._library, records.frames.arena, kinds, kind_of)
        if not len(left):
            return written
        return written.with_others(left, super().lines(records, rows[left]))

    def _places_of(self, records: KeyedRecords, rows: I64) -> LineTexts:
        """What a line says first: where its record stands, and who wrote the batch."""
        frames, texts = records.frames, LineTexts()
        header = frames.batches.header[frames.batch[rows]]
        starts = np.array([file.start for file in records.loaded.files], dtype=np.int64)
        files = frames.batches.file[frames.batch[rows]].astype(np.int64)
        names = [json_text(file.name) for file in records.loaded.files]
        add_choice(texts, '{"file":', names, files)
        for key, values in (
            ("pos", frames.batches.pos[frames.batch[rows]] - starts[files]),
            ("offset", frames.offset[rows]),
            ("timestamp", frames.timestamps(rows)),
            ("epoch", header["epoch"]),
            ("producerId", header["producer_id"]),
            ("producerEpoch", header["producer_epoch"]),
            ("sequence", frames.sequences(rows)),
        ):
            # Headers are in the order of the bytes.
            add_numbers(texts, f',"{key}":', values.astype(np.int64))
        add_flag(texts, ',"transactional":', header["attributes"] & TRANSACTIONAL != 0)
        return texts


def _is_plain(record_type: RecordType) -> bool:
    names = (record_type.name, record_type.key.name, record_type.value.name)
    holds_messages = record_type.name in (MEMBERS_RECORD, PROTOCOLS_RECORD)
    return not holds_messages and not any(map(type_may_hold_secrets, names))


def _by_version(records: KeyedRecords, columns: KeyedColumns) -> list[tuple[int, I64]]:
    """The versions of values, `NO_NUMBER` of tombstones, and which records have each."""
    versions = records.frames.version[columns.rows]
    versions = np.where(columns.is_tombstone, NO_NUMBER, versions)
    return [(v, np.flatnonzero(versions == v)) for v in np.unique(versions).tolist()]


def _add_message(
    texts: LineTexts,
    record_type: RecordType,
    version: int,
    key: Columns,
    value: Columns,
    records: KeyedRecords,
) -> bool:
    """Add what a line says of its message; returns whether the kernel can write it."""
    arena, low = records.frames.arena, record_type.key.versions.low
    start = f',"type":"{record_type.type_name}","key":{{"type":{record_type.number},"data":{{'
    add_literal(texts, start, opens=True)
    if not add_fields(texts, record_type.key.fields, low, key, arena):
        return False
    if version == NO_NUMBER:
        add_literal(texts, '}},"value":null}\n')
        return True
    add_literal(texts, f'}}}},"value":{{"version":{version},"data":{{', opens=True)
    status = status_field(record_type, version)
    for field in record_type.value.fields:
        if field is status:
            names = [json_text(name) for name in TRANSACTION_STATES]
            numbers = value.fixed(field.column_name).astype(np.int64)
            lead = field_key(field.json_name, is_bare=False)
            add_choice(texts, lead, names, numbers, is_of_line=False)
        elif not add_fields(texts, [field], version, value, arena):
            return False
    add_literal(texts, "}}}\n")
    return True
