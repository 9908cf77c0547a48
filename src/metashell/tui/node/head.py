"""The line above a node: what is wrong with it, when it changed, when it was made. No widget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from metashell.fs.node import Directory, Leaf
from metashell.fs.path import NodePlace
from metashell.fs.pattern import quote
from metashell.tui.rows.cells import row_at
from metashell.tui.text import seconds_text
from metashell.tui.view_state import CommandAnswer

_TOPICS: Final = ("image", "topics")
_PARTITION_DEPTH: Final = 5
_TABLE: Final = ("-o", "table", "--columns")
_STATE: Final = "state,since_offset,since_time,since_before,why"


def head_of(
    place: NodePlace, path: str, ask: Callable[..., CommandAnswer], *, is_marked: bool
) -> tuple[str, int | None]:
    """The line, and the offset of the last change where it is known.

    Args:
        place: The node.
        path: Its path in the cluster's own tree.
        ask: Runs a command on the cluster.
        is_marked: Whether the node, or anything in it, changed since the previous stop.
    """
    kind = "directory" if place.node.is_dir else "leaf"
    table = ask("stat", *_TABLE, "all", "--", path).table
    if table is None or not len(table):
        return kind, None
    row = row_at(table, 0)
    changed, created = _moment(row, "changed"), _moment(row, "created")
    parts = [kind, _state(place, ask)]
    parts += [f"{'• ' if is_marked else ''}changed {changed}"] if changed else []
    parts += [f"created {created}"] if created else []
    return "  ".join(part for part in parts if part), row["changed_offset"]


def _state(place: NodePlace, ask: Callable[..., CommandAnswer]) -> str:
    """A partition's problem, its reason and its start; empty for all other nodes."""
    topic = _topic_of(place)
    if topic is None:
        return ""
    partition = f"{quote(topic)}-{place.names()[-1]}"
    table = ask("partitions", *_TABLE, _STATE, "--", partition).table
    row = row_at(table, 0) if table is not None and len(table) == 1 else None
    if row is None or not row["state"]:
        return ""
    since, why = _moment(row, "since"), row["why"]
    told = row["state"][0] if why is None else f"{row['state'][0]}: {why}"
    return f"{told}, since {since}" if since else str(told)


def _topic_of(place: NodePlace) -> str | None:
    """The name of the topic that a node is a partition of; None for other nodes."""
    names = place.names()
    if len(names) != _PARTITION_DEPTH or names[:2] != _TOPICS or not names[-1].isdecimal():
        return None
    above = None if place.parent is None else place.parent.node
    leaf = above.child("name") if isinstance(above, Directory) else None
    topic = leaf.value() if isinstance(leaf, Leaf) else None
    return topic if isinstance(topic, str) else None


def _moment(row: Mapping[str, Any], which: str) -> str:
    """A moment of a row: offset and time; empty where nothing is known."""
    before = row.get(f"{which}_at_or_before", row.get(f"{which}_before"))
    if before is not None:
        return f"<={before}"
    offset, time = row[f"{which}_offset"], row[f"{which}_time"]
    if offset is None:
        return ""
    when = "" if time is None else f" {seconds_text(time)}"
    return f"{offset}{when}"
