"""The screen that the views are on."""

from __future__ import annotations

from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from metashell.tui.part import AppPart


class MainScreen(AppPart, Screen[None]):
    """The screen below all others."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """Textual's attribute without the repaint: widgets draw themselves when their focus changes."""

    def minimize(self) -> None:
        """Restore the size of a part; nothing scrolls if no part has the whole screen."""
        if self.maximized is not None:
            super().minimize()

    def on_screen_suspend(self) -> None:
        """Have a message go with what it is about: something is asked above it now."""
        self.explorer.end_messages()

    def watch_maximized(self, before: Widget | None) -> None:
        """Have the view take the room that it has now, and the key bar say how to get back."""
        explorer = self.explorer
        if explorer.is_open and explorer.view is not None:
            explorer.view.fit()
        self.refresh_bindings()
