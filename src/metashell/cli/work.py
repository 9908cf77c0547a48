"""The work of a run: a command, command lines, the lines of a script, or the explorer.

Owns their order, where a run stops and its exit status. `metashell.commands` splits a line and
runs a command.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from metashell.cli.arguments import TUI, Arguments
from metashell.cli.output import Diagnostics, OutputError, StreamOutput
from metashell.commands.framework.command import Context, Output
from metashell.commands.framework.run import run_line, run_words
from metashell.commands.framework.statement import CommandLine, open_script, script_lines
from metashell.dataclass import dataclass
from metashell.errors import (
    ExitCode,
    InternalError,
    MetashellError,
    UsageError,
    began_with_interrupt,
)
from metashell.fs.escape import escape
from metashell.fs.path import normalise

_DUMB: Final = frozenset({"dumb", "unknown"})


@dataclass(frozen=True, slots=True)
class Words:
    """A command and its arguments, already split by the system's shell."""

    words: tuple[str, ...]
    place: str = ""
    """Always empty: there is no line to point at."""


Task = Words | CommandLine


def choose_work(arguments: Arguments) -> Iterable[Task] | None:
    """Find what the arguments ask to run; None for the interactive shell.

    Raises:
        UsageError: It is asked for in two ways, or the script can't be read.
    """
    given = [
        title
        for title, is_given in (
            ("-c/--command", arguments.has("--command")),
            ("-f/--file", arguments.has("--file")),
            (f"the command {arguments.words[0]}" if arguments.words else "", arguments.words),
        )
        if is_given
    ]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: each says what to run", hint="give one of them")
    if arguments.words:
        return (Words(arguments.words),)
    if arguments.has("--command"):
        return tuple(CommandLine(text) for text in arguments.values["--command"])
    script = arguments.value("--file")
    if script is not None and script != "-":
        return script_lines(open_script(script), script)
    if script is None and _is_terminal(sys.stdin):
        if not (_is_terminal(sys.stdout) or _is_terminal(sys.stderr)):
            raise UsageError("no command given, and standard input is not a script or a terminal")
        return None
    if sys.stdin is None:
        return ()
    return script_lines(sys.stdin.buffer, "stdin")


def run_tasks(
    tasks: Iterable[Task],
    context: Context,
    diagnostics: Diagnostics,
    *,
    keep_going: bool,
    after_each: Callable[[], None],
) -> int:
    """Run tasks in order, until one fails unless `keep_going`, or one asks to leave.

    Args:
        tasks: The work.
        context: One context for all tasks, so that ``cd`` holds for the next.
        diagnostics: Prints the tasks' errors.
        keep_going: Go on after a failure.
        after_each: Called when a task is done.

    Returns:
        The status that ``exit`` was given, else that of a bug of ours, else the first failure's
        exit status, else 0.
    """
    first_failure = 0
    for task in tasks:
        code = _run_task(task, context, diagnostics)
        after_each()
        # The status of a bug of ours comes first: no other status tells of it.
        first_failure = code if code == ExitCode.INTERNAL else first_failure or code
        if context.exit_requested or (code and not keep_going):
            break
    return first_failure if context.exit_status is None else context.exit_status


def _run_task(
    task: Task,
    context: Context,
    diagnostics: Diagnostics,
) -> int:
    """Run one task; its errors, and bugs of ours, are printed with its place in front."""

    def warn(text: str) -> None:
        # An indented line, such as a hint, belongs to the line before.
        diagnostics.line(text if text.startswith(" ") else f"{task.place}{text}")

    context.warn = warn
    # A lone command has nothing after it that `cd` or `exit` could matter to.
    context.interactive = context.runs_programs = isinstance(task, CommandLine)
    try:
        if isinstance(task, Words):
            with told_to_run(diagnostics, context.out, task.words[0]):
                return int(run_words(context, task.words))
        return int(run_line(context, task.text))
    except MetashellError as error:
        diagnostics.error(error, prefix=task.place or "metashell: ")
        return int(error.exit_code)
    except (BrokenPipeError, OutputError):
        raise
    except Exception as error:
        if began_with_interrupt(error):
            raise
        diagnostics.error(InternalError.of(error), prefix=task.place or "metashell: ")
        return ExitCode.INTERNAL


def explorer_path(arguments: Arguments) -> str | None:
    """The path to begin at where the explorer is asked for, else None.

    Raises:
        UsageError: Something else is asked for as well, or there is no terminal.
    """
    words = arguments.words
    if words[:1] == (TUI,):
        paths = words[1:]
    elif arguments.has("--tui"):
        paths = words
    else:
        return None
    for flag in ("--command", "--file"):
        if arguments.has(flag):
            raise UsageError(f"`{TUI}` and `{flag}` each say what to run", hint="give one of them")
    if len(paths) > 1 or any(not path or path.startswith("-") for path in paths):
        raise UsageError(f"`{TUI}` takes one path", hint=f"metashell -d DIR {TUI} /image/topics")
    if not all(map(_is_terminal, (sys.stdin, sys.stdout))):
        raise UsageError(
            f"`{TUI}` needs a terminal", hint="one-shot commands work without a terminal"
        )
    if not _is_terminal(sys.stderr):
        raise UsageError(
            f"`{TUI}` needs a terminal as standard error too",
            hint="leave out `2>`: the explorer draws on standard error",
        )
    _check_terminal()
    return normalise(paths[0]) if paths else ""


def _check_terminal() -> None:
    """Refuse terminals that can't show what is drawn.

    Raises:
        UsageError: It can't move its cursor, or its text is not in UTF-8.
    """
    name = os.environ.get("TERM", "")
    if name in _DUMB:
        raise UsageError(
            f"`{TUI}` needs a terminal that can move its cursor: TERM is {name}",
            hint="start the shell instead: metashell without `tui`",
        )
    encoding = getattr(sys.__stderr__, "encoding", None) or "none"
    if encoding.lower().replace("-", "").replace("_", "") != "utf8":
        raise UsageError(
            f"`{TUI}` draws in UTF-8: the locale's encoding is {escape(encoding)}",
            hint=f"LC_ALL=C.UTF-8 metashell ... {TUI}, where the terminal knows UTF-8",
        )


def _is_terminal(stream: object) -> bool:
    isatty = getattr(stream, "isatty", None)
    return isatty is not None and bool(isatty())


_PATIENCE_S: Final = 1.0
_REDRAW_S: Final = 1.0


@contextmanager
def told_to_run(diagnostics: Diagnostics, out: Output, name: str) -> Iterator[None]:
    """Tell that a command runs, until it writes something or ends.

    Args:
        diagnostics: Where it is told.
        out: Where the command writes.
        name: The command.
    """
    if not diagnostics.is_terminal:
        yield
        return
    ended, began_s, line = Event(), time.monotonic(), ""

    def has_written() -> bool:
        return isinstance(out, StreamOutput) and out.has_text

    def tell() -> None:
        nonlocal line
        patience_s = _PATIENCE_S
        while not (ended.wait(patience_s) or has_written()):
            patience_s = _REDRAW_S
            text = f"{name}: running for {time.monotonic() - began_s:.0f} s, ^C ends it"
            text = text[: max(diagnostics.width - 1, 0)]
            # A bar tells more, and stays.
            diagnostics.draw(text, over=line)
            line = text

    thread = Thread(target=tell, name="told_to_run", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        diagnostics.erase()
