"""Tables of one split of a log (`metashell.log.splits`), as Arrow record batches of bounded size.

They show the log as it is written, not the image: records of aborted transactions and such that a
checkpoint supersedes are in them, too. Their columns are known without any data.

==================  ============================================================================
`record_batches`    every record: place, type, version, fields as JSON, raw bytes
`message_batches`   the records of one message that decode, each of its fields a column
`fault_batches`     what is wrong with the split's batches and records; not what is wrong with their
                    replay
`file_batch`        a row for a file, given all of its splits
==================  ============================================================================

Every secret is redacted here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from metashell.dataclass import dataclass
from metashell.image.arrow import fitting_batch, message_columns, place_columns
from metashell.log.fault import Fault, FaultKind
from metashell.log.frames import CONTROL_KEY, HEADER, NO_KEY, control_key
from metashell.log.names import CheckpointName, SegmentName, parse_name
from metashell.log.read import SLACK, WINDOW_BYTES, Loaded, anonymous
from metashell.log.splits import Split, read_split
from metashell.records.lines import LineWriter
from metashell.records.record_faults import report_unknown
from metashell.records.records import Records, type_of
from metashell.records.rows import data_writer
from metashell.records.split_filter import RowFilter
from metashell.redact import REDACTED, Redaction, hidden_bytes, type_may_hold_secrets
from metashell.schema.arena import I64, AnyArray
from metashell.schema.arrow import binary_array
from metashell.schema.columns import SpanColumn
from metashell.schema.model import Registry

BATCH_ROWS: Final = 16_384
"""Rows of a record batch, at most."""

Windows: TypeAlias = Split | Iterable[Loaded]
"""The source of rows."""

_TIME: Final = pa.timestamp("ms", tz="UTC")

_PLACE: Final = (
    ("file", pa.string()),
    ("pos", pa.int64()),
    ("offset", pa.int64()),
    ("epoch", pa.int32()),
    ("timestamp", _TIME),
)
"""Columns in front of those of a record."""

FAULTS_SCHEMA: Final = pa.schema(
    [
        ("kind", pa.string()),
        ("reason", pa.string()),
        ("file", pa.string()),
        ("pos", pa.int64()),
        ("offset", pa.int64()),
    ]
)

FILES_SCHEMA: Final = pa.schema(
    [
        ("file", pa.string()),
        ("kind", pa.string()),
        ("size", pa.int64()),
        ("base_offset", pa.int64()),
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("end_offset", pa.int64()),
        ("epoch", pa.int32()),
        ("first_timestamp", _TIME),
        ("last_timestamp", _TIME),
        ("batches", pa.int64()),
        ("records", pa.int64()),
        ("faults", pa.int64()),
    ]
)
"""``base_offset`` is in a segment's name, ``end_offset`` in a checkpoint's; ``epoch`` is that of
the checkpoint's name, of the last batch for others. Offsets inside a checkpoint count from 0."""


def records_schema(*, raw: bool = False) -> pa.Schema:
    """The columns of `record_batches`."""
    columns = [
        *_PLACE,
        ("api_key", pa.int32()),
        ("type", pa.string()),
        ("version", pa.int32()),
        ("value", pa.string()),
    ]
    return pa.schema([*columns, ("raw", pa.binary())] if raw else columns)


def message_schema(registry: Registry, message: str) -> pa.Schema:
    """The columns of `message_batches`.

    Raises:
        KeyError: There is no such message.
    """
    empty = Records(Loaded(anonymous(SLACK), 0, []), registry)
    _, columns = empty.decode(message, np.empty(0, dtype=np.int64))
    arrays = message_columns(message, columns, Redaction())
    return pa.schema([*_PLACE, *((_own_name(name), a.type) for name, a in arrays.items())])


def _own_name(name: str) -> str:
    """The column of a message's field, apart from those that say where the record stands."""
    return f"record_{name}" if name in dict(_PLACE) else name


