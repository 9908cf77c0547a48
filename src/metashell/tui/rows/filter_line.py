"""The line at the end of what is filtered: by which text, and how much of it is left."""

from __future__ import annotations

from typing import Final

from textual.widget import Widget

from metashell.tui.text import line

_FILTERED: Final = "-filtered"
"""Class of a widget that has such a line."""


def show_filter(widget: Widget, text: str, n_shown: int, n_all: int) -> None:
    """Say by what a widget is filtered; short of room the count gives way to the text.

    Args:
        widget: What is filtered.
        text: What rows must contain; empty for no filter, and no line.
        n_shown: How many rows do.
        n_all: How many rows there are.
    """
    widget.set_class(bool(text), _FILTERED)
    said = line(f"filter {text}: {n_shown:,} of {n_all:,}") if text else None
    if widget.border_subtitle != (None if said is None else said.markup):
        widget.border_subtitle = said


def nothing_left(what: str, text: str) -> str:
    """What is said where a filter leaves nothing.

    Args:
        what: What is filtered, in the singular.
        text: The filter.
    """
    return f"no {what} contains '{line(text).plain}': escape drops the filter"
