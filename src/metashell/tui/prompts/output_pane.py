"""A command's output: its text while it is written, its tables, and its warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical

from metashell.errors import ExitCode, PathError
from metashell.fs.path import encode_path, resolve
from metashell.tui.part import AppPart
from metashell.tui.prompts.output_lines import MOST_LINES, TextLines
from metashell.tui.rows.column_table import ColumnTable
from metashell.tui.rows.table import RowTable
from metashell.tui.rows.whole_text import WholeText
from metashell.tui.view import VIEWS

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.fs.node import Directory
    from metashell.tui.view_state import CommandAnswer, ViewState

_MOST_TABLES: Final = 4
"""Tables that are shown; no command has more."""
_MOST_WARNINGS: Final = 1_000
_MOST_CUT: Final = 3
"""Lines for what is cut in a row."""


class OutputPane(AppPart, Vertical):
    """A command's output.

    While it has the focus, the keys of the whole program work on it.
    """

    BINDINGS: ClassVar = [
        Binding("question_mark", "app.help", "Help", id="help"),
        Binding("q", "app.quit", "Quit", id="quit"),
        Binding("y", "copy", "Copy", id="copy.path"),
        Binding("Y", "copy", "Copy", show=False, id="copy.value"),
        Binding("x", "screen.export", "Export", id="export"),
        Binding("z", "maximise", "Maximise", show=False, id="maximise"),
        Binding("R", "relations", "Neighbours", show=False, id="relations"),
        Binding("t", "beneath('timeline')", "Timeline", show=False, id="time.focus"),
        *(
            Binding(
                spec.key, f"beneath('view', '{spec.id}')", spec.title, show=False,
                id=f"view.{spec.id}",
            )
            for spec in VIEWS
        ),
    ]  # fmt: skip
    DEFAULT_CSS = """
    OutputPane { height: auto; max-height: 70%; background: $background; display: none; }
    OutputPane.-shown { display: block; border-top: solid $primary; }
    OutputPane > TextLines { height: auto; display: none; }
    OutputPane > .-said { display: block; }
    OutputPane > #output-text { max-height: 100%; }
    OutputPane.-has-table { height: 70%; }
    OutputPane.-has-table > #output-text { max-height: 30%; }
    OutputPane > #output-notes { max-height: 6; color: $text-warning; }
    OutputPane > RowTable { height: 1fr; }
    """

    def compose(self) -> ComposeResult:
        """The text, then what is cut in a row, then the warnings; tables come behind the text."""
        yield TextLines(id="output-text")
        yield WholeText(_MOST_CUT)
        yield TextLines(id="output-notes")

    @property
    def text(self) -> TextLines:
        """The widget with the text output."""
        return self.query_one("#output-text", TextLines)

    @property
    def notes(self) -> TextLines:
        """Warnings and errors."""
        return self.query_one("#output-notes", TextLines)

    @property
    def row_tables(self) -> list[RowTable]:
        """The tables that are shown."""
        return list(self.query(RowTable))

    def begin(self, *, follows: bool = False) -> None:
        """Forget what was said before.

        Args:
            follows: Whether the newest line stays in sight.
        """
        self.query(RowTable).remove()
        self.query_one(WholeText).show(None)
        self.remove_class("-shown", "-has-table")
        for lines in (self.text, self.notes):
            lines.clear()
            lines.remove_class("-said")
        self.text.follows = follows

    def write(self, lines: Sequence[str]) -> None:
        """Show more of the text."""
        self._say(self.text, lines)

    def note(self, lines: Sequence[str]) -> None:
        """Show warnings, errors and remarks."""
        self._say(self.notes, lines)

    def _say(self, where: TextLines, lines: Sequence[str]) -> None:
        if lines:
            where.add_class("-said")
            self.add_class("-shown")
            where.write(lines)

    def end(self, answer: CommandAnswer, *, is_full: bool = False) -> None:
        """Show the rest of what was said.

        Args:
            answer: All but the text.
            is_full: Whether the command was ended because it wrote too much.
        """
        for rows in answer.tables[:_MOST_TABLES]:
            self._add(rows)
        notes = answer.warnings[:_MOST_WARNINGS]
        if len(answer.warnings) > _MOST_WARNINGS:
            notes.append(f"... {len(answer.warnings) - _MOST_WARNINGS:,} more warnings")
        # That a command found something, as `diff` does, is no failure.
        is_found = bool(answer.tables or self.text.lines) and not notes
        if is_full:
            notes.append(f"ended after {MOST_LINES:,} lines; a shell pipe takes all of them")
        elif answer.status and not (answer.status == ExitCode.FAILED and is_found):
            notes.append(f"exit status {answer.status}")
        self.note(notes)

    def _add(self, rows: pa.Table) -> None:
        table = RowTable()
        self.add_class("-shown", "-has-table")
        self.mount(table, before=self.query_one(WholeText))
        table.show(rows)

    def on_resize(self) -> None:
        """Take no more room for what is cut than is needed now."""
        self.query_one(WholeText).show(None)

    def on_row_table_moved(self, event: RowTable.Moved) -> None:
        """Show all of what is cut in the row."""
        event.stop()
        self._show_cut_text()

    def on_column_table_fitted(self, event: ColumnTable.Fitted) -> None:
        """Show what is cut now."""
        event.stop()
        self._show_cut_text()

    def _show_cut_text(self) -> None:
        table = self._table
        self.query_one(WholeText).show(None if table is None else table.cut_text)

    # The interface of a view that can be filtered.

    @property
    def _table(self) -> RowTable | None:
        tables = self.row_tables
        return next((table for table in tables if table.has_focus), tables[0] if tables else None)

    @property
    def filter_text(self) -> str | None:
        """The filter of the table; None where there is none to filter."""
        return None if self._table is None else self._table.filter_text

    def filter_by(self, text: str) -> None:
        """Filter the table."""
        if self._table is not None:
            self._table.filter_by(text)

    def keep_filter(self) -> None:
        """Have the next keys wait for the rows that are left."""
        self.explorer.jobs.lead(self, "arrange")

    def focus_content(self) -> None:
        """Go on in the table, or else in the text."""
        (self._table or self.text).focus()

    # Keys.

    def page(self, by: int) -> None:
        """Go a page up or down in the table, or else in the text."""
        if self._table is not None:
            self._table.action_page(by)
        elif by < 0:
            self.text.action_page_up()
        else:
            self.text.action_page_down()

    def action_copy(self) -> None:
        """Copy the row, or else the text."""
        if self.text.has_focus or self._table is None:
            self.explorer.copy(self.text.text, "text")
        else:
            self._table.action_copy_selection()

    def action_maximise(self) -> None:
        """Say that the rows have all the room."""
        self.explorer.tell("this fills the screen already: escape closes it")

    def action_relations(self) -> None:
        """Leave the rows for the neighbours of the node of one."""
        path, view_state, table = self.explorer.path_of_row(), self.explorer.view_state, self._table
        if path is None:
            row = None if table is None else table.row
            self.explorer.tell(why_no_node(row or {}, view_state))
        else:
            self.screen.dismiss()
            self.explorer.call_later(self.explorer.show_relations, path)

    def action_beneath(self, action: str, *words: str) -> None:
        """Leave the rows for something of the view below them."""
        self.screen.dismiss()
        self.explorer.call_later(getattr(self.explorer, f"action_{action}"), *words)


def path_of(row: Mapping[str, Any], root: Directory, prefix: str) -> str | None:
    """The node that a row of a command's table is about.

    Args:
        row: Values by the names of their columns.
        root: The root of the whole tree.
        prefix: The text before the paths of the current cluster.

    Returns:
        An absolute path of the whole tree; None where there is no such node.
    """
    cluster = row.get("cluster")
    if isinstance(cluster, str):
        prefix = encode_path(["clusters", cluster])
    for names in _candidates(row):
        path = names if isinstance(names, str) else encode_path(names)
        for whole in dict.fromkeys((f"{prefix}{path}", path)):
            try:
                return resolve(root, whole).encoded()
            except PathError:
                continue
    return None


def why_no_node(row: Mapping[str, Any], view_state: ViewState | None) -> str:
    """Why a row leads nowhere: it names no node, or one that the state shown does not have."""
    names = next(iter(_candidates(row)), None)
    offset = (
        None
        if view_state is None or view_state.cluster is None
        else view_state.cluster.status().offset
    )
    if names is None or offset is None:
        return "this row has no node"
    path = names if isinstance(names, str) else encode_path(names)
    return f"{path} is not there at offset {offset}"


def _candidates(row: Mapping[str, Any]) -> list[str | list[str]]:
    """Paths in a cluster that may be meant, the likeliest first."""
    found: list[str | list[str]] = []
    path, topic, partition = row.get("path"), row.get("topic"), row.get("partition")
    if isinstance(path, str) and path.startswith("/"):
        found.append(path)
    group, member = row.get("group"), row.get("member")
    if isinstance(group, str) and isinstance(member, str):
        found.append(["groups", group, "members", member])
    elif isinstance(group, str) and isinstance(topic, str):
        found.append(["groups", group, "offsets", topic, str(partition)])
    elif isinstance(row.get("transactional_id"), str) and topic is None:
        found.append(["transactions", row["transactional_id"]])
    if isinstance(topic, str):
        of_topic = ["image", "topics", "byName", topic]
        if isinstance(partition, int):
            found.append([*of_topic, str(partition)])
        found.append(of_topic)
    kind, _, name = str(row.get("subject") or "").partition(" ")  # as `health` has it
    if kind == "topic":
        found.append(["image", "topics", "byName", name])
    elif kind in ("broker", "controller"):
        found.append(["image", "cluster", f"{kind}s", name])
    for column in () if isinstance(topic, str) else ("broker", "node", "id"):
        node = row.get(column)
        if isinstance(node, int):
            found.append(["image", "cluster", "brokers", str(node)])
            found.append(["image", "cluster", "controllers", str(node)])
    return found
