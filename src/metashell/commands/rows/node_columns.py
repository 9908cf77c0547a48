"""Columns of commands that have a row for each node."""

from __future__ import annotations

from typing import Final

from metashell.commands.rows.columns import integer, text, time_at
from metashell.fs.node import Directory, Node

KIND: Final = text("kind", "directory or leaf.")
DEPTH: Final = integer("depth", "How many levels it is below PATH.")
CHANGED: Final = (
    time_at("changed_time", "Time of the record that last changed it; null: none tells."),
    integer("changed_offset", "That record's offset; null: none tells."),
    integer("changed_epoch", "Its leader epoch.", shown=False),
    text("changed_type", "Its type; null: none tells."),
    integer(
        "changed_at_or_before",
        "Where only a checkpoint tells of the change: the last offset that it holds.",
        shown=False,
    ),
)
"""When a node was last changed; see `metashell.commands.shared.node_times.moment_cells`."""


def kind_of(node: Node | None) -> str:
    """The cell of `KIND`."""
    return kind_name(is_dir=isinstance(node, Directory))


def kind_name(*, is_dir: bool) -> str:
    """The name of a node's kind, by whether it is a directory."""
    return "directory" if is_dir else "leaf"
