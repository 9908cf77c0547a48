"""``cd``: change the current directory of the session."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from metashell.commands.framework.command import Command, Completion, Context, Manual
from metashell.commands.framework.completion import complete_paths
from metashell.commands.framework.options import no_arguments
from metashell.commands.framework.targets import matches
from metashell.errors import MetashellError, NotADirectoryPathError, UsageError
from metashell.fs.node import Directory


class CdCommand(Command):
    """Change the current directory.

    Changes the current directory, where relative paths start. Without an argument it goes to
    the root. `cd -` goes back to the directory before, and prints it.

    Works in the shell, in scripts and in the explorer.
    """

    group = "look"
    shell_only = True
    manual = Manual(
        synopsis="cd [DIRECTORY]",
        examples=(
            ("cd /image/topics/byName", "go to the topics"),
            ("cd ..", "go one level up"),
            ("cd", "go to the root"),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Change `Context.cwd`."""
        arguments = no_arguments(self, args, most=1)
        target = arguments[0] if arguments else "/"
        if target == "-":
            if context.previous_cwd is None:
                raise MetashellError("no earlier directory to go back to")
            target = context.previous_cwd
        found = list(islice(matches(context, target), 2))
        if len(found) > 1:
            raise UsageError(f"{target}: matches more than one path")
        place = found[0].place
        if not isinstance(place.node, Directory):
            raise NotADirectoryPathError(found[0].path)
        context.previous_cwd, context.cwd = context.cwd, place.encoded()
        if arguments and arguments[0] == "-":
            context.out.write(f"{context.cwd}\n")
        return 0

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose directories alone."""
        return [] if args else complete_paths(context, word, directories_only=True)


COMMAND = CdCommand()
