"""The nodes that a command's path arguments name, and reports on paths that name nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from metashell.commands.framework.command import Context
from metashell.commands.framework.command_line import Word, quote
from metashell.errors import ExitCode, MetashellError, NoSuchPathError, PathError, UsageError
from metashell.fs.escape import escape
from metashell.fs.glob import Match, expand
from metashell.fs.node import Directory
from metashell.fs.path import resolve
from metashell.fs.walk import Failed, refuse

_CHUNK_LINES = 1 << 12
_MOST_HINTS = 5
"""Paths of one command that a guess is looked for."""


class Targets:
    """The places named by path arguments, in order; `status` is 1 once one named nothing."""

    def __init__(self, context: Context, command: str, arguments: Sequence[str]) -> None:
        self.status = ExitCode.OK
        self._context = context
        self._command = command
        self._arguments = arguments
        self._n_hints = 0
        self._told = ""
        """The last line, which a walk may bring twice: for a node's names and for what is below."""
        self._hinted: str | None = None
        """The hint of the last error, which the next one may share."""
        self.before_warning: Callable[[], None] = lambda: None
        """Called first, so that what was printed before a diagnostic is out before it."""

    def __iter__(self) -> Iterator[Match]:
        for argument in self._arguments:
            try:
                yield from matches(self._context, argument, self.failed)
            except UsageError:
                raise
            except MetashellError as error:
                self.failed(str(argument), error)

    def fail(self, error: PathError) -> None:
        """Report a path that could not be used as asked, and go on."""
        self.failed(error.path, error)

    def failed(self, path: str, error: MetashellError) -> None:
        """Report a node that can't be looked at, and go on; a `metashell.fs.walk.Failed`."""
        self.status = ExitCode.FAILED
        line = escape(f"{self._command}: {line_of(path, error)}")
        if line != self._told:
            self.before_warning()
            self._context.warn(line)
            self._hint(error)
        self._told = line

    def _hint(self, error: MetashellError) -> None:
        """Say the next step, or what a path was meant to be; not of hundreds."""
        hint = None if error.hint == self._hinted else error.hint
        self._hinted = error.hint
        if (
            error.hint is None
            and isinstance(error, NoSuchPathError)
            and self._n_hints < _MOST_HINTS
        ):
            self._n_hints += 1
            hint = path_hint(self._context.root, self._context.cwd, error)
        if hint is not None:
            self._context.warn(escape(f"  hint: {hint}"))


def path_hint(root: Directory, cwd: str, error: NoSuchPathError) -> str | None:
    """A hint at the existing path that a missing one was meant to be; None where none is near."""
    from metashell.commands.framework.near import near_path

    near = near_path(root, error.path, cwd)
    return None if near is None else f"did you mean {quote(near)}?"


def line_of(path: str, error: MetashellError) -> str:
    """The message about a node that can't be looked at."""
    return error.message if isinstance(error, PathError) else f"{path}: {error.message}"


def matches(context: Context, argument: str, failed: Failed = refuse) -> Iterator[Match]:
    """The places that one argument names; a quoted wildcard is none.

    Args:
        context: Where it is looked up.
        argument: It.
        failed: Told of what a wildcard meets and can't be looked at.

    Raises:
        PathError: There are none.
    """
    if not isinstance(argument, Word):
        yield from expand(context.root, argument, None, context.cwd, failed)
    elif argument.wild:
        yield from expand(context.root, str(argument), argument.pattern, context.cwd, failed)
    else:
        typed = str(argument)
        yield Match(typed, resolve(context.root, typed, context.cwd))


def shown(context: Context, name: str) -> str:
    """A name or path as it goes to the output."""
    return escape(name) if context.out.is_terminal else name


def stop_if_cancelled(context: Context) -> None:
    """Raise KeyboardInterrupt where the front end wants the command to end."""
    if context.cancelled():
        raise KeyboardInterrupt


def write_chunks(context: Context, lines: Iterable[str], n_lines: int) -> int:
    """Write lines that have their ends, so many at a time; returns how many there were."""
    n, rest = 0, iter(lines)
    while chunk := list(islice(rest, n_lines)):
        stop_if_cancelled(context)
        context.write("".join(chunk))
        n += len(chunk)
    return n


def write_lines(context: Context, lines: Iterable[str]) -> None:
    """Write lines without their ends, some thousand at a time."""
    write_chunks(context, (f"{line}\n" for line in lines), _CHUNK_LINES)
