"""``history``: the lines entered before."""

from __future__ import annotations

from collections.abc import Sequence

from metashell.commands.framework.command import Command, Context, Manual
from metashell.commands.framework.options import no_arguments
from metashell.commands.framework.targets import shown
from metashell.errors import UsageError

_MOST_DIGITS = 18


class HistoryCommand(Command):
    """Print the lines that you entered.

    Prints the lines that you entered, oldest first, or the last N. The history is kept across
    sessions. `!!` runs the last line again.
    """

    group = "shell"
    shell_only = True
    manual = Manual(
        synopsis="history [N]",
        examples=(("history", "all lines"), ("history 5", "the last five")),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Print numbered lines."""
        arguments = no_arguments(self, args, most=1)
        lines = context.history
        first = 0
        if arguments:
            typed = arguments[0]
            if not (typed.isascii() and typed.isdigit() and len(typed) <= _MOST_DIGITS):
                raise UsageError(f"{typed}: must be a number of lines")
            first = max(0, len(lines) - int(typed))
        text = [
            f"{number:5d}  {shown(context, line)}\n"
            for number, line in enumerate(lines[first:], first + 1)
        ]
        if text:
            context.out.write("".join(text))
        return 0


COMMAND = HistoryCommand()
