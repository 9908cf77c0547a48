"""Scripts: a command a line, and what a line goes on in.

Owns how a script is read, whether it is a file, a pipe or standard input. A script may be endless:
lines are given as they come.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, Final

from metashell.commands.framework.statement import is_comment, needs_more
from metashell.dataclass import dataclass
from metashell.errors import UsageError

_LINE_MAX_BYTES: Final = 1 << 20
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line, not yet split."""

    text: str
    place: str = ""
    """Where it stands in a script, such as ``setup.txt:3: ``; precedes each of its diagnostics."""


def open_script(path: str) -> BinaryIO:
    """Open a script, which may be a pipe.

    Raises:
        UsageError: It can't be opened, or is a directory.
    """
    try:
        stream = open(path, "rb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise UsageError(f"{path}: {reason}") from error
    if not stat.S_ISDIR(os.fstat(stream.fileno()).st_mode):
        return stream
    stream.close()
    raise UsageError(f"{path}: Is a directory")


def script_lines(stream: BinaryIO, name: str) -> Iterator[CommandLine]:
    """Yield the lines of a script that say something, as they come.

    A line that ends with a backslash, or in a quote, goes on in the next one.

    Raises:
        UsageError: It can't be read, or is no text.
    """
    with stream:
        first, held = 0, ""
        for number, text in _rows(stream, name):
            held = f"{held}\n{text}" if first else text
            first = first or number
            if len(held) > _LINE_MAX_BYTES:
                raise UsageError(f"{name}:{first}: longer than {_LINE_MAX_BYTES:,} bytes")
            if needs_more(held):
                continue
            if held.strip() and not is_comment(held):
                yield CommandLine(held.strip(), f"{name}:{first}: ")
            first, held = 0, ""
        if held.strip():
            yield CommandLine(held.lstrip(), f"{name}:{first}: ")


def _rows(stream: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    """The rows of a script with their numbers."""
    number = 0
    while True:
        try:
            raw = stream.readline(_LINE_MAX_BYTES + 1)
        except OSError as error:
            raise UsageError(f"{name}: {error.strerror or error}") from error
        if not raw:
            return
        number += 1
        if b"\0" in raw:
            raise UsageError(f"{name}:{number}: not a script: it holds a NUL byte")
        if len(raw) > _LINE_MAX_BYTES:
            raise UsageError(f"{name}:{number}: longer than {_LINE_MAX_BYTES:,} bytes")
        if number == 1:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        yield number, raw.decode("utf-8", "surrogateescape").rstrip("\r\n")
