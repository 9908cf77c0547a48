"""Programs of the system beside a command: the pipe into them, and running one alone.

Owns how they are started and ended, and what their status means. ^C is theirs while they run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType

from metashell.errors import MetashellError, UsageError
from metashell.fs.escape import to_bytes

FLUSH_AFTER_S = 0.05
"""How long text for another program may lie in our buffer while more is written."""


class Pipe:
    """Text into a command of the system's shell.

    Args:
        command: A command line for the system's shell.
        environ: The environment, ours where None.
        is_terminal: Whether a person reads what goes in.
        width: Columns of the terminal it ends on.
    """

    def __init__(
        self,
        command: str,
        environ: Mapping[str, str] | None = None,
        *,
        is_terminal: bool = False,
        width: int = 80,
    ) -> None:
        self.is_terminal = is_terminal
        self.width = width
        self._process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environ)
        assert self._process.stdin is not None
        self._stdin = self._process.stdin
        self._flushed = 0.0

    def write(self, text: str) -> None:
        """Write text; raises BrokenPipeError once the reader is gone."""
        self._stdin.write(to_bytes(text))
        now = time.monotonic()
        if now - self._flushed > FLUSH_AFTER_S:
            self._stdin.flush()
            self._flushed = now

    def flush(self) -> None:
        """Hand on what was written; raises BrokenPipeError once the reader is gone."""
        self._stdin.flush()

    def finish(self) -> int:
        """End the text, wait for the reader and return its status, as a shell gives it."""
        with left_to_children():
            with suppress(BrokenPipeError):
                self._stdin.close()
            status = self._process.wait()
        return _shell_status(status)


def run_program(command: str) -> int:
    """Run a command line in the system's shell; an empty one opens the user's shell.

    Returns:
        The status as a shell gives it.

    Raises:
        UsageError: A shell is wanted, and there is no terminal for it.
        MetashellError: That shell can't be started.
    """
    is_typed = sys.stdin is not None and sys.stdin.isatty()
    # A script on standard input is ours to read.
    stdin = None if is_typed else subprocess.DEVNULL
    with left_to_children():
        if command:
            status = subprocess.run(command, shell=True, check=False, stdin=stdin).returncode
        elif not is_typed:
            raise UsageError("no program after !", hint="such as `!date`")
        else:
            shell = os.environ.get("COMSPEC" if os.name == "nt" else "SHELL", "sh")
            try:
                status = subprocess.run([shell], check=False).returncode
            except OSError as error:
                raise MetashellError(f"{shell}: {error.strerror}", hint="SHELL names it") from error
    return _shell_status(status)


def _shell_status(status: int) -> int:
    return status if status >= 0 else 128 - status


def _do_nothing(_signum: int, _frame: FrameType | None) -> None:
    """Swallow the signal; unlike SIG_IGN this is not inherited by the programs started."""


@contextmanager
def left_to_children() -> Iterator[None]:
    """Leave ^C to the processes in front for the length of a block.

    The terminal sends SIGINT to every process in the foreground. While a program that the user
    talks to (a pager, ``!vi``) is in front, ^C is its business and must not end the shell.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, _do_nothing)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
