"""SQL in several lines, beside the tables that there are; rows have a view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import OptionList, Static, TextArea
from textual.widgets.option_list import Option

from metashell.commands.framework.command_line import quote
from metashell.tui.frame.box import Box
from metashell.tui.frame.key_bar import KeyBar
from metashell.tui.part import quiet_key, shown_key
from metashell.tui.screens.completing import EnteredLines
from metashell.tui.text import error_text, line, lines
from metashell.tui.view_state import CommandAnswer, CommandResult, ask

if TYPE_CHECKING:
    from metashell.errors import MetashellError

_HISTORY: Final = "sql-history"
"""Where statements entered before are kept."""
_EXAMPLE: Final = "select topic, count(*) from partitions group by topic"


class SqlScreen(Box[None]):
    """A statement, and the tables that it can name."""

    HELP = (
        "Statements in DuckDB's SQL, as of the command `sql`. `ctrl+r` runs them on the state "
        "shown; their rows have a view of their own, `9`. `ctrl+up` and `ctrl+down` bring "
        "statements back that ran before. `tab` goes to the tables: the columns of the one under "
        "the cursor stand below, and `enter` writes its name. `escape` stops what runs, then "
        "closes."
    )
    BINDINGS: ClassVar = [
        shown_key("ctrl+r", "run", "Run", "sql.run"),
        shown_key("ctrl+up", "recall(-1)", "Statement before", "sql.before"),
        quiet_key("ctrl+down", "recall(1)", "Statement after", "sql.behind"),
        shown_key("escape", "leave", "Back", "sql.leave"),
    ]
    DEFAULT_CSS = """
    SqlScreen { background: transparent; align: left bottom; }
    SqlScreen > Vertical { height: 70%; background: $surface; }
    SqlScreen Horizontal { height: 1fr; }
    SqlScreen OptionList { width: 30%; height: 100%; border: round $primary 50%; padding: 0; }
    SqlScreen TextArea { width: 1fr; height: 100%; border: round $primary 50%; padding: 0; }
    SqlScreen OptionList:focus, SqlScreen TextArea:focus { border: round $primary; }
    SqlScreen .option-list--option { padding: 0; text-wrap: nowrap; text-overflow: ellipsis; }
    SqlScreen #sql-said { height: auto; max-height: 6; padding: 0 1; }
    SqlScreen #sql-said.-wrong { color: $text-error; }
    """

    def compose(self) -> ComposeResult:
        """The statement, the tables, and what is said of either."""
        kept: list[str] = self.explorer.kept.setdefault(_HISTORY, [])
        self._entered = EnteredLines(kept)
        area = TextArea(kept[-1] if kept else "", placeholder=_EXAMPLE, tab_behavior="focus")
        area.border_title, tables = "SQL", OptionList(markup=False)
        tables.border_title = "tables"
        with Vertical():
            with Horizontal():
                yield area
                yield tables
            yield Static(id="sql-said", markup=False)
            yield KeyBar()

    def on_mount(self) -> None:
        """Have what is typed take the place of what stands there, and list the tables."""
        self.area.focus()
        self.area.select_all()
        self._ask("listing tables", ".tables", self._list_tables)

    @property
    def area(self) -> TextArea:
        """Where the statement is typed."""
        return self.query_one(TextArea)

    def _ask(self, title: str, text: str, done: Any, *, leads: bool = False) -> None:
        view_state, kept = self.explorer.view_state, self.explorer.kept
        if view_state is None:
            return
        self.explorer.jobs.start(
            title, lambda job: ask(view_state, ["sql", text], cancelled=job.cancelled, kept=kept),
            done, owner=self, key="sql", failed=self._failed, leads=leads,
        )  # fmt: skip

    def _failed(self, error: MetashellError) -> None:
        self._say(error_text(error), is_wrong=True)

    def _say(self, text: str, *, is_wrong: bool = False) -> None:
        said = self.query_one("#sql-said", Static)
        said.set_class(is_wrong, "-wrong")
        said.update(lines(text))

    def _list_tables(self, answer: CommandAnswer) -> None:
        names = [] if answer.table is None else answer.table.column(0).to_pylist()
        self.query_one(OptionList).add_options(Option(line(name), id=name) for name in names)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Tell the columns of the table."""
        event.stop()
        if event.option_list.has_focus:
            self._ask("looking at the table", f".schema {event.option.id}", self._tell_columns)

    def _tell_columns(self, answer: CommandAnswer) -> None:
        if answer.table is not None:
            rows = (list(row.values()) for row in answer.table.to_pylist())
            self._say(", ".join(f"{column} {kind}" for _, column, kind, *_ in rows))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Write the name of the table."""
        event.stop()
        self.area.insert(f"{event.option.id} ")
        self.area.focus()

    def action_run(self) -> None:
        """Run the statements; their rows have a view."""
        text = self.area.text.strip()
        if not text:
            self._say("no statement is typed", is_wrong=True)
            return
        self._entered.add(text)

        def done(answer: CommandAnswer) -> None:
            if not answer.tables:
                said = [*answer.text.split("\n"), *answer.warnings]
                self._say("\n".join(filter(None, said)) or "done", is_wrong=answer.status != 0)
                return
            self.dismiss()
            quoted = quote(text, '"')
            self.explorer.visit_rows(CommandResult(f'sql "{quoted}"', answer, "/"))

        self._ask("sql", text, done, leads=True)

    def action_recall(self, by: int) -> None:
        """Show the statement that ran before (-1), or the one behind (1)."""
        text = self._entered.back(self.area.text) if by < 0 else self._entered.forward()
        if text is not None:
            self.area.text = text
            self.area.move_cursor(self.area.document.end)

    def action_leave(self) -> None:
        """Stop what runs, or close."""
        if self.explorer.jobs.cancel_newest() is None:
            self.dismiss()
