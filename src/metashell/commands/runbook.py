"""``runbook``: the scripts for incidents that ship with the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import metashell
from metashell.commands.framework.command import Command, Completion, Context, Manual
from metashell.commands.framework.options import no_arguments
from metashell.commands.framework.targets import shown
from metashell.errors import MetashellError
from metashell.shipped import shipped


class RunbookCommand(Command):
    """List the scripts for incidents, or print one.

    Lists the runbooks with the question that each answers. A runbook is a POSIX shell script
    that asks metashell and says what to do next. It changes nothing. With a NAME, prints the
    script: save it to a file and run it with sh. Without arguments the script prints how it is
    used. `metashell runbook` needs no source.
    """

    group = "what is wrong"
    imports = ()
    manual = Manual(
        synopsis="runbook [NAME]",
        examples=(
            ("runbook", "list them"),
            ("runbook quorum-lost", "the script for lost controllers"),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Print the list or a script."""
        arguments, runbooks = no_arguments(self, args, most=1), _runbooks()
        if not arguments:
            for name, script in runbooks.items():
                context.out.write(shown(context, f"{name:<22}{_question(script)}") + "\n")
            return 0
        name = arguments[0].removesuffix(".sh")
        if name not in runbooks:
            raise MetashellError(f"{name}: no such runbook", hint="runbook lists them")
        context.write(runbooks[name].read_text(encoding="utf-8"))
        return 0

    def propose(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose names of runbooks."""
        found = {} if args else _runbooks()
        return [
            Completion(name, -len(word), name, _question(script))
            for name, script in found.items()
            if name.startswith(word)
        ]


def _runbooks() -> Mapping[str, Path]:
    """The scripts by name."""
    found = shipped(metashell.__file__, "runbooks").iterdir()
    return {path.stem: path for path in sorted(found, key=str) if path.name.endswith(".sh")}


def _question(script: Path) -> str:
    """A script's question: its first comment."""
    return script.read_text(encoding="utf-8").splitlines()[1].removeprefix("# ")


COMMAND = RunbookCommand()
