"""Gives every part of the program access to the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from metashell.tui.app import Explorer


class AppPart:
    """Mixed into widgets and screens."""

    @property
    def explorer(self) -> Explorer:
        """The program that it is a part of."""
        widget: Any = self
        return cast("Explorer", widget.app)
