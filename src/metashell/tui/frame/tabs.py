"""The first line: what is open, and the views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.reactive import reactive
from textual.widgets import Static

from metashell.tui.part import AppPart
from metashell.tui.text import line, say
from metashell.tui.view import FLEET, VIEWS, ViewSpec

if TYPE_CHECKING:
    from metashell.tui.view_state import ViewState


_ROOM: Final = 96
"""Columns in which all tabs fit with room between."""


class Tab(AppPart, Static):
    """A view's name; a click shows the view."""

    def __init__(self, spec: ViewSpec) -> None:
        super().__init__(id=f"tab-{spec.id}", markup=False)
        self.spec = spec

    def name_it(self, gap: str) -> None:
        """Show the key and the name, with some room behind."""
        say(self, f" {self.spec.key} {self.spec.title}{gap}", sets_width=True)

    def on_click(self, event: events.Click) -> None:
        """Show the view."""
        event.stop()
        self.explorer.visit_view(self.spec.id)


class TabStrip(Horizontal):
    """The name of the source, and a tab for each view."""

    current: reactive[str] = reactive("")
    """Id of the view that is shown."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._source_name = name
        self._shown: tuple[ViewSpec, ...] = ()
        """Views that are there whatever is shown."""

    def compose(self) -> ComposeResult:
        """The name, then the tabs."""
        yield Static(line(f" {self._source_name} "), id="source-name", markup=False)
        # The fleet is the whole, which comes first; its key is the last one.
        for spec in sorted(VIEWS, key=lambda spec: spec.needs != FLEET):
            tab = Tab(spec)
            tab.display = spec.is_offered
            yield tab

    def on_resize(self, event: events.Resize) -> None:
        """Have the tabs closer together where there is little room."""
        for tab in self.query(Tab):
            tab.name_it(" " if event.size.width >= _ROOM else "")

    def name_source(self, name: str) -> None:
        """Name what is open."""
        self.query_one("#source-name", Static).update(line(f" {name} "))

    def show_view_state(self, view_state: ViewState) -> None:
        """Show the tabs that mean something in a view state."""
        for tab in self.query(Tab):
            tab.display = tab.spec.is_there(view_state) or tab.spec in self._shown

    def show_tab(self, spec: ViewSpec) -> None:
        """Show the tab of a view that is there whatever is shown."""
        self._shown = (*self._shown, spec)
        self.query_one(f"#tab-{spec.id}").display = True

    @property
    def shown(self) -> list[ViewSpec]:
        """The views that have a tab, in the order of their keys."""
        found = [tab.spec for tab in self.query(Tab) if tab.display]
        return sorted(found, key=lambda spec: spec.key)

    def watch_current(self, current: str) -> None:
        """Mark the tab of the view that is shown."""
        for tab in self.query(Tab):
            tab.set_class(tab.spec.id == current, "-current")
