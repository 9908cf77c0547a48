"""Themes: a dark one, a light one and one of high contrast, each a few colours, beside Textual's.

Texts have a contrast of 4.5:1 at least on what they stand on. In 16 colours severities stay red
and yellow. Textual's `ansi-dark` and `ansi-light` take the colours of the terminal.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from textual.theme import BUILTIN_THEMES, Theme

if TYPE_CHECKING:
    from textual.app import App


_FIELDS: Final = {
    "primary": "accent",
    "secondary": "second",
    "accent": "third",
    "warning": "warning",
    "error": "error",
    "success": "success",
    "foreground": "text",
    "background": "ground",
    "surface": "ground",
    "panel": "frame",
}
"""Fields of a theme, by the colour that they have."""
_VARIABLES: Final = {
    "text": "text",
    "text-muted": "muted",
    "text-disabled": "muted",
    "foreground-muted": "muted",
    "foreground-disabled": "muted",
    "text-primary": "accent",
    "text-secondary": "second",
    "text-accent": "third",
    "text-error": "error",
    "text-warning": "warning",
    "text-success": "success",
    "primary-muted": "bar",
    "border": "accent",
    "border-blurred": "line",
    "block-cursor-foreground": "on_cursor",
    "block-cursor-background": "cursor",
    "block-cursor-blurred-foreground": "text",
    "block-cursor-blurred-background": "blurred",
    "block-hover-background": "frame",
    "input-cursor-background": "accent",
    "input-cursor-foreground": "ground",
    "input-selection-background": "cursor",
    "input-selection-foreground": "on_cursor",
    "screen-selection-background": "cursor",
    "screen-selection-foreground": "on_cursor",
    "scrollbar": "line",
    "scrollbar-hover": "muted",
    "scrollbar-active": "accent",
    "scrollbar-background": "ground",
    "scrollbar-background-hover": "ground",
    "scrollbar-background-active": "ground",
    "scrollbar-corner-color": "ground",
    "footer-background": "frame",
    "footer-key-foreground": "accent",
    "markdown-h6-color": "muted",
    "link-color": "accent",
    "link-background-hover": "accent",
    "link-color-hover": "ground",
}
"""Likewise the variables of styles. Textual's own are shades that are too near to each other."""


_COLOURS: Final = {
    "text": ("#d7dce5", "#1f2733", "#ffffff"),
    "muted": ("#9aa5b8", "#4d5769", "#d8d8d8"),
    "ground": ("#12161d", "#ffffff", "#000000"),
    "frame": ("#1b212b", "#eef1f6", "#101010"),
    "line": ("#465266", "#b4bdcb", "#c0c0c0"),
    "cursor": ("#10307a", "#a8dcff", "#ffff00"),
    "on_cursor": ("#ffffff", "#0b1f3a", "#000000"),
    "blurred": ("#273142", "#e3ebf6", "#262600"),
    "accent": ("#6cb6ff", "#0a4fa6", "#ffff00"),
    "error": ("#ff7b72", "#a81414", "#ff9a9a"),
    "warning": ("#f2cc60", "#6e4700", "#ffd700"),
    "success": ("#7ee787", "#126030", "#5fff5f"),
    "bar": ("#4f7fb0", "#5b8fc7", "#c0c000"),
    "second": ("#76e3ea", "#0c5f78", "#00ffff"),
    "third": ("#d2a8ff", "#6a3cc0", "#ffd75f"),
}
"""The colours of the dark theme, the light one, and the one of high contrast."""


def _theme(at: int, name: str, *, dark: bool = True) -> Theme:
    fields: dict[str, Any] = {field: _COLOURS[colour][at] for field, colour in _FIELDS.items()}
    variables = {variable: _COLOURS[colour][at] for variable, colour in _VARIABLES.items()}
    return Theme(name=name, dark=dark, variables=variables, **fields)


DARK: Final = _theme(0, "metashell-dark")
LIGHT: Final = _theme(1, "metashell-light", dark=False)
HIGH_CONTRAST: Final = _theme(2, "high-contrast")
_ANSI_LIGHT: Final = replace(BUILTIN_THEMES["ansi-light"], warning="ansi_yellow")
"""Textual's own has a red for warnings."""
THEMES: Final = (DARK, LIGHT, HIGH_CONTRAST)
DEFAULT_THEME: Final = DARK.name


def register_themes(app: App[Any], name: str) -> None:
    """Make our themes known, and use the one of that name; in place of an unknown one the first."""
    for theme in (*THEMES, _ANSI_LIGHT):
        app.register_theme(theme)
    app.theme = name if name in app.available_themes else DEFAULT_THEME
