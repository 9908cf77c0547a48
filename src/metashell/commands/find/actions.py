"""The actions of ``find`` on nodes that it found: prints, counts, runs.

``-exec`` of ``find``: commands of the shell, run with the paths that were found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Final

from metashell.commands import get
from metashell.commands.find.expression import (
    Act,
    Action,
    Exec,
    Expression,
    Printf,
    Query,
    WalkEffect,
)
from metashell.commands.find.printf import ROW, FoundNode, filled
from metashell.commands.framework.command import Context
from metashell.commands.framework.command_line import Word, quote
from metashell.commands.framework.run import run_words
from metashell.commands.framework.targets import shown, stop_if_cancelled
from metashell.commands.rows.columns import kind_name
from metashell.commands.rows.query import RowMapping
from metashell.commands.shared.node_times import moment_cells
from metashell.errors import UsageError

PATH: Final = "{}"
"""Stands for the path in the words of a command."""
_REFUSED: Final = frozenset({"at", "cd", "exit", "watch"})
"""They change where the search is, leave it, or never end."""
_MOST_PATHS: Final = 4096
"""Paths that one run of a command takes."""
_DEEPEST: Final = 3
"""Searches that run searches."""

_depth: ContextVar[int] = ContextVar("find_exec_depth", default=0)


def check_words(words: Sequence[str], *, takes_many: bool) -> None:
    """Refuse a command that can't be run.

    Raises:
        UsageError: There is none, it is unknown or refused, or ``{}`` is misplaced.
    """
    if not words or words[0] == PATH:
        raise UsageError("-exec needs a command", hint="such as -exec cat {} ;")
    command = get(words[0])
    if command is None:
        raise UsageError(
            f"-exec {words[0]}: unknown command", hint="it runs commands of metashell: see help"
        )
    if command.name in _REFUSED:
        raise UsageError(f"-exec {words[0]}: can't be run for each path")
    if takes_many and (words[-1] != PATH or any(PATH in word for word in words[:-1])):
        raise UsageError(f"-exec with + takes one {PATH}, just before it")


class ExecRunner:
    """Runs the commands of a search.

    Args:
        context: That of the search; commands get a copy, so that they can't change it.
        execs: The actions.
    """

    def __init__(self, context: Context, execs: Sequence[Exec]) -> None:
        self._context = context
        self._paths: list[list[str]] = [[] for _ in execs]
        self._execs = execs
        self.failed = False
        """Whether a command that took many paths failed."""

    def run(self, action: Exec, path: str) -> bool:
        """Run a command for a path, or keep the path for a run with many; True if it passes."""
        if not action.takes_many:
            return self._run([_filled(word, path) for word in action.words]) == 0
        kept = self._paths[action.index]
        kept.append(path)
        if len(kept) >= _MOST_PATHS:
            self._run_many(action)
        return True

    def finish(self) -> None:
        """Run what paths were kept for."""
        for action in self._execs:
            if self._paths[action.index]:
                self._run_many(action)

    def _run_many(self, action: Exec) -> None:
        paths, self._paths[action.index] = self._paths[action.index], []
        status = self._run([*action.words[:-1], *(_plain(path) for path in paths)])
        self.failed = self.failed or status != 0

    def _run(self, words: Sequence[str]) -> int:
        stop_if_cancelled(self._context)
        depth = _depth.get()
        if depth >= _DEEPEST:
            raise UsageError(f"more than {_DEEPEST} searches within each other")
        fleet = self._context.fleet
        # Each command begins anew to note what can't be read; the search is not at its end.
        before = {} if fleet is None else fleet.failures()
        token = _depth.set(depth + 1)
        try:
            return run_words(replace(self._context), words)
        finally:
            _depth.reset(token)
            if fleet is not None:
                for name, why in before.items():
                    fleet.failed(fleet.members[name], why)


def _filled(word: str, path: str) -> str:
    """A word with the path in place of ``{}``."""
    return _plain(word.replace(PATH, path)) if PATH in word else word


def _plain(text: str) -> Word:
    """A word that says what it says: nothing in it is a wildcard."""
    return Word(text, raw=quote(text))


_CHUNK_LINES = 2048


class Doing:
    """Does what evaluations ask for, in their order; a `Doer`.

    Args:
        context: Where the output goes.
        query: The actions that can be asked for.
        add: Takes rows, where these are asked for.
    """

    def __init__(
        self,
        context: Context,
        query: Query,
        add: Callable[[Sequence[RowMapping]], None] | None = None,
    ) -> None:
        self.quits = False
        self.lines: list[str] = []
        """Text on its way to the output."""
        self.count = 0
        """Nodes that reached ``-count``."""
        self.found: FoundNode | None = None
        """The node that is evaluated, where a format asks for it."""
        self.rows: list[RowMapping] = []
        """Rows on their way."""
        self._add, self._row_times = add, query.row_times
        self._pruned = False
        self._context = context
        self._counts = query.counts
        self._shown = partial(shown, context)
        self._runner: ExecRunner | None = None
        if query.execs:
            self._runner = ExecRunner(context, query.execs)

    def evaluate(self, rest: Expression, path: str) -> bool:
        """Evaluate what is left for a path and do what it says; returns whether it is pruned."""
        self._pruned = False
        rest.run(path, self)
        if max(len(self.lines), len(self.rows)) >= _CHUNK_LINES:
            self.flush()
        return self._pruned

    def do(self, action: Action, path: str) -> bool:
        """Act on a path; returns whether it passes."""
        if isinstance(action, Printf):
            assert self.found is not None
            if action.format is ROW:
                self.rows.append(self._row(path, self.found))
                return True
            self.lines.append(filled(action.format, path, self.found, self._shown))
            return True
        if isinstance(action, Exec):
            assert self._runner is not None
            self.flush()
            return self._runner.run(action, path)
        assert isinstance(action, Act)
        match action.effect:
            case WalkEffect.PRINT | WalkEffect.PRINT0:
                self.lines.append(f"{shown(self._context, path)}{action.effect.value}")
            case WalkEffect.COUNT:
                self.count += 1
            case WalkEffect.QUIT:
                self.quits = True
            case WalkEffect.PRUNE:
                self._pruned = True
        return True

    def _row(self, path: str, found: FoundNode) -> RowMapping:
        changed = moment_cells("changed", found.changed() if self._row_times else None)
        return {
            "path": path,
            "name": found.name,
            "kind": kind_name(is_dir=found.is_dir),
            "depth": found.depth,
            **changed,
        }

    def write(self, pieces: Iterable[str]) -> None:
        """Write text behind what was collected."""
        self.flush()
        for piece in pieces:
            stop_if_cancelled(self._context)
            self._context.out.write(piece)

    def flush(self) -> None:
        """Send what was collected."""
        if self._add is not None and self.rows:
            self._add(self.rows)
            self.rows = []
        if self.lines:
            text = "".join(self.lines)
            self.lines.clear()
            stop_if_cancelled(self._context)
            self._context.out.write(text)

    def finish(self) -> bool:
        """Do what is left for the end; returns whether no command that took many paths failed."""
        self.flush()
        if self._runner is not None:
            self._runner.finish()
        if self._counts:
            self._context.out.write(f"{self.count}\n")
        return self._runner is None or not self._runner.failed
