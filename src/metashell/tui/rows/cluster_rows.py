"""Asking the cluster of a view state for rows. For jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from metashell.commands.framework.cluster import member_at
from metashell.errors import MetashellError
from metashell.tui.view_state import ViewState, ask

if TYPE_CHECKING:
    import pyarrow as pa

_CLUSTER = "cluster"


def cluster_rows(
    view_state: ViewState,
    command: str,
    *words: str,
    columns: str = "all",
    cancelled: Callable[[], bool] = lambda: False,
) -> tuple[pa.Table, tuple[str, ...]]:
    """The rows that a command has of the cluster at hand.

    Returns:
        The rows, and the command's warnings without its name in front; escaped.

    Raises:
        MetashellError: It has no answer.
        KeyboardInterrupt: It was cancelled.
    """
    asked = (command, "-o", "table", "--columns", columns, *words)
    answer = ask(view_state, asked, cwd=view_state.prefix or "/", cancelled=cancelled)
    warnings = tuple(told.removeprefix(f"{command}: ") for told in answer.warnings)
    table = answer.table
    if table is None:
        raise MetashellError("; ".join(warnings) or f"{command} has no answer here")
    if view_state.prefix and _CLUSTER in table.column_names:
        table = table.drop_columns([_CLUSTER])
    return table, warnings


def applied_at(view_state: ViewState, path: str, offset: int, *, of_history: bool = False) -> int:
    """The first offset at which a record counts: the last one of its `batch_around`."""
    return batch_around(view_state, path, offset, of_history=of_history)[1]


def batch_around(
    view_state: ViewState, path: str, offset: int, *, of_history: bool = False
) -> tuple[int, int]:
    """The first and the last offset of a record's batch, which is applied as a whole.

    The last offset of a batch gives itself twice: no record of the batch follows it.

    Args:
        view_state: The shown view state.
        path: A path of the cluster whose log it is, where several are open.
        offset: The record's.
        of_history: Whether it may lie anywhere in the files, later than what is shown too.
    """
    from metashell.image.history import end_row

    source = view_state.cluster
    if source is None and view_state.fleet is not None:
        member = member_at(view_state.fleet, path)
        source = None if member is None else member.source()
    if source is None:
        return offset, offset
    records = (
        source.newest.full_log.history_records if of_history else source.full_log.image.records
    )
    _, inside = end_row(records, offset, record=False)
    return (offset, offset) if inside is None else inside


def previous_view_state(view_state: ViewState) -> ViewState | None:
    """The state that was shown before; None where there was none."""
    if view_state.previous is None or view_state.previous is view_state.cluster:
        return None
    return ViewState(opened=view_state.previous, cluster=view_state.previous)


def joined(parts: Sequence[str | None]) -> str:
    """Parts of a line that there are, with dots between."""
    return " · ".join(part for part in parts if part)
