"""The timeline's second line: offline and under-replicated partitions over time. No widget."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.fs.change_texts import ARROW
from metashell.schema.arena import I64
from metashell.tui.timeline.track import BLOCKS, Cell

if TYPE_CHECKING:
    from metashell.answers.state_history import StateHistory
    from metashell.records.density import Density
    from metashell.sources.source import Source
    from metashell.tui.timeline.jumps import Stops

_SHADES: Final = "░▒▓"
"""Of partitions that are under-replicated, so that they look different without colour too."""
_MOST_RECORDS: Final = 5_000_000
"""Records of partitions that are counted; a log with more has no second line."""
_OF_PARTITIONS: Final = ("PartitionRecord", "PartitionChangeRecord")


@dataclass(frozen=True, slots=True, eq=False)
class StateTrack:
    """How many partitions are in each state after each change of that."""

    ends: I64
    """int64[n]: the ends of the batches in which the numbers change, ascending."""
    offline: I64
    """int64[n]: from there on."""
    under: I64
    """Likewise, of under-replicated ones."""

    @property
    def is_empty(self) -> bool:
        """Whether all partitions were well all the time."""
        return not (self.offline.any() or self.under.any())

    def counts_at(self, offset: int) -> tuple[int, int]:
        """(offline, under-replicated) in the state at an offset."""
        at = int(np.searchsorted(self.ends, offset, side="right")) - 1
        return (0, 0) if at < 0 else (int(self.offline[at]), int(self.under[at]))

    def text(self, offset: int) -> str:
        """Both numbers in words; empty where both are 0."""
        named = zip(self.counts_at(offset), ("offline", "under-replicated"), strict=True)
        return ", ".join(f"{n:,} {name}" for n, name in named if n)

    def cells(self, edges: I64, density: Density) -> list[Cell]:
        """A cell for each column: its worst state, as high as the number of partitions.

        Args:
            edges: int64[columns + 1]: the first batch of each column.
            density: Of the log.
        """
        offline, under = (self._peaks(of, edges, density) for of in (self.offline, self.under))
        most_offline, most_under = (int(counts.max(initial=0)) for counts in (offline, under))
        cells = []
        for n_offline, n_under in zip(offline.tolist(), under.tolist(), strict=True):
            if n_offline:
                cells.append(Cell(_sign(n_offline, most_offline, BLOCKS), "offline"))
            elif n_under:
                cells.append(Cell(_sign(n_under, most_under, _SHADES), "under"))
            else:
                cells.append(Cell(" ", ""))
        return cells

    def _peaks(self, counts: I64, edges: I64, density: Density) -> I64:
        """int64[columns]: the highest number in each; an empty column has that before it."""
        lasts = np.append(-1, density.last)[edges]
        places = np.searchsorted(self.ends, lasts, side="right")
        padded = np.append(0, counts)
        peaks = padded[places[1:]]
        for column in np.flatnonzero(places[1:] > places[:-1]).tolist():
            peaks[column] = counts[places[column] : places[column + 1]].max()
        return peaks

    def rises(self) -> Stops:
        """Where either number rises."""
        from metashell.tui.timeline.jumps import Stops

        steps = [np.diff(counts, prepend=0) for counts in (self.offline, self.under)]
        rising = self.ends[(steps[0] > 0) | (steps[1] > 0)]
        return Stops(rising, _RiseTexts(self, rising))


class _RiseTexts(Mapping[int, str]):
    """What rises at an offset, worded when it is asked for: there may be a million."""

    def __init__(self, track: StateTrack, rising: I64) -> None:
        self._track, self._rising = track, rising

    def __getitem__(self, offset: int) -> str:
        at = int(np.searchsorted(self._track.ends, offset))
        if at >= len(self._track.ends) or int(self._track.ends[at]) != offset:
            raise KeyError(offset)
        told = []
        for name, counts in (
            ("offline", self._track.offline),
            ("under-replicated", self._track.under),
        ):
            old, new = int(counts[at - 1]) if at else 0, int(counts[at])
            told += [f"{name} {old:,}{ARROW}{new:,}"] if old != new else []
        return ", ".join(told)

    def __iter__(self) -> Iterator[int]:
        return iter(self._rising.tolist())

    def __len__(self) -> int:
        return len(self._rising)


def _sign(n: int, most: int, glyphs: str) -> str:
    """The glyph of a number: each step up is several times more."""
    level = math.ceil(math.log1p(n) / math.log1p(most) * len(glyphs))
    return glyphs[min(level, len(glyphs)) - 1]


def track_of_states(history: StateHistory, density: Density) -> StateTrack:
    """The numbers at ends of batches, which count whole."""
    ends = density.ends(history.offsets)
    is_last = np.append(ends[1:] != ends[:-1], True)[: len(ends)]
    return StateTrack(ends[is_last], history.offline[is_last], history.under_replicated[is_last])


def find_states(newest: Source, density: Density) -> StateTrack | None:
    """Count the partitions along a log; None where that is too much. For jobs.

    Cost: decodes partitions.

    Args:
        newest: The cluster at the end of its log.
        density: Of the log.
    """
    from metashell.answers.state_history import state_history
    from metashell.sources.condensed import CondensedSource

    if isinstance(newest, CondensedSource):
        return None
    records = newest.history_records
    if sum(len(records.rows(name)) for name in _OF_PARTITIONS) > _MOST_RECORDS:
        return None
    return track_of_states(state_history(records), density)
