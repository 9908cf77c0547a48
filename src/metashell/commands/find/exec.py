"""``-exec`` of ``find``: commands of the shell, run with the paths that were found."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from metashell.commands import get
from metashell.commands.framework.command_line import Word, quote
from metashell.commands.framework.run import run_words
from metashell.commands.framework.targets import stop_if_cancelled
from metashell.errors import UsageError

if TYPE_CHECKING:
    from metashell.commands.find.expression import Exec
    from metashell.commands.framework.command import Context

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
        """Run a command for a path, or keep the path for a run with many; its truth."""
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
