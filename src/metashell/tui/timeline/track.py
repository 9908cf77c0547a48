"""The log as a row of columns: which offset is where, and what is there. No widget here.

Offsets between which one moves are ends of batches, or the first state that the files hold.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.parts.spec import RecordGroup
from metashell.records.density import NO_OP, Axis, Density, group_of, type_title
from metashell.schema.arena import I64
from metashell.schema.model import Registry
from metashell.schema.timestamps import iso_time

BLOCKS: Final = "▁▂▃▄▅▆▇█"
_DAY_MS: Final = 86_400_000
_TYPES_TOLD: Final = 6
_EMPTY: Final = np.empty(0, dtype=np.int64)

NO_CHANGE: Final = "no change"
"""The words for batches with nothing but NoOps."""
FAULT: Final = "!"
ELECTION: Final = "^"
STOP_BEFORE: Final = "|"
CURSOR: Final = "▼"
"""In place of a column's height where the cursor stands: seen on a full one, and without colour."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A column as it is drawn."""

    glyph: str
    style: str
    """Name of a group, ``fault``, ``election``, ``before``, or empty for none."""


class Track:
    """The log divided into columns.

    Args:
        density: The numbers of records by offset.
        reach: First and last offset whose state can be shown.
        registry: Names the types.
        faults: Offsets of the faults that are known, in any order.
    """

    def __init__(
        self, density: Density, reach: tuple[int, int], registry: Registry, faults: I64 = _EMPTY
    ) -> None:
        self.density, self._registry = density, registry
        self.low, self.high = reach
        self._high_ms: int | None = None
        """Time of the last record, where that is behind the batches known."""
        self.faults = faults
        """May be set anew."""

    @property
    def has_one_state(self) -> bool:
        """Whether there is nowhere to move."""
        return not len(self.density) or self.low >= self.high

    def end_at(self, offset: int, time_ms: int | None) -> None:
        """Let the log end at a later offset, with nothing but NoOps in between."""
        self.high, self._high_ms = offset, time_ms

    # Columns.

    def column_of(self, offset: int, n: int, axis: Axis) -> int:
        """The column that an offset lies in."""
        applied = self.density.applied(offset)
        found = np.searchsorted(self.density.edges(n, axis), max(applied - 1, 0), side="right") - 1
        return min(int(found), n - 1)

    def offset_at(self, column: int, n: int, axis: Axis) -> int:
        """The last offset of a column, or before it where it is empty."""
        end = int(self.density.edges(n, axis)[column + 1])
        return int(self.density.last[end - 1]) if end else self.low

    def beside(self, offset: int, by: int, n: int, axis: Axis) -> int | None:
        """The offset so many columns on or back, empty ones passed over; None at an end."""
        edges = self.density.edges(n, axis)
        ends = self.density.last[edges[1:][edges[1:] > edges[:-1]] - 1]
        begin = offset
        if by > 0 and self.density.applied(offset):
            begin = max(offset, self.offset_at(self.column_of(offset, n, axis), n, axis))
        found = self._along(ends, begin, by)
        return self.high if found is None and by > 0 and offset < self.high else found

    # Stops.

    def step(self, offset: int, by: int) -> int | None:
        """The offset so many changes of the state on (or back, if negative); None at an end."""
        return self._along(self.density.stops, offset, by)

    def _along(self, stops: I64, offset: int, by: int) -> int | None:
        """So many stops on or back, at most to an end of the log; None from there."""
        end = self.high if by > 0 else self.low
        at = int(np.searchsorted(stops, offset, side="right")) + by - 1
        if by < 0:
            at = max(int(np.searchsorted(stops, offset, side="left")) + by, -1)
        found = int(stops[min(at, len(stops) - 1)]) if at >= 0 and len(stops) else end
        is_on = found > offset if by > 0 else found < offset
        return found if is_on else end if end != offset else None

    def stops_after(self, offset: int) -> int:
        """How many changes of the state come behind an offset."""
        stops = self.density.stops
        return len(stops) - int(np.searchsorted(stops, offset, side="right"))

    # Drawing.

    def bar(self, n: int, axis: Axis, before: int | None = None) -> list[Cell]:
        """All columns.

        Args:
            n: The number of columns.
            axis: The quantity that is equal for all columns.
            before: The offset of the previous stop, if that is to be marked.
        """
        cells = self._drawn(n, axis)
        for column in self._columns_of(self.density.elections, n, axis):
            cells[column] = Cell(ELECTION, "election")
        if before is not None:
            cells[self.column_of(before, n, axis)] = Cell(STOP_BEFORE, "before")
        for column in self._columns_of(self.faults, n, axis):
            cells[column] = Cell(FAULT, "fault")
        return cells

    def _drawn(self, n: int, axis: Axis) -> list[Cell]:
        groups = self.density.by_group(self.density.edges(n, axis), self._registry)
        no_ops = groups.pop(RecordGroup.NO_OPS)
        names = list(groups)
        counts = np.array(list(groups.values()))
        sums, dominant = counts.sum(axis=0), counts.argmax(axis=0)
        # The scale is logarithmic: a topic of 10,000 partitions has orders of magnitude more
        # records than usual changes.
        most = math.log1p(int(sums.max(initial=0))) or 1.0
        levels = np.ceil(np.log1p(sums) / most * len(BLOCKS)).astype(np.int64)
        cells = []
        for column in range(n):
            if sums[column]:
                glyph = BLOCKS[min(int(levels[column]), len(BLOCKS)) - 1]
                cells.append(Cell(glyph, names[int(dominant[column])].value))
            elif no_ops[column]:
                cells.append(Cell(".", RecordGroup.NO_OPS.value))
            else:
                cells.append(Cell(" ", ""))
        return cells

    def _columns_of(self, offsets: I64, n: int, axis: Axis) -> list[int]:
        """Columns that offsets of batches, or of what is missing before one, lie in."""
        if not len(offsets) or not len(self.density):
            return []
        columns = self.density.columns_of(offsets, self.density.edges(n, axis))
        found: list[int] = np.unique(columns).tolist()
        return found

    # Texts.

    def time_at(self, offset: int) -> int | None:
        """Time of the last batch up to an offset, ms; None before the first one."""
        if self._high_ms is not None and offset >= self.high:
            return self._high_ms
        applied = self.density.applied(offset)
        return int(self.density.time[applied - 1]) if applied else None

    def time_text(self, ms: int | None) -> str:
        """A time as short as the log's length allows: within a day without it; empty for none."""
        if ms is None:
            return ""
        day, _, time = iso_time(ms).partition("T")
        time = time.partition(".")[0]
        passed = self.density.passed
        if int(passed[-1]) - int(passed[0]) < _DAY_MS:
            return time
        return f"{day[-5:]} {time}"

    def batch_text(self, offset: int) -> tuple[str, str]:
        """(what the last batch up to an offset holds, the group of most of it)."""
        applied = self.density.applied(offset)
        return self._text(applied - 1, applied) if applied else ("the first state known", "")

    def column_text(self, column: int, n: int, axis: Axis) -> tuple[str, str]:
        """(what a column's batches hold, the group of most of it)."""
        first, end = self.density.edges(n, axis)[column : column + 2].tolist()
        return self._text(first, end)

    def _text(self, first: int, end: int) -> tuple[str, str]:
        found = self.density.within(first, end)
        if not found:
            return "nothing", ""
        told = [(key, n) for key, n in found if key != NO_OP]
        if not told:
            return NO_CHANGE, RecordGroup.NO_OPS.value
        texts = [f"{n} {type_title(key, self._registry)}" for key, n in told]
        left = sum(n for _, n in told[_TYPES_TOLD:])
        if left:
            texts[_TYPES_TOLD:] = [f"{left} others"]
        groups: dict[RecordGroup, int] = {}
        for key, n in told:
            group = group_of(key, self._registry)
            groups[group] = groups.get(group, 0) + n
        return ", ".join(texts), max(groups, key=lambda group: groups[group]).value
