"""The records of files one by one, as kafka-dump-log shows them, by the columns of the product."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Final, TypeAlias

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.control import CONTROL_NAMES
from metashell.log.frames import CONTROL_KEY
from metashell.log.read import Loaded
from metashell.records.record_faults import report_unknown
from metashell.records.records import Records
from metashell.schema.arena import I64
from metashell.schema.dump import fields_json
from metashell.schema.model import Registry
from metashell.schema.rows import to_rows

_BLOCK_ROWS: Final = 16_384

_Decoded: TypeAlias = tuple[str | None, int | None, dict[str, object] | None]
"""Type, version and fields."""

_NOTHING: Final[_Decoded] = (None, None, None)


@dataclass(frozen=True, slots=True)
class DumpedRecord:
    """One record. ``data`` and ``type`` are None where it can't be decoded; ``error`` says why."""

    row: int
    file: str
    offset: int
    timestamp_ms: int
    epoch: int
    is_control: bool
    type: str | None
    version: int | None
    data: dict[str, object] | None
    error: str | None


def dump(loaded: Loaded, registry: Registry) -> Iterator[DumpedRecord]:
    """Every record of the files in order, nothing left out and nothing redacted."""
    records = Records(loaded, registry)
    frames = records.frames
    for first in range(0, len(frames), _BLOCK_ROWS):
        rows = np.arange(first, min(first + _BLOCK_ROWS, len(frames)))
        yield from _dump_rows(records, rows)


def _dump_rows(records: Records, rows: I64) -> Iterator[DumpedRecord]:
    frames = records.frames
    decoded: dict[int, _Decoded] = {}
    keys = frames.api_key[rows]
    for key in sorted(set(keys.tolist())):
        control = key <= CONTROL_KEY
        spec = records.spec_of_key(key)
        if spec is None:
            continue
        good, columns = records.decode(spec.name, rows[keys == key])
        name = CONTROL_NAMES[CONTROL_KEY - key] if control else spec.type_name
        versions = frames.version[good].tolist()
        for row, version, fields in zip(good.tolist(), versions, to_rows(columns), strict=True):
            decoded[row] = (name, version, fields_json(spec, version, fields))
    errors = _errors(records, rows, decoded)
    times, epochs = frames.timestamps(rows).tolist(), frames.epochs(rows).tolist()
    for row, offset, time, epoch, key in zip(
        rows.tolist(), frames.offset[rows].tolist(), times, epochs, keys.tolist(), strict=True
    ):
        kind, version, data = decoded.get(row) or _NOTHING
        yield DumpedRecord(
            row,
            records.file_of(row).name,
            offset,
            time,
            epoch,
            key <= CONTROL_KEY,
            kind,
            version,
            data,
            errors.get(row),
        )


def _errors(records: Records, rows: I64, decoded: Container[int]) -> dict[int, str]:
    """Why the rows that are not decoded could not be."""
    left = [row for row in rows.tolist() if row not in decoded]
    if not left:
        return {}
    report_unknown(records)
    reasons: dict[int, str] = {}
    for row, fault in records.faults_by_row():
        reasons[row] = fault.reason
    return {row: reasons.get(row, "not decoded") for row in left}
