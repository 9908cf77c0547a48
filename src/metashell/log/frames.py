"""Frames: where every record of a source lies.

A record in a batch is: length varint, attributes int8, timestampDelta varlong, offsetDelta varint,
keyLength varint, key, valueLength varint, value, headers; varints zigzag-encoded.
`metashell.log.framing` finds where each lies.

Headers of very many batches, read where they are asked for.

A log of small batches has a header for every record or two. A copy of all of them would take a
third of the memory of what is known of its records.

Source: org.apache.kafka.common.record.internal.DefaultRecord.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self, overload

import numpy as np

from metashell.dataclass import dataclass
from metashell.kernel.decode import KeyedSpans
from metashell.log.deltas import Deltas, Rows
from metashell.log.layout import CODEC, LOG_APPEND_TIME, OLD_FORMATS
from metashell.log.read import EpochRun
from metashell.schema.arena import I32, I64, AnyArray, Arena, Bools
from metashell.schema.columns import SpanColumn
from metashell.schema.varint import read_varint, read_varlong

HEADER: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
"""The 61 bytes before a batch's records."""
_MESSAGE: Final = np.dtype(
    {
        "names": ["crc", "attributes", "timestamp"],
        "formats": [">u4", "u1", ">i8"],
        "offsets": [12, 17, 18],
        "itemsize": HEADER.itemsize,
    }
)
"""The head of a message of an older format; format 0 has no timestamp."""
_LOG_APPEND_TIME: Final = 0x08


def as_batches(header: AnyArray) -> AnyArray:
    """Headers in which messages of formats 0 and 1 read like batches of one record.

    Args:
        header: `HEADER`, of messages their first 61 bytes.

    Returns:
        A copy. A message that wraps others has no count, and its offset is that of the last of
        them.
    """
    header = header.copy()
    old = np.flatnonzero(header["magic"] < OLD_FORMATS)
    of, raw = header[old], header[old].view(_MESSAGE)
    has_time = of["magic"] > 0
    for name in ("epoch", "producer_id", "producer_epoch", "base_sequence"):
        of[name] = -1
    kept = np.where(has_time, CODEC | _LOG_APPEND_TIME, CODEC)
    of["crc"], of["attributes"] = raw["crc"], raw["attributes"] & kept
    of["base_timestamp"] = of["max_timestamp"] = np.where(has_time, raw["timestamp"], -1)
    of["last_delta"], of["count"] = 0, raw["attributes"] & CODEC == 0
    header[old] = of
    return header


class HeaderFields:
    """Reads like an array of `HEADER`: by a field's name, or by batches.

    Args:
        arena: The bytes.
        pos: int64[n], where each header begins.
    """

    dtype = HEADER

    def __init__(self, arena: Arena, pos: I64) -> None:
        self._arena, self._pos = arena, pos
        self._kept: dict[str, AnyArray] = {}

    def keep(self, field: str, values: AnyArray) -> None:
        """Take the values of a field of all batches, in native byte order, from who read them."""
        self._kept[field] = values

    def __len__(self) -> int:
        return len(self._pos)

    def __getitem__(self, key: str | int | slice | AnyArray) -> Any:
        """A field of all batches, in native byte order; or headers of the batches given."""
        if isinstance(key, str):
            if key in self._kept:
                return self._kept[key]
            assert HEADER.fields is not None
            dtype, begin = HEADER.fields[key][:2]
            return self._arena.gather(dtype.str, self._pos + begin)
        whole = self._arena.gather(f"V{HEADER.itemsize}", np.atleast_1d(self._pos[key]))
        found = whole.view(HEADER)
        return found[0] if np.ndim(self._pos[key]) == 0 else found


@dataclass(slots=True)
class Batches:
    """The batches of a source, in replay order; every array has one element a batch."""

    pos: I64
    """int64: where the header lies in the arena."""
    file: I32
    """int32: index into the source's files."""
    header: AnyArray
    """`HEADER`: native-endian copies would only cost time, so its fields are big-endian."""
    first_row: I64
    """int64[n + 1]: the batch's first record among the frames."""


