"""Frames: where every record of a source lies.

A record in a batch is: length varint, attributes int8, timestampDelta varlong, offsetDelta varint,
keyLength varint, key, valueLength varint, value, headers; varints zigzag-encoded.
`metashell.log.framing` finds where each lies.

Source: org.apache.kafka.common.record.internal.DefaultRecord.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Self

import numpy as np

from metashell.dataclass import dataclass
from metashell.log.deltas import Deltas, Rows
from metashell.log.layout import LOG_APPEND_TIME
from metashell.log.read import EpochRun
from metashell.schema.arena import I32, I64, AnyArray, Arena, Bools
from metashell.schema.varint import read_varint, read_varlong


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
    """Of records that stand for others as well: how much of what those did they stand for.

    Both have one element a record, which is 1 or what the record itself does where it stands only
    for itself. See `metashell.condensed.condense`.
    """

    changes: I32
    """int32: changes of a partition."""
    leader_changes: I32
    """int32: those that named a leader."""


@dataclass(slots=True)
class Frames:
    """The records of a source, in replay order; every array has one element a record.

    Records of batches that do not frame are left out, as if the batch were not there.
    """

    arena: Arena
    batches: Batches
    batch: I32
    """int32, or int16 where that does: index into `batches`."""
    start: Deltas
    """int64: position of the record's attributes byte."""
    body: Deltas
    """int64: first byte of the message, behind frame version, api key and version; of the value for
    control records and for values with no such frame."""
    stop: Deltas
    """int64: end of the value."""
    offset: Deltas
    """int64: log offset, as the file says (counted from 0 in checkpoints)."""
    api_key: Deltas
    """int32: metadata api key; `NO_KEY` for a value with no readable frame; for control records
    `CONTROL_KEY` minus their type."""
    version: Deltas
    """int32: message version; for control records the first int16 of the value."""
    frame_version: Deltas
    """int32: 1 in sound metadata records, -1 for control records, `NO_FRAME`."""
    merged: Merged | None = None
    """Set where records of a condensed log stand for others as well."""

    @classmethod
    def blank(cls, arena: Arena, batches: Batches, batch: I32) -> Self:
        """Frames of which only the batches are known: numbers are 0, positions those of nothing."""
        n, start = len(batch), Deltas(len(batch))
        return cls(
            arena,
            batches,
            batch,
            start=start,
            body=Deltas(n, start.__getitem__),
            stop=Deltas(n, start.__getitem__),
            offset=cls._blank_offsets(batches, batch),
            api_key=Deltas(n, dtype="i4"),
            version=Deltas(n, dtype="i4"),
            frame_version=Deltas(n, dtype="i4"),
        )

    @classmethod
    def _blank_offsets(cls, batches: Batches, batch: I32) -> Deltas:
        base = batches.header["base_offset"].astype(np.int64)

        def base_of(rows: Rows) -> Any:
            return base[batch[rows]]

        return Deltas(len(batch), base_of)

    def __len__(self) -> int:
        return len(self.batch)

    def put(self, rows: slice, columns: Mapping[str, AnyArray]) -> None:
        """Fill in rows.

        Args:
            rows: Which.
            columns: By the names of `FILLED` an element a row.
        """
        for name in FILLED:
            getattr(self, name)[rows] = columns[name]

    def put_differences(self, rows: slice, differences: Mapping[str, AnyArray]) -> None:
        """As `put`, of what framing finds: see `Deltas.put`."""
        for name in FILLED:
            getattr(self, name).put(rows, differences[name])

    def timestamps(self, rows: AnyArray) -> I64:
        """Timestamps of the rows given: int64, ms since the epoch, -1 for none."""
        start = self.start[rows]
        delta, _ = read_varlong(self.arena, start + 1, np.full_like(start, self.arena.size))
        # A field of all batches takes less than whole headers of all records.
        header, batch = self.batches.header, self.batch[rows]
        times: I64 = header["base_timestamp"].astype(np.int64)[batch]
        times += delta
        appended = header["attributes"] & LOG_APPEND_TIME != 0
        if appended.any():
            times = np.where(appended[batch], header["max_timestamp"][batch], times)
        return times.astype(np.int64, copy=False)

    def epochs(self, rows: AnyArray) -> I32:
        """Leader epochs of the rows given: int32."""
        return self.batches.header["epoch"][self.batch[rows]].astype(np.int32)

    def values(self, rows: AnyArray) -> I64:
        """Where the value of each row given begins: int64."""
        start = self.start[rows]
        return value_spans(self.arena, start, np.full_like(start, self.arena.size))[0]

    def unread(self, rows: AnyArray) -> Bools:
        """Which of the rows given have no value any more, but the reason why it can't be read."""
        return np.zeros(len(rows), dtype=np.bool_)


NO_KEY: Final = -1
CONTROL_FRAME: Final = -1
"""Frame version of control records, which have none."""

NO_FRAME: Final = -2
"""Frame version of a value that is null, empty or too short to have one."""
CONTROL_KEY: Final = -1000
"""Control records of type t have the api key ``CONTROL_KEY - t``, apart from every metadata key."""


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
