"""``source``: the lines of a script, run as if they were typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from metashell.commands.framework.command import Command, Completion, Context, Manual
from metashell.commands.framework.local_places import complete_local
from metashell.commands.framework.options import parse_options, refuse_more
from metashell.commands.framework.run import run_line
from metashell.commands.framework.statement import open_script, script_lines
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.errors import ExitCode, MetashellError, UsageError

_DEPTH: Final = "source"
"""Where the number of scripts that run is kept."""
_DEEPEST: Final = 10


class SourceCommand(Command):
    """Run the commands of a file.

    Runs each line of FILE as if you typed it. FILE is a file of this machine. `cd` and `at`
    hold for the lines after them, and for the shell. Stops at the first command that fails, and
    ends with its status. `exit` in FILE ends the shell or the script. `. FILE` does the same.

    Works in the shell, in scripts and in the explorer.
    """

    group = "shell"
    shell_only = True
    manual = Manual(
        synopsis="source FILE",
        examples=(("source /dev/null", "run a script without commands"),),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Run the lines."""
        parsed = parse_options(self, args)
        refuse_more(self, parsed.arguments, most=1)
        if not parsed.arguments:
            raise UsageError("which file?", hint=f"usage: {self.manual.synopsis}")
        name = str(parsed.arguments[0])
        depth = context.kept.get(_DEPTH, 0)
        if depth >= _DEEPEST:
            raise MetashellError(f"{name}: more than {_DEEPEST} scripts run inside one another")
        context.kept[_DEPTH] = depth + 1
        warn = context.warn
        try:
            for line in script_lines(open_script(name), name):
                stop_if_cancelled(context)
                context.warn = _placed(warn, line.place)
                status = self._run_line(context, line.text)
                context.warn = warn
                if status or context.exit_requested:
                    return status
        finally:
            context.warn = warn
            context.kept[_DEPTH] = depth
        return ExitCode.OK

    def _run_line(self, context: Context, text: str) -> int:
        if context.mode is not None:
            return context.mode.run(context, text)
        return run_line(context, text)

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose files of the system."""
        return [] if args else complete_local(word, files=True)


def _placed(warn: Callable[[str], None], place: str) -> Callable[[str], None]:
    """Diagnostics with a line's place in front; what is indented belongs to the line before."""
    return lambda text: warn(text if text.startswith(" ") else f"{place}{text}")


COMMAND = SourceCommand()
