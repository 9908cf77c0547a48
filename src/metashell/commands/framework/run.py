"""Running one line: its statements, their words, the commands, and errors as lines and exit codes.

Every front end comes through here, so that a command fails in the same words everywhere. A closed
pipe (BrokenPipeError) and ^C (KeyboardInterrupt) pass through: what they mean is the front end's.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import BinaryIO, Final

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
from metashell.fs.escape import escape, to_bytes

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


_SHARED: Final = 0o666
_PRIVATE: Final = 0o600


class RedirectError(Exception):
    """The file can't be written.

    No `MetashellError`, because a command reports those as its own and goes on.
    """


class FileOutput:
    """A file that takes a command's output.

    Args:
        context: Says what is open, and whether secrets are shown.
        redirect: The file.

    Raises:
        MetashellError: It lies in a directory of Kafka's, or can't be a file.
    """

    is_terminal = False
    width = 80

    def __init__(self, context: Context, redirect: Redirect) -> None:
        self._name, self._appends = escape(redirect.target), redirect.appends
        self.ending = redirect.target.rpartition(".")[2]
        """The end of its name, which chooses the form of rows."""
        self._target = os.path.realpath(redirect.target)
        self._mode = _PRIVATE if _shows_secrets(context) else _SHARED
        self._file: BinaryIO | None = None
        self.n_lines = 0
        """Lines that it got."""
        _check(context, redirect.target, self._name, self._target)

    def write(self, text: str) -> None:
        """Write text; raises RedirectError where that fails."""
        self.open()
        assert self._file is not None
        self.n_lines += text.count("\n")
        try:
            self._file.write(to_bytes(text))
        except OSError as error:
            raise self._failure(error) from error

    def flush(self) -> None:
        """Hand on what was written; raises RedirectError where that fails."""
        if self._file is not None:
            try:
                self._file.flush()
            except OSError as error:
                raise self._failure(error) from error

    def open(self) -> None:
        """Make the file, or empty it; raises RedirectError where that fails."""
        if self._file is not None:
            return
        how = os.O_APPEND if self._appends else os.O_TRUNC
        try:
            fd = os.open(self._target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | how, self._mode)
        except OSError as error:
            raise self._failure(error) from error
        self._file = os.fdopen(fd, "wb")

    def close(self) -> None:
        """End the file; raises RedirectError where that fails."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as error:
                raise self._failure(error) from error

    def _failure(self, error: OSError) -> RedirectError:
        return RedirectError(f"{self._name}: {error.strerror or error}")


def _shows_secrets(context: Context) -> bool:
    opened = context.opened
    return opened is not None and opened.settings.show_secrets


def _check(context: Context, typed: str, name: str, target: str) -> None:
    """Refuse a file that can't be written there."""
    from metashell.commands.framework.local_places import kafka_directories, refuse_kafkas

    if "\0" in typed:
        raise UsageError(f"{name}: not a file name")
    refuse_kafkas(name, target, kafka_directories(context))
    parent = os.path.dirname(target)
    if not os.path.isdir(parent):
        raise MetashellError(f"{escape(parent)}: No such directory", hint=f"to write {name}")
    try:
        mode = os.stat(target).st_mode
    except OSError:
        return
    if stat.S_ISDIR(mode):
        raise MetashellError(f"{name}: Is a directory", hint="name a file after >")
