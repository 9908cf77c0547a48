"""The content shown for a node, and the modes of looking at one. No widget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from metashell.dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.tui.node.value import ValueLine


class DetailMode(StrEnum):
    """A way to look at a node."""

    VALUE = "value"
    TEXT = "text"
    RECORD = "record"
    HISTORY = "history"
    TABLE = "table"
    """A directory: the answer of the command that describes it."""
    CHILDREN = "children"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDetail:
    """The content shown for a node."""

    path: str
    serial: int
    """The serial number of the node's view state."""
    mode: DetailMode
    modes: Sequence[DetailMode]
    """The modes that the node has."""
    kind: str
    """``leaf`` or ``directory``; ``gone`` where nothing is there."""
    head: str
    title: str = ""
    """The title of the described table; empty without one."""
    lines: Sequence[ValueLine] | None = None
    table: pa.Table | None = None
    first: Sequence[str] = ()
    marked: pa.Array | None = None
    changed: Mapping[str, pa.Array] | None = None
    """By column, cells that changed since the previous stop."""
    note: str = ""
    """A remark shown with the content."""
    lacks_times: bool = False
    """Whether older files were not read that tell more times."""
    copy: Callable[[], str] | None = None
    """Makes all of the text, where lines are shown."""
    offset: int | None = None
    """The offset of the record that last changed the node."""
    path_of: Callable[[Mapping[str, Any]], str | None] = field(default=lambda _: None)
    """The path of the node that a row is about."""
