"""A list of lines of which one is chosen; only those in sight are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import pyarrow as pa
from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from metashell.tui.part import AppPart
from metashell.tui.prompts.output_lines import cleaned


class PathList(AppPart, ScrollView, can_focus=True):
    """Paths, as many as there are."""

    HELP = "What was found. The arrows move, `enter` goes to the node. `x` exports the paths."
    DEFAULT_CSS = """
    PathList { background: $background; color: $foreground; height: 1fr; }
    PathList > .path-list--cursor {
        color: $block-cursor-blurred-foreground; background: $block-cursor-blurred-background;
        text-style: $block-cursor-blurred-text-style;
    }
    PathList:focus > .path-list--cursor {
        color: $block-cursor-foreground; background: $block-cursor-background;
        text-style: $block-cursor-text-style;
    }
    PathList:nocolor > .path-list--cursor { text-style: reverse; }
    """
    COMPONENT_CLASSES: ClassVar = {"path-list--cursor"}
    BINDINGS: ClassVar = [
        Binding("up", "move(-1)", "Up", show=False, id="list.up"),
        Binding("down", "move(1)", "Down", show=False, id="list.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="list.page-up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="list.page-down"),
        Binding("home", "first", "First", show=False, id="list.first"),
        Binding("end", "last", "Last", show=False, id="list.last"),
        Binding("enter", "choose", "Go there", id="list.choose"),
        Binding("x", "export", "Export", id="export"),
    ]

    cursor: reactive[int] = reactive(0)
    """Which line is gone to."""

    class Chosen(Message):
        """A line was taken."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    class Left(Message):
        """The cursor went above the first line."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.paths: list[str] = []
        """All lines, as they were given."""
        self.once_more: Callable[[Callable[[], object]], bool] | None = None
        """Does something once more lines are there; whether any may come."""
        self._widest = 0

    def allow_focus(self) -> bool:
        """Take keys only where there is something to choose from."""
        return bool(self.paths)

    @property
    def chosen(self) -> str | None:
        """The line of the cursor."""
        return self.paths[self.cursor] if self.cursor < len(self.paths) else None

    def clear(self) -> None:
        """Show nothing."""
        self.paths, self._widest, self.cursor = [], 0, 0
        self.virtual_size = Size(0, 0)
        self.scroll_home(animate=False)
        self.refresh()

    def add(self, paths: Sequence[str]) -> None:
        """Show more lines behind the others."""
        self.paths += paths
        for path in paths:
            if len(path) > self._widest or not path.isascii():
                self._widest = max(self._widest, cell_len(path))
        self.virtual_size = Size(self._widest, len(self.paths))
        self.refresh()

    def validate_cursor(self, cursor: int) -> int:
        """Stay in the list."""
        return max(min(cursor, len(self.paths) - 1), 0)

    def watch_cursor(self, _before: int, cursor: int) -> None:
        """Keep the cursor in sight."""
        height = max(self.scrollable_content_region.height, 1)
        top = self.scroll_offset.y
        if cursor < top:
            self.scroll_to(y=cursor, animate=False, immediate=True)
        elif cursor >= top + height:
            self.scroll_to(y=cursor - height + 1, animate=False, immediate=True)
        self.refresh()

    def action_move(self, by: int) -> None:
        """Go down so many lines; above the first one is what they came from."""
        if self.cursor + by < 0:
            self.post_message(self.Left())
        self._go_down(by)

    def action_page(self, by: int) -> None:
        """Go down so many screens."""
        self._go_down(by * max(self.scrollable_content_region.height - 1, 1))

    def _go_down(self, by: int) -> None:
        """Go down so many lines; one that may be there soon is waited for."""
        is_beyond = self.cursor + by >= len(self.paths)
        if is_beyond and self.once_more and self.once_more(lambda: self._go_down(by)):
            return
        self.cursor += by

    def action_first(self) -> None:
        """Go to the first line."""
        self.cursor = 0

    def action_last(self) -> None:
        """Go to the last line."""
        self.cursor = len(self.paths) - 1

    def action_choose(self) -> None:
        """Take the line of the cursor."""
        if self.chosen is not None:
            self.post_message(self.Chosen(self.chosen))

    def action_export(self) -> None:
        """Write the paths to a file."""
        if not self.paths:
            self.explorer.tell("nothing was found")
            return
        paths = pa.table({"path": pa.array(self.paths, pa.string())})
        self.explorer.ask_where_to_export([("find", paths)])

    def on_click(self, event: events.Click) -> None:
        """Go to a line; a double click takes it."""
        at = event.y + self.scroll_offset.y
        if at < len(self.paths):
            self.cursor = at
            if event.chain == 2:
                self.action_choose()

    def render_line(self, y: int) -> Strip:
        """Draw a line."""
        at, width, style = self.scroll_offset.y + y, self.size.width, self.rich_style
        if at >= len(self.paths):
            return Strip.blank(width, style)
        if at == self.cursor:
            style += self.get_component_rich_style("path-list--cursor")
        row = cleaned(self.paths[at])
        text = Text(row if isinstance(row, str) else row.plain, style, no_wrap=True)
        left = self.scroll_offset.x
        return Strip(text.render(self.app.console)).crop_extend(left, left + width, style)
