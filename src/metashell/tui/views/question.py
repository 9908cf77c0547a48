"""The questions of views of answers, and what comes of them. For jobs, no widget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.fs.escape import escape
from metashell.tui.node.history import find_history
from metashell.tui.rows.cluster_rows import UNCHANGED, TableChanges, previous_view_state
from metashell.tui.view_state import ask

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.commands.shared.sections import Section
    from metashell.tui.jobs import Job
    from metashell.tui.view_state import ViewState

_MOST_COMPARED: Final = 20_000
"""Rows that are compared with those of the previous stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRows:
    """The rows of one table of a view."""

    table: pa.Table
    first: Sequence[str] = ()
    """Columns shown at first; all if empty. The detail has the others."""
    heading: str = ""
    """Their title."""
    changes: TableChanges = UNCHANGED
    warnings: Sequence[str] = ()
    verdict: Sequence[str] = ()
    """Sentences that the command says before them."""

    def alone(self, name: str) -> ViewAnswer:
        """The content of a view that has these rows alone; it says what the command says."""
        title, *words = self.verdict or [""]
        return ViewAnswer(title=title, words=words, notes=self.warnings, rows={name: self})


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewAnswer:
    """The content of a view."""

    title: str
    words: Sequence[str] = ()
    """Lines below the title."""
    notes: Sequence[str] = ()
    """Warnings."""
    rows: Mapping[str, ViewRows]
    """By the names of the view's tables; a table without rows here is not seen."""
    more: Callable[[Job], Any] | None = None
    """Finds what takes longer, in the background."""
    more_title: str = ""


@dataclass(frozen=True, slots=True)
class ViewQuestion:
    """A question of a view, asked in a job."""

    view_state: ViewState
    job: Job

    def rows(
        self,
        *words: str,
        key: str = "",
        compared: Sequence[str] = (),
        first: Sequence[str] = (),
        heading: str = "",
        columns: str = "all",
    ) -> ViewRows:
        """The rows that a command has of the cluster at hand.

        Args:
            words: The command and its options.
            key: The column that names a row: changes since the previous stop are then marked.
            compared: The columns in which rows are compared; all if not given.
            first: The columns shown at first.
            heading: The title of the rows.
            columns: The columns that are asked for.

        Raises:
            MetashellError: There is no answer.
            KeyboardInterrupt: It was cancelled.
        """
        rows = self._asked(self.view_state, words, columns)
        before = previous_view_state(self.view_state) if key else None
        changes = UNCHANGED
        if before is not None and len(rows.table) <= _MOST_COMPARED:
            # The state shown before may not be there to be read any more.
            with suppress(MetashellError):
                old = self._asked(before, words, columns).table
                names = [key, *compared] if compared else rows.table.column_names
                changes = TableChanges.between(rows.table.select(names), old.select(names), key)
        return replace(rows, first=first, heading=heading, changes=changes)

    def section(self, section: Section, **options: Any) -> ViewRows:
        """The rows of a declared answer; options as those of `rows`."""
        return self.rows(*section.words.split(), first=section.first, **options)

    def changes(self, path: str, most_changes: int, most_records: int) -> ViewRows | None:
        """The newest changes of a node of the cluster; None where none is known."""
        assert self.view_state.cluster is not None
        found = find_history(
            self.view_state.cluster, path, self.view_state.span, most_changes=most_changes,
            most_records=most_records, cancelled=self.job.cancelled,
        )  # fmt: skip
        return None if found.table is None else ViewRows(table=found.table, first=found.first)

    def _asked(self, view_state: ViewState, words: Sequence[str], columns: str) -> ViewRows:
        command, *others = words
        line = (command, "-o", "table", "--columns", columns, *others)
        cwd = view_state.prefix or "/"
        answer = ask(view_state, line, cwd=cwd, cancelled=self.job.cancelled)
        # Warnings begin with the name of the command.
        warnings = tuple(told.removeprefix(f"{command}: ") for told in answer.warnings)
        if answer.table is None:
            raise MetashellError("; ".join(warnings) or f"{command} has no answer here")
        table = answer.table
        if view_state.prefix and "cluster" in table.column_names:
            table = table.drop_columns(["cluster"])
        verdict = [escape(line) for told in answer.verdicts for line in told]
        return ViewRows(table=table, warnings=warnings, verdict=verdict)
