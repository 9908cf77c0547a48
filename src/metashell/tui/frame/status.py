"""The first line, with the tabs, and the last but one: the state, the connection, the work."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from textual.binding import Binding
from textual.content import Content
from textual.reactive import reactive
from textual.timer import Timer
from textual.widgets import Static

from metashell.commands.shared.columns import display_width
from metashell.commands.shared.status import (
    SECRETS_SHOWN,
    SourceStatus,
    epoch_texts,
    lag_texts,
    leader_text,
    stored_status,
    time_texts,
    with_connection,
)
from metashell.dataclass import dataclass
from metashell.fs.escape import diagnostic
from metashell.tui.frame.tabs import TabLine
from metashell.tui.jobs import OPENING
from metashell.tui.part import AppPart
from metashell.tui.text import cut, cut_front, fitting, line
from metashell.tui.view import FLEET, VIEWS, ViewSpec

if TYPE_CHECKING:
    from metashell.tui.jobs import Job
    from metashell.tui.view_state import ViewState


class TabStrip(TabLine):
    """The name of the source, and a tab for each view."""

    COMPONENT_CLASSES: ClassVar = {"tabs--source"}

    current: reactive[str] = reactive("")
    """Id of the view that is shown."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._source_name = name
        self.shown = tuple(spec for spec in VIEWS if spec.is_offered)
        """The views that have a tab, in the order of their keys."""
        self._opened: tuple[ViewSpec, ...] = ()
        """Views that have one whatever is shown."""

    def name_source(self, name: str) -> None:
        """Name what is open."""
        self._source_name = name
        self.draw()

    def show_view_state(self, view_state: ViewState) -> None:
        """Show the tabs that mean something in a view state."""
        shown = (v for v in VIEWS if v.is_there(view_state) or v in self._opened)
        self.shown = tuple(shown)
        self.draw()

    def show_tab(self, spec: ViewSpec) -> None:
        """Show the tab of a view that is there whatever is shown."""
        self._opened = (*self._opened, spec)
        self.shown = tuple(v for v in VIEWS if v in (*self.shown, spec))
        self.draw()

    def offers(self, binding: Binding) -> bool:
        """Whether a key leads to no view, or to one that has a tab."""
        hidden = (f"view('{spec.id}')" for spec in VIEWS if spec not in self.shown)
        return binding.action not in hidden

    def watch_current(self, current: str) -> None:
        """Mark the tab of the view that is shown."""
        self.draw()

    def on_resize(self) -> None:
        """Name as many views as there is room for."""
        self.draw()

    def draw(self) -> None:
        """Draw the name, and the tabs beside it."""
        width = self.size.width
        named = cut(f" {self._source_name} ", int(width * _NAMED))
        name = Content(named).stylize(self.get_visual_style("tabs--source"))
        # The fleet is the whole, which comes first; its key is the last one.
        tabs = [
            (spec.key, spec.title, f"app.view('{spec.id}')" * (spec.id != self.current))
            for spec in sorted(self.shown, key=lambda spec: spec.needs != FLEET)
        ]
        self.update(name + self.fitting_tabs(tabs, width - name.cell_length), layout=False)


_NAMED: Final = 0.15
"""Part of the line that the source's name takes at most."""
Kind = Literal["place", "fact", "note", "problem", "work"]

GAP: Final = "  "
ELLIPSIS: Final = "…"
_FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_OF_A_MOMENT: Final = "at offset "
"""How a source's note begins that says what stands here anyway."""
_LEAST_TITLE: Final = 12
_WIDEST_NAME: Final = 24


@dataclass(frozen=True, slots=True)
class StatusPiece:
    """A few words of the line."""

    text: str
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class LineState:
    """All that the line tells of."""

    status: SourceStatus | None = None
    """Where the view state stands; None while that is computed."""
    is_newest: bool = True
    """Whether it is the end of the log."""
    newest_key: str = "E"
    """The key that goes to the end of the log."""
    n_clusters: int | None = None
    """A fleet's number of clusters, set while none of them is current."""
    cluster: str = ""
    """The name of the current cluster of a fleet."""
    is_paused: bool = False
    n_newer_states: int = 0
    """States that came while it was paused."""
    n_newer_records: int = 0
    """Records up to the newest of them."""
    problem: str | None = None
    """Why a directory can't be read again."""
    show_secrets: bool = False


