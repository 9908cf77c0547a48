"""Read a small file that anyone may have written.

Owns the limits: a size, no waiting on a pipe that nobody fills, no device. Must never read a
metadata log; those are as large as they are. A file that is not on this machine is a `StoreFile`,
which reads itself.
"""

from __future__ import annotations

import os
import stat
from typing import Final, Protocol, TypeAlias

from metashell.errors import SourceError

MIB: Final = 1 << 20
_NONBLOCK: Final = getattr(os, "O_NONBLOCK", 0)
_BINARY: Final = getattr(os, "O_BINARY", 0)


class StoreFile(Protocol):
    """A file or directory in a store; its text names it."""

    @property
    def parent(self) -> StoreFile:
        """The directory that it is in."""

    def child(self, name: str) -> StoreFile:
        """The file or directory of that name in the directory."""

    def read_whole(self, limit_bytes: int) -> bytes | None:
        """The content of the file; None where there is none.

        Raises:
            SourceError: It can't be read or is larger.
        """


AnyPlace: TypeAlias = str | os.PathLike[str] | StoreFile
"""Where a file or directory is: on this machine, or in a store."""


def child_of(directory: AnyPlace, name: str) -> AnyPlace:
    """The file or directory of that name in a directory."""
    if isinstance(directory, str | os.PathLike):
        return os.path.join(directory, name)
    return directory.child(name)


def parent_of(directory: AnyPlace) -> AnyPlace:
    """The directory that a directory is in."""
    if isinstance(directory, str | os.PathLike):
        return os.path.dirname(directory)
    return directory.parent


def name_of(place: AnyPlace) -> str:
    """A place as errors name it."""
    return os.fspath(place) if isinstance(place, str | os.PathLike) else str(place)


def read_bounded(
    path: str | os.PathLike[str], *, limit_bytes: int = MIB, pipes: bool = False, hint: str = ""
) -> bytes:
    """Read a whole file of at most `limit_bytes`.

    Args:
        path: The file.
        limit_bytes: A larger file is refused.
        pipes: Accept a pipe, as a shell's ``<(...)`` makes, and wait for its writer.
        hint: The advice where it is larger.

    Raises:
        SourceError: It can't be read, is no regular file or is too large. Its cause is the OSError,
            such as a FileNotFoundError, where there was one.
    """
    name = os.fspath(path)
    try:
        # Without O_NONBLOCK, opening a pipe without a writer hangs.
        fd = os.open(name, os.O_RDONLY | _BINARY | (0 if pipes else _NONBLOCK))
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror}") from error
    except ValueError as error:
        raise SourceError(f"{name!r}: not a valid file name") from error
    try:
        _check_kind(name, os.fstat(fd).st_mode, pipes)
        data = _read_at_most(fd, limit_bytes + 1)
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror}") from error
    finally:
        os.close(fd)
    if len(data) > limit_bytes:
        reason = f"larger than {limit_bytes:,} bytes, the limit for such a file"
        raise SourceError(f"{name}: {reason}", hint=hint or None)
    return data


def read_if_present(path: AnyPlace, *, limit_bytes: int = MIB) -> bytes | None:
    """Read as `read_bounded` does; None where there is no such file."""
    if not isinstance(path, str | os.PathLike):
        return path.read_whole(limit_bytes)
    try:
        return read_bounded(path, limit_bytes=limit_bytes)
    except SourceError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise


def _check_kind(name: str, mode: int, pipes: bool) -> None:
    """Refuse what is neither a regular file nor a pipe that was asked for."""
    if stat.S_ISDIR(mode):
        raise SourceError(f"{name}: Is a directory")
    if not (stat.S_ISREG(mode) or (pipes and (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)))):
        raise SourceError(f"{name}: not a regular file")


def _read_at_most(fd: int, limit_bytes: int) -> bytes:
    """Read to the end or to the limit; a read may return less than it was asked for."""
    pieces = []
    left = limit_bytes
    while left > 0:
        piece = os.read(fd, min(left, MIB))
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
