"""A question in a box above a view; its screen takes all keys."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import OptionList

from metashell.tui.part import AppPart

_T = TypeVar("_T")


class Box(AppPart, ModalScreen[_T]):
    """A line or a list above a view; gives what the user chose. Its keys can be listed."""

    BINDINGS: ClassVar = [Binding("question_mark,f1", "app.help", "Help", id="help")]


class ListBox(Box[_T]):
    """A box with one list."""

    def action_move(self, by: int) -> None:
        """Go to the next line of the list (1), or to the previous one (-1)."""
        lines = self.query_one(OptionList)
        (lines.action_cursor_down if by > 0 else lines.action_cursor_up)()
