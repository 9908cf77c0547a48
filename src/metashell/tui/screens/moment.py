"""A line for an offset or a time."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Label

from metashell.errors import MetashellError
from metashell.tui.error_text import error_text
from metashell.tui.frame.box import Box
from metashell.tui.frame.key_bar import KeyBar
from metashell.tui.moving import Arrival
from metashell.tui.prompts.hint import Hint

_HINT: Final = "an offset, a time (2026-11-21T08:28Z), an age (-2h); enter goes, escape leaves"


class MomentScreen(Box[Arrival | None]):
    """A line for an offset or a time; gives what is there, or None if the user goes back."""

    HELP = "Type an offset, a time or an age: `enter` goes there, `escape` goes back."
    DEFAULT_CSS = """
    MomentScreen { background: transparent; align: left bottom; }
    MomentScreen > Vertical {
        height: auto; background: $surface; border-top: solid $primary; padding: 0 1;
    }
    MomentScreen Horizontal { height: 1; }
    MomentScreen Label { width: auto; text-style: bold; color: $text-primary; }
    MomentScreen Input, MomentScreen Input:focus { width: 1fr; height: 1; background: $surface; }
    """
    BINDINGS: ClassVar = [
        Binding("escape", "leave", "Back", id="prompt.leave"),
    ]

    def compose(self) -> ComposeResult:
        """The question, the line and the hint."""
        with Vertical():
            with Horizontal():
                yield Label("at ", markup=False)
                yield Input(compact=True)
            yield Hint(_HINT)
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin to type."""
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say again what can be typed."""
        event.stop()
        self.query_one(Hint).say(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Look for what was typed; where it is wrong, it stays to be mended."""
        event.stop()
        point = event.value.strip()
        if not point:
            self.dismiss(None)
            return
        arrive = self.explorer.way_to(point)
        self.explorer.jobs.start(
            f"going to {point}", lambda _: arrive(), self.dismiss, owner=self, key="go",
            failed=self._failed, leads=True,
        )  # fmt: skip

    def _failed(self, error: MetashellError) -> None:
        self.query_one(Hint).say(error_text(error))

    def action_leave(self) -> None:
        """Go nowhere."""
        self.dismiss(None)
