"""The bar over the whole log: where the view state stands in it, and moving along it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from metashell.records.density import Axis
from metashell.tui.part import AppPart, quiet_key, shown_key
from metashell.tui.text import line
from metashell.tui.timeline.bar import HELP, draw
from metashell.tui.timeline.jumps import Jumper, Player, TimelineFacts, find_out
from metashell.tui.timeline.states import StateWatch
from metashell.tui.timeline.track import Track
from metashell.tui.view import give_back
from metashell.tui.view_state import is_below

if TYPE_CHECKING:
    from metashell.commands.shared.status import SourceStatus
    from metashell.sources.source import Source
    from metashell.tui.jobs import Job
    from metashell.tui.view_state import ViewState

_DEBOUNCE_S: Final = 0.12
"""Seconds that the cursor rests before the program follows it."""
_NO_CLUSTER: Final = "the timeline shows one cluster: go to one below /clusters"
_LOWEST_SCREEN: Final = 18
"""Rows of the screen from which on there is room for a second line."""
_LEGEND_SCREEN: Final = 36
"""Rows from which on there is room for the legend."""


class Timeline(AppPart, Widget, can_focus=True):
    """The bar over the whole log."""

    HELP: ClassVar[str] = HELP

    DEFAULT_CSS = """
    Timeline { height: 2; text-wrap: nowrap; text-overflow: ellipsis; }
    Timeline:focus { background: $surface; }
    """
    ALLOW_SELECT = False
    ALLOW_MAXIMIZE = False
    BINDINGS: ClassVar = [
        shown_key("left", "move(-1)", "Earlier", "timeline.earlier", "travel a column back"),
        shown_key("right", "move(1)", "Later", "timeline.later", "travel a column on"),
        quiet_key("shift+left,ctrl+left", "move(-10)", "Back", "timeline.earlier-10"),
        quiet_key("shift+right,ctrl+right", "move(10)", "On", "timeline.later-10"),
        quiet_key("home", "edge(False)", "Oldest", "timeline.begin"),
        quiet_key("end", "edge(True)", "Newest", "timeline.end"),
        shown_key("space", "app.play", "Play", "timeline.play", "play the log like a recording"),
        quiet_key("+", "faster(2)", "Faster", "timeline.faster", "play twice as fast"),
        quiet_key("-", "faster(0.5)", "Slower", "timeline.slower"),
        shown_key(
            "u",
            "axis",
            "Time/offsets",
            "timeline.axis",
            "make columns equally wide in time, or in offsets",
        ),
        shown_key("escape,t", "leave", "Back", "timeline.leave", "go back to the view"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.track: Track | None = None
        """The log; None while it is being looked at, and where there is none."""
        self.axis = Axis.TIME
        """The quantity that is equal for all columns: time or offsets."""
        self.player = Player(self)
        """Plays the log."""
        self.states = StateWatch(self)
        """Knows when partitions were not well."""
        self.is_by_column = False
        """Whether the line tells of the cursor's column, and not of the batch."""
        self.note: tuple[int, str, bool] | None = None
        """(the offset that it is for, what to say there, whether that is about the timeline)."""
        self.pointed: int | None = None
        """The column under the mouse, of which the line tells in place of the cursor's."""
        self._view_state: ViewState | None = None
        self._end: SourceStatus | None = None
        """Where the view state ends, if NoOps came for which nothing was looked at."""
        self._facts: TimelineFacts | None = None
        """The facts about the log of the cluster that is shown."""
        self._jumper = Jumper(self)
        self._waiting: Callable[[Track], object] | None = None
        """The move that begins once the log is known."""
        self._job: Job | None = None
        self._looked_at: Source | None = None
        """The end of the log that the job looks at, or looked at last."""
        self._aim: int | None = None
        """Where the cursor was put last."""
        self._debounce: Timer | None = None
        self._came_from: Widget | None = None

    # The view state.

    def show_view_state(self, view_state: ViewState) -> None:
        """Show where a view state stands."""
        before = self._view_state
        self._view_state, self._end = view_state, None
        self.display = view_state.cluster is None or view_state.has_image
        if before is None or before.prefix != view_state.prefix or view_state.cluster is None:
            self.player.stop()
            self.track = self._facts = self._job = self._looked_at = None
            self.states.forget()
            self.explorer.jobs.cancel(self, "density")
        self._look()
        self.states_known()
        self.refresh()

    @property
    def is_aiming(self) -> bool:
        """Whether a move begins once the log is known, or once the cursor rests."""
        return (self._waiting is not None and self._is_looking) or self._debounce is not None

    @property
    def _is_looking(self) -> bool:
        return self._job is not None and not self._job.cancelled()

    @property
    def is_travelling(self) -> bool:
        """Whether another view state is on its way."""
        return any(job.key == "view-state" for job in self.explorer.jobs.running)

    @property
    def _is_on_its_way(self) -> bool:
        """Whether the cursor is where the program will be, and is not yet."""
        return self._aim is not None and (self._debounce is not None or self.is_travelling)

    @property
    def at(self) -> int:
        """The offset where the cursor stands; 0 while the log is unknown."""
        return self._aim if self._aim is not None and self._is_on_its_way else self.shown

    def jobs_changed(self) -> None:
        """Go back to what is shown where the way was cancelled, or led nowhere."""
        if self._aim is not None and not self._is_on_its_way:
            self._aim = None
            self.refresh()

    def move_on(self, view_state: ViewState, status: SourceStatus) -> None:
        """Take a view state that differs only in where the log ends: nothing is looked at."""
        self._view_state, self._end = view_state, status
        self._move_end()

    def _move_end(self) -> None:
        """Let the track end where the view state does, if only NoOps came."""
        end = self._end
        if self.track is not None and end is not None and end.offset is not None:
            self.track.end_at(end.offset, end.timestamp_ms)
            self.refresh()

    @property
    def shown(self) -> int:
        """The offset that the program shows; 0 while the log is unknown."""
        cluster = None if self._view_state is None else self._view_state.cluster
        return self._offset_of(cluster)

    def _offset_of(self, cluster: Source | None) -> int:
        offset = None if cluster is None else cluster.moment_offset
        if offset is not None:
            return offset
        return 0 if self.track is None else self.track.high

    @property
    def before(self) -> int | None:
        """The offset of the previous stop, where that is another one."""
        previous = None if self._view_state is None else self._view_state.previous
        if previous is None:
            return None
        offset = self._offset_of(previous)
        return None if offset == self.shown else offset

    # Looking at the log.

    def _look(self) -> None:
        """Find out what is written where, unless that is known."""
        view_state, known = self._view_state, self._facts
        if view_state is None or view_state.cluster is None or not view_state.has_image:
            return
        newest = view_state.cluster.newest
        # News may come faster than they are looked at: when this is done, the newest.
        if newest is self._looked_at or self.explorer.jobs.goes_on(self._job):
            return
        self._looked_at = newest
        self._job = self.explorer.jobs.start(
            "looking at the log" if known is None else "",
            lambda job: find_out(job, newest, known),
            self._found,
            owner=self,
            key="density",
        )

    def _found(self, facts: TimelineFacts) -> None:
        self._job, self._facts = None, facts
        self.track = Track(facts.density, facts.reach, facts.newest.registry, facts.faults.offsets)
        self._move_end()
        self._look()
        self.states_known()
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._move(waiting)

    def states_known(self) -> None:
        """Show what is known of the partitions, and look for what is not."""
        if self._facts is not None:
            self.states.look(self._facts)
        self.on_resize()
        self.refresh()

    def on_resize(self) -> None:
        """Find out whether there is room for all lines."""
        history, height = self.states.history, self.app.size.height
        self.set_class(height >= _LEGEND_SCREEN, "-legend")
        has_states = history is not None and not history.is_well
        self.set_class(height >= _LOWEST_SCREEN and has_states, "-states")

    def _move(self, move: Callable[[Track], object]) -> None:
        """Move along the log; where it is not known yet, once it is."""
        view_state = self._view_state
        if view_state is None:
            return
        if not view_state.has_image:
            self.explorer.tell(view_state.why_no_image, "warning")
        elif self.track is None:
            self._waiting = move
            if not self._is_looking:
                self._looked_at = None
                self._look()
        elif self.track.has_one_state:
            self.explorer.tell(self._one_state())
        else:
            move(self.track)

    # Moving.

    def aim(
        self, offset: int, *, at_once: bool = False, by_column: bool = False, note: str = ""
    ) -> None:
        """Put the cursor on an offset; the program follows once it rests.

        Args:
            offset: The offset of the cursor.
            at_once: Whether the program follows without waiting.
            by_column: Whether the text is about the column's records, and not about the batch.
            note: A text about the offset.
        """
        self._aim, self.is_by_column = offset, by_column
        self.note = (offset, note, False) if note else None
        self._rest()
        if at_once:
            self._depart()
        else:
            self._debounce = self.set_timer(_DEBOUNCE_S, self._depart)
        self.refresh()

    def _rest(self) -> None:
        """Have the cursor go nowhere by itself."""
        if self._debounce is not None:
            self._debounce.stop()
            self._debounce = None

    def give_up(self) -> None:
        """Go nowhere that was only aimed at: something else is gone to."""
        self.explorer.jobs.cancel(self, "jump")
        self._rest()
        self.refresh()

    def _depart(self) -> None:
        self._rest()
        track, view_state, offset = self.track, self._view_state, self._aim
        self.refresh()
        if track is None or view_state is None or offset is None:
            return
        is_newest = offset >= track.high
        if self.is_travelling or not (view_state.is_newest if is_newest else offset == self.shown):
            self.explorer.travel(None if is_newest else offset)

    def action_move(self, columns: int) -> None:
        """Move by columns."""

        def move(track: Track) -> None:
            offset = track.beside(self.at, columns, self.width, self.axis)
            self._aim_or_tell(offset, columns, by_column=True)

        self._move(move)

    def action_edge(self, is_end: bool) -> None:
        """Go to the oldest or the newest state."""
        self._move(lambda track: self.aim(track.high if is_end else track.low))

    def step(self, by: int) -> None:
        """Move to the next (or previous) batch that changes anything."""
        self._move(lambda track: self._aim_or_tell(track.step(self.at, by), by))

    def _aim_or_tell(self, offset: int | None, by: int, *, by_column: bool = False) -> None:
        if offset is None:
            self.remark("this is the end of the log" if by > 0 else "this is the oldest state")
            return
        self.aim(offset, by_column=by_column)

    def action_axis(self) -> None:
        """Make columns equally wide in the other thing."""
        self.axis = Axis.OFFSET if self.axis is Axis.TIME else Axis.TIME
        self.remark(f"columns by {self.axis.value}")

    def remark(self, text: str) -> None:
        """Say something in the line until the cursor moves, or something else is shown."""
        self.note = (self.at, text, True)
        self.refresh()

    def drop_remark(self) -> None:
        """Say no more what was remarked."""
        if self.note is not None and self.note[2]:
            self.note = None
            self.refresh()

    # Jumping.

    def jump(self, what: str, by: int, path: str) -> None:
        """Move to the next (1) or previous (-1) one of what `Jumper.jump` names, of a node."""

        def move(track: Track) -> None:
            prefix = "" if self._view_state is None else self._view_state.prefix
            own = path.removeprefix(prefix) if is_below(path, prefix) else path
            if self._facts is not None:
                self._jumper.jump(what, by, own or "/", track, self._facts)

        self._move(move)

    # Playing.

    def play(self) -> None:
        """Play the log like a recording, or stop."""
        if self.player.is_playing:
            self.player.stop()
        else:
            self._move(self.player.start)

    def action_faster(self, factor: float) -> None:
        """Change how fast it plays."""
        self.player.change_speed(factor)

    def on_key(self, event: events.Key) -> None:
        """Stop playing at any key but those that are about it."""
        if not self.player.is_playing or event.key in self._playing_keys():
            return
        self.player.stop()
        if event.key == "escape":
            event.stop()
            event.prevent_default()

    def _playing_keys(self) -> set[str]:
        """The keys that do not stop playing by themselves."""
        wanted = ("app.play", "play", "faster(2)", "faster(0.5)")
        found = {key for key, bound in self.screen.active_bindings.items()
                 if bound.binding.action in wanted}  # fmt: skip
        return found | {"tab", "shift+tab", "f1", "f2"}

    # The focus.

    def enter(self) -> None:
        """Take the focus, to give it back to the part that has it now."""
        self._came_from = self.explorer.focused
        self.screen.minimize()  # a part that has the whole screen hides it
        self.focus()

    def action_leave(self) -> None:
        """Give the focus back to the view; what is under way is cancelled first."""
        if any(job.key in ("view-state", "jump") for job in self.explorer.jobs.running):
            self.explorer.action_cancel()
            return
        if self.explorer.view is not None:
            give_back(self.explorer.view, self._came_from)

    # The mouse.

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Go where it was clicked."""
        event.stop()
        self.player.stop()
        self.capture_mouse()
        self._point_at(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Follow the mouse while it is held, else tell what is under it."""
        if self.app.mouse_captured is self:
            self._point_at(event.x)
            return
        self.pointed = event.x
        self.refresh()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Stay there."""
        event.stop()
        self.release_mouse()

    def on_leave(self, _event: events.Leave) -> None:
        """Show the text about the cursor again."""
        self.pointed = None
        self.refresh()

    @on(events.MouseScrollDown)
    @on(events.MouseScrollUp)
    def _on_wheel(self, event: events.MouseEvent) -> None:
        """Go on, or back."""
        event.stop()
        self.step(1 if isinstance(event, events.MouseScrollDown) else -1)

    def _point_at(self, x: int) -> None:
        def move(track: Track) -> None:
            self.pointed, width = None, self.width
            offset = track.offset_at(min(max(x, 0), width - 1), width, self.axis)
            if offset != self.at:
                self.aim(offset, by_column=True)

        self._move(move)

    # Drawing.

    @property
    def width(self) -> int:
        """Columns of the bar."""
        return max(self.size.width, 1)

    @property
    def state(self) -> str:
        """The state of playing, such as ``▶ 4/s``, and an arrow while the program follows."""
        is_ahead = self.pointed is None and self._is_on_its_way
        return f"{self.player.state} →".lstrip() if is_ahead else self.player.state

    def render(self) -> Content:
        """The bar, and the line below it."""
        view_state, track = self._view_state, self.track
        if view_state is not None and view_state.cluster is None:
            return line(view_state.problem or _NO_CLUSTER)
        if track is None:
            return line("looking at the log …" if self._is_looking else "the log was not read")
        return line(self._one_state()) if track.has_one_state else draw(self, track)

    def _one_state(self) -> str:
        at = "" if self.track is None else f", at offset {self.track.high}"
        return f"this source holds one state{at}: it has no other times"
