"""The file behind ``>``: it gets what a pipe would get, and is none of Kafka's.

The file is opened when the first text comes or the command ends, so that a command that is refused
leaves it as it is. A symbolic link is followed to where it leads, which is what is judged.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, BinaryIO, Final

from metashell.errors import MetashellError, UsageError
from metashell.fs.escape import escape, to_bytes

if TYPE_CHECKING:
    from metashell.commands.framework.command import Context
    from metashell.commands.framework.statement import Redirect

_SHARED: Final = 0o666
_PRIVATE: Final = 0o600


class RedirectError(Exception):
    """The file can't be written.

    No `MetashellError`, because a command reports those as its own and goes on.
    """


class FileOutput:
    """A file that takes a command's output.

    Args:
        context: Says what is open, and whether secrets are shown.
        redirect: The file.

    Raises:
        MetashellError: It lies in a directory of Kafka's, or can't be a file.
    """

    is_terminal = False
    width = 80

    def __init__(self, context: Context, redirect: Redirect) -> None:
        self._name, self._appends = escape(redirect.target), redirect.appends
        self.ending = redirect.target.rpartition(".")[2]
        """The end of its name, which chooses the form of rows."""
        self._target = os.path.realpath(redirect.target)
        self._mode = _PRIVATE if _shows_secrets(context) else _SHARED
        self._file: BinaryIO | None = None
        self.n_lines = 0
        """Lines that it got."""
        _check(context, redirect.target, self._name, self._target)

    def write(self, text: str) -> None:
        """Write text; raises RedirectError where that fails."""
        self.open()
        assert self._file is not None
        self.n_lines += text.count("\n")
        try:
            self._file.write(to_bytes(text))
        except OSError as error:
            raise self._failure(error) from error

    def flush(self) -> None:
        """Hand on what was written; raises RedirectError where that fails."""
        if self._file is not None:
            try:
                self._file.flush()
            except OSError as error:
                raise self._failure(error) from error

    def open(self) -> None:
        """Make the file, or empty it; raises RedirectError where that fails."""
        if self._file is not None:
            return
        how = os.O_APPEND if self._appends else os.O_TRUNC
        try:
            fd = os.open(self._target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | how, self._mode)
        except OSError as error:
            raise self._failure(error) from error
        self._file = os.fdopen(fd, "wb")

    def close(self) -> None:
        """End the file; raises RedirectError where that fails."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as error:
                raise self._failure(error) from error

    def _failure(self, error: OSError) -> RedirectError:
        return RedirectError(f"{self._name}: {error.strerror or error}")


def _shows_secrets(context: Context) -> bool:
    opened = context.opened
    return opened is not None and opened.settings.show_secrets


def _check(context: Context, typed: str, name: str, target: str) -> None:
    """Refuse a file that can't be written there."""
    from metashell.commands.framework.local_places import kafka_directories, refuse_kafkas

    if "\0" in typed:
        raise UsageError(f"{name}: not a file name")
    refuse_kafkas(name, target, kafka_directories(context))
    parent = os.path.dirname(target)
    if not os.path.isdir(parent):
        raise MetashellError(f"{escape(parent)}: No such directory", hint=f"to write {name}")
    try:
        mode = os.stat(target).st_mode
    except OSError:
        return
    if stat.S_ISDIR(mode):
        raise MetashellError(f"{name}: Is a directory", hint="name a file after >")
