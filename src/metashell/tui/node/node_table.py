"""The rows that a node is shown as, and what Enter does on one."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from metashell.tui.node.history import NAME
from metashell.tui.node.node_detail import DetailMode
from metashell.tui.part import shown_key
from metashell.tui.rows.table import RowTable


class NodeTable(RowTable):
    """The table of a node: a row leads to a node, or in a history to the state after a change."""

    BINDINGS: ClassVar = [
        shown_key("enter", "to_node", "Go to node", "node.open", "go to the node of the row"),
        shown_key(
            "enter",
            "to_state",
            "Go to that state",
            "node.travel",
            "show the cluster as it was after the change",
        ),
    ]

    NARROW: ClassVar[Collection[str]] = (NAME,)
    mode: DetailMode | None = None
    """How the node is looked at."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what a row leads to."""
        if action in ("to_node", "to_state"):
            return (action == "to_state") is (self.mode is DetailMode.HISTORY)
        return super().check_action(action, parameters)

    def action_to_node(self) -> None:
        """Go to the node of the row."""
        self.action_choose()

    def action_to_state(self) -> None:
        """Go to the state after the change of the row."""
        self.action_choose()
