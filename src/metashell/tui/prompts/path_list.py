"""A list of lines of which one is chosen; only those in sight are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import pyarrow as pa
from rich.cells import cell_len
from rich.text import Text
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from metashell.tui.lines import LineList, moving_keys
from metashell.tui.part import shown_key
from metashell.tui.prompts.output_lines import cleaned


class PathList(LineList):
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
        *moving_keys("list", letters=False),
        shown_key("enter", "choose", "Go there", "list.choose"),
        shown_key("x", "export", "Export", "export"),
    ]

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

    @property
    def n_lines(self) -> int:
        """All lines so far."""
        return len(self.paths)

    def go_to_line(self, line: int) -> None:
        """Put the cursor on a line."""
        self.put_cursor(max(min(line, self.n_lines - 1), 0))
        self.show_cursor()

    def action_move(self, by: int) -> None:
        """Go down so many lines; above the first one is what they came from."""
        if self.cursor + by < 0:
            self.post_message(self.Left())
        self._go_down(by)

    def action_page(self, by: int) -> None:
        """Go down so many pages."""
        self._go_down(by * self.page)

    def _go_down(self, by: int) -> None:
        """Go down so many lines; one that may be there soon is waited for."""
        is_beyond = self.cursor + by >= len(self.paths)
        if is_beyond and self.once_more and self.once_more(lambda: self._go_down(by)):
            return
        self.go_to_line(self.cursor + by)

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
