"""Has each widget told its size: the library forgets it of one that comes while others scroll.

After scrolling, Textual lays everything out again as soon as somebody asks for the place of a
widget. What was mounted or resized since then is in that map, and the layout proper, which compares
with it, finds nothing new to be told.
"""

from __future__ import annotations

from typing import Any, Final

from textual._compositor import Compositor

_laid_out: Final[Any] = vars(Compositor)["full_map"].fget


def _full_map(compositor: Compositor) -> Any:
    """All widgets; until they are told of it, with the sizes that they had before."""
    if compositor.root is None or not compositor._full_map_invalidated:
        return _laid_out(compositor)
    told = compositor._full_map
    compositor._full_map = {
        widget: there if there.region.size == told[widget].region.size else told[widget]
        for widget, there in _laid_out(compositor).items()
        if widget in told
    }
    return compositor._full_map


def tell_all_sizes() -> None:
    """Put this in the library's place, for all programs of the process."""
    setattr(Compositor, "full_map", property(_full_map))  # noqa: B010
