"""Whether what is drawn can be read: the contrast of each text with what it stands on."""

from __future__ import annotations

import re
from typing import Final

from rich.style import Style
from textual.color import Color

from support.pilot import Driver

LEAST: Final = 4.5
"""The ratio that WCAG asks for of texts."""
_DRAWN: Final = re.compile(r"[\s─-▟]*")
"""Borders, bars and blanks: they are no texts."""


def _luminance(color: Color) -> float:
    """As WCAG defines it."""
    parts = [part / 255 for part in color.rgb]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(style: Style) -> float:
    """The ratio between a text and its background."""
    assert style.color is not None
    assert style.bgcolor is not None
    colours = (Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))
    low, high = sorted(map(_luminance, colours))
    return (high + 0.05) / (low + 0.05)


def faint(driver: Driver, least: float = LEAST) -> list[tuple[str, float]]:
    """The texts on the screen with less contrast than that."""
    return [
        (segment.text, round(ratio, 1))
        for strip in driver.app.screen._compositor.render_strips()
        for segment in strip
        if segment.style and segment.style.color and not _DRAWN.fullmatch(segment.text)
        if (ratio := contrast(segment.style)) < least
    ]
