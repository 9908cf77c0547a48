"""Styles of parts of a widget that draws its lines itself."""

from __future__ import annotations

from rich.style import Style
from textual.widget import Widget


def over_widget(widget: Widget, name: str) -> Style:
    """The colour and the text style of a component as they are on the widget's own background.

    Textual's partial styles take colours that depend on what is below, such as ``$text-muted``,
    as if that were black.
    """
    # Beside the library's own styles, which are forgotten whenever one of them may have changed.
    kept, key = widget._rich_style_cache, ("over", name)
    found = kept.get(key)
    if found is None:
        style = widget.get_component_rich_style(name)
        own = Style.from_color(style.color) + Style(
            bold=style.bold,
            dim=style.dim,
            italic=style.italic,
            underline=style.underline,
            reverse=style.reverse,
        )
        found = kept[key] = (own, own)
    return found[0]
