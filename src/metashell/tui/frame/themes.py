"""Themes: Textual's own, and one of high contrast.

Textual's `ansi-dark` and `ansi-light` take the colours of the terminal, of which 16 are enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from textual.theme import Theme

if TYPE_CHECKING:
    from textual.app import App

DEFAULT_THEME: Final = "textual-dark"
HIGH_CONTRAST: Final = Theme(
    name="high-contrast",
    primary="#ffff00",
    secondary="#00ffff",
    accent="#ffd75f",
    warning="#ffd700",
    error="#ff9a9a",
    success="#5fff5f",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#101010",
    dark=True,
    # Textual's own are shades of the colours above, too near to each other.
    variables={
        "text": "auto 100%",
        "text-muted": "auto 85%",
        "text-disabled": "auto 75%",
        "foreground-muted": "#d8d8d8",
        "foreground-disabled": "#c0c0c0",
        "border": "#ffff00",
        "border-blurred": "#c0c0c0",
        "block-cursor-foreground": "#000000",
        "block-cursor-background": "#ffff00",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-foreground": "#ffffff",
        "block-cursor-blurred-background": "#3f3f00",
        "block-cursor-blurred-text-style": "bold",
        "block-hover-background": "#303030",
        "input-cursor-background": "#ffff00",
        "input-cursor-foreground": "#000000",
        "input-selection-background": "#00ffff",
        "input-selection-foreground": "#000000",
        "screen-selection-background": "#00ffff",
        "screen-selection-foreground": "#000000",
        "scrollbar": "#c0c0c0",
        "scrollbar-hover": "#ffffff",
        "scrollbar-active": "#ffff00",
        "scrollbar-background": "#303030",
        "footer-key-foreground": "#ffff00",
        "markdown-h6-color": "#d8d8d8",
        "link-color": "#00ffff",
        "link-background-hover": "#ffff00",
        "link-color-hover": "#000000",
    },
)


def register_themes(app: App[Any], name: str) -> None:
    """Make our themes known, and use the one of that name; an unknown one is passed over."""
    app.register_theme(HIGH_CONTRAST)
    if name in app.available_themes:
        app.theme = name
