"""A line on standard error while a command is silent: which one runs, and for how long.

A terminal alone gets it. The line is gone as soon as anything is written.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from metashell.cli.output import Diagnostics, StreamOutput
from metashell.commands.framework.command import Output

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
            told = f"{name}: running for {time.monotonic() - began_s:.0f} s, ^C ends it"
            told = told[: max(diagnostics.width - 1, 0)]
            # A bar tells more, and stays.
            diagnostics.draw(told, over=line)
            line = told

    thread = Thread(target=tell, name="told_to_run", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        diagnostics.erase()
