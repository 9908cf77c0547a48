"""One run of a command line that asks for something: choose a source, open it, run on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.cli.arguments import Arguments
from metashell.cli.choices import choose_source, no_source_error
from metashell.cli.defaults import Defaults, without_source
from metashell.cli.imports import EarlyImports, leave_pandas_out, prepare_pyarrow
from metashell.cli.output import Diagnostics, StreamOutput
from metashell.cli.work import Task, Words, choose_work, explorer_path, run_tasks
from metashell.commands import get
from metashell.commands.framework.aliases import expand_aliases
from metashell.commands.framework.command import Command, Context
from metashell.commands.rows.query import SCHEMA
from metashell.errors import ExitCode, NoLeaderError
from metashell.findings.kind import Severity
from metashell.fs.escape import escape
from metashell.fs.node import FixedDirectory
from metashell.places.seen import stop_seeing

if TYPE_CHECKING:
    from metashell.cli.sources import Opener, WarningPrinter
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.request import Choice, OpenRequest
    from metashell.sources.source import Source

_NO_SOURCE_COMMANDS = (["help"], ["man"], ["runbook"])
"""Commands that say something about metashell rather than about a cluster; `SCHEMA` does, too."""


class OneRun(NamedTuple):
    """One run: the streams, and what opens and runs."""

    arguments: Arguments
    defaults: Defaults
    out: StreamOutput
    diagnostics: Diagnostics
    opener: Opener | None
    owns_process: bool
    """Whether nobody else has a use for what is imported here."""

    def run(self) -> int:
        """Do what the arguments ask for."""
        if self.owns_process:
            # Here, as the explorer imports pyarrow before it opens anything.
            prepare_pyarrow()
        config = self.defaults.config
        words = _as_manual(self.arguments.words)
        needs_none = expand_aliases(config.habits, words)[:1] in _NO_SOURCE_COMMANDS
        needs_none |= SCHEMA.long in words[1:]
        # A manual is not worth opening a source that nobody named.
        choice = choose_source(without_source(self.arguments) if needs_none else self.arguments)
        if choice is None:
            if not needs_none:
                raise no_source_error(self.arguments, config.clusters)
            tasks = choose_work(self.arguments._replace(words=words))
            return self._run_without_source(tasks or ())
        name = self.arguments.value("--cluster")
        if name is not None:
            choice = replace(choice, name=name)
        path = explorer_path(self.arguments)
        if path is not None:
            return self._explore(choice, path)
        # Not at the top: the explorer draws before it opens anything.
        from metashell.cli.sources import (
            WarningPrinter,
            open_request_of,
            open_source,
            prompt_name,
        )

        tasks = choose_work(self.arguments)
        first = self._first_command(tasks)
        if isinstance(tasks, tuple) and len(tasks) == 1 and first is not None and first.opens:
            asked = open_request_of(choice, self.arguments)
            if self.owns_process:
                # Such a command reads without Spark.
                leave_pandas_out()
            return self._run_tasks(tasks, None, after_each=lambda: None, to_open=asked)
        early = None
        if self.owns_process:
            early = EarlyImports("".join(expand_aliases(config.habits, words)[:1]))
        try:
            source = open_source(choice, self.arguments, self.opener, self.diagnostics, early)
        except NoLeaderError as error:
            if tasks is None or first is None or not first.judges_lost_quorum:
                raise
            return self._run_tasks(tasks, None, after_each=lambda: None, lost=error)
        warnings = WarningPrinter(source, self.diagnostics)
        try:
            if tasks is None:
                return self._interact(source, prompt_name(choice, source), warnings)
            return self._run_on_source(tasks, source, warnings)
        finally:
            source.close()

    def _first_command(self, tasks: Iterable[Task] | None) -> Command | None:
        """The first command, where it is known before a script is read."""
        first = next(iter(tasks), None) if isinstance(tasks, tuple) else None
        if first is None:
            return None
        words = first.words if isinstance(first, Words) else first.text.split()
        return get("".join(expand_aliases(self.defaults.config.habits, words)[:1]))

    def _run_without_source(self, tasks: Iterable[Task]) -> int:
        """Run a command that needs none, over an empty file system."""
        return self._run_tasks(tasks, None, after_each=lambda: None)

    def _run_on_source(
        self, tasks: Iterable[Task], source: Source | FleetSource, warnings: WarningPrinter
    ) -> int:
        """Run commands, telling what is wrong with the source as it comes to light."""
        if self.owns_process:
            _leave_pandas_out(source)
        try:
            warnings.print_new()
            code = self._run_tasks(tasks, source, after_each=warnings.print_new)
            if self.arguments.has("--strict") and source.stopped_by is not None:
                warnings.print_new()
                code = code or ExitCode.FAILED
            return code
        finally:
            warnings.print_count()

    def _run_tasks(
        self,
        tasks: Iterable[Task],
        opened: Source | FleetSource | None,
        *,
        after_each: Callable[[], None],
        lost: NoLeaderError | None = None,
        to_open: OpenRequest | None = None,
    ) -> int:
        def finish() -> None:
            self.out.flush()
            after_each()

        context = Context(
            root=FixedDirectory({}),
            out=self.out,
            warn=self.diagnostics.line,
            habits=self.defaults.config.habits,
            lost=lost,
            to_open=to_open,
        )
        if opened is not None:
            context.show(opened)
        return run_tasks(
            tasks,
            context,
            self.diagnostics,
            keep_going=self.arguments.has("--keep-going"),
            after_each=finish,
        )

    def _explore(self, choice: Choice, path: str) -> int:
        """Run the explorer, which opens the source itself."""
        from metashell.cli.explore import explore

        stop_seeing()
        return explore(
            choice,
            path,
            self.arguments,
            self.opener,
            self.defaults.config,
            self.diagnostics,
            opened=_leave_pandas_out if self.owns_process else lambda _: None,
        )

    def _interact(self, source: Source | FleetSource, name: str, warnings: WarningPrinter) -> int:
        """Run the interactive shell."""
        from metashell.commands.shared.status import status_of
        from metashell.repl.session import ShellSession, run

        stop_seeing()
        config = self.defaults.config
        session = ShellSession(
            root=source.root,
            source_name=name,
            status=lambda: status_of(source),
            warm_up=source.warm_up,
            opened=source,
            show_secrets=self.arguments.has("--show-secrets"),
            habits=config.habits,
            theme=config.theme,
            greeting=greeting,
            is_plain=config.is_plain,
        )
        warnings.print_new()
        warnings.print_count()
        code = run(session)
        warnings.print_new()
        warnings.print_count()
        return code


def _leave_pandas_out(opened: Source | FleetSource) -> None:
    if not opened.capabilities.delegates:
        leave_pandas_out()


def _as_manual(words: tuple[str, ...]) -> tuple[str, ...]:
    """Take ``metashell ls --help``, without a source, for ``metashell man ls``."""
    return ("man", words[0]) if words[1:] == ("--help",) else words


_MOST_BYTES: Final = 32 << 20
"""A longer log is not judged before the first prompt: nobody waits for that."""


def greeting(context: Context) -> Iterator[str]:
    """Give the lines, escaped. Cost: that of `health`, unless the log is long."""
    source = context.source
    if source is None or context.fleet is not None or not source.capabilities.has_image:
        yield "help lists the commands"
        return
    if source.log.loaded.size > _MOST_BYTES:
        yield "health says what is wrong; help lists the commands"
        return
    from metashell.commands.health.verdict import verdict_of

    verdict = verdict_of(context)
    if verdict is not None:
        first = verdict.paragraphs[0] if verdict.paragraphs else None
        n_more = len(verdict.paragraphs) - 1
        if first is None or first.severity is Severity.NOTE:
            yield escape(verdict.nothing)
        else:
            yield from wrap(escape(f"{first.severity.value}: {first.headline}"), context.out.width)
            yield f"health says what to do{f', and has {n_more} more' if n_more else ''}"
    yield "help lists the commands"
