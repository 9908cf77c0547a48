"""The timeline's second line: offline and under-replicated partitions over time. No widget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from metashell.answers.state_history import state_history
from metashell.fs.change_texts import ARROW
from metashell.schema.arena import I64
from metashell.sources.reduced import ReducedSource
from metashell.tui.timeline.jumps import Stops
from metashell.tui.timeline.track import BLOCKS, Cell

if TYPE_CHECKING:
    from metashell.answers.state_history import StateHistory
    from metashell.records.density import Density
    from metashell.sources.source import Source
    from metashell.tui.jobs import Job
    from metashell.tui.timeline.jumps import TimelineFacts
    from metashell.tui.timeline.timeline import Timeline


HEIGHTS: Final = BLOCKS[:4]
"""The glyphs of offline partitions, half a line at most: what lasts is no slab of colour."""
_SHADES: Final = "░▒▓"
"""The glyphs of under-replicated partitions, which look different without colour, too."""
_MOST_RECORDS: Final = 5_000_000
"""Records of partitions that are counted; a log with more has no second line."""
_NONE: Final[I64] = np.empty(0, dtype=np.int64)
_OF_PARTITIONS: Final = ("PartitionRecord", "PartitionChangeRecord")


def states_text(history: StateHistory, offset: int) -> str:
    """Both numbers at an offset in words; empty where both are 0."""
    counts = zip(history.at(offset), history.named, strict=True)
    return ", ".join(f"{n:,} {name}" for n, (name, _) in counts if n)


def state_cells(history: StateHistory, edges: I64, density: Density) -> list[Cell]:
    """A cell for each column: its worst state, as high as the number of partitions.

    Args:
        history: The numbers at the ends of batches.
        edges: int64[columns + 1]: the first batch of each column.
        density: The density of the log.
    """
    lasts = np.append(-1, density.last)[edges]
    places = np.searchsorted(history.offsets, lasts, side="right")
    offline, under = (_peaks(counts, places) for _, counts in history.named)
    most_offline, most_under = (int(counts.max(initial=0)) for counts in (offline, under))
    cells = []
    for n_offline, n_under in zip(offline.tolist(), under.tolist(), strict=True):
        if n_offline:
            cells.append(Cell(_sign(n_offline, most_offline, HEIGHTS), "offline"))
        elif n_under:
            cells.append(Cell(_sign(n_under, most_under, _SHADES), "under"))
        else:
            cells.append(Cell(" ", ""))
    return cells


def _peaks(counts: I64, places: I64) -> I64:
    """int64[columns]: the highest number in each; an empty column has that before it.

    Args:
        counts: int64[n]: a number from each change on.
        places: int64[columns + 1]: how many changes come before each column.
    """
    peaks = np.append(0, counts)[places[1:]]
    for column in np.flatnonzero(places[1:] > places[:-1]).tolist():
        peaks[column] = counts[places[column] : places[column + 1]].max()
    return peaks


def rises(history: StateHistory) -> Stops:
    """Where either number rises; `history` is at ends of batches."""
    steps = [np.diff(counts, prepend=0) for _, counts in history.named]
    rising = history.offsets[(steps[0] > 0) | (steps[1] > 0)]

    def tell(offset: int) -> str:
        """The numbers that rise there."""
        before, now = history.at(offset - 1), history.at(offset)
        return ", ".join(
            f"{name} {old:,}{ARROW}{new:,}"
            for (name, _), old, new in zip(history.named, before, now, strict=True)
            if old != new
        )

    return Stops(rising, {}, tell)


def _sign(n: int, most: int, glyphs: str) -> str:
    """The glyph of a number: each step up is several times more."""
    level = math.ceil(math.log1p(n) / math.log1p(most) * len(glyphs))
    return glyphs[min(level, len(glyphs)) - 1]


def find_states(newest: Source, density: Density) -> StateHistory | None:
    """Count the partitions along a log, at ends of batches; None if the log has too many records.

    For jobs. Cost: decodes partitions.

    Args:
        newest: The cluster at the end of its log.
        density: The density of the log.
    """
    if isinstance(newest, ReducedSource):
        return None
    records = newest.history_records
    if sum(len(records.rows(name)) for name in _OF_PARTITIONS) > _MOST_RECORDS:
        return None
    image = newest.image
    # Their events are sorted once: what is on the screen, or comes next, folds them too.
    is_folded = image.has_folded("partitions") or records is image.records
    history = state_history(records, image.partitions if is_folded else None)
    return history.at_ends(density.ends(history.offsets))


_FEW: Final = 200_000
"""Up to so many records of a log, each change of it is counted at once."""
_EVERY_S: Final = 30.0
"""How often a larger one is."""


class StateWatch:
    """The history of the partitions' states of the cluster that is shown.

    Args:
        timeline: The timeline that shows it.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.history: StateHistory | None = None
        """The numbers; None while they are not known."""
        self._of: Source | None = None
        """The end of the log that was looked at."""
        self._job: Job | None = None
        self._waits = False

    def forget(self) -> None:
        """Know nothing: another cluster is shown."""
        self._timeline.explorer.jobs.cancel(self._timeline, "states")
        self.history = self._of = None

    def look(self, facts: TimelineFacts) -> None:
        """Count the partitions, unless that is done."""
        if self._waits or self._of is facts.newest:
            return
        if self._timeline.explorer.jobs.goes_on(self._job):
            return  # its end looks for what came meanwhile

        def work(job: Job) -> StateHistory | None:
            with job.turn():
                return find_states(facts.newest, facts.density)

        def done(history: StateHistory | None) -> None:
            self.history, self._of = history, facts.newest
            if facts.density.n_records > _FEW:
                self._waits = True
                self._timeline.set_timer(_EVERY_S, self._go_on)
            self._timeline.states_known()

        title = "looking for offline partitions" if self._of is None else ""
        self._job = self._timeline.explorer.jobs.start(
            title, work, done, owner=self._timeline, key="states", comes_last=True
        )

    def _go_on(self) -> None:
        self._waits = False
        self._timeline.states_known()

    def stops(self, facts: TimelineFacts) -> Stops:
        """Where more partitions are offline or under-replicated than before. For jobs."""
        is_newest = self._of is facts.newest
        history = self.history if is_newest else find_states(facts.newest, facts.density)
        return Stops(_NONE, {}) if history is None else rises(history)
