"""Tells each widget its size. Textual forgets a widget that is mounted while others scroll.

After scrolling, Textual lays everything out again when somebody asks for the place of a widget.
Widgets mounted or resized since then are already in that map. The proper layout compares with the
map, finds no change, and tells these widgets nothing.
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
