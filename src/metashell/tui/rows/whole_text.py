"""The cut texts of a table's row, shown in full below the table."""

from __future__ import annotations

from typing import Final

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from metashell.tui.text import line

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