def pieces(standing: LineState) -> list[StatusPiece]:
    """The pieces of the status line, the most important first."""
    status = standing.status or SourceStatus()
    problems = [text for text in (status.problem, standing.problem) if text]
    lag = [(text, "fact") for text in lag_texts(status)] if status.is_live else []
    # How long nothing came is short, and says how bad it is; why may be a long sentence.
    said = [*lag, *((text, "problem") for text in problems)] if problems else []
    if standing.is_paused:
        said.append((_paused(standing), "note"))
    if standing.cluster:
        # Names of copies differ at their end.
        said.append((cut_front(standing.cluster, _WIDEST_NAME), "place"))
    said += [(text, "place") for text in _place(standing, status)]
    if not standing.is_newest:
        said.append((f"{standing.newest_key}: newest", "note"))
    if standing.status is None and standing.n_clusters is None:
        said.append((ELLIPSIS, "fact"))
    if status.offset is not None:
        said.append((f"offset {status.offset}", "fact"))
    if status.is_live:
        said.append((leader_text(status), "fact" if status.leader is not None else "problem"))
        said += [] if problems else lag
    said += [(text, "note") for text in status.notes if not text.startswith(_OF_A_MOMENT)]
    if standing.show_secrets:
        said.append((SECRETS_SHOWN, "note"))
    said += [(text, "fact") for text in (*time_texts(status), *epoch_texts(status))]
    if status.metadata_version:
        said.append((status.metadata_version, "fact"))
    return [StatusPiece(diagnostic(text), kind) for text, kind in said]  # type: ignore[arg-type]


def _paused(standing: LineState) -> str:
    if not standing.n_newer_states:
        return "paused"
    states = _counted(standing.n_newer_states, "newer state")
    if standing.n_newer_records <= 0:
        return f"paused: {states}"
    return f"paused: {states}, {_counted(standing.n_newer_records, 'record')}"


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def _place(standing: LineState, status: SourceStatus) -> Sequence[str]:
    if standing.n_clusters is not None:
        return [f"fleet of {_counted(standing.n_clusters, 'directory')}".replace("ys", "ies")]
    if not standing.is_newest:
        return ["earlier state"]
    if standing.is_paused:
        return []
    return ["live" if status.is_live else "end of the log"]


def work_text(
    title: str,
    progress: tuple[int, int] | None,
    *,
    n_more: int = 0,
    frame: int = 0,
    stop: str = "esc cancels",
    width: int = 80,
) -> str:
    """The text about the running jobs: the newest job, its progress, and the key that stops it.

    Args:
        title: The newest job's title.
        progress: (done, in all); None if the job does not tell.
        n_more: The number of other jobs.
        frame: Counts up, and moves the spinner.
        stop: The key that stops the job, and its action.
        width: The width of the line in columns.
    """
    rest = ""
    if progress is not None and progress[1] > 0:
        rest = f" {min(100 * progress[0] // progress[1], 100)}%"
    if n_more:
        rest += f" +{n_more}"
    tail = f"{rest}{GAP}{stop}"
    room = width - 2 - len(tail)
    if room < _LEAST_TITLE:
        tail, room = rest, width - 2 - len(rest)
    return f"{_FRAMES[frame % len(_FRAMES)]} {cut(title, room)}{tail}"


_REFRESH_S: Final = 1.0
_SPIN_S: Final = 0.1
_SLOWLY: Final = 10
"""Steps of it at once where it is below another screen."""
_PATIENCE_S: Final = 0.2
"""Seconds before a job is shown; shorter jobs are not."""
_MOST_TOLD: Final = 3
"""Lines told at once; all of them are printed when the program has ended."""
_STYLES: Final[dict[Kind, str]] = {
    "place": "bold",
    "fact": "",
    "note": "$text-warning",
    "problem": "bold $text-error",
    "work": "$text-accent",
}


