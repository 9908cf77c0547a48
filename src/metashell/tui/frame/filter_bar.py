"""The line in which a filter is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.dom import DOMNode
from textual.widget import Widget
from textual.widgets import Input

from metashell.tui.part import quiet_key, shown_key
from metashell.tui.view import give_back

if TYPE_CHECKING:
    from metashell.tui.view import View

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
        shown_key("escape", "drop", "Drop filter", "filter.drop"),
        shown_key("enter", "submit", "Keep filter", "filter.keep"),
        quiet_key("down", "submit", "Keep filter", "filter.down"),
    ]

    def __init__(self, view: View) -> None:
        super().__init__(
            view.filter_text or "",
            placeholder=f"filter {view.filtered}",
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
