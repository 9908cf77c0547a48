"""The program: parse, choose, open, run, and every error to one line and one exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from metashell.cli.arguments import BY_NAME, TUI, Arguments, parse_arguments
from metashell.cli.output import (
    Diagnostics,
    OutputError,
    StreamOutput,
    standard_streams,
)
from metashell.errors import (
    ExitCode,
    InternalError,
    MetashellError,
    UsageError,
    began_with_interrupt,
)

if TYPE_CHECKING:
    from metashell.cli.defaults import Defaults
    from metashell.cli.sources import Opener


def run_program(argv: Sequence[str] | None, opener: Opener | None = None) -> int:
    """Run the program; returns its exit status and raises nothing but KeyboardInterrupt."""
    out, diagnostics = standard_streams()
    words = sys.argv[1:] if argv is None else argv
    code = _run(argv, out, diagnostics, opener)
    if code == ExitCode.OK or out.has_text or not {"health", "--plugin"}.issubset(words):
        return code
    from metashell.commands.health.command import UNKNOWN
    from metashell.fs.escape import escape

    with suppress(OSError, OutputError):
        out.write(escape(f"UNKNOWN - {diagnostics.last_word}") + "\n")
        out.flush()
    return UNKNOWN


def _run(
    argv: Sequence[str] | None,
    out: StreamOutput,
    diagnostics: Diagnostics,
    opener: Opener | None,
) -> int:
    made: list[Defaults] = []

    def defaults() -> Defaults:
        # Made when something asks: `--help` does without.
        if not made:
            from metashell.cli.defaults import Defaults

            made.append(Defaults(os.environ))
        return made[0]

    arguments = Arguments(values={}, demo=False, words=())
    owns_process = argv is None
    argv = list(sys.argv[1:] if argv is None else argv)
    if argv[:1] == ["--complete"]:
        from metashell.cli.completion import answer

        return answer(argv[1:], os.environ)
    try:
        arguments = parse_arguments(argv, lambda word: defaults().is_cluster(word))
        if _is_about_itself(arguments):
            from metashell.cli.usage import tell_about_itself

            code = tell_about_itself(arguments, out)
        else:
            arguments = defaults().fill_in(arguments)
            # Not at the top: `--help` does without.
            from metashell.cli.one_run import OneRun
            from metashell.places.seen import seeing

            _choose_colour(arguments)
            run = OneRun(arguments, defaults(), out, diagnostics, opener, owns_process)
            with seeing():
                code = run.run()
        out.flush()
        return int(code)
    except KeyboardInterrupt:
        return _interrupted(out, diagnostics)
    except MetashellError as error:
        from metashell.cli.defaults import explain

        explain(error, arguments)
        diagnostics.error(error)
        return int(error.exit_code)
    except OutputError as error:
        diagnostics.program(str(error))
        return ExitCode.FAILED
    except Exception as error:
        return _unexpected(error, out, diagnostics)


def _choose_colour(arguments: Arguments) -> None:
    """Let an option decide about colour, in this program and in those that it starts."""
    when = arguments.value("--color")
    if when not in (None, *BY_NAME["--color"].choices):
        raise UsageError(f"--color {when}: not one of {', '.join(BY_NAME['--color'].choices)}")
    if when == "never":
        os.environ["NO_COLOR"] = "1"
    elif when == "always":
        os.environ.pop("NO_COLOR", None)
        os.environ["FORCE_COLOR"] = "1"


def _is_about_itself(arguments: Arguments) -> bool:
    """Whether the program only tells about itself: then nothing else of the arguments counts."""
    asks = any(map(arguments.has, ("--help", "--version", "--completion")))
    return asks or arguments.words == (TUI, "--help")


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
    if began_with_interrupt(error):
        return _interrupted(out, diagnostics)
    out.discard()
    diagnostics.error(InternalError.of(error))
    return ExitCode.INTERNAL
