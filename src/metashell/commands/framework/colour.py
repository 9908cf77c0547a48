"""Whether a command colours, and how: the sequences of a terminal's own colours."""

from __future__ import annotations

import os
from typing import Final

from metashell.commands.framework.command import Canvas, Context

RED: Final = "\x1b[31m"
YELLOW: Final = "\x1b[33m"
PLAIN: Final = "\x1b[0m"


def has_colour(context: Context) -> bool:
    """Whether to colour: the output is a terminal that can, and NO_COLOR is not set."""
    return (
        context.out.is_terminal
        and isinstance(context.out, Canvas)
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )
