"""The line at the end of what is filtered: by which text, and how much of it is left."""

from __future__ import annotations

from typing import Final

from textual.widget import Widget

from metashell.tui.text import line

_FILTERED: Final = "-filtered"
"""Class of a widget that has such a line."""


def show_filter(widget: Widget, text: str, n_shown: int, n_all: int) -> None:
    """Show a widget's filter on its border; without enough room the count gives way to the text.

    Args:
        widget: The widget whose rows are filtered.
        text: The text that rows must contain; empty for no filter, and no line.
        n_shown: The number of rows that contain it.
        n_all: The number of all rows.
    """
    widget.set_class(bool(text), _FILTERED)
    said = line(f"filter {text}: {n_shown:,} of {n_all:,}") if text else None
    if widget.border_subtitle != (None if said is None else said.markup):
        widget.border_subtitle = said


def nothing_left(what: str, text: str) -> str:
    """The message for a filter that leaves nothing.

    Args:
        what: The kind of thing that is filtered, in the singular.
        text: The filter.
    """
    return f"no {what} contains '{line(text).plain}': escape drops the filter"
