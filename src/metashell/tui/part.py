"""Gives every part of the program access to the program, and declares keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding

if TYPE_CHECKING:
    from metashell.tui.app import Explorer


class AppPart:
    """Mixed into widgets, which know Textual's app alone."""

    @property
    def explorer(self) -> Explorer:
        """The program."""
        app: Explorer = self.app  # type: ignore[attr-defined]
        return app

    def gave_up(self, key: str) -> None:
        """Take back what was said of a job of the part, which the user has cancelled."""


def shown_key(
    keys: str,
    action: str,
    name: str,
    key_id: str,
    tooltip: str = "",
    *,
    show: bool = True,
    priority: bool = False,
) -> Binding:
    """A key of a part.

    Args:
        keys: The keys, separated by commas.
        action: The action.
        name: Its name in the footer.
        key_id: The name in the configuration file.
        tooltip: The action in words, where the name does not say all.
        show: Whether the footer has them where there is room.
        priority: Whether they work in a line to type in, too.
    """
    return Binding(keys, action, name, show=show, id=key_id, tooltip=tooltip, priority=priority)


def quiet_key(
    keys: str, action: str, name: str, key_id: str, tooltip: str = "", *, priority: bool = False
) -> Binding:
    """A key that no footer has; help has it."""
    return shown_key(keys, action, name, key_id, tooltip, show=False, priority=priority)
