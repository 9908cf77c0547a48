"""``clear``: an empty screen."""

from __future__ import annotations

from collections.abc import Sequence

from metashell.commands.framework.command import Canvas, Command, Context, Manual
from metashell.commands.framework.options import no_arguments

_CLEAR_AND_HOME = "\x1b[2J\x1b[3J\x1b[H"


class ClearCommand(Command):
    """Clear the screen.

    Clears the screen and the terminal's scrollback. Ctrl-L clears only the screen.
    """

    group = "shell"
    shell_only = True
    manual = Manual(
        synopsis="clear",
        examples=(("clear", "begin with an empty screen"),),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Draw nothing over everything."""
        no_arguments(self, args)
        if context.out.is_terminal and isinstance(context.out, Canvas):
            context.out.paint(_CLEAR_AND_HOME)
        return 0


COMMAND = ClearCommand()
