"""``exit`` and ``quit``: leave the shell."""

from __future__ import annotations

from collections.abc import Sequence

from metashell.commands.framework.command import Command, Context, Manual
from metashell.commands.framework.options import no_arguments
from metashell.errors import UsageError

_HIGHEST = 255


class ExitCommand(Command):
    """Leave the shell.

    Leaves the shell, or ends a script. STATUS (0 to 255) is the program's exit status. The
    default is 0 in the shell, and the first failure's status in a script. `quit` does the same,
    and so does ^D in the shell.
    """

    group = "shell"
    shell_only = True
    manual = Manual(
        synopsis="exit [STATUS]",
        examples=(("exit", "leave"), ("exit 3", "leave with exit status 3")),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Set `Context.exit_requested` and `Context.exit_status`."""
        arguments = no_arguments(self, args, most=1)
        if arguments:
            context.exit_status = _status(arguments[0])
        context.exit_requested = True
        return context.exit_status or 0


def _status(text: str) -> int:
    digits = text.lstrip("0") or "0"
    if text.isascii() and text.isdigit() and len(digits) <= 3 and int(digits) <= _HIGHEST:
        return int(digits)
    raise UsageError(f"{text}: must be a status from 0 to {_HIGHEST}")


COMMAND = ExitCommand()
