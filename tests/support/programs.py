"""Ending programs that a test started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

_Program = TypeVar("_Program", bound="subprocess.Popen[Any]")


def end(process: subprocess.Popen[Any]) -> None:
    """End a program, with its group where it leads one, and close its pipes.

    A pipe that is left is told as a ResourceWarning in whichever test comes next.
    """
    if process.poll() is None:
        with suppress(ProcessLookupError):
            if os.getpgid(process.pid) == process.pid:
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):  # what was not written to it yet
                pipe.close()


@contextmanager
def ended(process: _Program) -> Iterator[_Program]:
    """A program that is ended, whatever happens."""
    try:
        yield process
    finally:
        end(process)
