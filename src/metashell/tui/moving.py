"""Moving between nodes and in time: which view state is shown, and what was seen before."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.dataclass import dataclass
from metashell.errors import NotCoveredError, SourceError
from metashell.log.time_spec import time_spec_of
from metashell.records.density import density_of
from metashell.sources.log_clock import clock_of
from metashell.tui.part import AppPart
from metashell.tui.remembered import VisitedNode, VisitedView
from metashell.tui.rows.cluster_rows import batch_around
from metashell.tui.view import TREE
from metashell.tui.view_state import (
    ViewState,
    cluster_at,
    is_older,
    view_state_of,
    view_state_there,
    view_state_with,
)

if TYPE_CHECKING:
    from metashell.errors import MetashellError
    from metashell.sources.source import Source
    from metashell.tui.jobs import Job
    from metashell.tui.view_state import CommandResult

VIEW_STATE: Final = "view-state"
"""Key of the job that makes another view state."""
MOMENT: Final = "moment"
"""Key of the jobs that look for the offset at which something began."""
_MOVES: Final = (VIEW_STATE, MOMENT, "jump")
"""Keys of the jobs that move in time."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """An offset or a time that was reached, and is not shown yet."""

    view_state: ViewState
    """The state there."""
    point: str
    """The offset or the time, written the way the user typed it."""
    batch: tuple[int, int] | None = None
    """The first and the last offset of the batch, whose records are listed, that it lies in."""
    note: str = ""
    """A message about a time or an age that was typed."""


class Moving(AppPart):
    """Mixed into the program."""

    def go(self, path: str, *, offset: int | str | None = None, view: str = TREE) -> None:
        """Go to a node, and to an offset where one is given; the place before is kept for `back`.

        Args:
            path: An absolute path of the whole tree.
            offset: The last offset, or the time, to be shown; None to stay in the view state.
            view: Id of the view to see it in.
        """
        self.leave_place(is_for_a_time=offset is not None)
        self._go(path, offset, view, is_exact=offset is not None)

    def leave_place(self, *, is_for_a_time: bool = False) -> None:
        """Keep the place that is looked at for `back`, which may lead to its time, too."""
        left = replace(self.looked_at, was_left_for_a_time=is_for_a_time)
        self.explorer.places.visit(left)

    def go_to_change(self, path: str, offset: int) -> None:
        """Go to a node as it was once a record was applied."""
        app = self.explorer
        view_state = app.view_state
        assert view_state is not None

        def work(_job: Job) -> tuple[int, int]:
            return batch_around(view_state, path, offset, of_history=True)

        def done(batch: tuple[int, int]) -> None:
            app.go(path, offset=batch[1])
            app.tell_batch(offset, batch)

        app.jobs.start("finding the moment", work, done, owner=app, key=MOMENT, leads=True)

    def visit(self, place: VisitedNode) -> None:
        """Go to a place at its very offset; the place before is kept for `back`."""
        self.leave_place(is_for_a_time=True)
        self._go(place.path, place.offset, TREE, is_exact=True)

    @property
    def here(self) -> VisitedNode:
        """The place that is looked at."""
        app = self.explorer
        cluster = None if app.view_state is None else app.view_state.cluster
        return VisitedNode(app.path, None if cluster is None else cluster.moment_offset)

    @property
    def looked_at(self) -> VisitedView:
        """The place that is looked at, and its view."""
        view = self.explorer.view
        if view is None:
            return VisitedView(self.here, TREE)
        return VisitedView(self.here, view.id or "", view.result)

    def _go(self, path: str, point: int | str | None, view: str, *, is_exact: bool) -> None:
        app = self.explorer
        view_state = app.view_state
        if view_state is None:
            return
        app.path = path
        app.show_view(view)
        point = point if is_exact else None
        at = None if view_state.cluster is None else view_state.cluster.moment_offset
        if cluster_at(view_state, path) != view_state.prefix or (is_exact and point != at):
            self._renew(
                f"going to {path}" if point is None else f"going to {path}@{point}",
                lambda: view_state_there(view_state, path, moves=is_exact, point=point),
                leads=True,
                point=point,
            )
        elif is_exact:
            app.jobs.cancel(app, VIEW_STATE)  # the way elsewhere is not gone any more
        if app.view is not None:
            app.view.show_path(path)

    def moved_to(self, path: str) -> None:
        """Note the node that a view went to by itself."""
        app = self.explorer
        app.path = path
        view_state = app.view_state
        if view_state is not None and cluster_at(view_state, path) != view_state.prefix:
            self._renew(f"opening {path}", lambda: view_state_of(view_state.opened, path))

    def action_place_back(self) -> None:
        """Go to the place before, which may be the rows of a command."""
        app = self.explorer
        place = app.places.back(self.looked_at)
        if place is None and app.view_state is not None and not app.view_state.is_newest:
            key = app.session.key("time.end", "E")
            app.tell(f"no further place; {key} returns to the end of the log")
        else:
            self._follow_place(place)

    def action_place_forward(self) -> None:
        """Go to the place that was left with `back`."""
        self._follow_place(self.explorer.places.forward(self.looked_at))

    def _follow_place(self, place: VisitedView | None) -> None:
        app = self.explorer
        if place is None:
            app.tell("no further place")
            return
        node = place.node
        self._go(node.path, node.offset, place.view, is_exact=place.was_left_for_a_time)
        if place.result is not None:
            app.show_rows(place.result)

    def visit_rows(self, result: CommandResult) -> None:
        """Show the rows of a command; the place before is kept for `back`."""
        self.leave_place()
        self.explorer.show_rows(result)

    # Time.

    def travel(self, point: int | str | None, *, leads: bool = False) -> None:
        """Show the cluster at an offset or a time.

        Args:
            point: The offset or the time; None for the end of the log.
            leads: Whether keys wait for it.
        """
        app = self.explorer
        view_state = app.view_state
        if view_state is None:
            return
        path = app.path
        # On the way to another cluster it is that one that is meant.
        if view_state.cluster is None and cluster_at(view_state, path) == view_state.prefix:
            app.tell(view_state.why_no_cluster, "warning")
            return
        app.places.stay_in_time()
        where = "the end of the log" if point is None else str(point)
        self._renew(
            f"going to {where}",
            lambda: view_state_there(view_state, path, moves=True, point=point),
            leads=leads,
            point=point,
        )

    def way_to(self, point: str) -> Callable[[], Arrival]:
        """How to reach an offset or a time that was typed: a job calls it, then `arrive` shows it.

        Calling it raises `MetashellError` where the files do not cover the point. A view that lists
        records reaches the end of the batch: before that it has no record of it.
        """
        app = self.explorer
        view_state, path = app.view_state, app.path
        assert view_state is not None
        is_listed = app.view is not None and app.view.lists_records and point.isdecimal()

        def find() -> Arrival:
            if view_state.cluster is None and cluster_at(view_state, path) == view_state.prefix:
                raise SourceError(view_state.why_no_cluster)
            found = view_state_there(view_state, path, moves=True, point=point)
            if not is_listed:
                note, changed = _note(found, point), _last_change(found, point)
                if changed is not None:
                    # Files may not reach as far back as a checkpoint that follows the change.
                    with suppress(NotCoveredError):
                        found = view_state_there(view_state, path, moves=True, point=changed)
                return Arrival(with_status(found), point, note=note)
            batch = batch_around(found, path, int(point), of_history=True)
            if batch[1] != int(point):
                found = view_state_there(view_state, path, moves=True, point=batch[1])
            return Arrival(with_status(found), point, batch)

        return find

    def arrive(self, arrival: Arrival | None) -> None:
        """Show what was reached; None to stay."""
        app = self.explorer
        if arrival is None:
            return
        if app.timeline is not None:
            app.timeline.give_up()
        app.jobs.cancel(app, VIEW_STATE)
        app.places.stay_in_time()
        if arrival.batch is None or app.view is None:
            self._arrived(arrival.view_state, arrival.point)
            cluster = arrival.view_state.cluster
            if app.view is not None and cluster is not None and cluster.moment_offset is not None:
                app.view.show_offset(cluster.moment_offset)
            if arrival.note:
                app.tell(arrival.note)
            return
        offset = int(arrival.point)
        self._arrived(arrival.view_state, None)
        app.view.show_offset(offset)
        app.tell_batch(offset, arrival.batch)

    def _renew(
        self,
        title: str,
        make: Callable[[], ViewState],
        *,
        leads: bool = False,
        point: int | str | None = None,
    ) -> None:
        """Show another view state as soon as it is made.

        Args:
            title: The title of the job.
            make: Makes the view state, in a job.
            leads: Whether keys wait for it.
            point: The offset or time that the user wanted; a message says if another one is shown.
        """
        app = self.explorer
        if app.timeline is not None:
            app.timeline.give_up()

        def work(_job: Job) -> ViewState:
            return with_status(make())

        def failed(error: MetashellError) -> None:
            app.job_failed(error)
            self.moved_to(app.path)  # the cluster that is looked at, whichever state it is in

        def done(view_state: ViewState) -> None:
            self._arrived(view_state, point)
            if leads and app.view is not None:
                app.jobs.lead(app.view, "look")

        app.jobs.start(title, work, done, owner=app, key=VIEW_STATE, failed=failed, leads=leads)

    def _arrived(self, view_state: ViewState, point: int | str | None) -> None:
        """Show the view state that was gone to, unless the user went elsewhere meanwhile.

        Args:
            view_state: The view state to show.
            point: The offset or time that the user wanted.
        """
        app = self.explorer
        before = app.view_state
        if before is not None and is_older(view_state, before):
            return
        app.show_view_state(view_state)
        app.pass_messages()
        if view_state.problem is not None and cluster_at(view_state, app.path) == view_state.prefix:
            app.tell(f"{view_state.prefix}: {view_state.problem}", "error")
        self.moved_to(app.path)
        app.tell_offset(
            point, None if view_state.cluster is None else view_state.cluster.moment_offset
        )

    @property
    def is_moving(self) -> bool:
        """Whether another state is about to be shown, because somebody asked for it."""
        app = self.explorer
        is_aiming = app.timeline is not None and app.timeline.is_aiming
        return is_aiming or any(job.key in _MOVES for job in app.jobs.running)

    def awaits_move(self) -> bool:
        """Have keys wait for another state that is about to be shown; whether one is."""
        self.explorer.jobs.lead(self.explorer, *_MOVES)
        return self.is_moving

    def action_changes(self) -> None:
        """List what changed since the previous stop."""
        self.show_changes(None)

    def show_changes(self, span: tuple[int, int] | None) -> None:
        """List what changed between two states; None: since the previous stop."""
        app = self.explorer
        view_state = app.view_state
        if view_state is None:
            return

        def work(job: Job) -> CommandResult | None:
            from metashell.tui.node.history import changes_between
            from metashell.tui.node.inspector import MOST_CHANGES, MOST_RECORDS

            states = span or view_state.span
            if states is None or view_state.cluster is None:
                return None
            return changes_between(
                view_state.cluster,
                states,
                most_changes=MOST_CHANGES,
                most_records=MOST_RECORDS,
                cancelled=job.cancelled,
            )

        def done(found: CommandResult | None) -> None:
            if found is None:
                app.tell("nothing changed since the previous stop")
            else:
                app.visit_rows(found)

        app.jobs.start("changes", work, done, owner=app, key="changes", leads=True)

    def show_source(self, source: Source) -> None:
        """Show the cluster at hand as a source has it, which a command made of that cluster."""
        app = self.explorer
        view_state = app.view_state
        if view_state is not None:
            self._renew("going there", lambda: view_state_with(view_state, source))


def with_status(view_state: ViewState) -> ViewState:
    """A view state of which is known what everything asks first."""
    if view_state.cluster is not None:
        view_state.cluster.status()
    return view_state


def _last_change(view_state: ViewState, point: str) -> int | None:
    """The offset of the last record before a time that changed anything; None to stay.

    So a step back leads to before that change. Logs of coordinators are read up to the time itself.
    """
    cluster = view_state.cluster
    time_spec = time_spec_of(point)
    if cluster is None or time_spec.offset is not None or time_spec.is_end:
        return None
    offset = cluster.moment_offset
    if offset is None or cluster.has_coordinator_logs:
        return None
    stops = density_of(cluster.full_log.image.records).stops
    n_before = int(stops.searchsorted(offset, side="right"))
    return int(stops[n_before - 1]) if n_before else None


def _note(view_state: ViewState, point: str) -> str:
    """The notes about a time, else where an age counts from; empty for an offset."""
    cluster = view_state.cluster
    if cluster is None or point.isdecimal():
        return ""
    told = clock_of(cluster.newest).counted_from(time_spec_of(point))
    return "\n".join(cluster.moment_notes) or (told and f"{point}: {told}")
