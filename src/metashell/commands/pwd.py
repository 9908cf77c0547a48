"""``pwd``: print the current directory."""

from __future__ import annotations

from collections.abc import Sequence

from metashell.commands.framework.command import Command, Context, Manual
from metashell.commands.framework.options import no_arguments
from metashell.commands.framework.targets import shown


class PwdCommand(Command):
    """Print the current directory.

    Prints the current directory as a path that you can type. %2F stands for a slash within a
    name.
    """

    group = "look"
    manual = Manual(
        synopsis="pwd",
        examples=(("pwd", "print where you are"),),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Print `Context.cwd`."""
        no_arguments(self, args)
        context.out.write(shown(context, context.cwd) + "\n")
        return 0


COMMAND = PwdCommand()
