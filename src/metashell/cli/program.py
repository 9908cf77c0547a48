"""The program: parse, choose, open, run, and every error to one line and one exit status."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from metashell.cli.arguments import Arguments, parse_arguments
from metashell.cli.output import (
    Diagnostics,
    OutputError,
    StreamOutput,
    standard_streams,
    wants_colour,
)
from metashell.errors import ExitCode, MetashellError

if TYPE_CHECKING:
    import metashell.source
    from metashell.cli.sources import Opener, Source
    from metashell.cli.work import Runner, Task
    from metashell.fs.node import Directory

_NO_SOURCE_COMMANDS = frozenset({"help", "man"})
"""Commands that say something about metashell rather than about a cluster."""


@dataclass(frozen=True, slots=True)
class _Program:
    """One run: the streams, and what opens and runs."""

    arguments: Arguments
    out: StreamOutput
    diagnostics: Diagnostics
    opener: Opener | None
    runner: Runner | None

    def run(self) -> int:
        """Do what the arguments ask for."""
        if self.arguments.has("--help") or self.arguments.has("--version"):
            return self._tell_about_itself()
        from metashell.cli.sources import (
            choose_source,
            close,
            no_source_error,
            open_source,
            prompt_name,
        )
        from metashell.cli.work import choose_work

        choice = choose_source(self.arguments)
        if choice is None:
            words = _as_manual(self.arguments.words)
            if not words or words[0] not in _NO_SOURCE_COMMANDS:
                raise no_source_error(self.arguments)
            tasks = choose_work(replace(self.arguments, words=words))
            return self._run_without_source(tasks or ())
        tasks = choose_work(self.arguments)
        source = open_source(choice, self.arguments, self.opener, self.diagnostics)
        try:
            if tasks is None:
                return self._interact(source, prompt_name(choice, source))
            return self._run_on_source(tasks, source)
        finally:
            close(source)

    def _tell_about_itself(self) -> int:
        from metashell.cli.usage import help_text, version_text

        if self.arguments.has("--help"):
            self.out.write(help_text(bold=wants_colour(self.out.is_terminal)))
        else:
            self.out.write(version_text())
        return ExitCode.OK

    def _run_without_source(self, tasks: Iterable[Task]) -> int:
        """Run a command that needs none, over an empty file system."""
        from metashell.fs.node import FixedDirectory

        return self._run_tasks(tasks, FixedDirectory({}), None, after_each=lambda: None)

    def _run_on_source(self, tasks: Iterable[Task], source: Source) -> int:
        """Run commands, telling what is wrong with the source as it comes to light."""
        from metashell.cli.sources import WarningPrinter

        warnings = WarningPrinter(source, self.diagnostics)
        try:
            warnings.print_new()
            code = self._run_tasks(tasks, source.root, source, after_each=warnings.print_new)
            if self.arguments.has("--strict") and source.stopped_by is not None:
                warnings.print_new()
                code = code or ExitCode.FAILED
            return code
        finally:
            warnings.print_count()

    def _run_tasks(
        self,
        tasks: Iterable[Task],
        root: Directory,
        source: Source | None,
        *,
        after_each: Callable[[], None],
    ) -> int:
        from metashell.cli.work import run_tasks
        from metashell.commands.base import Context

        runner = self.runner
        if runner is None:
            runner = cast("Runner", importlib.import_module("metashell.commands.run"))

        def finish() -> None:
            self.out.flush()
            after_each()

        return run_tasks(
            tasks,
            Context(
                root=root,
                out=self.out,
                warn=self.diagnostics.line,
                source=cast("metashell.source.Source | None", source),
            ),
            runner,
            self.diagnostics,
            keep_going=self.arguments.has("--keep-going"),
            after_each=finish,
        )

    def _interact(self, source: Source, name: str) -> int:
        """Run the interactive shell."""
        from metashell.cli.sources import WarningPrinter
        from metashell.repl.session import Session, run, status_of

        session = Session(
            root=source.root,
            source_name=name,
            status=lambda: status_of(source),
            warm_up=source.warm_up,
            source=cast("metashell.source.Source", source),
            show_secrets=self.arguments.has("--show-secrets"),
        )
        warnings = WarningPrinter(source, self.diagnostics)
        warnings.print_new()
        warnings.print_count()
        code = run(session)
        warnings.print_new()
        warnings.print_count()
        return code


def run_program(
    argv: Sequence[str] | None, opener: Opener | None = None, runner: Runner | None = None
) -> int:
    """Run the program; returns its exit status and raises nothing but KeyboardInterrupt."""
    out, diagnostics = standard_streams()
    try:
        arguments = parse_arguments(sys.argv[1:] if argv is None else argv)
        code = _Program(arguments, out, diagnostics, opener, runner).run()
        out.flush()
        return int(code)
    except KeyboardInterrupt:
        return _interrupted(out, diagnostics)
    except MetashellError as error:
        diagnostics.error(error)
        return int(error.exit_code)
    except OutputError as error:
        diagnostics.program(str(error))
        return ExitCode.FAILED
    except Exception as error:
        return _unexpected(error, out, diagnostics)


def _as_manual(words: tuple[str, ...]) -> tuple[str, ...]:
    """Take ``metashell ls --help``, without a source, for ``metashell man ls``."""
    return ("man", words[0]) if words[1:] == ("--help",) else words


def _interrupted(out: StreamOutput, diagnostics: Diagnostics) -> int:
    """End after ^C; the terminal has echoed it in the middle of a line."""
    out.discard()
    if diagnostics.is_terminal:
        diagnostics.raw(b"\n")
    return ExitCode.INTERRUPTED


def _unexpected(error: Exception, out: StreamOutput, diagnostics: Diagnostics) -> int:
    """End after an exception that is no `MetashellError`."""
    if isinstance(error, BrokenPipeError):
        # The reader has what it wanted, as with `| head`.
        out.discard()
        return ExitCode.OK
    if _began_with_interrupt(error):
        return _interrupted(out, diagnostics)
    out.discard()
    from metashell.commands.defect import defect_lines

    for line in defect_lines(error):
        diagnostics.line(line)
    return ExitCode.FAILED


def _began_with_interrupt(error: BaseException) -> bool:
    """Whether ^C lies behind an error, as when it fell into the import of a C extension."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, KeyboardInterrupt):
            return True
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return False
