"""The first line: what is open, and the views."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.reactive import reactive
from textual.widgets import Static

from metashell.tui.part import AppPart
from metashell.tui.text import line
from metashell.tui.view import VIEWS, ViewSpec


class Tab(AppPart, Static):
    """A view's name; a click shows the view."""

    def __init__(self, spec: ViewSpec) -> None:
        super().__init__(line(f" {spec.key} {spec.title} "), id=f"tab-{spec.id}", markup=False)
        self.spec = spec

    def on_click(self, event: events.Click) -> None:
        """Show the view."""
        event.stop()
        self.explorer.show_view(self.spec.id)


class TabStrip(Horizontal):
    """The name of the source, and a tab for each view."""

    current: reactive[str] = reactive("")
    """Id of the view that is shown."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._source_name = name

    def compose(self) -> ComposeResult:
        """The name, then the tabs."""
        yield Static(line(f" {self._source_name} "), id="source-name", markup=False)
        # The fleet is the whole, which comes first; its key is the last one.
        for spec in sorted(VIEWS, key=lambda spec: not spec.for_fleet):
            tab = Tab(spec)
            tab.display = not spec.for_fleet
            yield tab

    def show(self, name: str, *, has_fleet: bool) -> None:
        """Name what is open."""
        self.query_one("#source-name", Static).update(line(f" {name} "))
        for tab in self.query(Tab):
            tab.display = has_fleet or not tab.spec.for_fleet

    def watch_current(self, current: str) -> None:
        """Mark the tab of the view that is shown."""
        for tab in self.query(Tab):
            tab.set_class(tab.spec.id == current, "-current")
