"""Everything that is wrong, by its kind: what ``health`` says, and the ways to each node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.content import Content
from textual.widgets import OptionList, Static

from metashell.commands.rows.cell_text import plain
from metashell.findings.kind import SEVERITIES
from metashell.fs.path import cluster_path
from metashell.tui.error_text import error_text
from metashell.tui.frame.taking_focus import take_focus
from metashell.tui.jobs import READING_OLDER, Job
from metashell.tui.moving import MOMENT
from metashell.tui.rows.cells import rows_ahead
from metashell.tui.rows.cluster_rows import applied_at
from metashell.tui.rows.table import RowTable
from metashell.tui.text import line
from metashell.tui.view import View
from metashell.tui.view_state import ViewState
from metashell.tui.views.health_lists import KindList, ProblemTable
from metashell.tui.views.health_text import (
    EVERY,
    HealthRows,
    ask_health,
    ask_with_times,
    in_short,
    subject_text,
    why_text,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.errors import MetashellError
    from metashell.tui.remembered import Remembered

_FIRST: Final = (
    "cluster", "subject", "code", "partitions", "since_time", "why", "count", "severity",
)  # fmt: skip
"""Columns shown at first; of one kind without what is the same in all of its rows."""
_SAME_IN_KIND: Final = ("code", "severity")
_WIDE_CELLS: Final = 150
"""Columns of the screen from which on the rows' reasons fit beside the kinds."""
_HEALTH: Final = "health"
"""Key of the job that looks for findings."""
_LEAST_ROWS: Final = 3
"""Rows that have room whatever the kinds need."""
_KINDS_PERCENT: Final = 40
"""The kinds' share of the lines if the rows need all lines."""
_OLDER: Final = "older"
"""Key of the job that reads older files."""
_NO_NODE: Final = "this finding has no node"
_NO_COMMAND: Final = "no row with a command is chosen"


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
        needed = table.header_height + max(table.row_count, _LEAST_ROWS) + around
        view, kinds = self.query_ancestor(HealthView), self.query_one(KindList)
        is_fixed = view.has_class("-wide") or view.has_class("-low")
        most = max(room - needed, room * _KINDS_PERCENT // 100, 1)
        kinds.styles.max_height = None if is_fixed else most
        kinds.call_after_refresh(kinds.scroll_to_highlight)


class HealthView(View):
    """Everything that is wrong, and where."""

    HELP = (
        "Everything that is wrong, like the command `health`. The kinds of findings come "
        "worst first: `●` critical, `▲` warning, `·` note. Beside or below them are the "
        "rows of the chosen kind. Below is the meaning of a row, and what to do. `d` also runs the "
        "command `check`, which reads all files; the first line says what it found. `d` again "
        "leaves that out."
    )
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
        Binding(
            "i",
            "copy_command",
            "Copy command",
            id="health.copy",
            tooltip="copy the command of the row",
        ),
        Binding(
            "d",
            "deep",
            "Deep check",
            id="health.deep",
            tooltip="also run the command check, or leave it out",
        ),
        Binding(
            "r",
            "refresh_rows",
            "Look again",
            show=False,
            id="health.refresh",
            tooltip="look for findings again",
        ),
    ]
    DEFAULT_CSS = """
    HealthView #health-words { height: auto; max-height: 4; padding: 0 1; text-style: bold; }
    HealthView #health-words.-critical { color: $text-error; }
    HealthView #health-words.-warning { color: $text-warning; }
    HealthView #health-words.-fine { color: $text-success; }
    HealthView #health-body { height: 1fr; layout: vertical; }
    HealthView #health-kinds { height: auto; padding: 0; }
    HealthView ProblemTable { height: 1fr; width: 1fr; }
    HealthView.-wide #health-body { layout: horizontal; }
    HealthView.-wide #health-kinds {
        width: 36; height: 1fr; max-height: 100%; border-right: vkey $foreground 20%;
    }
    HealthView.-wide #health-kinds:focus { border-right: thick $primary; }
    HealthView #health-detail {
        height: auto; min-height: 3; max-height: 8; padding: 0 1;
        background: $panel;
    }
    HealthView.-low #health-words { max-height: 1; }
    HealthView.-low #health-kinds { max-height: 1; }
    HealthView.-low.-wide #health-kinds { max-height: 100%; }
    HealthView.-low #health-detail { min-height: 1; max-height: 1; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.found: HealthRows | None = None
        """The findings found; None until the first answer."""
        self._view_state: ViewState | None = None
        self._job: Job | None = None
        self._shown_code: str | None = None
        self._is_stale = False
        self._is_deep = False
        self._told: Sequence[str] = ()

    def compose(self) -> ComposeResult:
        """How it is; the kinds; the rows; what the row means."""
        yield Static(id="health-words", markup=False)
        body, detail = HealthBody(id="health-body"), Static(id="health-detail", markup=False)
        body.display = detail.display = False
        with body:
            yield KindList()
            yield ProblemTable(id="health-rows")
        yield detail

    def _show_parts(self, are_shown: bool) -> None:
        """Show what is below the words: a class of the view would style each part of it anew."""
        for part in self.query("#health-body, #health-detail"):
            part.display = are_shown

    @property
    def _table(self) -> ProblemTable:
        return self.query_one(ProblemTable)

    def on_resize(self, event: events.Resize) -> None:
        """Put the kinds beside the rows where there is room."""
        self.set_class(event.size.width >= _WIDE_CELLS, "-wide")

    def fit(self) -> None:
        """Have the kinds as high as the whole screen where they have that."""
        super().fit()
        for body in self.query(HealthBody):
            body.share()

    def with_node(self, then: Callable[[str], object]) -> None:
        """Do something with the path that the row is about, also from the kinds."""
        row = self._table.row
        path = None if row is None else self.path_of(row)
        if path is None:
            super().with_node(then)
        else:
            then(path)

    # Asking.

    def show_view_state(self, view_state: ViewState) -> None:
        """Look at another view state. News wait for the answer that is on its way."""
        before, self._view_state = self._view_state, view_state
        is_running = self.explorer.jobs.goes_on(self._job)
        is_news = before is not None and before.prefix == view_state.prefix
        if (
            is_running
            and is_news
            and before is not None
            and before.is_newest
            and view_state.is_newest
        ):
            self._is_stale = True
            return
        if before is not None and not is_news:
            self.found = None
            self._show_parts(False)
        is_newest = before is not None and before.is_newest and view_state.is_newest
        # Times that are shown do not go away for a moment.
        knows_times = self.found is not None and not self.found.lacks_times
        self._ask(reads_older=is_newest and knows_times)

    def _ask(self, *, reads_older: bool = False) -> None:
        view_state = self._view_state
        if view_state is None:
            return
        in_cluster, is_deep = view_state.cluster is not None, self._is_deep
        fleet, remembered = view_state.fleet, self.explorer.remembered
        title = "looking for findings" if not is_deep else "checking everything"
        if fleet is not None and not in_cluster:
            title += f" of {len(fleet.members):,} clusters"
        if self.found is None:
            self._say(f"{title}... this may take a while: escape cancels, r looks again", "")
        else:
            self._say_found(check_runs=is_deep)

        def work(job: Job) -> HealthRows:
            # Long work holds up no other view: the check of a whole fleet, and the check of files.
            with job.turn() if in_cluster and not is_deep else nullcontext():
                found = ask_health(
                    view_state, is_deep=is_deep, reads_older=reads_older, cancelled=job.cancelled
                )
            return _with_rows(found, remembered)

        self._is_stale = False
        self.explorer.jobs.cancel(self, _OLDER)
        self._job = self.explorer.jobs.start(
            title, work, self._show, owner=self, key=_HEALTH, failed=self._failed,
            is_awaited=self.found is None,
        )  # fmt: skip

    def _failed(self, error: MetashellError) -> None:
        self.found = None
        self._show_parts(False)
        self._say(error_text(error), "-critical")

    def _show(self, found: HealthRows) -> None:
        self.found = found
        self._tell(found.warnings)
        self._say_found()
        self._show_parts(len(found.rows) > 0)
        if found.rows.column_names:
            self.query_one(KindList).show(found.kinds)
            self._show_kind()
        take_focus(self)  # there may have been nothing before that could have it
        if self._is_stale:
            self._ask(reads_older=not found.lacks_times)
        elif found.lacks_times:
            self._read_on()

    def _read_on(self) -> None:
        """Read older files in the background, and tell since when."""
        view_state, remembered = self._view_state, self.explorer.remembered
        assert view_state is not None

        def work(job: Job) -> HealthRows:
            return _with_rows(ask_with_times(view_state, job.cancelled), remembered)

        self.explorer.jobs.start(READING_OLDER, work, self._show, owner=self, key=_OLDER)

    def _tell(self, warnings: Sequence[str]) -> None:
        """Tell diagnostics once, not with every piece of news."""
        if warnings and list(warnings) != list(self._told):
            self.explorer.tell("\n".join(warnings), "warning")
        self._told = warnings

    def _say_found(self, *, check_runs: bool = False) -> None:
        """Say how it is, or that `check` is looking for more."""
        found = self.found
        assert found is not None
        levels = [kind["severity"] for kind in found.kinds]
        worst = levels[0] if levels else "note"
        words = in_short(found, check_runs=check_runs)
        words = words or "\n".join(("health is not available", *found.warnings))
        self._say(words, f"-{worst}" if worst in SEVERITIES[:2] else "-fine")

    def gave_up(self, key: str) -> None:
        """Show what was found before a check that was cancelled."""
        if key == _HEALTH and self.found is not None:
            self._is_deep = self.found.is_deep
            self._say_found()

    def _say(self, words: str, css_class: str) -> None:
        static = self.query_one("#health-words", Static)
        static.update(Content("\n").join([line(text) for text in words.split("\n")]))
        static.set_classes(css_class)

    # Showing the rows.

    def _show_kind(self) -> None:
        code = self.query_one(KindList).code
        assert self.found is not None
        self._shown_code = code
        same = () if code == EVERY else _SAME_IN_KIND
        self._table.show(
            self.found.of_kind(code),
            first=[name for name in _FIRST if name not in same],
            rows=self.found.rows_ahead,
        )

    def _explain(self) -> None:
        """Tell what the row under the cursor means."""
        row = self._table.row
        detail = self.query_one("#health-detail", Static)
        if row is None:
            detail.update("")
            return
        parts = [line(text) for text in (str(row["explanation"]), str(row["action"]))]
        if row["why"] or row["causes"]:
            parts.insert(1, line(why_text(row)))
        parts.insert(0, line(subject_text(row)).stylize("bold"))
        if row["command"]:
            parts.append(Content.assemble(("$ ", "bold"), line(str(row["command"]))))
        detail.update(Content("\n").join(parts))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the rows of the kind chosen."""
        event.stop()
        if self.found is not None:
            self._show_kind()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go to the rows."""
        event.stop()
        self._table.focus()

    def on_row_table_moved(self, event: RowTable.Moved) -> None:
        """Explain the row."""
        event.stop()
        self._explain()

    def on_row_table_drawn(self, event: RowTable.Drawn) -> None:
        """Explain the row that is under the cursor now, and leave it the lines that it needs."""
        event.stop()
        self._explain()
        self.query_one(HealthBody).share()

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        """Go to the row's node."""
        event.stop()
        path = self.path_of(event.row)
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

    def path_of(self, row: Mapping[str, Any]) -> str | None:
        """The node that a row is about, in the whole tree."""
        path = row["path"]
        if path is None or self._view_state is None:
            return None
        cluster = row.get("cluster")
        prefix = self._view_state.prefix or ("" if cluster is None else cluster_path(cluster))
        return f"{prefix}{path}"

    # Keys.

    def action_moment(self) -> None:
        """Go to the node as it was when the finding began: the record that began it is applied."""
        row = self._table.row
        path = None if row is None else self.path_of(row)
        if row is None or path is None:
            self.explorer.tell("choose a row first" if row is None else _NO_NODE)
            return
        if row["since_offset"] is None:
            self.explorer.tell("no record shows when that began: a checkpoint may hide it")
            return
        view_state, offset = self._view_state, row["since_offset"]
        assert view_state is not None

        def work(_job: Job) -> int:
            return applied_at(view_state, path, offset)

        def done(end: int) -> None:
            self._go(path, end)
            if view_state.cluster is not None:
                began = "as it began" if end == offset else f"it began at {offset}, inside a batch"
                self.explorer.tell(f"{began}: = lists what changed, [ goes back")

        self.explorer.jobs.start(
            "finding the moment", work, done, owner=self, key=MOMENT, leads=True
        )

    def action_run_command(self) -> None:
        """Run the command that helps with the row under the cursor, in the row's cluster."""
        copyable, row, view_state = self.copyable(), self._table.row, self._view_state
        if copyable is None or row is None or view_state is None:
            self.explorer.tell(_NO_COMMAND)
            return
        cluster = row.get("cluster")
        where = view_state.prefix or ("/" if cluster is None else cluster_path(cluster))
        self.explorer.run_command(copyable[1], where=where)

    def action_copy_command(self) -> None:
        """Copy the command that helps with the row under the cursor."""
        copyable = self.copyable()
        if copyable is None:
            self.explorer.tell(_NO_COMMAND)
        else:
            self.explorer.copy(copyable[1], copyable[0])

    def action_deep(self) -> None:
        """Run what `check` does as well, or no longer."""
        self._is_deep = not self._is_deep
        self._ask()

    def action_refresh_rows(self) -> None:
        """Look again."""
        self._ask()

    # The interface of a view.

    def filter_by(self, text: str) -> None:
        """Show only rows with a text."""
        self._table.filter_by(text)

    @property
    def filter_text(self) -> str | None:
        """The filter of the rows."""
        return None if self.found is None else self._table.filter_text

    def tables(self) -> Sequence[tuple[str, pa.Table]]:
        """The rows shown, and all of them."""
        if self.found is None or not len(self.found.rows):
            return ()
        shown, code = self._table.shown, self._shown_code
        every = ("health", plain(self.found.rows))
        if shown is None or not code:
            return (("health", plain(shown)) if shown is not None else every,)
        return ((code, plain(shown)), every)

    def copyable(self) -> tuple[str, str] | None:
        """The command of the row under the cursor."""
        row = None if self.found is None else self._table.row
        if row is None or not row["command"]:
            return None
        return "command", str(row["command"])


def _with_rows(found: HealthRows, remembered: Remembered) -> HealthRows:
    """The answer with its rows made ahead, in a job."""
    return replace(found, rows_ahead=rows_ahead(remembered, found.rows, None, _FIRST, None))
