"""Parts of a node's pane: its title, its table, and all of a change."""

from __future__ import annotations

from itertools import accumulate
from typing import ClassVar, Final

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from metashell.fs.path import decode_name, split
from metashell.tui.node.node_detail import DetailMode
from metashell.tui.part import shown_key
from metashell.tui.rows.table import RowTable
from metashell.tui.text import cut, line

_BETWEEN: Final = " › "
_LEFT_OUT: Final = "… "
_NOT_THERE: Final = ("  (not there at this offset)", "  (not there)")
"""Notes, the longer one where there is room."""
_LEAST: Final = 8
_WIDEST: Final = 40
"""Columns that a component takes at most."""


class PathTitle:
    """A path, as far as there is room for its end.

    Args:
        path: An absolute path.
        missing: How many of its last components are not there.
        room: Columns of the title.
    """

    def __init__(self, path: str, missing: int, room: int) -> None:
        parts = split(path)
        labels = ["/", *(cut(decode_name(part), _WIDEST) for part in parts)]
        left = room - len(_LEFT_OUT) - cell_len(labels[-1])
        note = _NOT_THERE[len(_NOT_THERE[0]) > left] if missing else ""
        labels[-1] = cut(labels[-1], max(room - len(_LEFT_OUT) - len(note), _LEAST))
        widths = [cell_len(label) + len(_BETWEEN) for label in labels]
        first = 0
        while first < len(labels) - 1 and sum(widths[first:]) - len(_BETWEEN) + len(note) > room:
            first += 1
        pieces: list[str | tuple[str, str]] = [_LEFT_OUT] if first else []
        for i, label in enumerate(labels[first:], start=first):
            is_gone = i >= len(labels) - missing
            pieces += [(_BETWEEN, "$text-muted")] if i > first else []
            pieces.append((label, "$text-warning strike" if is_gone else ""))
        self.content: Final = Content.assemble(*pieces, (note, "$text-warning"))
        begin = len(_LEFT_OUT) if first else 0
        ends = accumulate(widths[first:], initial=begin)
        self._ends = [end - len(_BETWEEN) for end in ends][1:]
        self._paths = ["/" + "/".join(parts[:n]) for n in range(first, len(labels))]

    def path_at(self, column: int) -> str | None:
        """The path up to the component in a column; None beside all of them."""
        pairs = zip(self._ends, self._paths, strict=True)
        return next((path for end, path in pairs if 0 <= column < end), None)


_ROOM: Final = 10
"""Rows of the parent from which on there is room for more than the table."""
_PADDING: Final = 2


class WholeText(Static):
    """All of a text that is cut in a table, below that.

    Args:
        most: Lines that it may take.
    """

    DEFAULT_CSS = """
    WholeText { height: 0; padding: 0 1; background: $panel; display: none; }
    """

    def __init__(self, most: int) -> None:
        super().__init__(markup=False)
        self._most = most
        self._n_lines = 0

    def show(self, text: str | None) -> None:
        """Show a text where there is room, or none.

        It keeps the lines that a text before it took: else the table would change at each key.
        """
        parent = self.parent
        assert isinstance(parent, Widget)
        is_wanted = bool(text) or (text is not None and self._n_lines)
        if not is_wanted or parent.size.height < _ROOM:
            self.display, self._n_lines = False, 0
            return
        width = max(parent.size.width - _PADDING, 1)
        said = line((text or "")[: self._most * width + 1])
        lines = said.wrap(width)
        if len(lines) > self._most:
            last = Content(f"{lines[self._most - 1].plain}…").truncate(width, ellipsis=True)
            lines = [*lines[: self._most - 1], last]
            said = Content("\n").join(lines)
        if self.content != said:
            self.update(said, layout=False)
        if len(lines) > self._n_lines:
            self.styles.height = self._n_lines = len(lines)
        self.display = True


class NodeTable(RowTable):
    """The table of a node: a row leads to a node, or in a history to the state after a change."""

    BINDINGS: ClassVar = [
        shown_key(
            "enter", "take('node')", "Go to node", "node.open", "go to the node of the row"
        ),
        shown_key(
            "enter", "take('state')", "Go to that state", "node.travel",
            "show the cluster as it was after the change",
        ),
    ]  # fmt: skip

    mode: DetailMode | None = None
    """How the node is looked at."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what a row leads to."""
        if action == "take":
            return (parameters[0] == "state") is (self.mode is DetailMode.HISTORY)
        return super().check_action(action, parameters)

    def action_take(self, what: str) -> None:
        """Go to the node of the row, or to the state after its change."""
        self.action_choose()
