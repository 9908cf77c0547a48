"""What a command's path arguments name, and how it reports those that name nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from metashell.commands.base import Context
from metashell.commands.words import Word
from metashell.errors import ExitCode, PathError
from metashell.fs.escape import escape, escape_text
from metashell.fs.glob import Match, expand
from metashell.fs.path import resolve


class Targets:
    """The places named by path arguments, in order; `status` is 1 once one named nothing."""

    def __init__(self, context: Context, command: str, arguments: Sequence[str]) -> None:
        self.status = ExitCode.OK
        self._context = context
        self._command = command
        self._arguments = arguments
        self.before_warning: Callable[[], None] = lambda: None
        """Called first, so that what was printed before a diagnostic is out before it."""

    def __iter__(self) -> Iterator[Match]:
        for argument in self._arguments:
            try:
                yield from matches(self._context, argument)
            except PathError as error:
                self.fail(error)

    def fail(self, error: PathError) -> None:
        """Report a path that could not be used as asked, and go on."""
        self.before_warning()
        self._context.warn(escape(f"{self._command}: {error.message}"))
        self.status = ExitCode.FAILED


def matches(context: Context, argument: str) -> Iterator[Match]:
    """The places that one argument names; a quoted wildcard is none.

    Raises:
        PathError: There are none.
    """
    if not isinstance(argument, Word):
        yield from expand(context.root, argument, None, context.cwd)
    elif argument.wild:
        yield from expand(context.root, str(argument), argument.pattern, context.cwd)
    else:
        typed = str(argument)
        yield Match(typed, resolve(context.root, typed, context.cwd))


def shown(context: Context, name: str) -> str:
    """A name or path as it goes to the output."""
    return escape(name) if context.out.is_terminal else name


def shown_text(context: Context, text: str) -> str:
    """A leaf's text as it goes to the output."""
    return escape_text(text) if context.out.is_terminal else text


def stop_if_cancelled(context: Context) -> None:
    """Raise KeyboardInterrupt where the front end wants the command to end."""
    if context.cancelled():
        raise KeyboardInterrupt


def write_chunks(context: Context, lines: Iterable[str], n_lines: int) -> int:
    """Write lines, so many at a time; returns how many there were."""
    n = 0
    chunk: list[str] = []
    for line in lines:
        n += 1
        chunk.append(line)
        if len(chunk) >= n_lines:
            stop_if_cancelled(context)
            context.out.write("".join(chunk))
            chunk.clear()
    if chunk:
        context.out.write("".join(chunk))
    return n
