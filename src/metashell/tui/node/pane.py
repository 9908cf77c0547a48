"""The right side of the explorer: the node looked at, in several ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Static

from metashell.errors import MetashellError
from metashell.tui.error_text import error_lines, error_text
from metashell.tui.jobs import READING_OLDER, Job
from metashell.tui.moving import MOMENT
from metashell.tui.node.history import NAME
from metashell.tui.node.look import Seen
from metashell.tui.node.node_lines import LineView
from metashell.tui.node.node_look import LookMode, NodeLook, with_rows
from metashell.tui.node.node_table import NodeTable
from metashell.tui.node.value import ValueLine
from metashell.tui.part import AppPart
from metashell.tui.rows.cluster_rows import batch_around
from metashell.tui.rows.table import RowTable
from metashell.tui.rows.whole_text import WholeText
from metashell.tui.scene import Scene
from metashell.tui.text import say

if TYPE_CHECKING:
    import pyarrow as pa

_TABS: Final = (
    (LookMode.OVERVIEW, "d", "Overview"),
    (LookMode.TABLE, "d", "Table"),
    (LookMode.CHILDREN, "d", "Children"),
    (LookMode.VALUE, "v", "Value"),
    (LookMode.TEXT, "a", "Kafka's text"),
    (LookMode.RECORD, "r", "Record"),
    (LookMode.HISTORY, "h", "History"),
)
"""(mode, key, title) in the order of the tabs."""
_TOLD: Final = {
    LookMode.VALUE: "show the value, and what changed in it",
    LookMode.TEXT: "show Kafka's text, as cat prints it",
    LookMode.RECORD: "show the record that last changed the node",
    LookMode.HISTORY: "show the changes of the node, newest first",
}
"""Tooltips of the keys that are shown while the tree has the focus, too."""
_SHORT: Final = {"Kafka's text": "Text"}
"""Titles where there is little room."""
_ROOM: Final = 60
_MOST_CHANGED: Final = 5
"""Lines for the change under the cursor."""
_REMEMBERED: Final = 4
_OLDER: Final = "older"
"""Key of the job that reads older files."""
_AS_A_WHOLE: Final = (LookMode.OVERVIEW, LookMode.TABLE)
MODE_KEYS: Final = (
    *(
        Binding(
            key,
            f"look('{mode.value}')",
            title,
            show=mode is LookMode.HISTORY,
            id=f"node.{mode.value}",
            tooltip=_TOLD[mode],
        )
        for mode, key, title in _TABS
        if key != "d"
    ),
    Binding(
        "d",
        "other_table",
        "Children",
        id="node.children",
        tooltip="show the plain children of a directory, or its table",
    ),
)
"""The keys of the tabs: they are seen from the tree too, so they work there as well."""


class ModeTab(AppPart, Static):
    """A way to look at the node; a click takes it."""

    def __init__(self, mode: LookMode, key: str, title: str) -> None:
        super().__init__(markup=False)
        self.mode, self._key, self._title = mode, key, title

    def name_it(self, title: str, n_rows: int | None, *, is_narrow: bool, has_key: bool) -> None:
        """Say what it shows, how much of it where that stands nowhere else, and its working key."""
        title = title or self._title
        key = f"{self._key} " if has_key else ""
        count = "" if n_rows is None else f"{n_rows:,} "
        shown = _SHORT.get(title, title) if is_narrow else title
        say(self, f" {key}{shown} {count}", sets_width=True)

    def on_click(self, event: events.Click) -> None:
        """Look at the node so."""
        event.stop()
        self.query_ancestor(NodePane).look(self.mode)


class NodePane(AppPart, Vertical):
    """A node: its value, Kafka's text, its record, its history; a directory as a table."""

    HELP = (
        "The selected node. On a leaf, `v` shows its value, `a` Kafka's text, `r` the record "
        "that last changed it. `h` shows its history, that of a topic with its configs: `enter` "
        "goes to the offset of a change.\n\n"
        "On a directory, `d` switches between its description and its plain children. The "
        "keys of the tabs work from the tree too."
    )
    DEFAULT_CSS = """
    NodePane { height: 1fr; }
    NodePane > #node-head {
        height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis;
    }
    NodePane > #node-tabs { height: 1; background: $panel; }
    NodePane > #node-tabs > Static { width: auto; height: 1; }
    NodePane > #node-tabs > #node-count {
        width: 1fr; text-align: right; padding: 0 1; color: $text-muted; text-wrap: nowrap;
    }
    NodePane > #node-tabs > ModeTab.-current { text-style: bold reverse; }
    NodePane > #node-tabs > ModeTab:hover { text-style: underline; }
    NodePane > #node-note {
        height: 1; padding: 0 1; color: $text-warning; text-wrap: nowrap; text-overflow: ellipsis;
    }
    """
    BINDINGS: ClassVar = list(MODE_KEYS)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._scene: Scene | None = None
        self._path: str | None = None
        self._of_leaf: tuple[LookMode, ...] = ()
        self._of_directory: tuple[LookMode, ...] = ()
        """Ways to look that the user took, the last one first."""
        self._seeks_change = False
        """Whether the field that a move in time changed is yet to be scrolled to."""
        self._reading: Job | None = None
        self._look: NodeLook | None = None
        self._has_keys = True
        """Whether the keys of the tabs work: not in the timeline, which has its own."""

    def compose(self) -> ComposeResult:
        """The line on top, the tabs, and what they show."""
        yield Static(id="node-head", markup=False)
        with Horizontal(id="node-tabs"):
            for mode, key, title in _TABS:
                tab = ModeTab(mode, key, title)
                tab.display = False
                yield tab
            yield Static(id="node-count", markup=False)
        yield LineView(id="node-lines")
        table = NodeTable(id="node-table")
        table.display = False
        yield table
        yield WholeText(_MOST_CHANGED)
        note = Static(id="node-note", markup=False)
        note.display = False
        yield note

    # Showing a node.

    def show_node(self, scene: Scene, path: str) -> None:
        """Show a node of a scene, an absolute path of the whole tree."""
        if self._scene is not None and (self._scene.serial, self._path) == (scene.serial, path):
            return
        before, path_before = self._scene, self._path
        self._scene, self._path = scene, path
        is_news = (
            before is not None and before.is_newest and scene.is_newest and path == path_before
        )
        # News keep the scroll position: the user may be reading there.
        self._seeks_change = before is not None and before.serial != scene.serial and not is_news
        # Times that are shown do not go away for a moment.
        self._start(reads_older=is_news and self._look is not None and not self._look.lacks_times)

    def look(self, mode: LookMode) -> None:
        """Look at the node in another way; the next keys are for that."""
        kind = None if self._look is None or self.is_behind else self._look.kind
        if kind in (None, "directory"):
            self._of_directory = (mode, *self._of_directory)[:_REMEMBERED]
        if kind != "directory":
            self._of_leaf = (mode, *self._of_leaf)[:_REMEMBERED]
        self._start(leads=True)

    @property
    def is_behind(self) -> bool:
        """Whether another node is shown than that which was asked for."""
        look, scene = self._look, self._scene
        if look is None or scene is None:
            return True
        return (look.path, look.serial) != (self._path, scene.serial)

    def lead(self) -> bool:
        """Have keys wait for the node that was asked for; whether it is on its way."""
        is_read = self.explorer.jobs.goes_on(self._reading)
        if self.is_behind:
            self.explorer.jobs.lead(self, "node")
        return self.is_behind and is_read

    @property
    def mode(self) -> LookMode | None:
        """The way in which the node is looked at; None as long as nothing is shown."""
        return None if self._look is None else self._look.mode

    @property
    def shown_path(self) -> str | None:
        """The node that is shown, which may not yet be the one that was asked for."""
        return None if self._look is None else self._look.path

    def _start(self, *, reads_older: bool = False, leads: bool = False) -> None:
        """Look at the node; without waiting for older files they are read when it is shown."""
        scene, path = self._scene, self._path
        of_leaf, of_directory = self._of_leaf, self._of_directory
        if scene is None or path is None:
            return

        jobs, remembered = self.explorer.jobs, self.explorer.remembered
        jobs.cancel(self, _OLDER)

        def work(job: Job) -> NodeLook:
            def tell(look: NodeLook) -> None:
                job.tell(self._show, with_rows(look, remembered))

            seen = Seen(scene, path, job.cancelled, reads_older=reads_older, turn=job.turn)
            return with_rows(seen.look(of_leaf, of_directory, tell), remembered)

        def with_times(job: Job) -> NodeLook:
            seen = Seen(scene, path, job.cancelled, reads_older=True, turn=job.turn)
            seen.read_older()
            return with_rows(seen.look(of_leaf, of_directory), remembered)

        def done(look: NodeLook) -> None:
            self._show(look)
            if look.lacks_times:
                jobs.start(READING_OLDER, with_times, self._show, owner=self, key=_OLDER)

        self._reading = jobs.start(
            f"reading {path}", work, done, owner=self, key="node", failed=self._failed,
            leads=leads,
        )  # fmt: skip

    def _failed(self, error: MetashellError) -> None:
        """Say what is wrong in place of the node."""
        assert self._scene is not None
        assert self._path is not None
        lines = [ValueLine(text) for text in error_lines(error)]
        self._show(
            NodeLook(
                path=self._path,
                serial=self._scene.serial,
                mode=LookMode.VALUE,
                modes=(),
                kind="error",
                head="can't be read",
                lines=lines,
                copy=lambda: error_text(error),
            )
        )

    def _show(self, look: NodeLook) -> None:
        before, self._look = self._look, look
        if self._reading is not None:
            self._reading.leads = False  # the rest of it is no other place
        is_afresh = before is None or (before.path, before.mode) != (look.path, look.mode)
        say(self.query_one("#node-head", Static), look.head)
        lines, table = self._lines, self._table
        had_focus = lines.has_focus or table.has_focus
        table.mode = look.mode
        if look.table is not None:
            came_from = None if before is None else _name_below(before.path, look.path)
            at = {look.table.column_names[0]: came_from} if is_afresh and came_from else None
            table.show(
                look.table, look.marked, first=look.first, afresh=is_afresh, at=at,
                changed=look.changed, rows=look.rows,
            )  # fmt: skip
        else:
            lines.show(look.lines or (), afresh=is_afresh)
            if self._seeks_change:
                self._seeks_change = not lines.show_change()
        lines.display, table.display = look.table is None, look.table is not None
        if had_focus:
            (lines if look.table is None else table).focus(scroll_visible=False)
        note = self.query_one("#node-note", Static)
        say(note, look.note)
        note.display = bool(look.note)
        self._show_change()
        self._show_tabs()
        self.refresh_bindings()

    def _show_tabs(self) -> None:
        look = self._look
        if look is None:
            return
        table, is_narrow = self._table.table, self.size.width < _ROOM
        n_rows = None if look.table is None or table is None else len(table)
        for tab in self.query(ModeTab):
            tab.display = tab.mode in look.modes
            tab.set_class(tab.mode is look.mode, "-current")
            title = look.title if tab.mode is LookMode.TABLE else ""
            count = n_rows if is_narrow and tab.mode is look.mode else None
            tab.name_it(title, count, is_narrow=is_narrow, has_key=self._has_keys)
        is_beside = n_rows is not None and not is_narrow
        text = f"{n_rows:,} row{'s' * (n_rows != 1)}" if is_beside else ""
        say(self.query_one("#node-count", Static), text)

    def _show_change(self) -> None:
        """Show all of a history's row, of which the table shows what there is room for."""
        look, text = self._look, None
        is_history = look is not None and look.mode is LookMode.HISTORY
        row = self._table.row if is_history and self._has_rows_of_look else None
        if row is not None:
            name = f"{row[NAME]}: " if look is not None and NAME in look.first else ""
            text = f"{name}{row['what']}"
        self.query_one(WholeText).show(text)

    def on_mount(self) -> None:
        """Follow the focus."""
        self.watch(self.screen, "focused", self._focus_moved, init=False)

    def _focus_moved(self, focused: Widget | None) -> None:
        has_keys = focused is None or focused is not self.explorer.timeline
        if has_keys != self._has_keys:
            self._has_keys = has_keys
            self._show_tabs()

    def on_resize(self) -> None:
        """Name the tabs, and what is counted, as there is room."""
        self._show_tabs()
        self._show_change()

    @property
    def _lines(self) -> LineView:
        return self.query_one(LineView)

    @property
    def _table(self) -> NodeTable:
        return self.query_one(NodeTable)

    @property
    def _has_rows_of_look(self) -> bool:
        """Whether the table shows the rows of what is looked at: they are sorted in a job first."""
        return self._look is not None and self._table.table is self._look.table

    # The user's actions.

    def action_look(self, mode: str) -> None:
        """Look at the node in another way."""
        self.look(LookMode(mode))

    def action_other_table(self) -> None:
        """Show the plain children of a directory, or again the table that describes it."""
        look = self._look
        if look is None:
            return
        whole = next((mode for mode in _AS_A_WHOLE if mode in look.modes), LookMode.CHILDREN)
        self.look(LookMode.CHILDREN if look.mode is whole else whole)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what there is for the node."""
        look = self._look
        if action == "look":
            return look is not None and (self.is_behind or parameters[0] in look.modes)
        if action == "other_table":
            has_two = look is not None and LookMode.CHILDREN in look.modes and len(look.modes) > 1
            return look is not None and (self.is_behind or has_two)
        return True

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        """Go to what the row is about; in a history, to the offset of the change."""
        event.stop()
        look = self._look
        if look is None or not self._has_rows_of_look:
            return
        path = look.path_of(event.row)
        if look.mode is not LookMode.HISTORY:
            if path is None:
                self.explorer.tell("this row has no node")
            else:
                self.explorer.go(path)
        elif event.row["offset"] is None:
            self.explorer.tell("only a checkpoint holds this: it has no offset")
        elif event.row["log"] is not None:
            self._go_to_time(path or look.path, event.row)
        else:
            self._go_to_change(path or look.path, event.row["offset"])

    def _go_to_change(self, path: str, offset: int) -> None:
        """Go to a node as it was once a record was applied."""
        scene = self._scene
        assert scene is not None

        def work(_job: Job) -> tuple[int, int]:
            return batch_around(scene, path, offset, of_history=True)

        def done(batch: tuple[int, int]) -> None:
            self.explorer.go(path, offset=batch[1])
            self.explorer.tell_batch(offset, batch)

        self.explorer.jobs.start(
            "finding the moment", work, done, owner=self, key=MOMENT, leads=True
        )

    def _go_to_time(self, path: str, row: Mapping[str, Any]) -> None:
        """Go to a node of a coordinator's log as it was once a record of that log was written."""
        scene, time = self._scene, row["time"]
        assert scene is not None
        cluster = scene.cluster
        if cluster is not None and cluster.of_coordinator is not None:
            self.explorer.go(path, offset=row["offset"])
        elif not scene.has_image:
            self.explorer.tell(scene.why_no_image, "warning")
        else:
            self.explorer.go(path)
            self.explorer.travel(time if isinstance(time, str) else f"{time:%FT%T.%f}"[:-3] + "Z")

    def on_row_table_moved(self, event: RowTable.Moved) -> None:
        """Show all of a change."""
        event.stop()
        self._show_change()

    def on_row_table_drawn(self, event: RowTable.Drawn) -> None:
        """Count the rows."""
        event.stop()
        self._show_change()
        self._show_tabs()

    # The interface for the view around it.

    def focus_content(self) -> None:
        """Put the focus on what is shown."""
        is_table = self._look is not None and self._look.table is not None
        (self._table if is_table else self._lines).focus()

    def filter_by(self, text: str) -> None:
        """Filter the table or the lines that are shown."""
        if self._look is None:
            return
        if self._look.table is not None:
            self._table.filter_by(text)
        else:
            self._lines.filter_by(text)

    @property
    def filter_text(self) -> str | None:
        """The filter that holds; None where nothing is shown."""
        if self._look is None:
            return None
        return (self._lines if self._look.table is None else self._table).filter_text

    def drop_filter(self) -> str:
        """Drop the filter; returns its text. See `View.drop_filter`."""
        text = self.filter_text or ""
        if text:
            self.filter_by("")
        return text

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """The shown table with a name for its file. See `View.tables`."""
        look = self._look
        shown = None if look is None or look.table is None else self._table.shown
        if look is None or shown is None:
            return ()
        title = look.title if look.mode is LookMode.TABLE else look.mode.value
        return ((title.lower().replace(" ", "-"), shown),)

    def copyable(self) -> tuple[str, str] | None:
        """The kind and the text of the content to copy. See `View.copyable`."""
        look = self._look
        if look is None:
            return None
        if look.table is not None:
            text = self._table.row_text
            return None if text is None else ("row", text)
        return None if look.copy is None else (look.mode.value, look.copy())


def _name_below(path: str, directory: str) -> str | None:
    """The name as written of what a path has below a directory; None where it lies elsewhere."""
    start = directory if directory.endswith("/") else f"{directory}/"
    if not path.startswith(start):
        return None
    return path[len(start) :].partition("/")[0] or None
