"""Knows how many partitions were not well along the log, counted in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from metashell.answers.state_history import StateHistory
    from metashell.sources.source import Source
    from metashell.tui.jobs import Job
    from metashell.tui.timeline.jumps import Stops
    from metashell.tui.timeline.known import TimelineFacts
    from metashell.tui.timeline.timeline import Timeline

_FEW: Final = 200_000
"""Up to so many records of a log, each change of it is counted at once."""
_EVERY_S: Final = 30.0
"""How often a larger one is."""


class StateWatch:
    """The history of the partitions' states, by cluster.

    Args:
        timeline: The timeline that shows it.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._known: dict[str, tuple[Source, StateHistory | None]] = {}
        self._job: Job | None = None
        self._waits = False

    def history(self, prefix: str) -> StateHistory | None:
        """The numbers of a cluster; None while they are not known."""
        found = self._known.get(prefix)
        return None if found is None else found[1]

    def look(self, prefix: str, facts: TimelineFacts) -> None:
        """Count the partitions of a cluster, unless that is done."""
        known = self._known.get(prefix)
        if self._waits or (known is not None and known[0] is facts.newest):
            return
        if self._timeline.explorer.jobs.goes_on(self._job):
            return  # its end looks for what came meanwhile

        def work(job: Job) -> StateHistory | None:
            from metashell.tui.timeline.states import find_states

            with job.turn():
                return find_states(facts.newest, facts.density)

        def done(history: StateHistory | None) -> None:
            self._job = None
            self._known = {prefix: (facts.newest, history)}
            if facts.density.n_records > _FEW:
                self._waits = True
                self._timeline.set_timer(_EVERY_S, self._go_on)
            self._timeline.states_known()

        title = "looking for offline partitions" if known is None else ""
        self._job = self._timeline.explorer.jobs.start(
            title, work, done, owner=self._timeline, key="states", comes_last=True
        )

    def _go_on(self) -> None:
        self._waits = False
        self._timeline.states_known()

    def stops(self, prefix: str, facts: TimelineFacts) -> Stops:
        """Where more partitions are offline or under-replicated than before. For jobs."""
        from metashell.tui.timeline.jumps import stops_of
        from metashell.tui.timeline.states import find_states, rises

        known = self._known.get(prefix)
        is_newest = known is not None and known[0] is facts.newest
        history = known[1] if is_newest and known else find_states(facts.newest, facts.density)
        return stops_of((), facts.density) if history is None else rises(history)
