"""The right side of the explorer: the node looked at, in several ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static

from metashell.errors import MetashellError
from metashell.tui.frame.tabs import LineTab, TabLine
from metashell.tui.jobs import READING_OLDER, Job
from metashell.tui.node.inspector import NodeInspector
from metashell.tui.node.node_detail import DetailMode, NodeDetail
from metashell.tui.node.node_lines import LineView
from metashell.tui.node.node_table import NodeTable, PathTitle, WholeText
from metashell.tui.node.value import ValueLine
from metashell.tui.part import AppPart, quiet_key
from metashell.tui.rows.column_table import ColumnTable
from metashell.tui.rows.table import RowTable
from metashell.tui.text import error_lines, fitting, line, say
from metashell.tui.view_state import ViewState

if TYPE_CHECKING:
    import pyarrow as pa

_TABS: Final = (
    (DetailMode.TABLE, "D", "Table", ""),
    (DetailMode.CHILDREN, "D", "Children", "show the plain children of a directory, or its table"),
    (DetailMode.VALUE, "v", "Value", "show the value, and what changed in it"),
    (DetailMode.TEXT, "V", "Text", "show Kafka's text, as cat prints it"),
    (DetailMode.RECORD, "r", "Record", "show the record that last changed the node"),
    (DetailMode.HISTORY, "h", "History", "show the changes of the node, newest first"),
)
"""(mode, key, title, tooltip) in the order of the tabs; one key goes between the first two."""
_MOST_CUT: Final = 5
"""Lines for what is cut of the row under the cursor."""
_BEFORE_TITLE, _AROUND_TITLE, _AROUND_TABS = 3, 4, 2
_REMEMBERED: Final = 4
_TREE: Final = "NodeTree"
MODE_KEYS: Final = [
    quiet_key(key, f"look('{mode.value}')", title, f"node.{mode.value}", tooltip)
    for mode, key, title, tooltip in _TABS
    if tooltip
]
"""The keys of the tabs, which are seen from the tree too: so they work there as well."""


def _by_key_of_children(detail: NodeDetail) -> DetailMode:
    """The tab of the first two that their key leads to: the table, unless it is shown."""
    is_table = detail.mode is DetailMode.TABLE or DetailMode.TABLE not in detail.modes
    return DetailMode.CHILDREN if is_table else DetailMode.TABLE


class NodeTabs(TabLine):
    """The ways to look at the node."""

    def action_look(self, mode: str) -> None:
        """Look at the node so."""
        self.query_ancestor(NodePane).look(DetailMode(mode))


class NodePane(AppPart, Vertical):
    """A node: its value, Kafka's text, its record, its history; a directory as a table."""

    DEFAULT_CSS = """
    NodePane { height: 1fr; }
    NodePane > #node-note {
        height: 1; padding: 0 1; color: $text-warning; text-wrap: nowrap; text-overflow: ellipsis;
    }
    """
    ALLOW_MAXIMIZE = True

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._view_state: ViewState | None = None
        self._path: str | None = None
        self._wanted: tuple[DetailMode, ...] = ()
        """Ways to look that the user took, the last one first."""
        self._seeks_change = False
        """Whether the field that a move in time changed is yet to be scrolled to."""
        self._reading: Job | None = None
        self._detail: NodeDetail | None = None
        self._named: tuple[str, int] = ("/", 0)
        """The arguments of `name_path`."""
        self._title = PathTitle("/", 0, 0)
        self._has_keys = True
        """Whether the keys of the tabs work: not in the timeline, which has its own."""

    def compose(self) -> ComposeResult:
        """The line on top, the tabs, and what they show."""
        yield NodeTabs(markup=False)
        yield LineView(id="node-lines")
        table = NodeTable(id="node-table")
        table.display = False
        yield table
        yield WholeText(_MOST_CUT)
        note = Static(id="node-note", markup=False)
        note.display = False
        yield note

    # Showing a node.

    def show_node(self, view_state: ViewState, path: str) -> None:
        """Show a node of a view state, an absolute path of the whole tree."""
        before, path_before = self._view_state, self._path
        if before is not None and (before.serial, path_before) == (view_state.serial, path):
            return
        if path.rpartition("/")[0] != (path_before or "").rpartition("/")[0]:
            self._wanted = ()  # other kinds of nodes have other questions
        self._view_state, self._path = view_state, path
        is_news = (
            before is not None and before.is_newest and view_state.is_newest and path == path_before
        )
        # News keep the scroll position: the user may be reading there.
        self._seeks_change = (
            before is not None and before.serial != view_state.serial and not is_news
        )
        # Times that are shown do not go away for a moment.
        self._start(
            reads_older=is_news and self._detail is not None and not self._detail.lacks_times
        )

    def name_path(self, path: str, missing: int = 0) -> None:
        """Have a path as the title; so many of its last components are not there."""
        self._named = path, missing
        self._title = PathTitle(path, missing, self.size.width - _AROUND_TITLE)
        self.border_title = self._title.content

    def on_click(self, event: events.Click) -> None:
        """Go to the part of the path that was clicked on."""
        found = self._title.path_at(event.x - _BEFORE_TITLE) if event.y == 0 else None
        if found is not None:
            event.stop()
            self.explorer.go(found)
            self.screen.set_focus(self.screen.query_one(_TREE))

    def look(self, mode: DetailMode) -> None:
        """Look at the node in another way; the next keys are for that."""
        self._wanted = (mode, *self._wanted)[:_REMEMBERED]
        self._start(leads=True)

    def look_by_key(self, mode: DetailMode) -> None:
        """Look at the node as a key asks; the key of the children leads to the table first."""
        detail = self._detail
        if mode is DetailMode.CHILDREN and detail is not None:
            mode = _by_key_of_children(detail)
        self.look(mode)

    @property
    def is_behind(self) -> bool:
        """Whether another node is shown than that which was asked for."""
        detail, view = self._detail, self._view_state
        at = None if view is None else (self._path, view.serial)
        return detail is None or (detail.path, detail.serial) != at

    def lead(self) -> bool:
        """Have keys wait for the node that was asked for; whether it is on its way."""
        is_read = self.explorer.jobs.goes_on(self._reading)
        if self.is_behind:
            self.explorer.jobs.lead(self, "node")
        return self.is_behind and is_read

    @property
    def mode(self) -> DetailMode | None:
        """The way in which the node is looked at; None as long as nothing is shown."""
        return None if self._detail is None else self._detail.mode

    @property
    def shown_path(self) -> str | None:
        """The node that is shown, which may not yet be the one that was asked for."""
        return None if self._detail is None else self._detail.path

    def _start(self, *, reads_older: bool = False, leads: bool = False) -> None:
        """Look at the node."""
        view_state, path, wanted = self._view_state, self._path, self._wanted
        if view_state is None or path is None:
            return

        def work(job: Job) -> NodeDetail:
            def tell(detail: NodeDetail) -> None:
                job.tell(self._show, detail)
                job.title = READING_OLDER if detail.lacks_times else job.title

            seen = NodeInspector(view_state, path, job.cancelled, reads_older=reads_older)
            return seen.look(wanted, tell)

        self._reading = self.explorer.jobs.start(
            f"reading {path}", work, self._show, owner=self, key="node", failed=self._failed,
            leads=leads,
        )  # fmt: skip

    def _failed(self, error: MetashellError) -> None:
        """Say what is wrong in place of the node."""
        assert self._view_state is not None
        assert self._path is not None
        lines = [ValueLine(text) for text in error_lines(error)]
        self._show(
            NodeDetail(
                path=self._path,
                serial=self._view_state.serial,
                mode=DetailMode.VALUE,
                modes=(),
                head=["can't be read"],
                lines=lines,
            )
        )

    def _show(self, detail: NodeDetail) -> None:
        before, self._detail = self._detail, detail
        if self._reading is not None:
            self._reading.leads = False  # the rest of it is no other place
        is_afresh = before is None or (before.path, before.mode) != (detail.path, detail.mode)
        if is_afresh:
            self.query_one(WholeText).show(None)
        lines, table = self._lines, self._table
        had_focus = lines.has_focus or table.has_focus
        table.mode = detail.mode
        if detail.table is not None:
            came_from = None if before is None else _name_below(before.path, detail.path)
            at = {detail.table.column_names[0]: came_from} if is_afresh and came_from else None
            table.show(
                detail.table, detail.marked, first=detail.first, afresh=is_afresh, at=at,
                changed=detail.changed,
            )  # fmt: skip
        else:
            lines.show(detail.lines or (), afresh=is_afresh)
            if self._seeks_change:
                self._seeks_change = not lines.show_change()
        lines.display, table.display = detail.table is None, detail.table is not None
        if had_focus:
            self._content.focus(scroll_visible=False)
        note = self.query_one("#node-note", Static)
        say(note, detail.note)
        note.display = bool(detail.note)
        self._show_cut()
        self._show_tabs()
        self.refresh_bindings()

    def _show_tabs(self) -> None:
        detail = self._detail
        if detail is None:
            return
        facts = [line(text) for text in detail.head]
        self.border_subtitle = fitting(facts, self.size.width - _AROUND_TITLE)
        table = self._table.table
        n_rows = None if detail.table is None or table is None else len(table)
        count = "" if n_rows is None else f"{n_rows:,} row{'s' * (n_rows != 1)} "
        room, line_of_tabs = self.size.width - _AROUND_TABS, self.query_one(NodeTabs)
        tabs = line_of_tabs.fitting_tabs(self._tabs(detail), room)
        # The count is left out first: it stands behind the title then.
        if tabs.cell_length + len(count) > room:
            at, count = "" if n_rows is None else f" {n_rows:,}", ""
            tabs = line_of_tabs.fitting_tabs(self._tabs(detail, at), room)
        gap = " " * (room - tabs.cell_length - len(count))
        line_of_tabs.update(tabs + gap + count, layout=False)

    def _tabs(self, detail: NodeDetail, count: str = "") -> list[LineTab]:
        """The tabs; `count` stands behind the title of the current one."""
        tabs: list[LineTab] = []
        for mode, key, title, _ in _TABS:
            if mode not in detail.modes:
                continue
            called = detail.title if mode is DetailMode.TABLE and detail.title else title
            # One key goes between two tabs: it stands on the one that it goes to.
            leads = key != _TABS[0][1] or mode is _by_key_of_children(detail)
            is_here = mode is detail.mode
            tabs.append(
                (
                    key * (self._has_keys and leads),
                    called + count * is_here,
                    "" if is_here else f"look('{mode.value}')",
                )
            )
        return tabs

    def _show_cut(self) -> None:
        """Show the cells of the row under the cursor that the table cuts."""
        table = self._content
        self.query_one(WholeText).show(table.cut_text if isinstance(table, NodeTable) else None)

    def on_mount(self) -> None:
        """Follow the focus."""
        self.watch(self.screen, "focused", self._focus_moved, init=False)

    def _focus_moved(self, focused: Widget | None) -> None:
        has_keys = focused is None or focused is not self.explorer.timeline
        if has_keys != self._has_keys:
            self._has_keys = has_keys
            self._show_tabs()

    def on_resize(self) -> None:
        """Name the path, the tabs, and what is counted, as there is room."""
        self.name_path(*self._named)
        self._show_tabs()
        self._show_cut()

    @property
    def _content(self) -> LineView | NodeTable:
        """The part that shows the node."""
        is_table = self._detail is not None and self._detail.table is not None
        return self._table if is_table else self._lines

    @property
    def _lines(self) -> LineView:
        return self.query_one(LineView)

    @property
    def _table(self) -> NodeTable:
        return self.query_one(NodeTable)

    @property
    def _has_rows_of_look(self) -> bool:
        """Whether the table shows the rows of what is looked at: they are sorted in a job first."""
        return self._detail is not None and self._table.table is self._detail.table

    # The user's actions.

    def has(self, mode: str) -> bool:
        """Whether the node can be looked at so, as far as that is known."""
        detail = self._detail
        if detail is None or self.is_behind:
            return detail is not None
        return mode in detail.modes and not (mode == DetailMode.CHILDREN == detail.modes[0])

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        """Go to what the row is about; in a history, to the offset of the change."""
        event.stop()
        detail = self._detail
        if detail is None or not self._has_rows_of_look:
            return
        path = detail.path_of(event.row)
        if detail.mode is not DetailMode.HISTORY:
            if path is None:
                self.explorer.tell("this row has no node")
            else:
                self.explorer.go(path)
        elif event.row["offset"] is None:
            self.explorer.tell("only a checkpoint holds this: it has no offset")
        elif event.row["log"] is not None:
            self._go_to_time(path or detail.path, event.row)
        else:
            self.explorer.go_to_change(path or detail.path, event.row["offset"])

    def _go_to_time(self, path: str, row: Mapping[str, Any]) -> None:
        """Go to a node of a coordinator's log as it was once a record of that log was written."""
        view_state, time = self._view_state, row["time"]
        assert view_state is not None
        cluster = view_state.cluster
        if cluster is not None and cluster.of_coordinator is not None:
            self.explorer.go(path, offset=row["offset"])
        elif not view_state.has_image:
            self.explorer.tell(view_state.why_no_image, "warning")
        else:
            shown = time if isinstance(time, str) else f"{time:%FT%T.%f}"[:-3] + "Z"
            self.explorer.go(path, offset=shown)

    def on_row_table_moved(self, event: RowTable.Moved) -> None:
        """Show what is cut of the row."""
        event.stop()
        self._show_cut()

    def on_column_table_fitted(self, event: ColumnTable.Fitted) -> None:
        """Show what is cut now."""
        event.stop()
        self._show_cut()

    def on_row_table_drawn(self, event: RowTable.Drawn) -> None:
        """Count the rows."""
        event.stop()
        self._show_tabs()

    # The interface for the view around it.

    def focus_content(self) -> None:
        """Put the focus on what is shown."""
        self._content.focus()

    def filter_by(self, text: str) -> None:
        """Filter the table or the lines that are shown."""
        if self._detail is not None:
            self._content.filter_by(text)

    @property
    def filter_text(self) -> str | None:
        """The filter that holds; None where nothing is shown."""
        return None if self._detail is None else self._content.filter_text

    def drop_filter(self) -> str:
        """Drop the filter; returns its text. See `View.drop_filter`."""
        text = self.filter_text or ""
        if text:
            self.filter_by("")
        return text

    @property
    def can_export(self) -> bool:
        """Whether a table is shown, or may be once the node is read."""
        return self.is_behind or (self._detail is not None and self._detail.table is not None)

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """The shown table with a name for its file. See `View.tables`."""
        detail = self._detail
        shown = None if self._content is self._lines else self._table.shown
        if detail is None or shown is None:
            return ()
        title = detail.title if detail.mode is DetailMode.TABLE else detail.mode.value
        return ((title.lower().replace(" ", "-"), shown),)

    def copyable(self) -> tuple[str, str] | None:
        """The kind and the text of the content to copy. See `View.copyable`."""
        detail = self._detail
        if detail is None:
            return None
        if detail.table is not None:
            text = self._table.row_text
            return None if text is None else ("row", text)
        text = "\n".join(line.text for line in detail.lines or ())
        return detail.mode.value, text if detail.copy is None else detail.copy()


def _name_below(path: str, directory: str) -> str | None:
    """The name as written of what a path has below a directory; None where it lies elsewhere."""
    start = directory if directory.endswith("/") else f"{directory}/"
    if not path.startswith(start):
        return None
    return path[len(start) :].partition("/")[0] or None
