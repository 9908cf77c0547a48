"""The line above the explorer: the path looked at, each directory of which can be clicked."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from metashell.fs.path import decode_name, split
from metashell.tui.tree.tree_lines import cut

_BETWEEN: Final = " › "
_LEFT_OUT: Final = "… "
_NOT_THERE: Final = "not there at this offset"
_WIDEST: Final = 40


class Breadcrumbs(Widget):
    """The components of a path."""

    HELP: ClassVar = "The selected path. A click on a part goes there."
    DEFAULT_CSS = """
    Breadcrumbs {
        height: 1;
        padding: 0 1;
        background: $panel;
        color: $foreground;
    }
    """

    class Chosen(Message):
        """A component was clicked."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    def __init__(self) -> None:
        super().__init__()
        self._path = "/"
        self._missing = 0
        self._spans: list[tuple[int, int, str]] = []
        """(first column, column behind, path) of what is drawn."""

    @property
    def path(self) -> str:
        """The path that is shown."""
        return self._path

    def show(self, path: str, missing: int = 0) -> None:
        """Show a path.

        Args:
            path: An absolute path.
            missing: How many of its last components are not there.
        """
        if (path, missing) != (self._path, self._missing):
            self._path, self._missing = path, missing
            self.refresh()

    def render(self) -> Content:
        """Draw as much of the end of the path as there is room for."""
        width = self.size.width
        note = f"  ({_NOT_THERE})" if self._missing else ""
        parts = split(self._path)
        labels = ["/", *(cut(decode_name(part), _WIDEST) for part in parts)]
        paths = ["/" + "/".join(parts[:n]) for n in range(len(parts) + 1)]
        first = _first_that_fits([cell_len(label) for label in labels], width - len(note))
        pieces: list[str | tuple[str, str]] = [_LEFT_OUT] if first else []
        column = len(_LEFT_OUT) if first else 0
        self._spans = []
        for i in range(first, len(labels)):
            if i > first:
                pieces.append((_BETWEEN, "$text-muted"))
                column += len(_BETWEEN)
            is_gone = i >= len(labels) - self._missing
            style = "$text-warning strike" if is_gone else "bold" if i == len(labels) - 1 else ""
            pieces.append((labels[i], style))
            self._spans.append((column, column + cell_len(labels[i]), paths[i]))
            column += cell_len(labels[i])
        pieces.append((note, "$text-warning"))
        return Content.assemble(*pieces)

    def on_click(self, event: events.Click) -> None:
        """Go to the component that was clicked."""
        event.stop()
        offset = event.get_content_offset(self)
        for start, stop, path in self._spans:
            if offset is not None and start <= offset.x < stop:
                self.post_message(self.Chosen(path))


def _first_that_fits(widths: list[int], room: int) -> int:
    """The first component from which on all fit."""
    total = sum(widths) + len(_BETWEEN) * (len(widths) - 1)
    first = 0
    while first < len(widths) - 1 and total + (len(_LEFT_OUT) if first else 0) > room:
        total -= widths[first] + len(_BETWEEN)
        first += 1
    return first
