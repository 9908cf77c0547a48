"""Writes the files of a copy: as a directory, or as an archive. Whole, or not at all.

Owns that new files are their owner's alone, and that nothing is written over.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import tarfile
import tempfile
import zipfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

from metashell.errors import MetashellError
from metashell.fs.escape import escape

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Contents: TypeAlias = Mapping[str, Sequence[memoryview]]
"""The pieces of each file, by its path below the directory."""

_STEP_BYTES: Final = 4 << 20
_ARCHIVE: Final = re.compile(r"\.(?:tar|tar\.gz|tgz|zip)\Z")
_FIRST_DATE: Final = (1980, 1, 1, 0, 0, 0)
"""The date of all members of a zip archive, whose dates begin there; in tar archives it is 1970."""


def archive_suffix(name: str) -> str | None:
    """The end of a file's name that makes it an archive; None for the name of a directory."""
    found = _ARCHIVE.search(name)
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
    temporary: str | None = None
    suffix = archive_suffix(target)
    try:
        # Both are made for the owner alone.
        if suffix is None:
            temporary = tempfile.mkdtemp(prefix=f".{base}.unfinished-", dir=parent)
            _write_directory(temporary, contents, stop)
        else:
            fd, temporary = tempfile.mkstemp(prefix=f".{base}.unfinished-", dir=parent)
            with open(fd, "wb") as file:
                _write_archive(file, base.removesuffix(suffix), suffix, contents, stop)
                file.flush()
                os.fsync(fd)
        # Takes the place of an empty directory, and fails on another one.
        os.rename(temporary, target)
        temporary = None
        _sync_directory(parent)
    except OSError as error:
        size = sum(len(piece) for pieces in contents.values() for piece in pieces)
        hint = f"`save` needs {size:,} bytes, and left nothing behind"
        raise MetashellError(f"{escape(typed)}: {error.strerror or error}", hint=hint) from error
    finally:
        if temporary is not None and suffix is None:
            shutil.rmtree(temporary, ignore_errors=True)
        elif temporary is not None:
            os.unlink(temporary)


def _write_directory(directory: str, contents: Contents, stop: Callable[[], None]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    made = {directory}
    for name, pieces in contents.items():
        path = os.path.join(directory, name)
        if os.path.dirname(path) not in made:
            os.mkdir(os.path.dirname(path), 0o700)
            made.add(os.path.dirname(path))
        fd = os.open(path, flags, 0o600)
        try:
            file = _as_file(pieces, stop)
            while left := memoryview(file.read(_STEP_BYTES)):
                while left:
                    left = left[os.write(fd, left) :]
            os.fsync(fd)
        finally:
            os.close(fd)
    for one in sorted(made, reverse=True):
        _sync_directory(one)


def _write_archive(
    file: BinaryIO, root: str, suffix: str, contents: Contents, stop: Callable[[], None]
) -> None:
    """Write the files below a directory of the archive; equal files make equal bytes."""
    if suffix == ".zip":
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, pieces in contents.items():
                about = zipfile.ZipInfo(f"{root}/{name}", _FIRST_DATE)
                about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o100600 << 16
                with packed.open(about, "w", force_zip64=True) as member:
                    shutil.copyfileobj(_as_file(pieces, stop), member, _STEP_BYTES)
        return
    import gzip

    inner = file if suffix == ".tar" else gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    with tarfile.open(fileobj=inner, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, pieces in contents.items():
            info = tarfile.TarInfo(f"{root}/{name}")
            info.size, info.mode = sum(map(len, pieces)), 0o600
            tar.addfile(info, _as_file(pieces, stop))
    if inner is not file:
        inner.close()


def _as_file(pieces: Sequence[memoryview], stop: Callable[[], None]) -> BinaryIO:
    return io.BufferedReader(_Pieces(pieces, stop), _STEP_BYTES)


class _Pieces(io.RawIOBase):
    """Pieces of memory as one file."""

    def __init__(self, pieces: Sequence[memoryview], stop: Callable[[], None]) -> None:
        self._pieces, self._stop = deque(pieces), stop

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        self._stop()
        target = memoryview(buffer).cast("B")
        at = 0
        while self._pieces and at < len(target):
            piece = self._pieces.popleft()
            fits = piece[: len(target) - at]
            target[at : at + len(fits)] = fits
            at += len(fits)
            if len(fits) < len(piece):
                self._pieces.appendleft(piece[len(fits) :])
        return at


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
