"""The screen that the views are on."""

from __future__ import annotations

from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget


class MainScreen(Screen[None]):
    """A screen that is not drawn anew as a whole when the focus moves."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """As in Textual. The widgets that lose and get the focus draw themselves."""