def record_batches(
    split: Windows,
    registry: Registry,
    redaction: Redaction,
    where: RowFilter | None = None,
    *,
    values: bool = True,
    raw: bool = False,
    window_bytes: int = WINDOW_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Every record of a split, whatever it is.

    ``api_key`` is null for control records, and with ``type`` and ``version`` for values that are
    no metadata; ``value`` is what kafka-dump-log shows as ``data``, null where it can't be decoded.

    Args:
        split: The split, or windows of one file that are read already.
        registry: Message definitions.
        redaction: Says what may be shown.
        where: The filter of rows.
        values: Whether the column ``value`` is wanted; it is null otherwise.
        raw: Whether there is a column ``raw``, the whole value of a record; of a type that can
            hold secrets and where it is not understood, it is redacted as a whole.
        window_bytes: See `read_split`.

    Raises:
        SplitError: See `read_split`.
        SourceError: The file can't be read.
    """
    writer = data_writer(redaction)
    for window, rows in _blocks(split, registry, where or RowFilter(), window_bytes):
        yield records_batch(
            window.records, rows, writer if values else None, redaction if raw else None
        )


def records_batch(
    records: Records, rows: I64, writer: LineWriter | None, raw: Redaction | None = None
) -> pa.RecordBatch:
    """Some records of one window of a file, with the columns of `records_schema`.

    Args:
        records: The window's.
        rows: Which of them.
        writer: Writes the column ``value``, which is null without one.
        raw: Says what may be shown in a column ``raw``; without it there is no such column.
    """
    keys = records.frames.api_key[rows]
    none = keys == NO_KEY
    arrays = [
        *_place(records, rows),
        pa.array(keys.astype(np.int32), mask=none | (keys <= CONTROL_KEY)),
        _types(keys, records.registry),
        pa.array(records.frames.version[rows].astype(np.int32), mask=none),
        pa.nulls(len(rows), type=pa.string())
        if writer is None
        else pa.array(writer.written(records, rows), type=pa.string()),
    ]
    if raw is not None:
        arrays.append(_raws(records, rows, raw))
    return fitting_batch(arrays, records_schema(raw=raw is not None))


def message_batches(
    split: Windows,
    registry: Registry,
    redaction: Redaction,
    message: str,
    where: RowFilter | None = None,
    *,
    window_bytes: int = WINDOW_BYTES,
) -> Iterator[pa.RecordBatch]:
    """The records of one message that decode; arguments and errors as `record_batches`.

    A field that is called as one of the columns in front has ``record_`` before its name.
    """
    spec = registry.by_name[message]
    key = spec.api_key if spec.api_key is not None else control_key(spec.control_type or 0)
    name = type_of(key, registry)
    where = where or RowFilter()
    if name is None or (where.types is not None and name not in where.types):
        return
    where = replace(where, types=frozenset({name}))
    schema = message_schema(registry, message)
    for window, rows in _blocks(split, registry, where, window_bytes):
        batch = message_batch(window.records, rows, message, redaction, schema)
        if batch.num_rows:
            yield batch


def message_batch(
    records: Records, rows: I64, message: str, redaction: Redaction, schema: pa.Schema
) -> pa.RecordBatch:
    """The rows of those records of one window that decode as a message.

    Args:
        records: The window's.
        rows: Which of them; all of that message.
        message: Its name.
        redaction: Says what may be shown.
        schema: That of `message_schema`.
    """
    good, columns = records.decode(message, rows)
    own = message_columns(message, columns, redaction)
    return fitting_batch([*_place(records, good), *own.values()], schema)


def fault_batches(
    split: Split, registry: Registry, *, window_bytes: int = WINDOW_BYTES
) -> Iterator[pa.RecordBatch]:
    """The faults of a split's batches, and of its records as far as these are wrong by themselves.

    Errors as `record_batches`.
    """
    for window in _windows(split, registry, RowFilter(), window_bytes):
        faults = window.faults()
        for first in range(0, len(faults), BATCH_ROWS):
            yield faults_batch(faults[first : first + BATCH_ROWS])


def faults_batch(faults: Sequence[Fault]) -> pa.RecordBatch:
    """Faults as rows, those of a plan for example."""
    columns = [
        [str(fault.kind) for fault in faults],
        [fault.reason for fault in faults],
        [fault.file for fault in faults],
        [fault.pos for fault in faults],
        [fault.offset for fault in faults],
    ]
    arrays = [
        pa.array(values, type=field.type)
        for values, field in zip(columns, FAULTS_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=FAULTS_SCHEMA)


def file_batch(
    splits: Sequence[Split], registry: Registry, *, window_bytes: int = WINDOW_BYTES
) -> pa.RecordBatch:
    """One row that describes a file.

    Args:
        splits: All splits of the file, in order; best a single one.
        registry: Message definitions, for counting faults.
        window_bytes: See `read_split`.

    Raises:
        SplitError: See `read_split`.
        SourceError: The file can't be read.
    """
    parsed = parse_name(splits[0].name)
    row = dict.fromkeys(FILES_SCHEMA.names)
    counts = {"batches": 0, "records": 0, "faults": 0}
    for split in splits:
        for window in _windows(split, registry, RowFilter(), window_bytes):
            header = window.headers
            counts["batches"] += len(header)
            counts["records"] += len(window.records.frames)
            counts["faults"] += len(window.faults())
            if not len(header):
                continue
            if row["first_offset"] is None:
                row["first_offset"] = int(header["base_offset"][0])
                row["first_timestamp"] = int(header["base_timestamp"][0])
            row["last_offset"] = int(header["base_offset"][-1]) + int(header["last_delta"][-1])
            row["last_timestamp"] = int(header["max_timestamp"][-1])
            row["epoch"] = int(header["epoch"][-1])
    row |= {"file": splits[0].name, "size": splits[0].size, **counts}
    if isinstance(parsed, CheckpointName):
        row |= {"kind": "checkpoint", "end_offset": parsed.end_offset, "epoch": parsed.epoch}
    elif isinstance(parsed, SegmentName):
        row |= {"kind": "segment", "base_offset": parsed.base_offset}
    return pa.RecordBatch.from_pylist([row], schema=FILES_SCHEMA)


@dataclass(frozen=True, slots=True)
class _Window:
    """The records of a window of a split."""

    loaded: Loaded
    records: Records

    @property
    def headers(self) -> AnyArray:
        """`HEADER` of each batch, also of those whose records do not frame."""
        return self.records.frames.batches.header.view(HEADER)

    def faults(self) -> list[Fault]:
        """The faults of batches, then those of records, by their place."""
        records = self.records
        keys = records.frames.api_key.narrow
        report_unknown(records)
        for spec in records.registry.by_name.values():
            if spec.control_type is not None:
                rows = np.flatnonzero(keys == control_key(spec.control_type))
            else:
                rows = np.flatnonzero(keys == spec.api_key)
            if len(rows):
                records.decode(spec.name, rows, ())
        (file,) = self.loaded.files
        found = [*file.chain.faults, *records.faults]
        found.sort(key=lambda f: (-1 if f.pos is None else f.pos, f.offset or 0))
        if records.faults_left_out:
            reason = f"{records.faults_left_out} more records at fault behind this one"
            found.append(replace(found[-1], kind=FaultKind.RECORD, reason=reason))
        return found


def _place(records: Records, rows: I64) -> list[pa.Array]:
    """The columns of `_PLACE`."""
    made = place_columns(records.frames, records.loaded.files, rows)
    return [made[name]() for name, _ in _PLACE]


def _windows(
    split: Windows, registry: Registry, where: RowFilter, window_bytes: int
) -> Iterator[_Window]:
    if isinstance(split, Split):
        # Here a checkpoint's records stand for themselves.
        split = read_split(replace(split, end_offset=None, epoch=-1), window_bytes)
    for loaded in split:
        wanted = where.batches(loaded, registry)
        yield _Window(wanted, Records(wanted, registry))


def _blocks(
    split: Windows, registry: Registry, where: RowFilter, window_bytes: int
) -> Iterator[tuple[_Window, I64]]:
    for window in _windows(split, registry, where, window_bytes):
        if not window.loaded.files[0].chain.positions:
            continue
        rows = where.rows(window.records)
        for first in range(0, len(rows), BATCH_ROWS):
            yield window, rows[first : first + BATCH_ROWS]


def _types(keys: AnyArray, registry: Registry) -> pa.Array:
    """The type of each record, from a table of the few that there are."""
    distinct, which = np.unique(keys, return_inverse=True)
    names = pa.array([type_of(key, registry) for key in distinct.tolist()], type=pa.string())
    return names.take(pa.array(which.astype(np.int64)))


def _raws(records: Records, rows: I64, redaction: Redaction) -> pa.Array:
    """Whole values of records; redacted where the type can hold secrets, or is not understood."""
    frames = records.frames
    starts = frames.value_starts(rows)
    lengths = np.maximum(frames.stop[rows] - starts, 0)
    raws = binary_array(SpanColumn(frames.arena, "u1", starts, lengths))
    if redaction.show_secrets:
        return raws
    hidden, texts = np.ones(len(rows), dtype=np.bool_), np.full(len(rows), None, dtype=object)
    keys = frames.api_key[rows]
    for key in np.unique(keys).tolist():
        spec, at = records.spec_of_key(key), np.flatnonzero(keys == key)
        name = None if spec is None else spec.name
        if name is not None and type_may_hold_secrets(name):
            texts[at] = REDACTED.encode()
            continue
        if name is not None:
            understood, _ = records.decode(name, rows[at], ())
            is_understood = np.isin(rows[at], understood)
            hidden[at[is_understood]], at = False, at[~is_understood]
        for i in at.tolist():
            row = int(rows[i])
            text = hidden_bytes(name, records.raw(row), records.batch_position(row))
            texts[i] = text.encode()
    if not hidden.any():
        return raws
    stand_ins = pa.array(texts.tolist(), type=raws.type)
    return pa.compute.if_else(pa.array(hidden), stand_ins, raws)
