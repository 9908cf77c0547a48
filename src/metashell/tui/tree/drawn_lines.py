"""Lines of the tree as they were drawn: after scrolling most of them have only moved.

Textual keeps a line for each row of the screen, and draws all of them anew when rows move.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final, TypeAlias

from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

_KEPT: Final = 1_000
"""Lines; a screen has some dozens."""

Draw: TypeAlias = Callable[[Region], list[Strip]]


class DrawnLines:
    """Keeps lines by what they show."""

    def __init__(self) -> None:
        self._strips: dict[Hashable, Strip] = {}
        self._frame: Hashable = None

    def forget(self) -> None:
        """Keep nothing any more: styles may have changed."""
        self._strips.clear()

    def lines(
        self, widget: Widget, crop: Region, shown: Sequence[Hashable], draw: Draw
    ) -> list[Strip]:
        """The lines of a region of a widget.

        Args:
            widget: The widget; a line depends on its size and on what is behind it, too.
            crop: The region, relative to the widget.
            shown: For each line of it all that the line depends on, but for styles.
            draw: Draws a region.
        """
        filters = tuple(map(id, widget.get_line_filters()))
        behind = (widget.background_colors, widget.rich_style, widget.opacity)
        frame = (crop.column_span, widget.region.size, widget.size, behind, filters)
        if frame != self._frame or len(self._strips) > _KEPT:
            self._frame = frame
            self._strips.clear()
        strips = self._strips
        for i, what in enumerate(shown):
            if what not in strips:
                strips[what] = draw(Region(crop.x, crop.y + i, crop.width, 1))[0]
        return [strips[what] for what in shown]
