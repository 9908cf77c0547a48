"""A line for an offset or a time."""

from __future__ import annotations

from textual.widgets import Input

from metashell.tui.moving import Arrival
from metashell.tui.screens.prompt import Prompt


class MomentScreen(Prompt[Arrival]):
    """A line for an offset or a time; gives what is there."""

    HELP = "Type an offset, a time or an age: `enter` goes there, `escape` goes back."
    TITLE = "go to an offset or a time"
    HINT = "an offset, a time (2026-11-21T08:28Z), an age (-2h before the last record)"

    def make_line(self) -> Input:
        """An empty line."""
        return Input(compact=True)

    def submit(self, text: str) -> None:
        """Look for what was typed; where it is wrong, it stays to be mended."""
        arrive = self.explorer.way_to(text)
        self.work(f"going to {text}", lambda _: arrive(), self.dismiss)
