"""The command line: arguments to a source and a front end, errors to an exit code.

`main` is the program's entry point. Everything else is imported inside it, so that ^C is already
handled while the rest loads and ``--help`` needs next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.cli.sources import Opener
    from metashell.cli.work import Runner

__all__ = ["main"]


def main(
    argv: Sequence[str] | None = None,
    *,
    opener: Opener | None = None,
    runner: Runner | None = None,
) -> int:
    """Run the program.

    Args:
        argv: The words after the program's name; those of the process if None.
        opener: What opens a source; the package itself if None.
        runner: What runs a command; `metashell.commands.run` if None.

    Returns:
        The exit status, one of `metashell.errors.ExitCode`.
    """
    try:
        from metashell.cli.program import run_program

        return run_program(argv, opener, runner)
    except KeyboardInterrupt:
        return 130
