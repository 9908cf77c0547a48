"""A question with a line for the answer."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label, Static

from metashell.tui.frame.key_bar import KeyBar
from metashell.tui.part import AppPart
from metashell.tui.text import line


class PromptScreen(AppPart, ModalScreen[str | None]):
    """A question with a line for the answer, which is None where the user thought better of it.

    Args:
        what: What is asked for, in a word or two.
        hint: What answers look like.
        value: What stands there already.
    """

    HELP = "Type an answer: `enter` takes it, `escape` goes back."
    DEFAULT_CSS = """
    PromptScreen { background: transparent; align: left bottom; }
    PromptScreen > Vertical {
        height: auto; background: $surface; border-top: solid $primary; padding: 0 1;
    }
    PromptScreen Horizontal { height: 1; }
    PromptScreen Label { width: auto; max-width: 50%; text-style: bold; color: $text-primary; }
    PromptScreen Input, PromptScreen Input:focus { width: 1fr; height: 1; background: $surface; }
    PromptScreen Static { color: $text-muted; height: auto; }
    """
    BINDINGS: ClassVar = [
        Binding("escape", "leave", "Back", id="prompt.leave"),
        Binding("f1", "app.help", "Help", id="help"),
    ]

    def __init__(self, what: str, hint: str, value: str = "") -> None:
        super().__init__()
        self._what, self._hint, self._value = what, hint, value

    def compose(self) -> ComposeResult:
        """The question, the line and the hint."""
        with Vertical():
            with Horizontal():
                yield Label(line(f"{self._what} "), markup=False)
                yield Input(self._value, compact=True, select_on_focus=False)
            yield Static(line(f"{self._hint}; enter goes on, escape back"), markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin to type."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the answer."""
        event.stop()
        self.dismiss(event.value.strip() or None)

    def action_leave(self) -> None:
        """Give none."""
        self.dismiss(None)
