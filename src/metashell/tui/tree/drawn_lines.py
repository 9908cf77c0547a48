"""Lines of the tree as they were drawn: after scrolling most of them have only moved.

Textual keeps a line for each row of the screen. It draws all of them anew when rows move, or when
the focus comes or goes.
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
    """Keeps lines by what they show and in which styles."""

    def __init__(self) -> None:
        self._strips: dict[Hashable, dict[Hashable, Strip]] = {}

    def lines(
        self, widget: Widget, crop: Region, shown: Sequence[Hashable], draw: Draw
    ) -> list[Strip]:
        """The lines of a region of a widget.

        Args:
            widget: The widget.
            crop: The region, relative to the widget.
            shown: For each line of it all that the line depends on, but for styles.
            draw: Draws a region.
        """
        if sum(map(len, self._strips.values())) > _KEPT:
            self._strips.clear()
        strips = self._strips.setdefault((crop.column_span, _look_of(widget)), {})
        for i, what in enumerate(shown):
            if what not in strips:
                strips[what] = draw(Region(crop.x, crop.y + i, crop.width, 1))[0]
        return [strips[what] for what in shown]


def _look_of(widget: Widget) -> Hashable:
    """All that the lines of a widget depend on, but for what they show: sizes and styles."""
    styles = widget.styles
    return (
        (widget.region.size, widget.size, widget.scrollable_content_region.size, styles.padding),
        (widget.background_colors, widget.rich_style, widget.opacity, styles.tint),
        (styles.border, styles.outline, styles.hatch if styles.has_rule("hatch") else None),
        tuple(map(widget.get_component_rich_style, sorted(widget.COMPONENT_CLASSES))),
        tuple(map(id, widget.get_line_filters())),
    )
