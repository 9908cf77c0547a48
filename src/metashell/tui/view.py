"""A view: one of the program's pages, all of which show the same view state."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static

from metashell.dataclass import dataclass
from metashell.tui.part import AppPart
from metashell.tui.text import line
from metashell.tui.view_state import WHY_NOT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import pyarrow as pa

    from metashell.tui.view_state import CommandResult, ViewState


HOME: Final = ""
"""In place of a path to begin at: the page of the whole cluster."""
TREE: Final = "explorer"
"""Id of the view of nodes."""
IMAGE: Final = "image"
FLEET: Final = "fleet"
GROUPS: Final = "groups"
QUORUM: Final = "quorum"
"""It shows a cluster, or compares copies of one."""
ASKED: Final = "asked"
_TOLD_S: Final = 0.1
"""A view is laid out by then."""
_LOW: Final = 12
"""Lines below which what explains rows gives way to them."""


class View(AppPart, Vertical):
    """A page of the program.

    A view is told of a new view state while it can be seen, and when it is looked at again. It
    starts what takes time with ``self.explorer.jobs``. It keeps what the user looks at where it is.
    """

    HELP: ClassVar[str] = ""
    """The view's help in Markdown, shown by F1."""

    lists_records: ClassVar[bool] = False
    """Whether an offset that the user goes to is a record to be seen, and not only a state."""

    shows_path: ClassVar[bool] = False
    """Whether the current path is on the screen."""

    is_ready = False
    """Whether it shows the view state and has had the focus since it came into sight.

    Keys wait for that.
    """

    is_composed = False
    """Whether its parts are there; before that no view state is shown."""

    result: CommandResult | None = None
    """The command's result that it shows, where it shows one."""

    why_not: str | None = None
    """Why it can't show the view state: said in place of its parts."""

    DEFAULT_CSS = """
    View > .view-why-not { display: none; height: auto; padding: 0 1; }
    View.-why-not > * { display: none; }
    View.-why-not > .view-why-not { display: block; }
    """

    def say_why_not(self, why_not: str | None) -> None:
        """Say why it can't show the view state; None to show its parts."""
        if why_not == self.why_not:
            return
        self.why_not = why_not
        self.set_class(why_not is not None, "-why-not")
        for said in self.query(".view-why-not"):
            said.remove()
        if why_not is not None:
            self.mount(Static(line(why_not), classes="view-why-not", markup=False))

    def on_mount(self) -> None:
        """Show the view state now that the parts are there."""
        self.is_composed = True
        self.set_timer(_TOLD_S, self._tell_sizes)
        if self.explorer.view is self:
            self.call_after_refresh(self.explorer.come_to_view)

    def _tell_sizes(self) -> None:
        """Tell all parts their size: Textual forgets a part that is mounted while others scroll."""
        for part in self.walk_children(with_self=True):
            if isinstance(part, Widget) and isinstance(part, AppPart) and part.size:
                size = part.outer_size
                part.post_message(events.Resize(size, part.virtual_size, part.container_size))

    def on_resize(self, event: events.Resize) -> None:
        """Leave the room to rows where there is little: see ``-low`` in the styles of views."""
        self.set_class(event.size.height < _LOW, "-low")

    @abstractmethod
    def show_view_state(self, view_state: ViewState) -> None:
        """Show another view state; called in the thread that draws."""

    def show_path(self, path: str) -> None:
        """Go to a path, where the view is about paths."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is at another path than the current one, which changed while it was hidden."""
        return False

    def show_offset(self, offset: int) -> None:
        """Put the cursor on the record at an offset, where the view lists records."""

    def follow(self) -> None:
        """Go to the newest record and stay there, where the view lists records."""

    def with_node(self, then: Callable[[str], object]) -> None:
        """Do something with the path of the node that the cursor is on."""
        then(self.explorer.path_of_row() or self.explorer.path)

    def catches_up(self) -> bool:
        """Have what is under the cursor looked at now; whether that goes on."""
        return False

    @property
    def searched_path(self) -> str:
        """Where a search begins, an absolute path of the whole tree."""
        return self.explorer.path

    @property
    def shows_noops(self) -> bool:
        """Whether records that say nothing are seen."""
        return False

    @property
    def filtered(self) -> str:
        """The subject of a filter, told to who types one."""
        return "these rows: what they must contain"

    def filter_by(self, text: str) -> None:
        """Show only what contains a text; empty for all. Called as it is typed."""

    def keep_filter(self) -> None:
        """Take the filter as it is typed now: the next keys are for what it leaves."""
        self.explorer.jobs.lead(self, "arrange", "filter", "look")

    @property
    def filter_text(self) -> str | None:
        """The filter that holds; None where nothing can be filtered at the moment."""
        return None

    @property
    def is_filtered(self) -> bool:
        """Whether `drop_filter` shows more."""
        return bool(self.filter_text)

    @property
    def is_inside(self) -> bool:
        """Whether something was opened within the view."""
        return False

    def leave(self) -> bool:
        """Go back from what was opened within the view; whether there was anything."""
        return False

    def drop_filter(self) -> str:
        """Show again what a filter hides.

        Returns:
            The filter that held; empty where none did.
        """
        text = self.filter_text or ""
        if text:
            self.filter_by("")
            self.keep_filter()
        return text

    def focus_content(self) -> None:
        """Put the focus where the user goes on: on the first part that can have it."""
        for widget in self.query("*"):
            if widget.focusable:
                widget.focus()
                return

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """(name, rows as shown) of the tables that can be exported, the one looked at first."""
        return ()

    @property
    def can_export(self) -> bool:
        """Whether there are such tables, or may be once all is read. Cost: none."""
        return False

    def export(self) -> None:
        """Ask where the tables are to be written to, having read what is missing of them."""
        self.explorer.ask_where_to_export(self.tables())

    def copy_under_cursor(self) -> bool:
        """Copy what the cursor of a list is on that is no table; whether there is such a list."""
        return False

    def copyable(self) -> tuple[str, str] | None:
        """(what it is, text) to be copied as value; None where there is none."""
        return None


