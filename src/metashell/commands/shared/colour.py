"""Whether a command colours, and how: the sequences of a terminal's own colours."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from metashell.commands.framework.command import Context

RED: Final = "\x1b[31m"
YELLOW: Final = "\x1b[33m"
PLAIN: Final = "\x1b[0m"
_FORCING: Final = ("FORCE_COLOR", "CLICOLOR_FORCE")


def wants_colour(is_terminal: bool) -> bool:
    """Whether to colour: a terminal that can, and no wish against it (no-color.org).

    FORCE_COLOR and CLICOLOR_FORCE colour what is no terminal's too, unless they are empty or 0.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "0") not in ("", "0") for name in _FORCING):
        return True
    return is_terminal and os.environ.get("TERM") != "dumb"


def has_colour(context: Context) -> bool:
    """Whether a command colours what it prints: see `wants_colour`."""
    from metashell.commands.framework.command import Canvas

    return isinstance(context.out, Canvas) and wants_colour(context.out.is_terminal)
