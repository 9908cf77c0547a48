"""Actions of keys that open a screen above the view, travel in time, or close something."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from textual.widget import Widget
from textual.widgets import Input

from metashell.commands.framework.command_line import quote_words
from metashell.tui.frame.status import StatusLine, TabStrip
from metashell.tui.node.history import thing_of_path
from metashell.tui.part import AppPart
from metashell.tui.view import VIEWS
from metashell.tui.view_state import is_below

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.tui.records.filters import Chip
    from metashell.tui.rows.table import RowTable
    from metashell.tui.view_state import CommandResult

_THINGS: Final = {"topic": "topic", "group": "group", "principal": "user"}
"""Types of things that rows are about, by the columns that name them."""


def _table(widget: object) -> RowTable | None:
    """A widget that is a table; None for any other."""
    from metashell.tui.rows.table import RowTable

    return widget if isinstance(widget, RowTable) else None


class Actions(AppPart):
    """Mixed into the program."""

    def action_copy_path(self) -> None:
        """Copy the path of the node looked at."""
        self.explorer.copy(self.explorer.path, "path")

    def action_interrupt(self) -> None:
        """Copy the selected text, or else stop the newest job, or else copy the row."""
        app, focused = self.explorer, self.explorer.focused
        text = focused.selected_text if isinstance(focused, Input) else None
        text = text or app.screen.get_selected_text()
        if text:
            app.copy(text, "selection")
        elif app.view_state is None:
            app.exit()  # the only job is the one that opens the source
        elif app.jobs.busy:
            app.action_cancel()
        elif (table := _table(focused)) is not None:
            table.action_copy_selection()
        elif app.screen.is_modal or app.view is None or not app.view.copy_under_cursor():
            leave = app.session.key("quit", "q")
            next_step = "escape closes this" if app.screen.is_modal else f"{leave} quits"
            app.tell(f"nothing runs and nothing is selected: {next_step}")

    def action_copy_value(self) -> None:
        """Copy the value looked at."""
        found = None if self.explorer.view is None else self.explorer.view.copyable()
        if found is None:
            self.explorer.tell("nothing to copy here")
        else:
            self.explorer.copy(found[1], found[0])

    def action_open_in(self, program: str) -> None:
        """Show the value looked at in the user's pager or editor."""
        from metashell.tui.screens.export import show_in

        found = None if self.explorer.view is None else self.explorer.view.copyable()
        if found is None:
            self.explorer.tell("nothing to open here")
        else:
            show_in(self.explorer, program, *found)

    def action_bookmark(self) -> None:
        """Keep the place, or forget it."""
        is_kept = self.explorer.places.toggle_bookmark(self.explorer.here)
        self.keep_bookmarks()
        self.explorer.tell("bookmark kept" if is_kept else "bookmark removed")

    def keep_bookmarks(self) -> None:
        """Remember the bookmarks for the next run."""
        explorer = self.explorer
        if explorer.cluster_id:
            explorer.remembered.keep_bookmarks(explorer.cluster_id, explorer.places.bookmarks)
        if explorer.remembered.problem:
            explorer.tell(explorer.remembered.problem, "warning")

    def action_bookmarks(self) -> None:
        """Choose one of the bookmarks, and go there."""
        from metashell.tui.screens.go_to import BookmarksScreen

        self._push_on_view_state(BookmarksScreen)

    def action_travel_to(self) -> None:
        """Ask for an offset or a time, and go there."""
        from metashell.tui.screens.go_to import MomentScreen

        self._push_on_view_state(MomentScreen, self.explorer.arrive)

    def action_travel_end(self) -> None:
        """Show the end of the log, and follow it."""
        if self.explorer.view is not None:
            self.explorer.view.follow()
        self.explorer.travel(None, leads=True)

    def action_step(self, by: int) -> None:
        """Move along the log."""
        if self.explorer.timeline is not None:
            self.explorer.timeline.step(by)

    def action_jump(self, what: str, by: int) -> None:
        """Move to the next (1) or previous (-1) change of the node, election, or fault.

        The node is the one of the current path; where that is not seen, that of the row or record
        under the cursor.
        """
        timeline, view = self.explorer.timeline, self.explorer.view
        if timeline is None:
            return
        if what == "node" and view is not None and not view.shows_path:
            view.with_node(lambda path: timeline.jump(what, by, path))
        else:
            timeline.jump(what, by, self.explorer.path)

    def action_play(self) -> None:
        """Play the log like a recording, or stop."""
        if self.explorer.timeline is not None:
            self.explorer.timeline.play()

    def action_timeline(self) -> None:
        """Put the focus on the timeline."""
        if self.explorer.timeline is not None:
            self.explorer.timeline.enter()

    def action_pause(self) -> None:
        """Stop showing news of the source, or go on."""
        self.explorer.following.toggle()

    def action_maximise(self) -> None:
        """Give the focused part the whole screen, or take that back."""
        screen, focused = self.explorer.screen, self.explorer.focused
        if screen.maximized is not None or focused is None:
            screen.minimize()
            return
        parts = (part for part in focused.ancestors_with_self if isinstance(part, Widget))
        part = next((part for part in parts if part.allow_maximize), None)
        if part is None or not screen.maximize(part, container=False):
            self.explorer.tell("this part shows no more on the whole screen")

    async def action_help(self) -> None:
        """Show or hide help for the focused part."""
        from metashell.tui.frame.help import Help

        if self.explorer.screen.query("HelpPanel"):
            self.explorer.action_hide_help_panel()
        else:
            self.explorer.end_messages()
            await self.explorer.screen.mount(Help())

    async def action_filter(self) -> None:
        """Filter what is looked at."""
        from metashell.tui.frame.filter_bar import FilterBar, is_typed_in

        view = self.explorer.view
        if view is None or view.filter_text is None:
            self.explorer.tell("nothing to filter here")
        elif not is_typed_in(self.explorer.screen):
            line = self.explorer.query_one(StatusLine)
            await self.explorer.mount(FilterBar(view), before=line)

    def action_command_line(self) -> None:
        """Type a command of the shell."""
        self._open_command()

    def run_command(self, line: str, *, where: str) -> None:
        """Run a command, and show its output.

        Args:
            line: The command line, written the way a user types it.
            where: The path that it runs at.
        """
        self._open_command(line, runs=True, where=where)

    def show_rows(self, result: CommandResult) -> None:
        """Show the rows of a command."""
        self._show_asked("rows", result)

    def action_describe(self) -> None:
        """Show all of the topic, broker, group or user that the cursor is on."""
        self._with_thing(self._describe_in_full)

    def action_topic(self) -> None:
        """Show all of the topic that the cursor is on."""
        self._with_thing(
            lambda kind, name: self._describe(kind if kind == "topic" else "", name, "topic")
        )

    def _with_thing(self, then: Callable[[str, str], object]) -> None:
        """Do something with the type and the name of what the row, or else the node, is about."""
        view, view_state = self.explorer.view, self.explorer.view_state
        if view is None or view_state is None:
            return
        # The focus may be on its way to a view's other table.
        table = _table(getattr(view, "table", self.explorer.focused))
        row = (None if table is None else table.row) or {}
        for column, kind in _THINGS.items():
            if isinstance(row.get(column), str):
                then(kind, row[column].removeprefix("User:"))
                return
        prefix = view_state.prefix
        view.with_node(lambda path: then(*thing_of_path(path[len(prefix) :])))

    def _describe_in_full(self, kind: str, name: str) -> None:
        """Show all of a thing; of the topic whose page is shown, what the command says."""
        view: Any = self.explorer.view
        if kind == "topic" and view.id == "topic" and view.topic == name:
            self._run_describe(kind, name)
        else:
            self._describe(kind, name)

    def _run_describe(self, kind: str, name: str) -> None:
        self.run_command(quote_words(["describe", kind, name]), where=self.explorer.path)

    def _describe(self, kind: str, name: str, wanted: str = "topic, broker, group or user") -> None:
        if kind == "topic":
            self.explorer.leave_place()
            self._show_asked("topic", name)
        elif kind:
            self._run_describe(kind, name)
        else:
            self.explorer.tell(f"no {wanted} is under the cursor")

    def _show_asked(self, view_id: str, asked: Any) -> None:
        """Show a view of what was asked for; its tab stays."""
        app, spec = self.explorer, next(spec for spec in VIEWS if spec.id == view_id)
        app.have_view(spec)
        view: Any = app.query_one(f"#{view_id}")
        view.take(asked)
        app.query_one(TabStrip).show_tab(spec)
        app.show_view(spec.id)

    def _open_command(self, line: str = "", **how: Any) -> None:
        """Open the command line; arguments as of `CommandScreen`."""
        from metashell.tui.screens.command import CommandScreen

        self._push_on_view_state(lambda: CommandScreen(line, **how))

    def action_sql(self) -> None:
        """Type SQL in several lines, beside the tables."""
        from metashell.tui.screens.sql import SqlScreen

        self._push_on_view_state(SqlScreen)

    def action_find(self) -> None:
        """Find nodes."""
        from metashell.tui.screens.find import FindScreen

        self._push_on_view_state(FindScreen)

    def action_go_to(self) -> None:
        """Type a path to go to."""
        from metashell.tui.screens.go_to import GoToScreen

        self._push_on_view_state(GoToScreen)

    def action_relations(self) -> None:
        """Show the neighbours of the node of the row under the cursor, or of the one looked at."""
        view_state, view = self.explorer.view_state, self.explorer.view
        if view_state is not None and not view_state.has_image:
            self.explorer.tell(view_state.why_no_image)
        elif view is None:
            self.show_relations("/")
        else:
            view.with_node(self.show_relations)

    def show_relations(self, path: str) -> None:
        """Show the neighbours of a node.

        Args:
            path: An absolute path of the whole tree.
        """
        from metashell.tui.screens.relations import RelationsScreen, look_for_neighbours

        explorer, view_state = self.explorer, self.explorer.view_state
        if view_state is not None and is_below(path, view_state.prefix):
            path = path[len(view_state.prefix) :]
        look_for_neighbours(
            explorer,
            path or "/",
            explorer,
            lambda found: explorer.push_screen(RelationsScreen(found)),
        )

    def path_of_row(self) -> str | None:
        """The node of the row that the focused table has its cursor on; None where there is none.

        Returns:
            An absolute path of the whole tree.
        """
        from metashell.tui.rows.cluster_rows import path_of

        view_state, table = self.explorer.view_state, _table(self.explorer.focused)
        row = None if table is None else table.row
        if view_state is None or row is None:
            return None
        return path_of(row, view_state.root, view_state.prefix)

    def show_records(self, chip: Chip) -> None:
        """Show only the records of a filter; `back` leads to the node again."""
        from metashell.tui.views.records import RecordsView

        self.explorer.leave_place()
        self.explorer.show_view("records")
        self.explorer.query_one(RecordsView).show_only(chip)

    def action_export(self) -> None:
        """Write a table of the view to a file."""
        if self.explorer.view is not None:
            self.explorer.view.export()

    def ask_where_to_export(self, contents: Sequence[tuple[str, pa.Table | str]]) -> None:
        """Ask which of some contents is to be written, how and where to; say where there is none.

        Args:
            contents: (name, rows or the SVG of a picture) of each, the one looked at first.
        """
        from metashell.tui.screens.export import ExportScreen

        if contents:
            self._push_on_view_state(lambda: ExportScreen(contents))
        else:
            self.explorer.tell("there is no table to export here")

    def action_screenshot_file(self) -> None:
        """Ask where a picture of the screen is to be written to."""
        from metashell.tui.screens.export import picture_of

        if self.explorer.view_state is not None:
            self.ask_where_to_export([picture_of(self.explorer)])

    def _push_on_view_state(
        self, screen: Callable[[], Any], then: Callable[[Any], None] | None = None
    ) -> None:
        if self.explorer.view_state is None:
            self.explorer.tell("the source is not open yet")
        else:
            self.explorer.push_screen(screen(), then)
