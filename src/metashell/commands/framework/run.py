"""Running one line: its statements, their words, the commands, and errors as lines and exit codes.

Every front end comes through here, so that a command fails in the same words everywhere. A closed
pipe (BrokenPipeError) and ^C (KeyboardInterrupt) pass through: what they mean is the front end's.
"""

from __future__ import annotations

from collections.abc import Sequence

from metashell.commands import all_names, get, is_command
from metashell.commands.framework.aliases import clusters_text, default_words, expand_aliases
from metashell.commands.framework.command import Command, Context
from metashell.commands.framework.command_line import quote_words, split
from metashell.commands.framework.statement import (
    Redirect,
    Statement,
    for_system,
    is_comment,
    is_plain,
    statements,
)
from metashell.commands.framework.targets import path_hint
from metashell.errors import ExitCode, MetashellError, NoSuchPathError, UsageError
from metashell.fs.escape import escape

_NOT_FOUND = 127
"""The exit status of the system's shell where there is no program of that name."""


def run_line(context: Context, line: str) -> int:
    """Run a line; an empty one and a comment (``#`` at its start) do nothing.

    Returns:
        The exit code of the last command that ran.
    """
    if is_comment(line):
        return ExitCode.OK
    if is_plain(line) and for_system(line) is None and "\n" not in line:
        return _run_command(context, line)
    try:
        program = for_system(line)
        if program is not None:
            return _run_program(context, program)
        found = statements(line)
    except MetashellError as error:
        return _report(context, None, error)
    status = int(ExitCode.OK)
    for statement in found:
        if statement.is_due(status):
            status = _run_statement(context, statement)
            if context.exit_requested or status == ExitCode.INTERRUPTED:
                break
    return status


def _run_statement(context: Context, statement: Statement) -> int:
    try:
        if statement.redirect is not None:
            return _run_into_file(context, statement.command, statement.redirect)
        if statement.pipeline is not None:
            return _run_into_programs(context, statement.command, statement.pipeline)
    except MetashellError as error:
        return _report(context, None, error)
    return _run_command(context, statement.command)


def _run_command(context: Context, text: str) -> int:
    try:
        words = split(text)
    except UsageError as error:
        return _report(context, None, error)
    return run_words(context, words)


def _run_into_file(context: Context, text: str, redirect: Redirect) -> int:
    """Run a command whose output a file takes."""
    from metashell.commands.framework.redirect import FileOutput, RedirectError

    out, runs_programs = context.out, context.runs_programs
    file = FileOutput(context, redirect)
    context.out, context.runs_programs = file, False
    context.n_rows = None
    try:
        status = _run_command(context, text)
        context.n_lines = file.n_lines
        if status != ExitCode.USAGE:
            file.open()
        file.close()
    except RedirectError as error:
        context.warn(f"metashell: {error}")
        return ExitCode.FAILED
    finally:
        context.out, context.runs_programs = out, runs_programs
    return status


def _run_into_programs(context: Context, text: str, pipeline: str) -> int:
    """Run a command into the system's shell; the pipeline's status counts unless it is 0."""
    from metashell.commands.framework.programs import Pipe

    _leave_terminal(context, "|")
    out, pipe = context.out, Pipe(pipeline)
    context.out, context.runs_programs = pipe, False
    status = int(ExitCode.FAILED)
    try:
        status = _run_command(context, text)
    except BrokenPipeError:
        status = ExitCode.OK  # the reader has seen enough
    finally:
        context.out, context.runs_programs = out, True
        behind = pipe.finish()
    if behind == _NOT_FOUND:
        _explain_pipeline(context, pipeline)
    return behind or status


def _run_program(context: Context, program: str) -> int:
    from metashell.commands.framework.programs import run_program

    _leave_terminal(context, "!")
    return run_program(program)


def _leave_terminal(context: Context, mark: str) -> None:
    """Have all that was printed out before a program comes to the front.

    Raises:
        UsageError: Programs are not run here.
    """
    if not context.runs_programs:
        raise UsageError(
            f"{mark}: system programs run only in the shell and in scripts",
            hint="here `> FILE` keeps the output"
            if mark == "|"
            else "start metashell without a command",
        )
    finish = getattr(context.out, "finish", context.out.flush)
    finish()


def _explain_pipeline(context: Context, pipeline: str) -> None:
    """Say where a command of ours went that stands behind a pipe."""
    for statement in pipeline.replace("&&", ";").replace("|", ";").split(";"):
        word = statement.split(None, 1)[0] if statement.strip() else ""
        if is_command(word):
            context.warn(f"  hint: the system shell runs everything after |, also {word}")
            return


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
        return _report(context, None, _unknown(context, name, args))
    defaults: list[str] = []
    try:
        if list(args) == ["--help"]:
            return _print_manual(context, command)
        defaults = default_words(context.habits, command.name, name)
        args = defaults + args
        if command.shell_only and not context.interactive:
            raise UsageError(
                "works only in the shell and in scripts",
                hint="start the shell: leave out the command",
            )
        if context.lost is not None and not command.judges_lost_quorum:
            raise context.lost
        return run_command(context, command, args)
    except MetashellError as error:
        code = _report(context, command, error)
        if defaults and isinstance(error, UsageError):
            words = escape(quote_words(defaults))
            context.warn(f"  hint: the configuration file adds `{words}` to {command.name}")
        return code


def run_command(context: Context, command: Command, args: Sequence[str]) -> int:
    """Run a command on the source or the fleet; returns the exit code, raises its errors."""
    if context.fleet is None:
        return int(command.run(context, args))
    from metashell.commands.framework.cluster import run_on_fleet

    return run_on_fleet(context, command, args)


def _unknown(context: Context, name: str, args: Sequence[str]) -> UsageError:
    """The error for a command that there is not."""
    from metashell.commands.framework.other_tools import hint_of_command
    from metashell.spelling import near

    meant = hint_of_command(name, args, runs_programs=False)
    close = near(name, (*all_names(), *context.habits.aliases)) if meant is None else None
    if close is not None:
        meant = f"did you mean {close}?"
    clusters = context.habits.clusters
    if meant is None and name in clusters:
        meant = f"choose a cluster at the start: `metashell {name}`"
    elif meant is None and clusters and args and is_command(args[0]):
        meant = f"no cluster is called {name}; {clusters_text(clusters)}"
    if meant is None and context.runs_programs:
        meant = hint_of_command(name, runs_programs=True)
    return UsageError(
        f"{name or repr('')}: unknown command", hint=meant or "help lists the commands"
    )


def _print_manual(context: Context, command: Command) -> int:
    manual = get("man")
    assert manual is not None
    return manual.run(context, [command.name])


def _report(context: Context, command: Command | None, error: MetashellError) -> int:
    if isinstance(error, NoSuchPathError) and error.hint is None:
        error.hint = path_hint(context.root, context.cwd, error)
    for line in error.lines("" if command is None else f"{command.name}: "):
        context.warn(escape(line))
    return int(error.exit_code)
