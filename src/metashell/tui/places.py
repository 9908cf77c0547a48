"""Where the user was, as a browser remembers it, and the places that they keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.dataclass import dataclass

if TYPE_CHECKING:
    from metashell.tui.view_state import CommandResult

_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class VisitedNode:
    """A node at an offset."""

    path: str
    offset: int | None = None
    """The last offset shown; None for the end of the log."""

    def __str__(self) -> str:
        return self.path if self.offset is None else f"{self.path} at offset {self.offset}"


@dataclass(frozen=True, slots=True)
class VisitedView:
    """A node, and where it was looked at."""

    node: VisitedNode
    view: str
    """Id of the view."""
    result: CommandResult | None = None
    """The command's result that it showed."""


class Places:
    """The places before and behind the current one, and the bookmarks."""

    def __init__(self) -> None:
        self._before: list[VisitedView] = []
        self._behind: list[VisitedView] = []
        self.bookmarks: list[VisitedNode] = []
        """The bookmarks in the order in which they were made."""

    def visit(self, left: VisitedView) -> None:
        """Note the place that is left for a new one."""
        if not self._before or self._before[-1] != left:
            self._before.append(left)
            del self._before[:-_MOST]
        self._behind.clear()

    def back(self, here: VisitedView) -> VisitedView | None:
        """The place before; None where there is none."""
        return _step(here, self._before, self._behind)

    def forward(self, here: VisitedView) -> VisitedView | None:
        """The place that `back` left; None where there is none."""
        return _step(here, self._behind, self._before)

    @property
    def can_go_back(self) -> bool:
        """Whether there is a place before."""
        return bool(self._before)

    def recent(self, most: int = 20) -> list[VisitedNode]:
        """The places that were left last, each once, the newest first."""
        left = [*reversed(self._before), *self._behind]
        return list(dict.fromkeys(place.node for place in left))[:most]

    def toggle_bookmark(self, place: VisitedNode) -> bool:
        """Keep a place, or forget it where it is kept; returns whether it is kept now."""
        if place in self.bookmarks:
            self.bookmarks.remove(place)
            return False
        self.bookmarks.append(place)
        return True


def _step(
    here: VisitedView, source: list[VisitedView], target: list[VisitedView]
) -> VisitedView | None:
    while source:
        place = source.pop()
        if place != here:
            target.append(here)
            return place
    return None