class StatusLine(AppPart, Static):
    """Where everything stands."""

    HELP: ClassVar = "The shown place in the log, and the work in progress."
    DEFAULT_CSS = "StatusLine { height: 1; }"

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.view_state: ViewState | None = None
        """The view state that it tells of."""
        self.status: SourceStatus | None = None
        """Where that stands; None while it is computed."""
        self._jobs: Sequence[Job] = ()
        self._frame = 0
        self._spinner: Timer | None = None

    def on_mount(self) -> None:
        """Look now and then what there is to be said."""
        self.set_interval(_REFRESH_S, self.look)
        self._spinner = self.set_interval(_SPIN_S, self._spin, pause=not self._jobs)

    def show_view_state(self, view_state: ViewState) -> None:
        """Tell where a view state stands."""
        self.view_state = view_state
        self.set_class(not view_state.is_newest, "-earlier")
        cluster = view_state.cluster
        look = self.explorer.session.look

        def work(_job: Job) -> SourceStatus | None:
            status = None if cluster is None else stored_status(cluster)
            look()
            return status

        self.explorer.jobs.start("reading the log", work, self._know, owner=self, key="status")
        self.draw()

    def _know(self, status: SourceStatus | None) -> None:
        self.status = status
        self.explorer.following.shown_offset = None if status is None else status.offset
        self.look()

    def move_on(self, view_state: ViewState, status: SourceStatus) -> None:
        """Show a view state that differs only in the end of the log, when it is time."""
        self.view_state, self.status = view_state, status
        self.explorer.following.shown_offset = status.offset

    def show_jobs(self, jobs: Sequence[Job]) -> None:
        """Show the running jobs."""
        self._jobs = jobs
        if self._spinner is not None:
            if jobs:
                self._spinner.resume()
            else:
                self._spinner.pause()
        if not jobs:
            self.draw()

    def look(self) -> None:
        """Show how the connection is now, and tell what was said of the source."""
        self._tell(self.explorer.session.messages())
        self.draw()

    def _tell(self, messages: Sequence[str]) -> None:
        """Show what was said of the source for a while."""
        if not messages:
            return
        told = list(messages[:_MOST_TOLD])
        n_more = len(messages) - len(told)
        if n_more:
            told.append(f"{n_more} more, printed at the end")
        is_warning = any(text.startswith("warning") for text in told)
        self.explorer.tell("\n".join(told), "warning" if is_warning else "information")

    def _spin(self) -> None:
        self._frame += 1
        # Below another screen each change has all of that drawn again. A screen that can be seen
        # below another is current as well.
        if self.app.screen is self.screen or not self._frame % _SLOWLY:
            self.draw()

    @property
    def facts(self) -> LineState:
        """All that it tells of. Cost: none."""
        view_state, following = self.view_state, self.explorer.following
        if view_state is None:
            return LineState(status=SourceStatus(), show_secrets=self.explorer.session.show_secrets)
        status, cluster = self.status, view_state.cluster
        live = None if cluster is None else cluster.live
        if live is not None:
            status = with_connection(status or SourceStatus(), live)
        fleet = view_state.fleet
        return LineState(
            status=status,
            is_newest=view_state.is_newest,
            newest_key=self.explorer.session.key("time.end", "E"),
            n_clusters=len(fleet.members) if fleet is not None and cluster is None else None,
            cluster="" if cluster is None else view_state.prefix.rpartition("/")[2],
            is_paused=following.is_paused,
            n_newer_states=following.n_newer_states,
            n_newer_records=following.n_newer_records,
            problem=None if live is not None else following.problem,
            show_secrets=self.explorer.session.show_secrets,
        )

    def _work(self, width: int) -> str:
        """The text about the running jobs that take long enough to be noticed."""
        now = time.monotonic()
        noticed = [job for job in self._jobs if now - job.began >= _PATIENCE_S]
        if not noticed:
            return ""
        job = noticed[-1]
        session = self.explorer.session
        cancel, leave = session.key("cancel", "esc"), session.key("quit", "q")
        return work_text(
            job.title,
            job.progress,
            n_more=len(noticed) - 1,
            frame=self._frame,
            stop=f"{leave} leaves" if job.key == OPENING else f"{cancel} cancels",
            width=width,
        )

    def on_resize(self) -> None:
        """Say what there is room for."""
        self.draw()

    def draw(self) -> None:
        """Show all that there is to be said, unless it is shown."""
        width = self.size.width - 2
        is_open = self.view_state is not None
        work = self._work(width // 2 if is_open else width)
        left = width - (display_width(work) + len(GAP) if work else 0)
        said = [piece for piece in pieces(self.facts) if is_open or piece.kind == "note"]
        text = fitting([self._piece(piece, left) for piece in said], left)
        room = " " * max(width - text.cell_length - display_width(work), 0)
        made = Content.assemble(" ", text, room, self._piece(StatusPiece(work, "work"), width))
        if made != self.content:
            self.update(made, layout=False)

    def _piece(self, piece: StatusPiece, room: int) -> Content:
        """A piece; on the bar of an earlier state all have its colour.

        A problem may name a long path: its end is shown, and a third of the room is left.
        """
        most = max(2 * room // 3, _LEAST_TITLE)
        text = cut_front(piece.text, most) if piece.kind == "problem" else piece.text
        return line(text, "" if self.has_class("-earlier") else _STYLES[piece.kind])
