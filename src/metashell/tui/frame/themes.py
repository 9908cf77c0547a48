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


def _theme(name: str, *, dark: bool, **colours: str) -> Theme:
    fields: dict[str, Any] = {field: colours[colour] for field, colour in _FIELDS.items()}
    variables = {variable: colours[colour] for variable, colour in _VARIABLES.items()}
    return Theme(name=name, dark=dark, variables=variables, **fields)


DARK: Final = _theme(
    "metashell-dark",
    dark=True,
    text="#d7dce5",
    muted="#9aa5b8",
    ground="#12161d",
    frame="#1b212b",
    line="#465266",
    cursor="#10307a",
    on_cursor="#ffffff",
    blurred="#273142",
    accent="#6cb6ff",
    error="#ff7b72",
    warning="#f2cc60",
    success="#7ee787",
    bar="#4f7fb0",
    second="#76e3ea",
    third="#d2a8ff",
)
LIGHT: Final = _theme(
    "metashell-light",
    dark=False,
    text="#1f2733",
    muted="#4d5769",
    ground="#ffffff",
    frame="#eef1f6",
    line="#b4bdcb",
    cursor="#a8dcff",
    on_cursor="#0b1f3a",
    blurred="#e3ebf6",
    accent="#0a4fa6",
    error="#a81414",
    warning="#6e4700",
    success="#126030",
    bar="#5b8fc7",
    second="#0c5f78",
    third="#6a3cc0",
)
HIGH_CONTRAST: Final = _theme(
    "high-contrast",
    dark=True,
    text="#ffffff",
    muted="#d8d8d8",
    ground="#000000",
    frame="#101010",
    line="#c0c0c0",
    cursor="#ffff00",
    on_cursor="#000000",
    blurred="#262600",
    accent="#ffff00",
    error="#ff9a9a",
    warning="#ffd700",
    success="#5fff5f",
    bar="#c0c000",
    second="#00ffff",
    third="#ffd75f",
)
_ANSI_LIGHT: Final = replace(BUILTIN_THEMES["ansi-light"], warning="ansi_yellow")
"""Textual's own has a red for warnings."""
THEMES: Final = (DARK, LIGHT, HIGH_CONTRAST)
DEFAULT_THEME: Final = DARK.name


def register_themes(app: App[Any], name: str) -> None:
    """Make our themes known, and use the one of that name; in place of an unknown one the first."""
    for theme in (*THEMES, _ANSI_LIGHT):
        app.register_theme(theme)
    app.theme = name if name in app.available_themes else DEFAULT_THEME
