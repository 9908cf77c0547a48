"""Keyed frames: where the key and the value of every record lie.

For the logs whose records have keys: those of coordinators. The records of a metadata log have
none, and have `metashell.log.frames`. Both share the finding of records, the inflating and the
arrays of batches; messages of older formats (`old_messages`) are put beside them.

A key begins with an int16, its *type*; a value with one, its *version*. What they mean is for a
later stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Final, overload

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.frames import Batches
from metashell.log.layout import LOG_APPEND_TIME
from metashell.schema.arena import I32, I64, AnyArray, Arena, Bools
from metashell.schema.columns import SpanColumn
from metashell.schema.varint import read_varlong

NO_NUMBER: Final = 1 << 20
"""Stands for an int16 that is not there: the key or the value is null, or shorter than that."""

_CONTROL: Final = -(1 << 20)
_MAX_INT32: Final = (1 << 31) - 1
_FEW: Final = 8
"""Of fewer records than a batch in so many, whole headers are read, and those of no others."""


def control_key_type(control_type: int) -> int:
    """The key type that stands for a control type, apart from every type of a key."""
    return _CONTROL - control_type


@overload
def is_control_type(key_type: int) -> bool: ...
@overload
def is_control_type(key_type: I32) -> Bools: ...
def is_control_type(key_type: int | I32) -> bool | Bools:
    """Whether key types stand for control types: one, or those of records."""
    return key_type <= _CONTROL + (1 << 15)


@dataclass(slots=True)
class KeyedFrames:
    """The keyed records of a source, in log order; every array has one element a record.

    Records of batches that do not frame are left out, as if the batch were not there. Control
    records are among them.
    """

    arena: Arena
    batches: Batches
    """A message of an older format is a batch too; its header holds -1 for what it lacks."""
    batch: I32
    """int32: index into `batches`."""
    start: I64
    """int64: position of the record's attributes byte."""
    offset: I64
    """int64: log offset."""
    key: I64
    """int64: first byte of the key, of its type where it has one."""
    key_size: I32
    """int32: bytes of the key, -1 for null."""
    value: I64
    """int64: first byte of the value, of its version where it has one."""
    value_size: I32
    """int32: bytes of the value, -1 for null: a tombstone."""
    key_type: I32
    """int32: the int16 that the key begins with; `NO_NUMBER` without one; of a control record
    `control_key_type` of its type."""
    value_version: I32
    """int32: the int16 that the value begins with; `NO_NUMBER` without one."""
    _old: Bools | None = field(default=None)
    """bool[number of batches]: those of older formats; None where there are none."""

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def is_control(self) -> Bools:
        """bool[n]: control records, such as the markers of transactions."""
        return is_control_type(self.key_type)

    def control_types(self, rows: AnyArray) -> I32:
        """int32: types of the control records given; see `metashell.log.control.ControlType`."""
        return (_CONTROL - self.key_type[rows]).astype(np.int32)

    def coordinator_epochs(self, rows: AnyArray) -> I32:
        """int32: coordinator epochs of the markers given; -1 where a value is too short.

        Source: org.apache.kafka.common.message.EndTxnMarker, version 0.
        """
        epochs = self.arena.gather(">i4", self.value[rows] + 2).astype(np.int32)
        epochs[self.value_size[rows] < 6] = -1
        return epochs

    def timestamps(self, rows: AnyArray) -> I64:
        """int64: timestamps of the rows given in ms since the epoch, -1 for none."""
        start, (header, at) = self.start[rows], self._headers(rows)
        times = header["base_timestamp"].astype(np.int64)[at]
        times += read_varlong(self.arena, start + 1, np.full_like(start, self.arena.size))[0]
        appended = (header["attributes"] & LOG_APPEND_TIME != 0)[at]
        if self._old is not None:
            old = np.flatnonzero(self._old[self.batch[rows]])
            # Their own, but in format 0, which has none, nor has its header one.
            times[old] = self.arena.gather(">i8", start[old] + 1)
            times[old[header["magic"][at[old]] == 0]] = -1
        if appended.any():
            times[appended] = header["max_timestamp"][at[appended]]
        return times

    def _headers(self, rows: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Headers by field, and where that of each row given is among them."""
        header, batch = self.batches.header, self.batch[rows]
        if len(batch) * _FEW > len(header):
            # A field at a time: whole headers of all records would take more than their bytes.
            return header, batch
        distinct, at = np.unique(batch, return_inverse=True)
        few: AnyArray = header[distinct]
        return few, at

    def epochs(self, rows: AnyArray) -> I32:
        """int32: leader epochs of the rows given, -1 in older formats."""
        header, at = self._headers(rows)
        return header["epoch"][at].astype(np.int32)

    def producer_ids(self, rows: AnyArray) -> I64:
        """int64: producer ids of the rows given, -1 for none."""
        header, at = self._headers(rows)
        return header["producer_id"][at].astype(np.int64, copy=False)

    def sequences(self, rows: AnyArray) -> I32:
        """int32: sequences of the rows given, -1 for none. They go on at 0 behind 2**31 - 1."""
        header, at = self._headers(rows)
        base = header["base_sequence"].astype(np.int64)[at]
        sequence = base + self.offset[rows] - header["base_offset"][at]
        sequence = np.where(sequence > _MAX_INT32, sequence - _MAX_INT32 - 1, sequence)
        return np.where(base < 0, -1, sequence).astype(np.int32)

    def first_names(self) -> SpanColumn:
        """The string that each key begins with, behind its type; null where there is none."""
        counts = self.arena.gather(">i2", self.key + 2).astype(np.int32)
        lacks = (self.key_type < 0) | (counts < 0) | (self.key_size < counts + 4)
        counts[lacks] = -1
        return SpanColumn(self.arena, "u1", self.key + 4, counts)

    def keys(self, rows: AnyArray | Sequence[int]) -> list[bytes | None]:
        """The whole key of each row given."""
        return self._bytes(self.key[rows], self.key_size[rows])

    def values(self, rows: AnyArray | Sequence[int]) -> list[bytes | None]:
        """The whole value of each row given."""
        return self._bytes(self.value[rows], self.value_size[rows])

    def _bytes(self, starts: I64, sizes: I32) -> list[bytes | None]:
        return [
            None if size < 0 else self.arena.slice(start, start + size)
            for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
        ]


def put_values(
    frames: KeyedFrames,
    rows: slice | I64,
    key: I64,
    key_size: AnyArray,
    value: I64,
    value_size: AnyArray,
) -> None:
    """Fill in where keys and values lie, and the numbers that they begin with."""
    frames.key[rows], frames.key_size[rows] = key, key_size
    frames.value[rows], frames.value_size[rows] = value, value_size
    size = frames.arena.size
    for numbers, at, length in (
        (frames.key_type, key, key_size),
        (frames.value_version, value, value_size),
    ):
        found = frames.arena.gather(">i2", np.minimum(at, size)).astype(np.int32)
        numbers[rows] = np.where(length >= 2, found, NO_NUMBER)
