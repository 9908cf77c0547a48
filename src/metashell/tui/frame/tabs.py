"""Tabs on one line: a key and a title each, and a click takes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias

from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from metashell.tui.text import line

LineTab: TypeAlias = tuple[str, str, str]
"""(key, title, action of a click): the key may be empty, and the current tab has no action."""


class TabLine(Static):
    """Draws the tabs of a line, of which one is current."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"tabs--current"}
    DEFAULT_CSS = """
    TabLine {
        height: 1; color: $text-muted; text-wrap: nowrap;
        link-color: $text-muted; link-style: none; link-background: transparent;
        link-color-hover: $text-muted; link-style-hover: underline;
        link-background-hover: transparent;
    }
    TabLine > .tabs--current { text-style: bold underline; color: $text-primary; }
    """

    def fitting_tabs(self, tabs: Sequence[LineTab], room: int) -> Content:
        """The tabs in so many columns: titles without room are left out, the last ones first.

        The title stays of the current tab, and of one without a key.
        """
        current = self.get_visual_style("tabs--current") + Style(reverse=self.app.no_color)
        pieces = []
        for key, title, action in tabs:
            style = Style.from_meta({"@click": action}) if action else current
            pieces.append(line(f" {key} {title} " if key else f" {title} ").stylize(style))
        for i in reversed(range(len(tabs))):
            key, _, action = tabs[i]
            if sum(piece.cell_length for piece in pieces) > room and key and action:
                pieces[i] = pieces[i][: len(key) + 1] + " "
        return Content("").join(pieces)
