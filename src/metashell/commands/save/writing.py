"""Writes the files of a copy: as a directory, or as an archive. Whole, or not at all.

Owns that new files are their owner's alone, and that nothing is written over.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import BinaryIO, Final, TypeAlias

from metashell.errors import MetashellError, UsageError
from metashell.fs.escape import escape

Contents: TypeAlias = Mapping[str, Sequence[memoryview]]
"""The pieces of each file, by its path below the directory."""

_STEP_BYTES: Final = 4 << 20
_ARCHIVE: Final = re.compile(r"\.(?:tar|tar\.gz|tgz|zip)\Z")
_OTHER_ARCHIVE: Final = re.compile(r"\.(?:7z|rar|gz|[bx]z2?|zst|lz4|t[bx]z2?|tzst|tgz\d+)\Z")
_ROOT: Final = "cluster-copy"
"""The directory in every archive."""
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_MODE: Final = stat.S_IFREG | 0o600
_FIRST_DATE: Final = (1980, 1, 1, 0, 0, 0)
"""The date of all members of a zip archive, whose dates begin there; in tar archives it is 1970."""


def archive_suffix(name: str) -> str | None:
    """The end of a file's name that makes it an archive; None for the name of a directory.

    Raises:
        UsageError: It is the name of an archive of another kind.
    """
    found = _ARCHIVE.search(name)
    if found is None and (other := _OTHER_ARCHIVE.search(name)):
        raise UsageError(
            f"{escape(name)}: {other[0]} is not written",
            hint="an archive ends with .tar, .tar.gz, .tgz or .zip",
        )
    return None if found is None else found[0]


def write_copy(typed: str, target: str, contents: Contents, stop: Callable[[], None]) -> None:
    """Write under a temporary name beside the target, and rename that when all is there.

    Args:
        typed: The target, as the user calls it.
        target: Its path, without symbolic links: a directory, or an archive by its name.
        contents: The files.
        stop: Called again and again; it raises to end everything.

    Raises:
        MetashellError: It can't be written; nothing is left.
    """
    parent, base = os.path.split(target)
    try:
        # For the owner alone.
        with tempfile.TemporaryDirectory(prefix=f".{base}.unfinished-", dir=parent) as temporary:
            made = os.path.join(temporary, base)
            if archive_suffix(target) is None:
                _write_directory(made, contents, stop)
            else:
                with open(os.open(made, _NEW, 0o600), "wb") as file:
                    _write_archive(file, target, contents, stop)
                    file.flush()
                    os.fsync(file.fileno())
            # Takes the place of an empty directory, and fails on another one.
            os.rename(made, target)
        _sync_directory(parent)
    except OSError as error:
        size = sum(len(piece) for pieces in contents.values() for piece in pieces)
        hint = f"`save` needs {size:,} bytes, and left nothing behind"
        raise MetashellError(f"{escape(typed)}: {error.strerror or error}", hint=hint) from error


def _write_directory(directory: str, contents: Contents, stop: Callable[[], None]) -> None:
    os.mkdir(directory, 0o700)
    made = {directory}
    for name, pieces in contents.items():
        path = os.path.join(directory, name)
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        made.add(os.path.dirname(path))
        fd = os.open(path, _NEW, 0o600)
        try:
            for piece in pieces:
                at = 0
                while at < len(piece):
                    stop()
                    at += os.write(fd, piece[at : at + _STEP_BYTES])
            os.fsync(fd)
        finally:
            os.close(fd)
    for one in sorted(made, reverse=True):
        _sync_directory(one)


def _write_archive(
    file: BinaryIO, target: str, contents: Contents, stop: Callable[[], None]
) -> None:
    """Write the files below a directory of the archive; equal files make equal bytes."""
    suffix = archive_suffix(target)
    if suffix == ".zip":
        with zipfile.ZipFile(file, "w") as packed:
            for name, pieces in contents.items():
                stop()
                about = zipfile.ZipInfo(f"{_ROOT}/{name}", _FIRST_DATE)
                about.external_attr = _FILE_MODE << 16
                packed.writestr(about, b"".join(pieces), zipfile.ZIP_DEFLATED)
        return
    plain = nullcontext(file)
    with (
        plain if suffix == ".tar" else gzip.GzipFile("", "wb", fileobj=file, mtime=0) as inner,
        tarfile.open(fileobj=inner, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, pieces in contents.items():
            stop()
            info = tarfile.TarInfo(f"{_ROOT}/{name}")
            info.size, info.mode = sum(map(len, pieces)), _FILE_MODE
            tar.addfile(info, io.BytesIO(b"".join(pieces)))


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
