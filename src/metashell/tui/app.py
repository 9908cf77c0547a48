"""The program: what it shows, its views, and how it moves between paths and offsets.

Owns the one `ViewState` that all views show. Everything slow is a job; this thread only draws.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.app import App, ComposeResult
from textual.events import Event, Key, Paste
from textual.filter import LineFilter, Monochrome, NoColor
from textual.widget import AwaitMount
from textual.widgets import ContentSwitcher, Input

from metashell.errors import ExitCode, InternalError, MetashellError, SourceError
from metashell.tui.following import Following
from metashell.tui.frame.actions import Actions
from metashell.tui.frame.key_bar import KeyBar
from metashell.tui.frame.keys import KEYS
from metashell.tui.frame.passing import PassingMessages, is_idle, nothing_done
from metashell.tui.frame.status import StatusLine, TabStrip
from metashell.tui.frame.terminal import MainScreen, keep_terminal
from metashell.tui.frame.themes import DEFAULT_THEME, register_themes
from metashell.tui.jobs import Job, Jobs, Told
from metashell.tui.moving import VIEW_STATE, Moving, with_status
from metashell.tui.part import AppPart
from metashell.tui.remembered import Places, Remembered, bookmarked_cluster
from metashell.tui.session import ExplorerSession
from metashell.tui.text import error_text
from metashell.tui.type_ahead import TypeAhead
from metashell.tui.view import VIEWS, View, ViewSpec, first_view, leave_timeline, take_focus
from metashell.tui.view_state import (
    ViewState,
    cluster_at,
    settle,
    view_state_of,
)

if TYPE_CHECKING:
    from textual.command import Provider

    from metashell.commands.shared.status import SourceStatus
    from metashell.sources.source import Source
    from metashell.tui.timeline.timeline import Timeline


OF_HELP: Final = frozenset({"escape", "pageup", "pagedown"})
"""Keys that are for help while it is shown."""
_NEWLINE: Final = "ctrl+j"
"""The name of enter if it was typed before the terminal was ours."""
_NO_COLOR: Final = NoColor()
_TUI: Final = "metashell.tui"
_PARTS: Final = (
    f"{_TUI}.timeline.timeline",
    *(spec.module for spec in VIEWS),
    f"{_TUI}.frame.filter_bar",
    *(f"{_TUI}.screens.{name}" for name in ("command", "find", "go_to", "export")),
    f"{_TUI}.frame.help",
    f"{_TUI}.frame.palette",
)
"""Modules that are imported before a key needs them, the likely ones first."""


def _providers() -> type[Provider]:
    from metashell.tui.frame.palette import Palette

    return Palette


class Explorer(Actions, Moving, PassingMessages, App[int]):
    """The explorer's program.

    Args:
        session: The source and the user's settings.
    """

    CSS_PATH = "app.tcss"
    TITLE = "metashell"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar = {_providers}
    BINDINGS: ClassVar = list(KEYS)
    ALLOW_IN_MAXIMIZED_VIEW: ClassVar = "StatusLine, KeyBar, FilterBar, JumpBar, HelpPanel"
    """The widgets that stay visible beside a part that has the whole screen."""

    def __init__(self, session: ExplorerSession) -> None:
        super().__init__()
        register_themes(self, session.theme or DEFAULT_THEME)
        self.session = session
        self.jobs = Jobs(self, self.job_failed, self._jobs_changed)
        """Runs what takes time."""
        self.view_state: ViewState | None = None
        """The shown view state; None while the source is being opened."""
        self.is_open = False
        """Whether the first view is there."""
        self._path = session.path or "/"
        self.places = Places()
        """Where the user was, and the bookmarks."""
        self.remembered = Remembered(session.memory)
        """Bookmarks, columns and sorting of all runs."""
        self.cluster_id = ""
        """The owner of the bookmarks: a cluster's id, or `FLEET`; empty if unknown."""
        self.failure: MetashellError | None = None
        """Why the source could not be opened: the program then ends."""
        self.following = Following(self)
        """Watches the source for news."""
        self.defect: Exception | None = None
        """The error that keeps anything from being shown: the program then ends."""
        self.status: int | None = None
        """The exit status of the program; None until it is known that it ends."""
        self.type_ahead = TypeAhead(self)
        """Holds back what is typed before it can be taken."""
        self.kept: dict[str, Any] = {}
        """Values that commands keep from one run to the next."""
        self._timeline: Timeline | None = None
        self._shown: dict[str, int] = {}
        """By view, the serial of the view state that it shows."""

    # The screen.

    def get_default_screen(self) -> MainScreen:
        """The screen of the views."""
        return MainScreen(id="_default")

    def compose(self) -> ComposeResult:
        """The frame; views come when they are looked at."""
        yield TabStrip(self.session.name)
        yield ContentSwitcher(id="views")
        self._status_line = StatusLine()
        yield self._status_line
        yield KeyBar()

    def on_mount(self) -> None:
        """Draw, then open the source."""
        self.set_keymap(dict(self.session.keys))
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        self.call_after_refresh(self._open)
        threading.Thread(target=_import_parts, daemon=True).start()
        if not self.is_headless:
            keep_terminal(self)
        self.run_worker(self.type_ahead.run(), name="keys")

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's filters; its own for NO_COLOR sends shades of grey."""
        return [_NO_COLOR if isinstance(f, Monochrome) else f for f in super().get_line_filters()]

    def action_redraw(self) -> None:
        """Draw everything anew, where another program wrote over it."""
        self.screen.refresh()

    async def on_event(self, event: Event) -> None:
        """Have one key done before the next is begun."""
        if not isinstance(event, Key | Paste) or event.is_forwarded:
            await super().on_event(event)
        elif not self.type_ahead.keeps(event):
            await self.press(event)

    async def press(self, event: Key | Paste) -> None:
        """Handle a key, or what was pasted; first comes help, wherever the focus is."""
        self.note_key()
        if isinstance(event, Key):
            panels: Any = self.screen.query_children("HelpPanel") if event.key in OF_HELP else ()
            for panel in panels:
                panel.take_key(event.key)
                return
            if event.key == _NEWLINE:
                event = Key("enter", "\r")
        await super().on_event(event)

    def on_key(self, event: Key) -> None:
        """Say that a key does nothing here: no part took it."""
        if self.is_open and is_idle(self, event.key):
            self.tell(nothing_done(self, event.key))

    @property
    def escape_to_minimize(self) -> bool:
        """Whether escape takes the whole screen back: a line, help and a filter end first."""
        is_above = isinstance(self.focused, Input) or bool(self.screen.query_children("HelpPanel"))
        return super().escape_to_minimize and not is_above and not self._is_filtered

    @property
    def _is_filtered(self) -> bool:
        """Whether escape can drop a filter of the view."""
        view = self.view
        if view is None or not view.is_composed or self.screen.is_modal:
            return False
        return view.is_filtered

    @property
    def view(self) -> View | None:
        """The view that can be seen."""
        current = self.query_one("#views", ContentSwitcher).current
        if current is None:
            return None
        view = self.query_one(f"#{current}")
        assert isinstance(view, View)
        return view

    @property
    def timeline(self) -> Timeline | None:
        """The bar over the log; None until the source is open."""
        # Asked for at each key: not looked for among all widgets.
        return self._timeline if self._timeline is not None and self._timeline.is_attached else None

    # The source.

    def _open(self) -> None:
        session = self.session

        def work(job: Job) -> ViewState:
            def progress(done: int, whole: int) -> None:
                job.progress = (done, whole)

            try:
                view_state = with_status(view_state_of(session.open(progress), self._path))
                self.cluster_id = bookmarked_cluster(view_state)
            except KeyboardInterrupt:
                raise SourceError(f"{session.name} was not opened: that was cancelled") from None
            return view_state

        self.jobs.start(
            f"opening {session.name}", work, self._opened, owner=self, key="open",
            failed=self._not_opened,
        )  # fmt: skip

    def _not_opened(self, error: MetashellError) -> None:
        self.failure = error
        self.exit(return_code=int(error.exit_code))

    def _opened(self, view_state: ViewState) -> None:
        from metashell.tui.timeline.timeline import Timeline

        self.query_one(TabStrip).name_source(self.session.title(view_state.opened))
        self._timeline = Timeline()
        self.mount(self._timeline, before=self._status_line)
        self.places.bookmarks = self.remembered.bookmarks(self.cluster_id)
        self.show_view_state(view_state)
        self.show_view(first_view(view_state, self.session.path))
        self.following.begin()

    def show_view_state(self, view_state: ViewState) -> None:
        """Have everything show a view state."""
        settle(view_state)
        self.view_state = view_state
        self._status_line.show_view_state(view_state)
        timeline = self.timeline
        if timeline is not None:
            timeline.show_view_state(view_state)
        self.query_one(TabStrip).show_view_state(view_state)
        self.refresh_bindings()
        self._bring_up_to_date()

    def _bring_up_to_date(self) -> None:
        """Have the view that can be seen show the view state and the path, unless it does."""
        view, view_state = self.view, self.view_state
        if view is None or view_state is None or not view.is_composed:
            return
        if self._shown.get(str(view.id)) == view_state.serial and not view.is_elsewhere:
            return
        self._shown[str(view.id)] = view_state.serial
        spec = next(spec for spec in VIEWS if spec.id == view.id)
        view.say_why_not(spec.why_not(view_state))
        if view.why_not is None:
            view.show_view_state(view_state)

    def news(self, source: Source) -> None:
        """Show a newer state of the source, where the end of the log is shown."""
        view_state = self.view_state
        if view_state is None or not view_state.is_newest:
            return
        self.show_view_state(
            view_state_of(source, self.path, previous=view_state.cluster, kinds=view_state.kinds)
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to compare two stops, and to export a table, where there are such."""
        if action == "export":
            return self.view is not None and self.view.can_export
        if action == "changes":
            view_state = self.view_state
            return (view_state is not None and view_state.previous is not None) or self.is_moving
        return super().check_action(action, parameters)

    def pass_by(self, source: Source, status: SourceStatus) -> bool:
        """Ask a newer state of the source that looks the same; only where it ends is drawn.

        Returns:
            False where something else is shown: there it is news as any other.
        """
        view_state = self.view_state
        if view_state is None or not view_state.is_newest or view_state.fleet is not None:
            return False
        self.view_state = replace(view_state, opened=source, cluster=source)
        # Not looked for among all widgets: it is done again and again while nothing happens.
        self._status_line.move_on(self.view_state, status)
        if self.timeline is not None:
            self.timeline.move_on(self.view_state, status)
        return True

    # Views.

    async def action_view(self, view_id: str) -> None:
        """Show a view; what is typed next is for it. The view before is kept for `back`."""
        self.visit_view(view_id)
        if self.view is None:
            return
        if not self.view.is_composed:
            await AwaitMount(self.view, [self.view])
        leave_timeline(self.view)
        self.come_to_view()

    def visit_view(self, view_id: str) -> None:
        """Show a view that the user chose; the one before is kept for `back`."""
        if self.view is not None and self.view.id != view_id:
            self.leave_place()
        self.show_view(view_id)

    def show_view(self, view_id: str) -> None:
        """Show a view, as soon as it is there."""
        spec = next(spec for spec in VIEWS if spec.id == view_id)
        view_state = self.view_state
        if view_state is None:
            return
        why_never = None if self.has_view(spec) else spec.why_never(view_state)
        if why_never is not None:
            self.tell(why_never)
            return
        switcher = self.query_one("#views", ContentSwitcher)
        self.have_view(spec)
        is_other, switcher.current = switcher.current != spec.id, spec.id
        if is_other:
            self.screen_stack[0].minimize()  # it would hide the view
        if is_other and self.view is not None:
            self.view.is_ready = False
            self.pass_messages()
        self.query_one(TabStrip).current = spec.id
        self.call_after_refresh(self.come_to_view)

    def have_view(self, spec: ViewSpec) -> None:
        """Mount a view, unless it is."""
        if not self.has_view(spec):
            self.query_one("#views", ContentSwitcher).mount(spec.make())

    def has_view(self, spec: ViewSpec) -> bool:
        """Whether a view is mounted."""
        return bool(self.query(f"#views > #{spec.id}"))

    def come_to_view(self) -> None:
        """Bring the view that can be seen up to date, and the focus into it."""
        self._bring_up_to_date()
        if self.view is not None and self.view.is_composed:
            take_focus(self.view)
            self.view.is_ready = True
            if not self.is_open:
                self.is_open = True

    # Jobs.

    def on_told(self, told: Told) -> None:
        """Do what a job has to say, unless the program ends and the frame is gone."""
        if self._status_line.is_attached:
            try:
                self.jobs.carry_out(told)
            except Exception as error:
                self.job_failed(error)

    def _jobs_changed(self) -> None:
        # Asked for at each job, several a key: not looked for among all widgets.
        if self._status_line.is_attached:
            self._status_line.show_jobs(self.jobs.busy)
        if self.timeline is not None:
            self.timeline.jobs_changed()

    def job_failed(self, error: Exception) -> None:
        if isinstance(error, MetashellError):
            self.tell(error_text(error), "error")
            return
        if self.view_state is None:  # nothing would ever be shown
            self.defect = error
            self.exit(return_code=int(ExitCode.INTERNAL))
            return
        self.tell(error_text(InternalError.of(error)), "error")

    # Copying, suspending and quitting.

    def copy(self, text: str, what: str) -> None:
        """Put a text on the clipboard of the user's terminal."""
        self.copy_to_clipboard(text)
        self.tell(f"{what} copied")

    def action_cancel(self) -> None:
        """Stop what was begun last, else drop the filter that holds, else go back."""
        job = self.jobs.cancel_newest()
        if job is None:
            self._drop_filter()
            return
        self.tell(f"cancelled: {job.title}")
        if isinstance(job.owner, AppPart):
            job.owner.gave_up(job.key)
        view_state = self.view_state
        if (
            job.key == VIEW_STATE
            and view_state is not None
            and cluster_at(view_state, self.path) != view_state.prefix
        ):
            self.path = view_state.prefix or "/"  # where one was before
            if self.view is not None:
                self.view.show_path(self.path)

    @property
    def way_back(self) -> str:
        """The name of what escape takes back while no job runs; empty for nothing."""
        view = self.view
        if self._is_filtered:
            return "Drop filter"
        if view is None or not view.is_composed or self.screen.is_modal:
            return ""
        if self.screen.maximized is not None:
            return "Restore size"
        return "Back" if view.is_inside or self.places.can_go_back(self.looked_at) else ""

    def _drop_filter(self) -> None:
        view = self.view
        if view is None:
            return
        text = view.drop_filter()
        if text:
            self.tell(f"filter dropped: {text}")
        elif not view.leave():
            self.action_place_back()
        self.refresh_bindings()

    def exit(
        self, result: int | None = None, return_code: int = 0, message: object | None = None
    ) -> None:
        """End the program; from here on the status is known, whatever goes wrong."""
        if self.status is None:
            self.status = return_code
        super().exit(result, return_code)

    async def action_quit(self) -> None:
        """Leave."""
        self.jobs.cancel_all()
        self.exit()


def _import_parts() -> None:
    """Import what is drawn once the source is open, then what a key may bring up."""
    for module in _PARTS:
        importlib.import_module(module)