@dataclass(slots=True)
class Merged:
    """Amounts for records that stand for others as well: how many changes each stands for.

    Both have one element a record, which is 1 or what the record itself does where it stands only
    for itself. See `metashell.reduced.reduce`.
    """

    changes: I32
    """int32: changes of a partition."""
    leader_changes: I32
    """int32: those that named a leader."""


@dataclass(slots=True)
class Frames:
    """The records of a source, in replay order; every array has one element a record.

    Records of batches that do not frame are left out, as if the batch were not there. In a metadata
    log keys are null, and the value begins with what tells the type. In other logs the key does,
    and key and value each begin with an int16.
    """

    arena: Arena
    batches: Batches
    """A message of an older format is a batch too; its header holds -1 for what it lacks."""
    batch: I32
    """int32, or int16 where that does: index into `batches`."""
    start: Deltas
    """int64: position of the record's attributes byte."""
    body: Deltas
    """int64: first byte of the message, behind frame version, api key and version; of the value for
    control records, for values with no such frame, and in a log with keys."""
    stop: Deltas
    """int64: end of the value; in a log with keys one less than `body` for null, a tombstone."""
    offset: Deltas
    """int64: log offset, as the file says (counted from 0 in checkpoints)."""
    api_key: Deltas
    """int32: metadata api key, `NO_KEY` for a value with no readable frame; in a log with keys the
    int16 that the key begins with, `NO_NUMBER` without one. For control records `CONTROL_KEY`, or
    `KEYED_CONTROL_KEY`, minus their type."""
    version: Deltas
    """int32: message version; for control records of a metadata log the first int16 of the value;
    in a log with keys the int16 that the value begins with, `NO_NUMBER` without one."""
    frame_version: Deltas
    """int32: 1 in sound metadata records, -1 for control records, `NO_FRAME`; 0 in a log with
    keys."""
    key: I64
    """int64: first byte of the key; no elements where all keys are null."""
    key_size: I32
    """int32: bytes of the key, -1 for null; no elements where all are."""
    is_old: Bools | None = None
    """bool[number of batches]: those that are messages of older formats; None where none is."""
    merged: Merged | None = None
    """Set where records of a reduced log stand for others as well."""

    @classmethod
    def blank(cls, arena: Arena, batches: Batches, batch: I32, *, has_keys: bool = False) -> Self:
        """Frames of which only the batches are known: numbers are 0, positions those of nothing."""
        n, start = len(batch), Deltas(len(batch))
        body = Deltas(n, None if has_keys else start.__getitem__)
        return cls(
            arena,
            batches,
            batch,
            start=start,
            body=body,
            stop=Deltas(n, body.__getitem__ if has_keys else start.__getitem__),
            offset=Deltas(n) if has_keys else cls._blank_offsets(batches, batch),
            api_key=Deltas(n, dtype="i4"),
            version=Deltas(n, dtype="i4"),
            frame_version=Deltas(n, dtype="i4"),
            key=np.empty(0, dtype=np.int64),
            key_size=np.empty(0, dtype=np.int32),
        )

    @classmethod
    def of_columns(
        cls, arena: Arena, batches: Batches, batch: I32, columns: Mapping[str, AnyArray]
    ) -> Self:
        """Frames of a log with keys, by the names of `metashell.kernel.frames.KEYED_COLUMNS`."""
        frames = cls.blank(arena, batches, batch, has_keys=True)
        frames.key, frames.key_size = columns["key"], columns["key_size"]
        for name, kept in _OF_COLUMNS.items():
            getattr(frames, name).keep(columns[kept])
        return frames

    @classmethod
    def _blank_offsets(cls, batches: Batches, batch: I32) -> Deltas:
        base = batches.header["base_offset"].astype(np.int64)

        def base_of(rows: Rows) -> Any:
            return base[batch[rows]]

        return Deltas(len(batch), base_of)

    def __len__(self) -> int:
        return len(self.batch)

    def without(self, bad: Bools) -> Self:
        """The frames of the other batches."""
        keep = ~bad[self.batch]
        of, counts = self.batches, np.diff(self.batches.first_row) * ~bad
        batches = Batches(of.pos, of.file, of.header, first_rows(counts))
        has_keys = len(self.key) > 0
        left = type(self).blank(self.arena, batches, self.batch[keep], has_keys=has_keys)
        for name in FILLED:
            getattr(left, name).keep(getattr(self, name).differences[keep])
        if has_keys:
            left.key, left.key_size, left.is_old = self.key[keep], self.key_size[keep], self.is_old
        return left

    def put(self, rows: slice, columns: Mapping[str, AnyArray]) -> None:
        """Fill in rows.

        Args:
            rows: Which.
            columns: By the names of `FILLED` an element a row.
        """
        for name in FILLED:
            getattr(self, name)[rows] = columns[name]

    def put_differences(self, rows: slice, differences: Mapping[str, AnyArray]) -> None:
        """Put the columns that framing found: see `Deltas.put`."""
        for name in FILLED:
            getattr(self, name).put(rows, differences[name])

    # Batches.

    def _headers(self, rows: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Headers by field, and where that of each row given is among them."""
        header, batch = self.batches.header, self.batch[rows]
        if len(batch) * _FEW > len(header):
            # A field at a time: whole headers of all records would take more than their bytes.
            return header, batch
        distinct, at = np.unique(batch, return_inverse=True)
        few: AnyArray = header[distinct]
        return few, at

    def timestamps(self, rows: AnyArray) -> I64:
        """Timestamps of the rows given: int64, ms since the epoch, -1 for none."""
        start, (header, at) = self.start[rows], self._headers(rows)
        times: I64 = header["base_timestamp"].astype(np.int64)[at]
        times += read_varlong(self.arena, start + 1, np.full_like(start, self.arena.size))[0]
        appended = header["attributes"] & LOG_APPEND_TIME != 0
        if self.is_old is not None:
            old = np.flatnonzero(self.is_old[self.batch[rows]])
            # Their own, but in format 0, which has none, nor has its header one.
            times[old] = self.arena.gather(">i8", start[old] + 1)
            times[old[header["magic"][at[old]] == 0]] = -1
        if appended.any():
            times = np.where(appended[at], header["max_timestamp"][at], times)
        return times.astype(np.int64, copy=False)

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

    # Values.

    def value_starts(self, rows: AnyArray) -> I64:
        """Where the value of each row given begins: int64."""
        start = self.start[rows]
        return value_spans(self.arena, start, np.full_like(start, self.arena.size))[0]

    def message_spans(self, rows: AnyArray) -> tuple[I64, I64]:
        """Where the fields of the rows' messages begin, and where they end; int64."""
        body: I64 = self.body[rows]
        if len(self.key):
            return body + 2, body + self.value_size[rows]
        return body, self.stop[rows]

    def unread(self, rows: AnyArray) -> Bools:
        """Which of the rows given have no value any more, but the reason why it can't be read."""
        return np.zeros(len(rows), dtype=np.bool_)

    # Columns of a log with keys.

    @property
    def value_size(self) -> I32:
        """int32: bytes of the value, -1 for null: a tombstone."""
        sizes: I32 = self.stop.differences
        return sizes

    @property
    def is_control(self) -> Bools:
        """bool[n]: control records, such as the markers of transactions."""
        keys = self.api_key.narrow
        if len(self.key):
            return is_keyed_control(keys)
        found: Bools = keys <= CONTROL_KEY
        return found

    def control_types(self, rows: AnyArray) -> I32:
        """int32: types of the control records given; see `metashell.log.control.ControlType`."""
        types: I32 = KEYED_CONTROL_KEY - self.api_key[rows]
        return types

    def coordinator_epochs(self, rows: AnyArray) -> I32:
        """int32: coordinator epochs of the markers given; -1 where a value is too short.

        Source: org.apache.kafka.common.message.EndTxnMarker, version 0.
        """
        epochs = self.arena.gather(">i4", self.body[rows] + 2).astype(np.int32)
        epochs[self.value_size[rows] < 6] = -1
        return epochs

    def first_names(self) -> SpanColumn:
        """The string that each key begins with, behind its type; null where there is none."""
        counts = self.arena.gather(">i2", self.key + 2).astype(np.int32)
        lacks = (self.api_key.narrow < 0) | (counts < 0) | (self.key_size < counts + 4)
        counts[lacks] = -1
        return SpanColumn(self.arena, "u1", self.key + 4, counts)

    def spans(self) -> KeyedSpans:
        """Where keys and values lie, for those who decode them."""
        return KeyedSpans(
            data=self.arena.content,
            key=self.key,
            key_size=self.key_size,
            value=self.body.narrow,
            value_size=self.value_size,
            value_version=self.version.narrow,
        )

    def keys(self, rows: AnyArray | Sequence[int]) -> list[bytes | None]:
        """The whole key of each row given."""
        return self._bytes(self.key[rows], self.key_size[rows])

    def values(self, rows: AnyArray | Sequence[int]) -> list[bytes | None]:
        """The whole value of each row given."""
        return self._bytes(self.body[rows], self.value_size[rows])

    def _bytes(self, starts: I64, sizes: I32) -> list[bytes | None]:
        return [
            None if size < 0 else self.arena.slice(start, start + size)
            for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
        ]


_OF_COLUMNS: Final = {
    "start": "start",
    "body": "value",
    "stop": "value_size",
    "offset": "offset",
    "api_key": "key_type",
    "version": "value_version",
}
"""Columns of `Frames` of a log with keys, and the kernel's names of what is kept of them."""
_MAX_INT32: Final = (1 << 31) - 1
_FEW: Final = 8
"""For fewer records than a batch in so many, only their own headers are read, as a whole."""

NO_KEY: Final = -1
CONTROL_FRAME: Final = -1
"""Frame version of control records, which have none."""

NO_FRAME: Final = -2
"""Frame version of a value that is null, empty or too short to have one."""
CONTROL_KEY: Final = -1000
"""Control records of type t have the api key ``CONTROL_KEY - t``, apart from every metadata key."""


KEYED_CONTROL_KEY: Final = -(1 << 20)
"""The key of a control record in a log with keys, whose types are int16."""
NO_NUMBER: Final = 1 << 20
"""Stands for an int16 that is not there: the key or the value is null, or shorter than that."""


def keyed_control(control_type: int) -> int:
    """The api key that stands for a control type in a log with keys."""
    return KEYED_CONTROL_KEY - control_type


@overload
def is_keyed_control(api_key: int) -> bool: ...
@overload
def is_keyed_control(api_key: I32) -> Bools: ...
def is_keyed_control(api_key: int | I32) -> bool | Bools:
    """Whether api keys of a log with keys stand for control types: one, or those of records."""
    return api_key <= KEYED_CONTROL_KEY + (1 << 15)


def first_rows(counts: I64) -> I64:
    """int64[n + 1]: where the records of each batch begin among all."""
    first_row = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=first_row[1:])
    return first_row


