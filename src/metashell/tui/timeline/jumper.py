"""Jumping along the log: to changes of a node, of leaders, to faults, to rises of bad states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.tui.view_state import is_below

if TYPE_CHECKING:
    from metashell.tui.jobs import Job
    from metashell.tui.timeline.jumps import Stops
    from metashell.tui.timeline.known import TimelineFacts
    from metashell.tui.timeline.timeline import Timeline
    from metashell.tui.timeline.track import Track
    from metashell.tui.view_state import ViewState

_KINDS: Final = {
    "node": "change of {path}",
    "leader": "change of leader",
    "fault": "fault in the log's files",
    "state": "rise",
}
_OF_CLUSTER: Final = ("fault", "state")
"""Jumps that do not depend on the node at hand."""
_STOPS_KEPT: Final = 16


class Jumper:
    """Moves a timeline to the next or previous stop of a kind, and keeps the stops found.

    Args:
        timeline: The timeline to move.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._stops: dict[tuple[str, str], Stops] = {}

    def forget(self) -> None:
        """Look for all stops anew: the log is another one."""
        self._stops.clear()

    def jump(
        self,
        what: str,
        by: int,
        path: str,
        view_state: ViewState,
        track: Track,
        facts: TimelineFacts,
    ) -> None:
        """Move to the next or previous ``node`` change, ``leader`` election, ``fault``, or rise of
        partitions that are not well (``state``).

        Args:
            what: The kind of stop.
            by: 1 for the next, -1 for the previous one.
            path: The node, an absolute path of the whole tree.
            view_state: The shown view state, with a cluster.
            track: The cluster's log.
            facts: The facts known about the log.
        """
        path = _own_path(view_state, path)
        key = (what, "" if what in _OF_CLUSTER else path)
        if key in self._stops:
            self._jump_among(self._stops[key], what, by, path)
            return
        assert view_state.cluster is not None
        newest, density, reach = view_state.cluster.newest, track.density, (track.low, track.high)
        timeline, prefix = self._timeline, view_state.prefix

        def work(job: Job) -> Stops:
            from metashell.tui.timeline.jumps import fault_stops, leader_stops, node_stops

            if what == "fault":
                return fault_stops(newest, reach, density)
            if what == "state":
                return timeline.states.stops(prefix, facts)
            find = node_stops if what == "node" else leader_stops
            return find(newest, path, density, job.cancelled)

        def done(stops: Stops) -> None:
            if timeline.track is not track:
                return
            stops = stops.within(*reach)
            while len(self._stops) >= _STOPS_KEPT:
                self._stops.pop(next(iter(self._stops)))
            self._stops[key] = stops
            if what == "fault":
                track.faults = stops.offsets
            self._jump_among(stops, what, by, path)

        title = f"looking for a {_KINDS[what].format(path=path)}"
        timeline.explorer.jobs.start(title, work, done, owner=timeline, key="jump", leads=True)

    def _jump_among(self, stops: Stops, what: str, by: int, path: str) -> None:
        timeline = self._timeline
        offset = stops.beside(timeline.at, by)
        kind = _KINDS[what].format(path=path)
        if offset is None:
            text = f"no {'later' if by > 0 else 'earlier'} {kind}"
            here = stops.texts.get(timeline.at)
            timeline.remark(text if here is None else f"{text}; here: {here}")
            return
        note = stops.texts.get(offset, "")
        timeline.aim(offset, note=note)
        if what == "fault":
            timeline.explorer.tell(note, "warning")


def _own_path(view_state: ViewState, path: str) -> str:
    """The path of a node in the cluster's own tree."""
    return (
        path.removeprefix(view_state.prefix) if is_below(path, view_state.prefix) else path
    ) or "/"
