"""The committed offset of one partition over time: a line of blocks, and words for it. No widget.

A transaction's commit counts from its own time on, as soon as its marker says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.dataclass import dataclass
from metashell.schema.arena import I64
from metashell.schema.timestamps import iso_time
from metashell.tui.text import short_time

if TYPE_CHECKING:
    from metashell.image.coordinators.group_log import CommitTimes
    from metashell.sources.source import Source

_LEVELS: Final = "▁▂▃▄▅▆▇█"
_GONE: Final = "x"


@dataclass(frozen=True, slots=True)
class CommitLine:
    """The commits of a group for a partition of a topic."""

    group: str
    topic: str
    partition: int
    times: I64
    """int64: ms since the epoch, in the order of the log."""
    offsets: I64
    """int64: what was committed; -1 where the offset was removed."""

    @property
    def back(self) -> I64:
        """int64: the commits that went back, by place."""
        fell = np.flatnonzero(self.offsets[1:] < self.offsets[:-1]) + 1
        return fell[self.offsets[fell] >= 0]

    def drawn(self, width: int) -> str:
        """A line of so many cells: the lowest offset is lowest, time goes to the right.

        A cell shows the last offset that was committed by its end. Where that was removed it has
        an ``x``. Commits of one time are equally far from each other.
        """
        n = len(self.offsets)
        if n <= 1 or width < 1:  # one point is no line
            return ""
        # Clocks may go back; the order of the log does not.
        # A hostile span is wider than an integer.
        along = np.maximum.accumulate(self.times).astype(np.float64)
        first, last = float(along[0]), float(along[-1])
        if last > first:
            edges = first + (last - first) * (np.arange(width) + 1) / width
            at = np.searchsorted(along, np.minimum(edges, last), side="right") - 1
        else:
            at = np.arange(width) * n // width
        known = self.offsets[self.offsets >= 0]
        low, high = (int(known.min()), int(known.max())) if len(known) else (0, 0)
        cells = []
        for place in at.tolist():
            value = int(self.offsets[place])
            span = max(high - low, 1)
            level = (value - low) * (len(_LEVELS) - 1) // span
            cells.append(_GONE if value < 0 else _LEVELS[level])
        return "".join(cells)

    def text(self) -> str:
        """The commits in words."""
        n = len(self.offsets)
        if not n:
            return "no commit is left in the log"
        first, last = (_committed(self, i) for i in (0, n - 1))
        if n == 1:
            return f"{first} · the only commit left in the log"
        parts = [f"{first} … {last}", f"{n:,} commits"]
        back = self.back
        if len(back):
            at = int(back[-1])
            told = f"{int(self.offsets[at - 1]):,} → {_committed(self, at)}"
            parts.append(f"{len(back):,} back: {told}")
        n_gone = int((self.offsets < 0).sum())
        parts += [f"{n_gone:,} removed (x)"] if n_gone else []
        return " · ".join(parts)


def _committed(line: CommitLine, at: int) -> str:
    offset = int(line.offsets[at])
    what = "removed" if offset < 0 else f"{offset:,}"
    day_and_time = short_time(iso_time(int(line.times[at])))
    return f"{what} at {day_and_time.partition(' ')[2] or day_and_time}"


def find_commits(
    source: Source, group: str, topic: str, partition: int, cancelled: Callable[[], bool]
) -> CommitLine:
    """Read what a group committed for a partition. For jobs.

    Args:
        source: The cluster, with the group's log.
        group: The group's id.
        topic: The topic's name.
        partition: Its partition.
        cancelled: Asked between partitions of the log.

    Raises:
        SourceError: A partition can't be read.
        KeyboardInterrupt: It was cancelled.
    """
    from metashell.image.coordinators.group_log import GroupLog, commits_of

    found: CommitTimes | None = None
    groups = source.coordinator_directories.get("groups")
    for number, records in () if groups is None else groups.records_about(group):
        if cancelled():
            raise KeyboardInterrupt
        one = commits_of(GroupLog(records, number), topic, partition)
        if found is None or len(one.offset) > len(found.offset):
            found = one
    none = np.empty(0, dtype=np.int64)
    times, offsets = (none, none) if found is None else (found.time_ms, found.offset)
    return CommitLine(group, topic, partition, times, offsets)
