"""Choosing the columns of a table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from textual.binding import Binding
from textual.content import Content
from textual.widgets import OptionList

from metashell.tui.frame.box import ListBox
from metashell.tui.part import shown_key
from metashell.tui.text import line


def in_words(name: str) -> str:
    """The name of a column as its header has it."""
    return name.replace("_", " ")


class ColumnsScreen(ListBox[list[str]]):
    """Which columns are shown; gives their names, in the order of all.

    Args:
        names: All columns.
        shown: The columns shown now.
    """

    HELP = "`space` shows or hides a column, `enter` shows the table."
    TITLE = "columns"
    DEFAULT_CSS = "ColumnsScreen > Vertical { width: 44; }"
    BINDINGS: ClassVar = [
        shown_key("space", "toggle_column", "Take or leave", "columns.toggle"),
        Binding("enter", "take", "Show", priority=True, id="columns.show"),
    ]

    def __init__(self, names: Sequence[str], shown: Collection[str]) -> None:
        super().__init__()
        self._names = names
        self._taken = {name for name in names if name in shown}

    def make_list(self) -> OptionList:
        """All columns."""
        return OptionList(*map(self._prompt, self._names), markup=False, compact=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take a column that was clicked on, or leave it out."""
        event.stop()
        self.action_toggle_column()

    def action_toggle_column(self) -> None:
        """Take the column, or leave it out."""
        options = self.choices
        if options.highlighted is None:
            return
        name = self._names[options.highlighted]
        self._taken ^= {name}
        options.replace_option_prompt_at_index(options.highlighted, self._prompt(name))

    def action_take(self) -> None:
        """Show the chosen ones; without any, those of before."""
        self.dismiss([name for name in self._names if name in self._taken])

    def _prompt(self, name: str) -> Content:
        return line(f"{'✓' if name in self._taken else ' '} {in_words(name)}")
