"""Themes: a dark one, a light one and one of high contrast, each a few colours, beside Textual's.

Texts have a contrast of 4.5:1 at least on what they stand on. In 16 colours severities stay red
and yellow. Textual's `ansi-dark` and `ansi-light` take the colours of the terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from textual.theme import Theme

if TYPE_CHECKING:
    from textual.app import App


def _theme(
    name: str,
    *,
    dark: bool,
    text: tuple[str, str],
    ground: tuple[str, str],
    line: str,
    cursor: tuple[str, str, str],
    accent: str,
    error: str,
    warning: str,
    success: str,
    bars: str,
    kinds: tuple[str, str],
) -> Theme:
    """A theme of few colours.

    Args:
        name: Its name.
        dark: Whether texts are lighter than what they stand on.
        text: The colour of texts, and of those that matter less.
        ground: The background, and that of the lines of the frame.
        line: Borders without the focus, and scroll bars.
        cursor: The cursor's text and background, and its background without the focus.
        accent: The focus, and what can be pressed.
        error: What is critical.
        warning: What is a warning.
        success: What is well.
        bars: Bars, and lines over time.
        kinds: Two more colours, for kinds of records.
    """
    foreground, muted = text
    background, panel = ground
    cursor_text, cursor_ground, blurred = cursor
    behind = ("scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active",
              "scrollbar-corner-color")  # fmt: skip
    return Theme(
        name=name,
        primary=accent,
        secondary=kinds[0],
        accent=kinds[1],
        warning=warning,
        error=error,
        success=success,
        foreground=foreground,
        background=background,
        surface=background,
        panel=panel,
        dark=dark,
        # Textual's own are shades of the colours above, too near to each other.
        variables={
            "text": foreground,
            "text-muted": muted,
            "text-disabled": muted,
            "foreground-muted": muted,
            "foreground-disabled": muted,
            "text-primary": accent,
            "text-secondary": kinds[0],
            "text-accent": kinds[1],
            "text-error": error,
            "text-warning": warning,
            "text-success": success,
            "primary-muted": bars,
            "border": accent,
            "border-blurred": line,
            "block-cursor-foreground": cursor_text,
            "block-cursor-background": cursor_ground,
            "block-cursor-text-style": "bold",
            "block-cursor-blurred-foreground": foreground,
            "block-cursor-blurred-background": blurred,
            "block-cursor-blurred-text-style": "none",
            "block-hover-background": panel,
            "input-cursor-background": accent,
            "input-cursor-foreground": background,
            "input-selection-background": cursor_ground,
            "input-selection-foreground": cursor_text,
            "screen-selection-background": cursor_ground,
            "screen-selection-foreground": cursor_text,
            "scrollbar": line,
            "scrollbar-hover": muted,
            "scrollbar-active": accent,
            **dict.fromkeys(behind, background),
            "footer-background": panel,
            "footer-key-foreground": accent,
            "markdown-h6-color": muted,
            "link-color": accent,
            "link-background-hover": accent,
            "link-color-hover": background,
        },
    )


DARK: Final = _theme(
    "metashell-dark",
    dark=True,
    text=("#d7dce5", "#9aa5b8"),
    ground=("#12161d", "#1b212b"),
    line="#465266",
    cursor=("#ffffff", "#10307a", "#273142"),
    accent="#6cb6ff",
    error="#ff7b72",
    warning="#f2cc60",
    success="#7ee787",
    bars="#4f7fb0",
    kinds=("#76e3ea", "#d2a8ff"),
)
LIGHT: Final = _theme(
    "metashell-light",
    dark=False,
    text=("#1f2733", "#4d5769"),
    ground=("#ffffff", "#eef1f6"),
    line="#b4bdcb",
    cursor=("#0b1f3a", "#a8dcff", "#e3ebf6"),
    accent="#0a4fa6",
    error="#a81414",
    warning="#6e4700",
    success="#126030",
    bars="#5b8fc7",
    kinds=("#0c5f78", "#6a3cc0"),
)
HIGH_CONTRAST: Final = _theme(
    "high-contrast",
    dark=True,
    text=("#ffffff", "#d8d8d8"),
    ground=("#000000", "#101010"),
    line="#c0c0c0",
    cursor=("#000000", "#ffff00", "#262600"),
    accent="#ffff00",
    error="#ff9a9a",
    warning="#ffd700",
    success="#5fff5f",
    bars="#c0c000",
    kinds=("#00ffff", "#ffd75f"),
)
THEMES: Final = (DARK, LIGHT, HIGH_CONTRAST)
DEFAULT_THEME: Final = DARK.name


def register_themes(app: App[Any], name: str) -> None:
    """Make our themes known, and use the one of that name; in place of an unknown one the first."""
    for theme in THEMES:
        app.register_theme(theme)
    app.theme = name if name in app.available_themes else DEFAULT_THEME
