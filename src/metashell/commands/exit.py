"""``exit`` and ``quit``: leave the shell."""

from __future__ import annotations

from collections.abc import Sequence

from metashell.commands.base import Command, Completion, Context, Manual
from metashell.commands.options import no_arguments


class Exit(Command):
    """Ask the front end to leave."""

    name = "exit"
    summary = "Leave the shell."
    shell_only = True
    manual = Manual(
        synopsis="exit",
        description="Leaves the shell, or ends a script. quit and, in the shell, ^D do the same.",
        examples=(("exit", "leave"),),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Set `Context.exit_requested`."""
        no_arguments(self, args)
        context.exit_requested = True
        return 0

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose nothing: there are no arguments."""
        return []


COMMAND = Exit()