@dataclass(frozen=True, slots=True)
class ViewSpec:
    """Where a view is to be found: all names follow from its id."""

    id: str
    key: str
    told: str
    """Its content in a few words."""
    needs: str = ""
    """Its subject: `IMAGE`, `FLEET`, `ASKED`, or of `ViewState.kinds`; empty for anything."""
    is_of_one: bool = False
    """Whether it shows one cluster, also where several are open."""

    @property
    def title(self) -> str:
        """The text of its tab."""
        return self.id.capitalize()

    def make(self) -> View:
        """Make the view, importing its module now."""
        module = importlib.import_module(self.module)
        view: View = getattr(module, f"{self.title}View")(id=self.id)
        return view

    @property
    def module(self) -> str:
        """The name of its module."""
        return f"metashell.tui.views.{self.id}"

    @property
    def is_offered(self) -> bool:
        """Whether it has a tab in any case."""
        return self.needs in ("", IMAGE)

    def is_there(self, view_state: ViewState) -> bool:
        """Whether it has a tab."""
        if self.needs == FLEET:
            return view_state.fleet is not None
        is_of_all = self.needs == GROUPS and view_state.is_all_of_fleet
        return self.is_offered or is_of_all or self.needs in view_state.kinds

    def why_never(self, view_state: ViewState) -> str | None:
        """Why it can show nothing of what is open; None where it can, at least of some cluster."""
        can_be = view_state.fleet is not None and self.needs != ASKED
        is_never = not can_be and not self.is_there(view_state)
        return WHY_NOT[self.id] if is_never else None

    def why_not(self, view_state: ViewState) -> str | None:
        """Why it can't show a view state; None where it can, or says itself why not."""
        if view_state.cluster is None:
            if self.id == QUORUM and view_state.has_copies:
                return None
            of_one = self.is_of_one or (self.needs == GROUPS and not view_state.is_all_of_fleet)
            return view_state.why_no_cluster if of_one else None
        if self.needs == IMAGE and not view_state.has_image:
            return view_state.why_no_image
        is_there = self.needs == ASKED or self.is_there(view_state)
        return None if is_there else WHY_NOT.get(self.needs)


VIEWS: Final = (
    ViewSpec("home", "0", "findings, quorum, brokers and topics on a page", IMAGE, is_of_one=True),
    ViewSpec("explorer", "1", "the tree of nodes, with the value and the history of each"),
    ViewSpec("records", "2", "the records of the log, with their fields and bytes in hex", IMAGE),
    ViewSpec("health", "3", "what is wrong, since when, and what to do", IMAGE),
    ViewSpec("quorum", "4", "leader, voters, observers and epochs", IMAGE, is_of_one=True),
    ViewSpec("brokers", "5", "leaders and replicas of each broker", IMAGE, is_of_one=True),
    ViewSpec("fleet", "6", "several directories side by side", FLEET),
    ViewSpec("groups", "7", "groups with their lag, and transactions", "groups"),
    ViewSpec("disks", "8", "log directories, and the replicas in them", "disks", is_of_one=True),
    ViewSpec("rows", "9", "the rows of the last command", ASKED),
    ViewSpec("topic", "T", "all of the topic that the cursor is on", ASKED, is_of_one=True),
)
"""The views, in the order of their tabs."""


def first_view(view_state: ViewState, path: str) -> str:
    """Id of the view to begin with: Home, or the tree for a path and for what has no image.

    Several directories are compared before one is looked into.
    """
    if view_state.fleet is not None and path in (HOME, "/"):
        return FLEET
    return "home" if path == HOME and view_state.has_image else TREE


def take_focus(view: View) -> None:
    """Focus a view's content where the focus is nowhere, or in a view that is not seen."""
    explorer = view.explorer
    if explorer.view is not view or explorer.screen is not view.screen:
        return
    focused = explorer.focused
    if focused is None or any(isinstance(a, View) and a is not view for a in focused.ancestors):
        view.focus_content()


def leave_timeline(view: View) -> None:
    """Focus a view's content where the timeline has the focus: another view was asked for."""
    timeline = view.explorer.timeline
    if timeline is not None and view.explorer.focused is timeline:
        view.focus_content()


def give_back(content: View, before: Widget | None) -> None:
    """Focus the part of a content that had the focus before, else where its user goes on."""
    around: Collection[object] = () if before is None else before.ancestors
    if before is not None and before.focusable and content in around:
        before.focus()
    else:
        content.focus_content()
