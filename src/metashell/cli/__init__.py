"""The command line: arguments to a source and a front end, errors to an exit code.

`run_process` is the program's entry point, and `main` all of it but the end of the process.
Everything else is imported inside `main`, so that ^C is already handled while the rest loads and
``--help`` needs next to nothing.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from metashell.cli.sources import Opener

__all__ = ["main", "run_process"]

_DOCUMENTATION: Final = ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")
"""Modules that do nothing but document others."""

_COLLECTED_AFTER: Final = (200_000, 20, 100)
"""New objects after which Python looks for garbage that only it can free, and how often among more.

Modules and an answer's objects stay: by Python's own numbers, 700 objects, that takes a twentieth
of a short answer's time.
"""


def main(argv: Sequence[str] | None = None, *, opener: Opener | None = None) -> int:
    """Run the program.

    Args:
        argv: The words after the program's name; those of the process if None.
        opener: Opens the source; None for the package's own function.

    Returns:
        The exit status, one of `metashell.errors.ExitCode`.
    """
    try:
        from metashell.cli.program import run_program

        return run_program(argv, opener)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        # It can't be imported, or has no streams to say so with.
        from metashell.errors import InternalError

        bug = InternalError.of(error)
        if sys.stderr is not None:
            sys.stderr.writelines(f"{line}\n" for line in bug.lines("metashell: "))
        return bug.exit_code


def run_process() -> NoReturn:
    """Run the program as a process of its own and end that process with the exit status."""
    status = 1
    gc.set_threshold(*_COLLECTED_AFTER)

    def end_at_once() -> None:
        # Python would take apart all that was imported: a tenth of a second, and the system frees
        # it anyway. It would also end a daemon thread in the middle of what it does. Libraries in
        # C++, such as DuckDB, then abort the process.
        if hasattr(sys, "last_type"):
            return  # who called this has failed since, and Python's exit status says so
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                continue  # closed, or broken: `main` has said so
        os._exit(status)

    # Called last, as it is registered first: all else that has to be done at the end is done.
    atexit.register(end_at_once)
    # Linear algebra is never done here, and numpy would start threads for it, which first spin.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _leave_documentation_out()
    status = main()
    sys.exit(status)


def _leave_documentation_out() -> None:
    """Keep numpy from documenting its functions, which nobody here reads.

    The documentation takes a tenth of numpy's import time.
    """
    for name in _DOCUMENTATION:
        sys.modules.setdefault(name, ModuleType(name))
