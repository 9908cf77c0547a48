"""Files to read: on a disk, in memory, or in a store."""

from __future__ import annotations

import errno
import os
import stat
from typing import TypeAlias

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.places.remote import RemoteFile
from metashell.places.vanished import VanishedError


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file that was fetched from a quorum and is in memory only."""

    name: str
    content: memoryview


FileRef: TypeAlias = str | MemoryFile | RemoteFile
"""A readable file: a path, a file in memory, or one in a store."""


def name_of(file: FileRef) -> str:
    """A file's name, without directories."""
    return os.path.basename(file) if isinstance(file, str) else file.name


def open_regular(path: str) -> tuple[int, int]:
    """Open a regular file for reading.

    Returns:
        (file descriptor, size in bytes).

    Raises:
        VanishedError: There is none.
        SourceError: It can't be opened, or is something else.
    """
    try:
        # O_NONBLOCK: opening a named pipe must not wait for a writer.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as e:
        raise VanishedError(path) from e
    except OSError as e:
        raise unreadable(path, e) from e
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise SourceError(f"{path}: not a regular file")
    return fd, status.st_size


def unreadable(path: str, error: OSError) -> SourceError:
    """The error that says why a file or directory can't be read, and what to do."""
    hint = None
    if error.errno in (errno.EACCES, errno.EPERM):
        hint = "run metashell as Kafka's user or as a member of its group"
    return SourceError(f"{path}: {(error.strerror or str(error))}", hint=hint)
