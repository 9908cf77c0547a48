"""Widgets are told their size, whatever else is laid out meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

from textual import events
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from metashell.tui.frame.layout import tell_all_sizes


class _Told(Static):
    """Notes the sizes that it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def on_resize(self, event: events.Resize) -> None:
        """Note the width."""
        self.sizes.append(event.size.width)


class _Program(App[None]):
    def compose(self) -> ComposeResult:
        """What scrolls."""
        with VerticalScroll():
            for i in range(100):
                yield Static(str(i))


def test_what_comes_while_others_scroll() -> None:
    """A widget mounted, or resized, between scrolling and the layout is told its size."""

    async def run() -> None:
        tell_all_sizes()
        async with _Program().run_test(size=(80, 24)) as pilot:
            screen: Any = pilot.app.screen
            told = _Told()
            told.styles.dock = "right"
            for width in (20, 30):
                screen._layout_widgets.clear()
                screen._refresh_layout(scroll=True)
                assert screen._compositor._full_map_invalidated
                told.styles.width = width
                if not told.is_attached:
                    await pilot.app.mount(told)
                assert told.size is not None  # anybody may ask for it now
                await pilot.pause()
                assert told.sizes[-1:] == [width]

    asyncio.run(run())
