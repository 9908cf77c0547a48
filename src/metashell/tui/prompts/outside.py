"""The user's pager and editor, in front of the explorer."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual.app import SuspendNotSupported

from metashell.commands.shared.pager import editor_command, pager_command, pager_environment
from metashell.fs.escape import escape_text, to_bytes

if TYPE_CHECKING:
    from metashell.tui.app import Explorer

_NOT_FOUND: Final = 127
_SIGNALLED: Final = 128
"""The status of what a signal ended is this and the number of the signal."""
_HINTS: Final = {
    "pager": "no pager: PAGER names none that is installed",
    "editor": "no editor: set VISUAL or EDITOR to one that is installed",
}


def show_in(explorer: Explorer, program: str, what: str, text: str) -> None:
    """Show a text in the ``pager`` or the ``editor``; nothing comes back.

    Args:
        explorer: Gives the terminal away meanwhile.
        program: Which of the two.
        what: A name of the text for messages.
        text: The text; unsafe characters are escaped.
    """
    command = command_of(program, os.environ)
    if command is None:
        explorer.tell(_HINTS[program], "warning")
        return
    try:
        path = write_copy(text)
    except OSError as error:
        explorer.tell(f"the {what} can't be written for the {program}: {error}", "error")
        return
    try:
        with explorer.suspend():
            status = run(command, path, environment_of(program, os.environ))
    except SuspendNotSupported:
        explorer.tell(f"no {program} here: this terminal can't run another program", "warning")
        return
    finally:
        with suppress(OSError):
            path.unlink()
    if status == _NOT_FOUND:
        explorer.tell(f"{command}: not found", "error")
    elif (end := _end_of(status)) is not None:
        explorer.tell(f"{command} {end}", "warning")


def command_of(program: str, environ: Mapping[str, str]) -> str | None:
    """The command line of the program; None where there is none."""
    return pager_command(environ) if program == "pager" else editor_command(environ)


def environment_of(program: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of the program."""
    if program != "pager":
        return dict(environ)
    given = pager_environment(environ)
    # Without `-F` a text that fits one screen stays visible; nothing else would show it.
    return {**given, "LESS": f"{given['LESS']} -+F"}


def write_copy(text: str) -> Path:
    """Write a text to a new file that only the user can read.

    Raises:
        OSError: It can't be written; the only directory for it is one of Kafka's.
    """
    directory = Path(tempfile.gettempdir())
    if is_of_kafka(directory):
        raise OSError(f"{directory} is a Kafka directory: set TMPDIR to another one")
    handle, name = tempfile.mkstemp(prefix="metashell-", suffix=".txt", dir=directory)
    path = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(to_bytes(escape_text(text)))
            if not text.endswith("\n"):
                file.write(b"\n")
    except BaseException:
        path.unlink()
        raise
    return path


def is_of_kafka(directory: Path) -> bool:
    """Whether a directory is one of Kafka's, or lies in one."""
    whole = directory.resolve()
    return any(
        place.name == "__cluster_metadata-0" or (place / "meta.properties").exists()
        for place in (whole, *whole.parents)
    )


def run(command: str, path: Path, environ: Mapping[str, str]) -> int:
    """Run a command line on a file until the user leaves; returns its status as a shell does."""
    line = f"{command} {shlex.quote(str(path))}"
    with _interrupts_left_to_it():
        # The command line is the user's own, and the file's name is ours.
        status = subprocess.run(line, shell=True, env=dict(environ), check=False).returncode
    return status if status >= 0 else _SIGNALLED - status


def _end_of(status: int) -> str | None:
    """How a program ended, by its status in a shell; None where the user ended it."""
    if status in (0, _SIGNALLED + signal.SIGINT):
        return None
    with suppress(ValueError):
        return f"was ended by {signal.Signals(status - _SIGNALLED).name}"
    return f"ended with status {status}"


@contextmanager
def _interrupts_left_to_it() -> Iterator[None]:
    """Leave ^C to the program; a handler of ours is none of its, as an ignored signal would be."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
