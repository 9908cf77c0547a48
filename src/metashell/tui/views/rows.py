"""The rows of a command, as they were when it ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.content import Content

from metashell.places.uri import holds_credentials
from metashell.tui.rows.column_table import ColumnTable
from metashell.tui.screens.output_lines import TextLines
from metashell.tui.text import line
from metashell.tui.views.answer import AnswerView
from metashell.tui.views.question import ViewAnswer, ViewQuestion, ViewRows

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.tui.view_state import CommandResult, ViewState


class RowsView(AnswerView[ViewAnswer]):
    """The view of a command's rows."""

    HELP = (
        "# Rows\n"
        "The rows of the last command. They stay as they were when it ran. What is cut in a row "
        "stands below in full.\n\n"
        "- `enter` goes to the node of a row, `alt+left` back to the rows\n"
        "- `s` sorts them, `/` filters them, `x` exports them\n"
        "- `ctrl+r` runs the command again, on the state shown now\n"
        "- `escape` goes back to where the command was typed"
    )
    TABLES = ("first", "second", "third", "fourth")
    DEFAULT_CSS = "RowsView TextLines { height: auto; max-height: 30%; }"

    def compose_tables(self) -> ComposeResult:
        """The text of the command, then its tables."""
        yield TextLines(id="rows-text")
        yield from super().compose_tables()

    def ask(self, question: ViewQuestion) -> ViewAnswer:
        """Nothing is asked: the command ran."""
        raise NotImplementedError

    def show_view_state(self, view_state: ViewState) -> None:
        """Leave the rows as they are."""
        self.view_state = view_state

    def take(self, result: CommandResult) -> None:
        """Show the rows of another command; those that are shown stay where they are."""
        if result is self.result:
            return
        self.result, answer = result, result.answer
        n = sum(map(len, answer.tables))
        moment = "" if result.offset is None else f" at offset {result.offset}"
        title = result.title or (self.word if holds_credentials(result.line) else result.line)
        self.answer = ViewAnswer(
            title=f"{title}  {n:,} row{'s' * (n != 1)}{moment}",
            notes=answer.remarks(),
            rows={
                name: ViewRows(table=table)
                for name, table in zip(self.TABLES, answer.tables, strict=False)
            },
        )
        if self.is_composed:
            self.draw(afresh=True)

    def draw(self, *, afresh: bool = False) -> None:
        """Show the text above the rows, too."""
        said = "" if self.result is None else self.result.answer.text
        text = self.query_one(TextLines)
        text.display = bool(said)
        if said != text.text:
            text.clear()
            text.write(said.split("\n"))
        super().draw(afresh=afresh)

    def detail(self, name: str, row: Mapping[str, Any]) -> Content:
        """All of what is cut in the row."""
        return line(self.tables_by_name[name].cut_text)

    def on_column_table_fitted(self, event: ColumnTable.Fitted) -> None:
        """Tell what is cut now."""
        event.stop()
        self.tell_row()

    def action_refresh_rows(self) -> None:
        """Run the command again."""
        if self.result is None:
            return
        if self.result.span is not None:
            self.explorer.show_changes(self.result.span)
        else:
            self.explorer.run_command(self.result.line, where=self.result.cwd)

    @property
    def word(self) -> str:
        """The command's name."""
        return "" if self.result is None else self.result.line.split(maxsplit=1)[0]

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """The rows, by the command's name."""
        return [(self.word, table) for _, table in super().tables()]
