"""The settings of the explorer, and its entry point.

This module must stay cheap to import: whoever builds an `ExplorerSession` may never start the
explorer.
"""

from __future__ import annotations

import gc
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from metashell.commands.framework.aliases import NO_HABITS, Habits
from metashell.dataclass import dataclass
from metashell.errors import InternalError
from metashell.tui.jobs import ready_for_keys

if TYPE_CHECKING:
    from metashell.sources.fleet.source import FleetSource
    from metashell.sources.source import Source

_FRAME: Final = re.compile(r"(?m)^│ +(\S+\.py):(\d+) in .*$")
"""A frame in a traceback of Rich's."""
_KIND: Final = re.compile(r"(?m)^(\w+)(?::|$)")
Progress = Callable[[int, int], None]
"""Called with (bytes read, bytes in all)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorerSession:
    """The source to explore, and the user's settings."""

    open: Callable[[Progress], Source | FleetSource]
    """Opens the source; slow, and called in a thread once the first screen is drawn."""
    name: str
    """The source's name while it is not open, such as ``demo``."""
    title: Callable[[Source | FleetSource], str]
    """The source's name once it is open."""
    path: str = "/"
    """Where to begin; empty for Home."""
    show_secrets: bool = False
    habits: Habits = NO_HABITS
    """Aliases and default options of commands."""
    theme: str | None = None
    """A theme's name; None for the default one."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys by the names of what they do, in place of the built-in ones."""
    memory: Path | None = None
    """The file of bookmarks, columns and sorting; None keeps them for this run alone."""
    messages: Callable[[], Sequence[str]] = tuple
    """Takes what is to be said of the source and was not taken yet, a line each; cheap."""
    look: Callable[[], None] = lambda: None
    """Finds what else there is to be said by now; called in a job."""

    def key(self, name: str, usual: str) -> str:
        """The first key of an action, as messages name it.

        Args:
            name: The name of the action in `keys`.
            usual: The built-in key.
        """
        return self.keys.get(name, usual).partition(",")[0]


def run(session: ExplorerSession) -> int:
    """Show the explorer until the user leaves.

    Returns:
        The exit status of the program.

    Raises:
        MetashellError: The source could not be opened.
    """
    with ready_for_keys():
        from rich.console import Console

        from metashell.tui.app import Explorer  # Textual takes a quarter of a second to import
        from metashell.tui.frame.terminal import terminal_may_go

        gc.freeze()  # modules and classes stay for good
        explorer = Explorer(session)
        crash = StringIO()
        explorer.error_console = Console(file=crash, color_system=None)
        with _ended_politely(explorer), terminal_may_go():
            explorer.run()
    if explorer.failure is not None:
        raise explorer.failure
    if explorer.defect is not None:
        raise explorer.defect
    if explorer.status is None:
        raise _defect(crash.getvalue())
    return explorer.status


def _defect(crash: str) -> InternalError:
    """The error that reports the traceback of a program that ended by itself."""
    traceback = _FRAME.sub(r'  File "\1", line \2', crash)
    return InternalError.told(traceback, (_KIND.findall(crash) or ["error"])[-1])


@contextmanager
def _ended_politely(explorer: Any) -> Iterator[None]:
    """Leave the terminal as it was on SIGTERM, SIGHUP and SIGQUIT too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _frame: object) -> None:
        explorer.exit(return_code=128 + number)

    ends = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    numbers = (*ends, signal.SIGTSTP, signal.SIGCONT)
    before = [signal.getsignal(number) for number in numbers]
    for number in ends:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
