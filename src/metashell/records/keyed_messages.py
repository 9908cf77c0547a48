"""Records of a log with keys, decoded by what they are, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from metashell.log.frames import NO_NUMBER, is_keyed_control
from metashell.records.dumped_values import dumped, dumped_values
from metashell.records.field_texts import FieldTexts
from metashell.records.flaws import Flaw
from metashell.records.keyed_records import KeyedRecords
from metashell.records.line_forms import FaultyRecord
from metashell.records.messages import DecodedMessages
from metashell.schema.arena import I64
from metashell.schema.columns import Columns, FixedColumn
from metashell.schema.coordinators import data_message
from metashell.schema.model import MessageSpec
from metashell.schema.scalar import decode_prefix

_VALUE_IS_SOUND: Final = frozenset(
    {Flaw.UNKNOWN_STATE, Flaw.NO_PARTITIONS, Flaw.UNKNOWN_TRANSACTION_VERSION}
)
"""Flaws of records whose values can be read."""
_KEY_IS_SOUND: Final = _VALUE_IS_SOUND | {
    Flaw.SHORT_VALUE,
    Flaw.UNKNOWN_VERSION,
    Flaw.BAD_VALUE,
    Flaw.NO_VALUE,
}
"""Flaws of records whose keys can be read."""


def keyed_messages(
    records: KeyedRecords,
    rows: I64,
    number: int,
    version: int,
    is_wanted: Callable[[MessageSpec], bool],
) -> tuple[I64, DecodedMessages] | None:
    """The rows whose records, all of one type and version, decode, and their messages."""
    kind = records.types.by_number.get(number)
    if is_keyed_control(number):
        # A marker is read so whatever its version says.
        spec, n = data_message("EndTxnMarker"), len(rows)
        fields = {"coordinator_epoch": FixedColumn(records.frames.coordinator_epochs(rows))}
        columns = Columns(spec.fields, n, np.ones(n, dtype=np.bool_), fields)
        return rows, DecodedMessages(records.type_name(number) or "", rows, spec, 0, columns, True)
    if kind is None or not (is_wanted(kind.key) and is_wanted(kind.value)):
        return None
    found = records.decode(kind.name, rows)
    return found.rows, DecodedMessages(
        kind.type_name,
        found.rows,
        kind.value,
        version,
        found.value,
        type=kind,
        key=found.key,
        more=dumped_values(kind, version, found.value),
    )


def keyed_fault(
    records: KeyedRecords, row: int, fields: FieldTexts, raw: Callable[[bytes], str]
) -> FaultyRecord:
    """A record that can't be read.

    Args:
        records: The records of a file, whose flaws are known.
        row: Which.
        fields: Writes what can be read of it.
        raw: Writes bytes.
    """
    at, frames, flaw = np.array([row]), records.frames, records.flaw(row)
    number, version = int(frames.api_key[row]), int(frames.version[row])
    (key,), (value,) = frames.keys(at), frames.values(at)
    key_text = value_text = None
    if flaw in _KEY_IS_SOUND:
        kind = records.types.by_number[number]
        keys = records.keys_of(kind, at)
        (key_text,) = fields.texts(kind.key, kind.key.versions.low, keys)
        key_text = key_text[1:]
        if flaw in _VALUE_IS_SOUND and value is not None:
            of_value, _ = decode_prefix(kind.value, version, value[2:])
            value_text = fields.form.of_object(dumped(kind, version, of_value))[1:]
    return FaultyRecord(
        name=None if number == NO_NUMBER else records.types.type_name(number),
        number=None if number == NO_NUMBER else number,
        version=None if version == NO_NUMBER else version,
        reason=records.reason(row),
        raw=None if value is None else raw(value),
        verdict=str(records.verdict(row)),
        raw_key=None if key is None else raw(key),
        key=key_text,
        value=value_text,
    )
