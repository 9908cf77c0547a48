"""Everything that is wrong: what ``health`` says, the rows of each finding, and ways to nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar, Final

import pyarrow as pa
from textual import events
from textual.content import Content

from metashell.commands.rows.cell_text import plain
from metashell.fs.path import cluster_path
from metashell.sources.older import read_older
from metashell.tui.jobs import READING_OLDER, Job
from metashell.tui.part import shown_key
from metashell.tui.rows.signs import with_signs
from metashell.tui.rows.table import RowTable
from metashell.tui.views.answer import AnswerView, with_labels
from metashell.tui.views.health_text import (
    FINDINGS,
    ROWS,
    HealthAnswer,
    ask_health,
    coloured_counts,
    marks_of,
    subject_text,
    why_text,
)
from metashell.tui.views.question import ViewQuestion, ViewRows

_MOMENT_TIP: Final = "go to the node at the offset where the finding began"
_RUN_TIP: Final = "run the command of the finding or row"
_DEEP_TIP: Final = "also run the command check, or leave it out"
_NO_NODE: Final = "this finding has no node"


class HealthView(AnswerView[HealthAnswer]):
    """Everything that is wrong, and where."""

    HELP = (
        "# Health\n"
        "Everything that is wrong, like the command `health`: a finding for each cause, the worst "
        "first. `●` is critical, `▲` a warning, `·` a note. Below is all of the finding, its "
        "cause, and what to do. `enter` goes to the rows of the finding, which name each topic or "
        "broker, and from a row to its node; `escape` goes back.\n\n"
        "- `m` goes to the node at the offset where the finding began\n"
        "- `!` runs the command below, `Y` copies it\n"
        "- `C` also runs the command `check`, which reads all files; `C` again leaves that out"
    )
    TABLES = (FINDINGS, ROWS)
    HEADLESS = (FINDINGS,)
    BINDINGS: ClassVar = [
        shown_key("m", "moment", "Its moment", "health.moment", _MOMENT_TIP),
        shown_key("!", "run_command", "Run command", "health.run", _RUN_TIP),
        shown_key("C", "deep", "Check", "health.deep", _DEEP_TIP),
    ]
    DEFAULT_CSS = """
    HealthView #health-findings { height: 1fr; min-height: 4; }
    HealthView.-both #health-findings { height: auto; max-height: 40%; min-height: 0; }
    HealthView .answer-detail { max-height: 12; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._is_deep = False
        self._told: Sequence[str] = ()
        self._looked_at = FINDINGS
        self._rows_of: str | None = None
        """The finding whose rows are shown."""

    # Asking.

    @property
    def asks(self) -> str:
        """The work in words."""
        view_state = self.view_state
        title = "checking everything" if self._is_deep else "looking for findings"
        if view_state is None or view_state.fleet is None or view_state.cluster is not None:
            return title
        return f"{title} of {len(view_state.fleet.members):,} clusters"

    def begin(self, *, is_silent: bool = False) -> None:
        """Ask, and say that `check` looks for more."""
        super().begin(is_silent=is_silent)
        if self.answer is not None and self._is_deep:
            self.say("words", "check runs: escape cancels")

    def ask(self, question: ViewQuestion) -> HealthAnswer:
        """The findings, without times if older files tell them, unless they were shown already."""
        view_state, is_deep, before = question.view_state, self._is_deep, self.answer
        in_cluster = view_state.cluster is not None
        # Times that are shown do not go away for a moment.
        knows_times = before is not None and not before.lacks_times and view_state.is_newest
        # Long work holds up no other view: the check of a whole fleet, and the check of files.
        with question.job.turn() if in_cluster and not is_deep else nullcontext():
            found = ask_health(question, is_deep=is_deep, reads_older=knows_times)
        if not found.lacks_times or view_state.cluster is None:
            return found
        cluster = view_state.cluster

        def more(job: Job) -> HealthAnswer:
            read_older(cluster, job.cancelled)
            return ask_health(ViewQuestion(view_state, job), reads_older=True)

        return replace(found, more=more, more_title=READING_OLDER)

    def show(self, answer: HealthAnswer) -> None:
        """Show what was found, and tell warnings that are new."""
        if answer.warnings and [*answer.warnings] != [*self._told]:
            self.explorer.tell("\n".join(answer.warnings), "warning")
        self._told = answer.warnings
        super().show(answer)

    def gave_up(self, key: str) -> None:
        """Show what was found before a check that was cancelled."""
        if key == "answer" and self.answer is not None:
            self._is_deep = self.answer.is_deep
            self.draw()

    # The tables.

    def heading(self, text: str) -> Content:
        """The counts of findings have the colours of their severities."""
        return coloured_counts(text)

    def seen(self, answer: HealthAnswer) -> Sequence[str]:  # type: ignore[override]
        """Both, or on a small screen the one that is looked at."""
        is_one = answer.rows and not self.has_class("-both")
        return (self._looked_at,) if is_one else tuple(answer.rows)

    @property
    def finding(self) -> dict[str, Any] | None:
        """The finding under the cursor."""
        return self.tables_by_name[FINDINGS].row

    def rows_of(self, name: str, rows: ViewRows) -> ViewRows:
        """The rows of the finding."""
        finding, answer = self.finding, self.answer
        if name == FINDINGS or finding is None or answer is None:
            return rows
        table = answer.rows_of(finding)
        return replace(rows, table=table, heading=f"{len(table):,} row{'s' * (len(table) != 1)}")

    def drawn(self, name: str, table: pa.Table) -> pa.Table:
        """The rows with the signs of their severities, which need no colour."""
        if name == FINDINGS:
            return table
        self.tables_by_name[ROWS].headers = {"mark": ""}
        return with_signs(table, ("mark", "code", marks_of(table)))

    def on_row_table_moved(self, event: RowTable.Moved) -> None:
        """Show the rows of another finding."""
        if self.name_of(event.table) == FINDINGS and self.answer is not None:
            code, before = str(event.row["code"]), self._rows_of
            self._rows_of = code
            self.draw_table(ROWS, self.answer, afresh=code != before)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Note which table is looked at."""
        if isinstance(event.widget, RowTable) and self.explorer.view is self:
            self._looked_at = self.name_of(event.widget)
            self.refresh_bindings()

    @property
    def is_inside(self) -> bool:
        """Whether the rows of a finding are looked at."""
        return self._looked_at == ROWS

    def leave(self) -> bool:
        """Go back from the rows to the findings; whether rows were looked at."""
        return self.is_inside and self._look_at(FINDINGS)

    def _look_at(self, name: str) -> bool:
        self._looked_at = name
        self.draw()
        self.tables_by_name[name].focus()
        return True

    def detail(self, name: str, row: Mapping[str, Any]) -> Content:
        """All of a finding, or the meaning of a row; and what to do."""
        command = [("$", str(row["command"]))] if row["command"] else []
        if name == FINDINGS:
            return with_labels([*zip(row["labels"], row["texts"], strict=True), *command])
        parts = [("", subject_text(row)), ("", str(row["explanation"]))]
        if row["why"] or row["causes"]:
            parts.append(("", why_text(row)))
        return with_labels([*parts, ("do", str(row["action"])), *command])

    # Ways from a row.

    def choose(self, name: str, row: dict[str, Any]) -> None:
        """Go to the finding's rows, or to the row's node."""
        if name == FINDINGS:
            self._look_at(ROWS)
        else:
            self.to_node(name, row, self._go)

    def _go(self, path: str, offset: int | None = None) -> None:
        """Go to a node; from outside of all clusters into its cluster, whose end is shown."""
        view_state = self.explorer.view_state
        assert view_state is not None
        if view_state.cluster is not None:
            self.explorer.go(path, offset=offset)
            return
        self.explorer.go(path)
        self.explorer.moved_to(path)
        if offset is not None:
            self.explorer.tell(f"that began at offset {offset}: @ goes there")

    def path_of(self, name: str, row: Mapping[str, Any]) -> str | None:
        """The node that a row is about, in the whole tree; it is not looked whether it is there."""
        return None if row["path"] is None else f"{self._cluster_of(row)}{row['path']}"

    def _cluster_of(self, row: Mapping[str, Any]) -> str:
        """The text before the paths of a row's cluster."""
        cluster, view_state = row.get("cluster"), self.view_state
        prefix = "" if view_state is None else view_state.prefix
        return prefix or ("" if cluster is None else cluster_path(cluster))

    def action_moment(self) -> None:
        """Go to the node as it was when the finding began: the record that began it is applied."""
        row = self.table.row
        path = None if row is None else self.path_of(self.name_of(self.table), row)
        if row is None or path is None:
            self.explorer.tell("choose a row first" if row is None else _NO_NODE)
            return
        if row["since_offset"] is None:
            self.explorer.tell("no record shows when that began: a checkpoint may hide it")
            return
        view_state, offset = self.view_state, row["since_offset"]
        assert view_state is not None

        def done(end: int) -> None:
            self._go(path, end)
            if view_state.cluster is not None:
                began = "as it began" if end == offset else f"it began at {offset}, inside a batch"
                self.explorer.tell(f"{began}: [ goes back, then = lists what changed")

        self.find_moment(path, offset, done)

    def action_run_command(self) -> None:
        """Run the command that helps with the row under the cursor, in the row's cluster."""
        row = self.table.row
        if self.command is not None and row is not None:
            self.explorer.run_command(self.command, where=self._cluster_of(row) or "/")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to run a command where there is one."""
        is_there = action != "run_command" or self.command is not None
        return is_there and super().check_action(action, parameters)

    def action_deep(self) -> None:
        """Run what `check` does as well, or no longer."""
        self._is_deep = not self._is_deep
        self.begin()

    # The interface of a view.

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """The rows shown, and all of them."""
        if self.answer is None or not len(self.answer.found):
            return ()
        shown, finding = self.tables_by_name[ROWS].shown, self.finding
        every = ("health", plain(self.answer.found))
        if shown is None or finding is None:
            return (every,)
        return ((finding["code"] or "health", plain(shown)), every)
