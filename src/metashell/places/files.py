"""Files to read: on a disk, in memory, or in a store."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final, TypeAlias

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
"""What can be read: a path, a file in memory, or one in a store."""


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


HEAD_BYTES: Final = 512
"""How many bytes `archive_format` looks at."""
_ARCHIVES: Final = (
    (0, b"\x1f\x8b", "a gzip file"),
    (0, b"PK\x03\x04", "a zip archive"),
    (0, b"PK\x05\x06", "a zip archive"),
    (0, b"\x28\xb5\x2f\xfd", "a zstd file"),
    (0, b"\xfd7zXZ\0", "an xz file"),
    (0, b"BZh", "a bzip2 file"),
    (0, b"\x04\x22\x4d\x18", "an lz4 file"),
    (0, b"\xff\x06\0\0sNaPpY", "a snappy file"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"Rar!\x1a\x07", "a rar archive"),
    (0, b"\x1f\x9d", "a compress file"),
    (0, b"070707", "a cpio archive"),
    (0, b"070701", "a cpio archive"),
    (0, b"070702", "a cpio archive"),
    (0, b"!<arch>\n", "an ar archive"),
    (257, b"ustar", "a tar archive"),
)


def archive_format(head: bytes) -> str | None:
    """What archive or compressed file begins so, as a noun; None for anything else."""
    if (old := _is_old_tar(head)) is not None:
        return old
    return next((what for at, magic, what in _ARCHIVES if head.startswith(magic, at)), None)


def _is_old_tar(head: bytes) -> str | None:
    """A tar archive without a magic, by the sum of its header."""
    if len(head) < HEAD_BYTES or not head[0]:
        return None
    try:
        told = int(head[148:156].strip(b" \0") or b"0", 8)
    except ValueError:
        return None
    summed = sum(head[:148]) + 8 * ord(" ") + sum(head[156:HEAD_BYTES])
    return "a tar archive" if told == summed else None


UNPACK_HINT: Final = "unpack it, and open the directory with -d"
