"""Styles of parts of a widget that draws its lines itself."""

from __future__ import annotations

from rich.style import Style
from textual.widget import Widget


def over_widget(widget: Widget, name: str) -> Style:
    """The colour and the text style of a component as they are on the widget's own background.

    Textual's partial styles take colours that depend on what is below, such as ``$text-muted``,
    as if that were black.
    """
    style = widget.get_component_rich_style(name)
    return Style.from_color(style.color) + Style(
        bold=style.bold,
        dim=style.dim,
        italic=style.italic,
        underline=style.underline,
        reverse=style.reverse,
    )
