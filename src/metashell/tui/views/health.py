"""Everything that is wrong, by its kind: what ``health`` says, and the ways to each node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.content import Content
from textual.widgets import OptionList

from metashell.commands.rows.cell_text import plain
from metashell.findings.kind import SEVERITIES
from metashell.fs.path import cluster_path
from metashell.tui.jobs import READING_OLDER, Job
from metashell.tui.moving import MOMENT
from metashell.tui.rows.cells import rows_ahead
from metashell.tui.rows.cluster_rows import applied_at
from metashell.tui.text import line
from metashell.tui.views.answer import COPY_COMMAND, REFRESH, AnswerView
from metashell.tui.views.health_lists import KindList, ProblemTable
from metashell.tui.views.health_text import (
    EVERY,
    HealthAnswer,
    ask_health,
    ask_with_times,
    in_short,
    subject_text,
    why_text,
)
from metashell.tui.views.question import ViewQuestion, ViewRows

if TYPE_CHECKING:
    pass

_FIRST: Final = (
    "cluster", "subject", "code", "partitions", "since_time", "why", "count",
)  # fmt: skip
"""Columns shown at first; of one kind without its code. The subject has the severity's colour."""
_ROWS: Final = "rows"
_WIDE_CELLS: Final = 150
"""Columns of the screen from which on the rows' reasons fit beside the kinds."""
_LEAST_ROWS: Final = 3
"""Rows that have room whatever the kinds need."""
_KINDS_PERCENT: Final = 40
"""The kinds' share of the lines if the rows need all lines."""
_EVERYTHING: Final = "all findings"
_NO_NODE: Final = "this finding has no node"