def control_key(control_type: int) -> int:
    """The api key that stands for a control type."""
    return CONTROL_KEY - control_type


def epoch_runs(header: AnyArray) -> list[EpochRun]:
    """The leader epochs of batches that follow on each other, in order.

    Args:
        header: `HEADER[n]` of the batches.
    """
    epochs = header["epoch"].astype(np.int64)
    first = header["base_offset"].astype(np.int64)
    end = first + header["last_delta"] + 1
    begins = np.flatnonzero(np.append(True, epochs[1:] != epochs[:-1])[: len(epochs)])
    ends = end[np.append(begins[1:], len(end)) - 1] if len(end) else end
    return list(zip(epochs[begins].tolist(), first[begins].tolist(), ends.tolist(), strict=True))


def value_spans(arena: Arena, begin: I64, end: I64) -> tuple[I64, I64]:
    """Where the values of records lie, given their attributes bytes: (first byte, end)."""
    _, pos = read_varlong(arena, begin + 1, end)
    _, pos = read_varint(arena, pos, end)
    key_size, pos = read_varint(arena, pos, end)
    size, value = read_varint(arena, pos + np.maximum(key_size, 0), end)
    return value, value + np.maximum(size, 0)


FILLED: Final = ("start", "body", "stop", "offset", "api_key", "version", "frame_version")
"""Columns of `Frames` that framing fills in, each behind the one that it is counted from."""
