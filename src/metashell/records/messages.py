"""Records decoded by what they are: each type and version by itself.

A message of a metadata log is the value of a record without a key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.control import control_type_name
from metashell.log.frames import CONTROL_KEY, NO_NUMBER
from metashell.records.keyed_records import KeyedRecords
from metashell.records.records import Records
from metashell.schema.arena import I64, Bools
from metashell.schema.columns import Columns, FixedColumn
from metashell.schema.coordinators import RecordType, data_message
from metashell.schema.model import MessageSpec

AnyRecords: TypeAlias = Records | KeyedRecords
_Wanted: TypeAlias = Callable[[MessageSpec], bool]


@dataclass(frozen=True, slots=True)
class DecodedMessages:
    """Those of some rows that are of one type and version, and decode."""

    name: str
    """What lines call their type."""
    at: I64
    """int64[n], ascending: which of the rows."""
    spec: MessageSpec
    """The definition of their values."""
    version: int
    """Of their values; `NO_NUMBER` for tombstones, whose values are null."""
    columns: Columns
    """The fields of their values."""
    is_control: bool = False
    type: RecordType | None = None
    """Their type, in a log with keys; None for markers."""
    key: Columns | None = None
    """The fields of their keys, where they have keys."""


def messages_of(
    records: AnyRecords, rows: I64, is_wanted: _Wanted = lambda _: True
) -> Iterator[DecodedMessages]:
    """The messages of some rows.

    Args:
        records: Of which file.
        rows: int64[n], ascending.
        is_wanted: Whether messages of a definition are decoded.
    """
    if isinstance(records, KeyedRecords):
        yield from _with_keys(records, rows, is_wanted)
        yield from _markers(records, rows)
        return
    frames = records.frames
    keys, versions = frames.api_key[rows].astype(np.int64), frames.version[rows]
    kinds, firsts, kind_of = np.unique(
        (keys << 32) + versions, return_index=True, return_inverse=True
    )
    for kind, first in enumerate(firsts.tolist()):
        key, version = int(keys[first]), int(versions[first])
        spec = records.spec_of_key(key)
        if spec is None or version not in spec.versions or not is_wanted(spec):
            continue
        at = np.arange(len(rows)) if len(kinds) == 1 else np.flatnonzero(kind_of == kind)
        good, columns = records.decode(spec.name, rows[at])
        if len(good) < len(at):
            at = np.searchsorted(rows, good)
        control = key <= CONTROL_KEY
        name = control_type_name(CONTROL_KEY - key) if control else spec.type_name
        yield DecodedMessages(name, at, spec, version, columns, control)


def _with_keys(records: KeyedRecords, rows: I64, is_wanted: _Wanted) -> Iterator[DecodedMessages]:
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
                *(found.type_name, places[at], found.value, version, value), type=found, key=key
            )


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
