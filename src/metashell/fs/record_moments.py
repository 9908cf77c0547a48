"""The moments of rows of coordinators' nodes: the number of a partition, and of a record there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from metashell.image.fold import places_by_number
from metashell.image.touched import Moment
from metashell.log.time_spec import TimeSpec
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.arena import I32, I64, AnyArray, Bools

ROW_BITS: Final = 40
"""Bits of a time for the row; the partition stands above them."""
ROW_OF_TIME: Final = (1 << ROW_BITS) - 1
"""The bits of the row."""
_ONE_BY_ONE: Final = 16
"""Times that records are read for singly; from then on those of all are."""


class RecordHeads:
    """Times and epochs of a partition's records.

    Args:
        records: All of the partition.
    """

    def __init__(self, records: KeyedRecords) -> None:
        self.records = records
        self._n_asked = 0

    @cached_property
    def _all(self) -> tuple[I64, I32]:
        frames = self.records.frames
        rows = np.arange(len(frames), dtype=np.int64)
        return frames.timestamps(rows), frames.epochs(rows)

    def timestamps(self, rows: I64) -> I64:
        """int64[n]: ms since the epoch, -1 for none."""
        return self._all[0][rows] if self._reads_all() else self.records.frames.timestamps(rows)

    def epochs(self, rows: I64) -> I32:
        """int32[n]: leader epochs, -1 for none."""
        return self._all[1][rows] if self._reads_all() else self.records.frames.epochs(rows)

    def _reads_all(self) -> bool:
        self._n_asked += 1
        return self._n_asked > _ONE_BY_ONE


class RecordMoments:
    """Gives moments of nodes; as `metashell.image.touched.Moments`.

    Args:
        heads: Gives those of a partition's records.
    """

    base = None
    has_many_logs = True

    def __init__(self, heads: Callable[[int], RecordHeads]) -> None:
        self._heads = heads

    def of(self, rows: Sequence[int] | I64) -> list[Moment | None]:
        """The moment of each row, None for -1."""
        times = np.asarray(rows, dtype=np.int64).reshape(-1)
        out: list[Moment | None] = [None] * len(times)
        for at, heads, these in self._by_partition(times):
            frames, names = heads.records.frames, heads.records.types
            for i, offset, epoch, time, number in zip(
                at.tolist(),
                frames.offset[these].tolist(),
                heads.epochs(these).tolist(),
                heads.timestamps(these).tolist(),
                frames.api_key[these].tolist(),
                strict=True,
            ):
                out[i] = Moment(offset, epoch, time, None, names.type_name(number))
        return out

    def bound(self, time_spec: TimeSpec) -> TimeSpec:
        """The point to compare with: offsets are compared with those of a record's own log."""
        return time_spec

    def since(self, time_spec: TimeSpec, rows: I64) -> Bools:
        """bool[n]: records of that offset or time, or a later one; False for -1."""
        values, bound = self._compared(time_spec, rows)
        return values >= bound

    def before(self, time_spec: TimeSpec, rows: I64) -> Bools:
        """bool[n]: records of an earlier offset or time; False for -1 and where none is known."""
        values, bound = self._compared(time_spec, rows)
        return (values < bound) & (values >= 0)

    def _compared(self, time_spec: TimeSpec, rows: I64) -> tuple[I64, int]:
        """The offset or the time of each record, -1 for none; and that of a point."""
        values = np.full(len(rows), -1, dtype=np.int64)
        is_offset = time_spec.timestamp_ms is None
        for at, heads, these in self._by_partition(rows):
            found = heads.records.frames.offset[these] if is_offset else heads.timestamps(these)
            values[at] = found
        bound = time_spec.offset if is_offset else time_spec.timestamp_ms
        return values, max(bound or 0, 0)

    def _by_partition(self, times: I64) -> Iterator[tuple[AnyArray, RecordHeads, I64]]:
        """Places of times, the records of their partition, and their rows there."""
        if len(times) == 1:
            # Nodes of other forms than a grid are asked one by one.
            if times[0] >= 0:
                yield _FIRST, self._heads(int(times[0]) >> ROW_BITS), times & ROW_OF_TIME
            return
        for number, at in places_by_number(times >> ROW_BITS):
            if number >= 0:
                yield at, self._heads(number), times[at] & ROW_OF_TIME


_FIRST: Final[AnyArray] = np.zeros(1, dtype=np.int64)
