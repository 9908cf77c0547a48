"""A question in a box above a view; its screen takes all keys."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList

from metashell.tui.frame.key_bar import KeyBar
from metashell.tui.part import AppPart, quiet_key, shown_key

_T = TypeVar("_T")


class Box(AppPart, ModalScreen[_T]):
    """A line or a list above a view; gives what the user chose. Its keys can be listed."""

    ENTER: ClassVar[str] = ""
    """The name of what enter does, in the footer."""

    BINDINGS: ClassVar = [shown_key("?,f1", "app.help", "Help", "help")]


class ListBox(Box[_T | None]):
    """A box with one list; gives None if the user goes back."""

    BINDINGS: ClassVar = [
        shown_key("escape,q", "leave", "Back", "list.leave"),
        quiet_key("j", "move(1)", "Down", "list.letter-down"),
        quiet_key("k", "move(-1)", "Up", "list.letter-up"),
    ]
    DEFAULT_CSS = """
    ListBox {
        align: center middle;
        & > Vertical {
            width: 90%; max-width: 100; height: auto; max-height: 90%; padding: 0 1;
            border: round $primary; background: $surface;
        }
        & OptionList, & OptionList:focus {
            height: auto; max-height: 100%; border: none; padding: 0; background: $surface;
        }
    }
    """

    def make_list(self) -> OptionList:
        """Make the list."""
        return OptionList(compact=True, markup=False)

    def compose(self) -> ComposeResult:
        """The list."""
        with Vertical() as box:
            box.border_title = self.TITLE
            yield self.make_list()
        yield KeyBar(self.ENTER)

    @property
    def choices(self) -> OptionList:
        """The list."""
        return self.query_one(OptionList)

    def action_move(self, by: int) -> None:
        """Go to the next line of the list (1), or to the previous one (-1)."""
        (self.choices.action_cursor_down if by > 0 else self.choices.action_cursor_up)()

    def action_leave(self) -> None:
        """Change nothing."""
        self.dismiss(None)
