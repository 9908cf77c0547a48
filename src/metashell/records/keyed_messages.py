"""Records of a log with keys, decoded by what they are, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from metashell.log.control import control_type_name
from metashell.log.frames import NO_NUMBER
from metashell.records.dumped_values import dumped, dumped_values
from metashell.records.field_texts import FieldTexts
from metashell.records.flaws import Flaw
from metashell.records.keyed_records import KeyedRecords
from metashell.records.line_forms import FaultyRecord
from metashell.records.messages import DecodedMessages
from metashell.schema.arena import I64, Bools
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


def keyed_messages_of(
    records: KeyedRecords, rows: I64, is_wanted: Callable[[MessageSpec], bool]
) -> Iterator[DecodedMessages]:
    """The messages of some rows, markers last; rows ascend."""
    numbers = records.frames.api_key[rows]
    for number in np.unique(numbers).tolist():
        found = records.types.by_number.get(number)
        if found is None or not (is_wanted(found.key) and is_wanted(found.value)):
            continue
        columns = records.decode(found.name, rows[numbers == number])
        places = np.searchsorted(rows, columns.rows)
        versions = records.frames.version[columns.rows]
        versions = np.where(columns.is_tombstone, NO_NUMBER, versions)
        for version in np.unique(versions).tolist():
            at = np.flatnonzero(versions == version)
            key, value = columns.key, columns.value
            if len(at) < len(columns):
                key, value = key.take(at), value.take(at)
            yield DecodedMessages(
                found.type_name,
                places[at],
                found.value,
                version,
                value,
                type=found,
                key=key,
                more=dumped_values(found, version, value),
            )
    yield from _markers(records, rows)


def _markers(records: KeyedRecords, rows: I64) -> Iterator[DecodedMessages]:
    """The control records of a log with keys, whatever their version says."""
    frames, spec = records.frames, data_message("EndTxnMarker")
    at = np.flatnonzero(frames.is_control[rows])
    kinds, epochs = frames.control_types(rows[at]), frames.coordinator_epochs(rows[at])
    for kind in np.unique(kinds).tolist():
        these: Bools = kinds == kind
        fields = {"coordinator_epoch": FixedColumn(epochs[these])}
        n = int(these.sum())
        columns = Columns(spec.fields, n, np.ones(n, dtype=np.bool_), fields)
        yield DecodedMessages(control_type_name(kind), at[these], spec, 0, columns, True)


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
    at, frames, flaw, n = np.array([row]), records.frames, records.flaw(row), len(fields.form.comma)
    number, version = int(frames.api_key[row]), int(frames.version[row])
    (key,), (value,) = frames.keys(at), frames.values(at)
    key_text = value_text = None
    if flaw in _KEY_IS_SOUND:
        kind = records.types.by_number[number]
        keys = records.keys_of(kind, at)
        (key_text,) = fields.texts(kind.key, kind.key.versions.low, keys)
        key_text = key_text[n:]
        if flaw in _VALUE_IS_SOUND and value is not None:
            of_value, _ = decode_prefix(kind.value, version, value[2:])
            value_text = fields.form.of_object(dumped(kind, version, of_value))[n:]
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
