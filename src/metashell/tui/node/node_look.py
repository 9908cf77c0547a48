"""What is to be shown of a node, and the ways to look at one. No widget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from metashell.dataclass import dataclass
from metashell.tui.rows.cells import rows_ahead

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.tui.node.value import ValueLine
    from metashell.tui.remembered import Remembered
    from metashell.tui.rows.cells import TableRows


class LookMode(StrEnum):
    """A way to look at a node."""

    OVERVIEW = "overview"
    """Of a cluster's root: how it is, in a few lines."""
    VALUE = "value"
    TEXT = "text"
    RECORD = "record"
    HISTORY = "history"
    TABLE = "table"
    """Of a directory: the answer of the command that describes it."""
    CHILDREN = "children"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLook:
    """What is to be shown of a node."""

    path: str
    serial: int
    """Of the scene that it was seen in."""
    mode: LookMode
    modes: Sequence[LookMode]
    """In which ways it can be looked at."""
    kind: str
    """``leaf`` or ``directory``; ``gone`` where nothing is there."""
    head: str
    title: str = ""
    """What the described table is called, where there is one."""
    lines: Sequence[ValueLine] | None = None
    table: pa.Table | None = None
    first: Sequence[str] = ()
    marked: pa.Array | None = None
    changed: Mapping[str, pa.Array] | None = None
    """By column, cells that changed since the previous stop."""
    rows: TableRows | None = None
    """The rows as they are drawn, made ahead."""
    note: str = ""
    """What is to be known besides."""
    lacks_times: bool = False
    """Whether older files were not read that tell more times."""
    copy: Callable[[], str] | None = None
    """Makes all of the text, where lines are shown."""
    offset: int | None = None
    """Of the record that last changed it."""
    path_of: Callable[[Mapping[str, Any]], str | None] = field(default=lambda _: None)
    """The path of the node that a row is about."""


def with_rows(look: NodeLook, remembered: Remembered) -> NodeLook:
    """The same with its rows made ahead, in a job."""
    if look.table is None:
        return look
    rows = rows_ahead(remembered, look.table, look.marked, look.first, look.changed)
    return replace(look, rows=rows)
