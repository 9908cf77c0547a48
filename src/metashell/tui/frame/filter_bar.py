"""The line in which a filter is typed."""

from __future__ import annotations

from typing import ClassVar, Final, Protocol

from textual.binding import Binding
from textual.dom import DOMNode
from textual.widget import Widget
from textual.widgets import Input

from metashell.tui.frame.taking_focus import give_back


class Filterable(Protocol):
    """A part that can be filtered: a view, or a command's output."""

    @property
    def filter_text(self) -> str | None:
        """The filter that holds; None where nothing can be filtered."""

    def filter_by(self, text: str) -> None:
        """Show only what contains a text; empty for all."""

    def keep_filter(self) -> None:
        """Take the filter as it is typed now."""

    def focus_content(self) -> None:
        """Put the focus back."""


_FILTERING: Final = "-filtering"
"""Class of the rack of messages on a screen that has such a line."""


class FilterBar(Input):
    """A filter for a view, applied while it is typed.

    Args:
        view: The view to filter.
    """

    HELP = (
        "Shows only what contains the text, whatever the case, as you type. `enter` or `down` "
        "keeps the filter, `escape` drops it."
    )
    DEFAULT_CSS = """
    FilterBar, FilterBar:focus { height: 1; background: $surface; padding: 0 1; }
    """
    BINDINGS: ClassVar = [
        Binding("escape", "drop", "Drop the filter", id="filter.drop"),
        Binding("enter", "submit", "Keep it", id="filter.keep"),
        Binding("down", "submit", "Keep the filter", show=False, id="filter.down"),
    ]

    def __init__(self, view: Filterable) -> None:
        super().__init__(
            view.filter_text or "",
            placeholder="filter: what lines must contain",
            compact=True,
            select_on_focus=False,
        )
        self._view = view
        self.has_ended = False
        """Whether it takes no more text, and is about to go."""
        self._came_from: Widget | None = None

    def on_mount(self) -> None:
        """Take what is typed."""
        self._came_from = self.screen.focused
        self.screen.query("ToastRack").add_class(_FILTERING)
        self.focus()

    def on_unmount(self) -> None:
        """Give the line back, unless another filter is typed in it."""
        if not is_typed_in(self.screen):
            self.screen.query("ToastRack").remove_class(_FILTERING)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter by what is typed so far."""
        event.stop()
        if not self.has_ended:
            self._view.filter_by(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the filter."""
        event.stop()
        self._view.keep_filter()
        self._end()

    def action_drop(self) -> None:
        """Show everything again."""
        self._view.filter_by("")
        self._view.keep_filter()
        self._end()

    def on_blur(self) -> None:
        """Keep the filter where the user goes elsewhere."""
        if not self.has_ended:
            self.has_ended = True
            self._view.keep_filter()
            self.remove()

    def _end(self) -> None:
        # The text typed last has been applied before this.
        self.has_ended = True
        give_back(self._view, self._came_from)
        self.remove()


def is_typed_in(part: DOMNode) -> bool:
    """Whether a filter is being typed in a part."""
    return any(not bar.has_ended for bar in part.query(FilterBar))
