"""The questions of views of answers, and what comes of them. For jobs, no widget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.tui.rows.cluster_rows import (
    UNCHANGED,
    TableChanges,
    cluster_rows,
    previous_view_state,
)

if TYPE_CHECKING:
    import pyarrow as pa

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
        asked = self.job.cancelled
        table, warnings = cluster_rows(self.view_state, *words, columns=columns, cancelled=asked)
        before = previous_view_state(self.view_state) if key else None
        changes = UNCHANGED
        if before is not None and len(table) <= _MOST_COMPARED:
            # The state shown before may not be there to be read any more.
            with suppress(MetashellError):
                old, _ = cluster_rows(before, *words, columns=columns, cancelled=asked)
                names = [key, *compared] if compared else table.column_names
                changes = TableChanges.between(table.select(names), old.select(names), key)
        return ViewRows(
            table=table, first=first, heading=heading, changes=changes, warnings=warnings
        )
