"""Running one command line: words, look-up, the command, and its errors as lines and exit codes.

Every front end comes through here, so that a command fails in the same words everywhere. A closed
pipe (BrokenPipeError) and ^C (KeyboardInterrupt) pass through: what they mean is the front end's.
"""

from __future__ import annotations

from collections.abc import Sequence

from metashell.commands import all_names, get
from metashell.commands.framework.aliases import default_words, expand_aliases
from metashell.commands.framework.command import Command, Context
from metashell.commands.framework.command_line import quote_words, split
from metashell.errors import MetashellError, UsageError
from metashell.fs.escape import escape


def run_line(context: Context, line: str) -> int:
    """Run a command line; an empty one and a comment (``#`` at its start) do nothing.

    Returns:
        The exit code.
    """
    if line.lstrip().startswith("#"):
        return 0
    try:
        words = split(line)
    except UsageError as error:
        return _report(context, None, error)
    return run_words(context, words)


def run_words(context: Context, words: Sequence[str]) -> int:
    """Run a command given as words; wildcards in plain strings count, quoted ones do not.

    Returns:
        The exit code.
    """
    if not words:
        return 0
    try:
        name, *args = expand_aliases(context.habits, words)
    except UsageError as error:
        return _report(context, None, error)
    command = get(name)
    if command is None:
        return _report(context, None, _unknown(context, name))
    defaults: list[str] = []
    try:
        if list(args) == ["--help"]:
            return _print_manual(context, command)
        defaults = default_words(context.habits, command.name, name)
        args = defaults + args
        if command.shell_only and not context.interactive:
            raise UsageError(
                "only in the shell or a script of several commands",
                hint="start the shell by leaving the command out",
            )
        if context.fleet is None:
            return int(command.run(context, args))
        from metashell.commands.framework.cluster import run_on_fleet

        return run_on_fleet(context, command, args)
    except MetashellError as error:
        code = _report(context, command, error)
        if defaults and isinstance(error, UsageError):
            words = escape(quote_words(defaults))
            context.warn(f"  hint: the configuration puts `{words}` behind {command.name}")
        return code


def _unknown(context: Context, name: str) -> UsageError:
    from difflib import get_close_matches

    known = (*all_names(), *context.habits.aliases)
    near = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else "help lists the commands"
    return UsageError(f"{name or repr('')}: unknown command", hint=hint)


def _print_manual(context: Context, command: Command) -> int:
    manual = get("man")
    assert manual is not None
    return manual.run(context, [command.name])


def _report(context: Context, command: Command | None, error: MetashellError) -> int:
    for line in error.lines("" if command is None else f"{command.name}: "):
        context.warn(escape(line))
    return int(error.exit_code)
