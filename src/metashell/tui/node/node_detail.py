"""The content shown for a node, the modes of looking at one, and the line above. No widget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from metashell.dataclass import dataclass
from metashell.fs.path import NodePlace
from metashell.fs.pattern import quote
from metashell.tui.node.described import topic_at
from metashell.tui.rows.cells import row_at
from metashell.tui.text import seconds_text
from metashell.tui.view_state import CommandAnswer

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
    head: Sequence[str]
    """Facts about it, the most important first."""
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
    """Makes all of the text, where it is not that of the lines."""
    path_of: Callable[[Mapping[str, Any]], str | None] = field(default=lambda _: None)
    """The path of the node that a row is about."""


_TABLE: Final = ("-o", "table", "--columns")
_STATE: Final = "state,since_offset,since_time,since_before,why"


def head_of(
    place: NodePlace, path: str, ask: Callable[..., CommandAnswer], *, is_marked: bool
) -> tuple[Sequence[str], int | None]:
    """The facts, and the offset of the last change where it is known.

    Args:
        place: The node.
        path: Its path in the cluster's own tree.
        ask: Runs a command on the cluster.
        is_marked: Whether the node, or anything in it, changed since the previous stop.
    """
    kind = "directory" if place.node.is_dir else "leaf"
    table = ask("stat", *_TABLE, "all", "--", path).table
    if table is None or not len(table):
        return [kind], None
    row = row_at(table, 0)
    changed, created = _moment(row, "changed"), _moment(row, "created")
    parts = [_state(place, ask)]
    parts += [f"{'• ' if is_marked else ''}changed {changed[0]}", *changed[1:]] if changed else []
    parts += [f"created {created[0]}", *created[1:]] if created else []
    return [part for part in (*parts, kind) if part], row["changed_offset"]


def _state(place: NodePlace, ask: Callable[..., CommandAnswer]) -> str:
    """A partition's problem, its reason and its start; empty for all other nodes."""
    topic = None if place.parent is None else topic_at(place.parent)
    if topic is None or not place.names()[-1].isdecimal():
        return ""
    partition = f"{quote(topic)}-{place.names()[-1]}"
    table = ask("partitions", *_TABLE, _STATE, "--", partition).table
    row = row_at(table, 0) if table is not None and len(table) == 1 else None
    if row is None or not row["state"]:
        return ""
    since, why = _moment(row, "since"), row["why"]
    told = row["state"][0] if why is None else f"{row['state'][0]}: {why}"
    return f"{told}, since {' '.join(since)}" if since else str(told)


def _moment(row: Mapping[str, Any], which: str) -> list[str]:
    """A moment of a row: offset, and time where it has one; empty where nothing is known."""
    before = row.get(f"{which}_at_or_before", row.get(f"{which}_before"))
    if before is not None:
        return [f"<={before}"]
    offset, time = row[f"{which}_offset"], row[f"{which}_time"]
    if offset is None:
        return []
    return [str(offset)] if time is None else [str(offset), seconds_text(time)]