class HealthBody(Container):
    """The kinds of findings and their rows."""

    ALLOW_MAXIMIZE = True  # the kinds alone say little

    def on_resize(self) -> None:
        """Share the lines that there are now."""
        self.share()

    def share(self) -> None:
        """Give the kinds the lines that the rows do not need, where they stand above them."""
        table, room = self.query_one(ProblemTable), self.size.height
        around = table.outer_size.height - table.scrollable_content_region.height
        needed = table.header_height + max(table.n_lines, _LEAST_ROWS) + around
        view, kinds = self.query_ancestor(HealthView), self.query_one(KindList)
        is_fixed = view.has_class("-wide") or view.has_class("-low")
        most = max(room - needed, room * _KINDS_PERCENT // 100, 1)
        kinds.styles.max_height = None if is_fixed else most
        kinds.call_after_refresh(kinds.scroll_to_highlight)


class HealthView(AnswerView[HealthAnswer]):
    """Everything that is wrong, and where."""

    HELP = (
        "Everything that is wrong, like the command `health`. The kinds of findings come "
        "worst first: `●` critical, `▲` warning, `·` note. Beside or below them are the "
        "rows of the chosen kind. Below is the meaning of a row, and what to do. `d` also runs the "
        "command `check`, which reads all files; the first line says what it found. `d` again "
        "leaves that out.\n\n"
        "`enter` goes to the node of a row. `m` goes to it at the offset where the finding began. "
        "`!` runs the command below, `i` copies it."
    )
    TABLES = (_ROWS,)
    BINDINGS: ClassVar = [
        Binding(
            "m",
            "moment",
            "Its beginning",
            id="health.moment",
            tooltip="go to the node at the offset where the finding began",
        ),
        Binding(
            "exclamation_mark",
            "run_command",
            "Run command",
            id="health.run",
            tooltip="run the command of the row",
        ),
        COPY_COMMAND,
        Binding(
            "d",
            "deep",
            "Deep check",
            id="health.deep",
            tooltip="also run the command check, or leave it out",
        ),
        REFRESH,
    ]
    DEFAULT_CSS = """
    HealthView.-critical #health-title { color: $text-error; }
    HealthView.-warning #health-title { color: $text-warning; }
    HealthView.-fine #health-title { color: $text-success; }
    HealthView .answer-words { max-height: 3; text-style: bold; }
    HealthView #health-body { height: 1fr; layout: vertical; }
    HealthView #health-kinds { height: auto; padding: 0; }
    HealthView ProblemTable { height: 1fr; width: 1fr; }
    HealthView.-wide #health-body { layout: horizontal; }
    HealthView.-wide #health-kinds { width: 38; height: 1fr; max-height: 100%; }
    HealthView .answer-detail { min-height: 3; }
    HealthView.-low .answer-words { max-height: 0; }
    HealthView.-low #health-kinds { max-height: 1; }
    HealthView.-low.-wide #health-kinds { max-height: 100%; }
    HealthView.-low .answer-detail { min-height: 1; max-height: 1; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._is_deep = False
        self._told: Sequence[str] = ()

    def compose_tables(self) -> ComposeResult:
        """The kinds and the rows."""
        with HealthBody(id="health-body"):
            yield KindList()
            yield ProblemTable(id="health-rows")

    def on_resize(self, event: events.Resize) -> None:
        """Put the kinds beside the rows where there is room."""
        self.set_class(event.size.width >= _WIDE_CELLS, "-wide")

    def fit(self) -> None:
        """Have the kinds as high as the whole screen where they have that."""
        super().fit()
        for body in self.query(HealthBody):
            body.share()

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
            self._say_short(check_runs=True)

    def ask(self, question: ViewQuestion) -> HealthAnswer:
        """The findings, without times if older files tell them, unless they were shown already."""
        view_state, is_deep, before = question.view_state, self._is_deep, self.answer
        in_cluster = view_state.cluster is not None
        # Times that are shown do not go away for a moment.
        knows_times = before is not None and not before.lacks_times and view_state.is_newest
        # Long work holds up no other view: the check of a whole fleet, and the check of files.
        with question.job.turn() if in_cluster and not is_deep else nullcontext():
            found = ask_health(
                view_state, is_deep=is_deep, reads_older=knows_times,
                cancelled=question.job.cancelled,
            )  # fmt: skip
        found = self._with_rows(found)
        if not found.lacks_times:
            return found

        def more(job: Job) -> HealthAnswer:
            return self._with_rows(ask_with_times(view_state, job.cancelled))

        return replace(found, more=more, more_title=READING_OLDER)

    def _with_rows(self, found: HealthAnswer) -> HealthAnswer:
        """The answer with its rows made ahead, in a job."""
        ahead = rows_ahead(self.explorer.remembered, found.found, None, _FIRST, None)
        rows = {_ROWS: ViewRows(table=found.found, first=_FIRST, ahead=ahead, heading=_EVERYTHING)}
        short = in_short(found) or "\n".join(("health is not available", *found.warnings))
        title, *words = short.split("\n")
        return replace(found, title=title, words=words, rows=rows if len(found.found) else {})

    def draw(self, *, afresh: bool = False) -> None:
        """Show the kinds, and the rows of the chosen one."""
        found = self.answer
        kinds, body = self.query_one(KindList), self.query_one(HealthBody)
        body.display = found is not None and bool(found.rows)
        levels = () if found is None else [kind["severity"] for kind in found.kinds]
        worst = levels[0] if levels else "note"
        for name in (*SEVERITIES[:2], "fine"):
            is_so = worst == name if worst in SEVERITIES[:2] else name == "fine"
            self.set_class(found is not None and is_so, f"-{name}")
        if found is not None:
            kinds.show(found.kinds, None if self._aimed is None else str(self._aimed["code"]))
            self._aimed = None
            if found.warnings and [*found.warnings] != [*self._told]:
                self.explorer.tell("\n".join(found.warnings), "warning")
            self._told = found.warnings
        super().draw(afresh=afresh)

    def rows_of(self, name: str, rows: ViewRows) -> ViewRows:
        """The rows of the chosen kind."""
        code = self.query_one(KindList).code
        if self.answer is None or code == EVERY:
            return rows
        first = [column for column in _FIRST if column != "code"]
        return replace(rows, table=self.answer.of_kind(code), first=first, heading=code)

    def _say_short(self, *, check_runs: bool = False) -> None:
        assert self.answer is not None
        short = in_short(self.answer, check_runs=check_runs)
        self.say("title", line(short.partition("\n")[0]))

    def gave_up(self, key: str) -> None:
        """Show what was found before a check that was cancelled."""
        if key == "answer" and self.answer is not None:
            self._is_deep = self.answer.is_deep
            self._say_short()

    def detail(self, name: str, row: Mapping[str, Any]) -> Content:
        """The meaning of the row under the cursor, and what to do."""
        parts = [line(subject_text(row)).stylize("bold"), line(str(row["explanation"]))]
        if row["why"] or row["causes"]:
            parts.append(line(why_text(row)))
        parts.append(line(str(row["action"])))
        if row["command"]:
            parts.append(Content.assemble(("$ ", "bold"), line(str(row["command"]))))
        return Content("\n").join(parts)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the rows of the kind chosen."""
        event.stop()
        super().draw()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go to the rows of the kind."""
        event.stop()
        self.table.focus()

    # Ways from a row.

    def with_node(self, then: Callable[[str], object]) -> None:
        """Do something with the path that the row is about, also from the kinds."""
        row = self.table.row
        path = None if row is None else self.path_of(_ROWS, row)
        if path is None:
            super().with_node(then)
        else:
            then(path)

    def choose(self, name: str, row: dict[str, Any]) -> None:
        """Go to the row's node."""
        path = self.path_of(name, row)
        if path is None:
            self.explorer.tell(_NO_NODE)
        else:
            self._go(path)

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
        path = None if row is None else self.path_of(_ROWS, row)
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
                self.explorer.tell(f"{began}: = lists what changed, [ goes back")

        self.explorer.jobs.start(
            "finding the moment", lambda _: applied_at(view_state, path, offset), done,
            owner=self, key=MOMENT, leads=True,
        )  # fmt: skip

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

    def focus_content(self) -> None:
        """Focus the kinds."""
        self.query_one(KindList).focus()

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """The rows shown, and all of them."""
        if self.answer is None or not len(self.answer.found):
            return ()
        shown, code = self.table.shown, self.query_one(KindList).code
        every = ("health", plain(self.answer.found))
        if shown is None or not code:
            return (every if shown is None else ("health", plain(shown)),)
        return ((code, plain(shown)), every)

    def copyable(self) -> tuple[str, str] | None:
        """The command of the row under the cursor."""
        return None if self.command is None else ("command", self.command)
