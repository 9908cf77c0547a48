"""The screen that the views are on."""

from __future__ import annotations

from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from metashell.tui.frame.compositor import LineCompositor


class MainScreen(Screen[None]):
    """A screen that draws no more than what changed, also when the focus moves."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """As in Textual. The widgets that lose and get the focus draw themselves."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._compositor = LineCompositor()
