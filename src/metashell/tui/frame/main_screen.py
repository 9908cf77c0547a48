"""The screen that the views are on."""

from __future__ import annotations

from typing import Final

from textual.geometry import Size
from textual.reactive import Reactive
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from metashell.tui.frame.compositor import LineCompositor
from metashell.tui.part import AppPart

_FRAME_S: Final = 1 / 120
"""The least time between two drawings. The library's timer takes twice as long where it was paused
before: a key pressed right behind news would wait for two of its sixtieths of a second."""
_SOON_S: Final = 0.001
"""How long widgets are given to draw what they are told; they are many, and each takes a turn."""


class MainScreen(AppPart, Screen[None]):
    """A screen that draws no more than what changed, also when the focus moves.

    Widgets that come or get another size draw themselves anew as soon as they are told. A layout is
    drawn right behind that: else a whole view is drawn twice.
    """

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """Textual's attribute without the repaint: widgets draw themselves when their focus changes."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._compositor: LineCompositor = LineCompositor()
        self._timer: Timer | None = None
        self._is_laying_out = False

    @property
    def _update_timer(self) -> Timer:
        if self._timer is None:
            self._timer = self.set_interval(_FRAME_S, self._on_timer_update, pause=True)
        return self._timer

    def minimize(self) -> None:
        """Restore the size of a part; nothing scrolls if no part has the whole screen."""
        if self.maximized is not None:
            super().minimize()

    def on_screen_suspend(self) -> None:
        """Have a message go with what it is about: something is asked above it now."""
        self.explorer.end_messages()

    def watch_maximized(self, before: Widget | None) -> None:
        """Have the view take the room that it has now, and the key bar say how to get back."""
        if before is not None:
            before.border_title = None
        explorer = self.explorer
        if explorer.is_open and explorer.view is not None:
            explorer.view.fit()
        self.refresh_bindings()

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        self._is_laying_out, self._compositor.has_told = True, False
        try:
            super()._refresh_layout(size, scroll)
        finally:
            self._is_laying_out = False

    def _compositor_refresh(self) -> None:
        if self._is_laying_out and self._compositor.has_told:
            self.set_timer(_SOON_S, self._draw_layout)
        else:
            super()._compositor_refresh()

    def _draw_layout(self) -> None:
        """Draw a layout with what the widgets drew that were told of it."""
        self._on_timer_update()
        if not self.app._batch_count:
            self._compositor_refresh()  # nothing else had to be drawn, or yet another layout
