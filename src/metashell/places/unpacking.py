"""Reads archives into memory: tar, also in gzip or zstd, and zip; from files and standard input.

Owns the bound on the bytes that all archives of this process may hold. It counts bytes while they
are inflated: headers may lie. Nothing is written to a disk.
"""

from __future__ import annotations

import gzip
import io
import os
import posixpath
import re
import stat
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import IO, Any, Final

from metashell.errors import MetashellError, SourceError
from metashell.places.archive_tree import ArchiveTree
from metashell.places.archives import HEAD_BYTES, OPENED, UNPACK_HINT, archive_format
from metashell.places.uri import STDIN, STDIN_NAME

LIMIT_BYTES: Final = 1 << 30
"""Bytes that the files of all archives may have, inflated. The manual of `-d` names it too."""
_HINT: Final = "unpack it, and open the directory; or put only the metadata log into it"
_HEADER_BYTES: Final = 64 << 10
"""Bytes of a header of tar, and of what a zip archive says of its directory's end."""
_DIRECTORY_BYTES: Final = 16 << 20
"""Bytes of a zip archive's directory."""
_GLOBAL_MAX: Final = 64
"""Keywords for all later members of a tar archive; each member gets a copy of them."""
_STEP: Final = 1 << 20
_BLOCK: Final = 512
_DIGITS: Final = re.compile(rb"\d{100}")
"""Digits of no number; older versions of Python take long to look behind them."""
_DUMPED: Final = b"D"
"""The type of a directory in an incremental archive of GNU tar."""

_lock = Lock()
_trees: dict[str, tuple[object, ArchiveTree]] = {}
"""The state of the file at that time, and its members."""
_held: dict[str, int] = {}
"""Bytes by archive."""


def unpacked(path: str) -> ArchiveTree:
    """The members of an archive. It is read once, and again where its file was replaced.

    Args:
        path: A file; `STDIN` for standard input.

    Raises:
        SourceError: It can't be read, is damaged, or is larger than the bound.
    """
    with _lock:
        state = _state(path)
        if path not in _trees or state not in (None, _trees[path][0]):
            name = STDIN_NAME if path == STDIN else path
            _trees.pop(path, None)
            _held.pop(path, None)
            try:
                with _opened(path, name) as file:
                    _trees[path] = state, _Unpacking(path, name).run(file)
            except BaseException:
                _held.pop(path, None)
                raise
        return _trees[path][1]


def _state(path: str) -> object:
    """Tells a file from one that replaced it; None where there is none to look at."""
    try:
        status = os.stat(path) if path != STDIN else None
    except OSError:
        return None
    return status and (status.st_size, status.st_mtime_ns, status.st_ino)


@contextmanager
def _opened(path: str, name: str) -> Iterator[IO[bytes]]:
    try:
        if path != STDIN:
            # Opening a named pipe must not wait for a writer.
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(fd, "rb") as file:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise SourceError(f"{name}: not a regular file")
                yield file
            return
        if sys.stdin is None or sys.stdin.isatty():
            raise SourceError(
                "`-d -`: standard input is a terminal or closed, not an archive",
                hint="tar cf - DIR | metashell -d - health",
            )
        yield sys.stdin.buffer
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror or error}") from error


class _Unpacking:
    """An archive being read.

    Args:
        key: Its key in `_held`.
        name: Its name in messages.
    """

    def __init__(self, key: str, name: str) -> None:
        self._key, self._name = key, name
        self._tree = ArchiveTree(name)
        self._member = ""
        """The member that is read."""

    def run(self, file: IO[bytes]) -> ArchiveTree:
        """Read it; errors as `unpacked`."""
        if self._key == STDIN:
            file = self._copied(file)
        elif file.seek(0, os.SEEK_END) > LIMIT_BYTES:
            raise self._too_large()
        file.seek(0)
        head = file.read(HEAD_BYTES)
        file.seek(0)
        if not head.strip(b"\0"):
            raise SourceError(f"{self._name}: it is empty")
        what = archive_format(head)
        if what not in OPENED:
            raise SourceError(f"{self._name}: {what or 'not an archive'}", hint=UNPACK_HINT)
        try:
            if what == "a zip archive":
                self._read_zip(file)
            else:
                self._read_tar(self._inflated(file, what))
        except (MetashellError, MemoryError):
            raise
        except Exception as error:
            # Readers of archives raise many kinds of errors: at damage, they also raise KeyErrors.
            where = f"{self._name}: {self._member}" if self._member else self._name
            reason = " ".join(str(error).split()) or type(error).__name__
            message = f"{where}: damaged or cut off: {reason}"
            raise SourceError(message, hint="make the archive again") from error
        if not self._tree.entries(""):
            raise SourceError(f"{self._name}: the archive is empty")
        return self._tree

    def _take(self, n_bytes: int) -> None:
        """Count bytes that will be held.

        Raises:
            SourceError: They are too many.
        """
        _held[self._key] = _held.get(self._key, 0) + n_bytes
        if sum(_held.values()) > LIMIT_BYTES:
            raise self._too_large()

    def _too_large(self) -> SourceError:
        others = ", with the archives before it" if len(_held) > 1 else ""
        where = f"{self._name}: {self._member}" if self._member else self._name
        return SourceError(
            f"{where}: more than {LIMIT_BYTES >> 20:,} MiB{others}, the limit for archives",
            hint=_HINT,
        )

    def _copied(self, file: IO[bytes] | gzip.GzipFile) -> io.BytesIO:
        """The bytes that are left in a stream."""
        held = io.BytesIO()
        while piece := file.read(_STEP):
            self._take(len(piece))
            held.write(piece)
        held.seek(0)
        return held

    def _inflated(self, file: IO[bytes], what: str) -> io.BytesIO:
        """The tar archive in a file."""
        if what == "a tar archive":
            return file if isinstance(file, io.BytesIO) else self._copied(file)
        if what == "a gzip file":
            inflated = self._copied(gzip.GzipFile(fileobj=file))
        else:
            import pyarrow as pa

            inflated = self._copied(pa.CompressedInputStream(file, "zstd"))
        inside = archive_format(inflated.getbuffer()[:HEAD_BYTES].tobytes())
        if inside != "a tar archive":
            raise SourceError(
                f"{self._name}: {what} that holds {inside or 'no tar archive'}", hint=UNPACK_HINT
            )
        return inflated

    # Tar.

    def _read_tar(self, held: io.BytesIO) -> None:
        view, last = held.getbuffer().toreadonly(), -1
        links: list[tarfile.TarInfo] = []
        headers: Any = _Headers(held, _HEADER_BYTES)
        with tarfile.open(fileobj=headers, mode="r:", encoding="utf-8") as tar:
            known: Any = tar
            while (info := tar.next()) is not None:
                self._member = info.name
                if info.size < 0 or tar.offset <= last or len(tar.pax_headers) > _GLOBAL_MAX:
                    raise ValueError("a header that makes no sense")
                last = tar.offset
                known.members.clear()
                if info.issym():
                    links.append(info)
                else:
                    self._tree.add(info.name, self._content(info, view))
            if view[tar.offset : tar.offset + _BLOCK] != bytes(_BLOCK):
                what = "end" if tar.offset >= len(view) else "header"
                raise ValueError(f"no {what} follows this member")
        for info in links:
            self._tree.add(info.name, self._linked(info))

    def _content(self, info: tarfile.TarInfo, view: memoryview) -> memoryview | str | None:
        """The content of a member, as the tree takes it."""
        if info.isdir() or info.type == _DUMPED:
            return None
        if info.islnk():
            return self._linked(info)
        if not info.isreg():
            return "not a regular file"
        if info.issparse():
            return self._filled(info, view)
        content = view[info.offset_data : info.offset_data + info.size]
        if len(content) < info.size:
            raise ValueError("the archive ends inside of it")
        return content

    def _filled(self, info: tarfile.TarInfo, view: memoryview) -> memoryview:
        """The content of a sparse file, with zeros in its holes."""
        self._take(info.size)
        content, at = bytearray(info.size), info.offset_data
        holes: Any = info.sparse
        for pos, size in holes:
            if pos < 0 or size < 0 or pos + size > info.size or at + size > len(view):
                raise ValueError("a map of its holes that makes no sense")
            content[pos : pos + size] = view[at : at + size]
            at += size
        return memoryview(content).toreadonly()

    def _linked(self, info: tarfile.TarInfo) -> memoryview | str:
        """The content of the file that a link names."""
        to = info.linkname
        if info.issym():
            to = posixpath.join(posixpath.dirname(info.name), to)
        to = posixpath.normpath(to)
        if to.startswith(("/", "../")):
            return f"a link out of the archive, to {info.linkname}"
        node = self._tree.at(to)
        if isinstance(node, memoryview):
            return node
        return f"a link to {info.linkname}, which is no file of the archive"

    # Zip.

    def _read_zip(self, file: IO[bytes]) -> None:
        headers: Any = _Headers(file, _DIRECTORY_BYTES)
        with zipfile.ZipFile(headers) as archive:
            for info in archive.infolist():
                self._member = info.filename
                self._tree.add(info.filename, self._of_zip(archive, info))

    def _of_zip(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> memoryview | str | None:
        if info.is_dir():
            return None
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            return "not a regular file"
        if info.flag_bits & 1:
            return "encrypted"
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            return f"compressed by method {info.compress_type}, which is not read"
        with archive.open(info) as member:
            content = self._copied(member).getbuffer().toreadonly()
        if len(content) != info.file_size:
            raise ValueError("its size is not what the archive says")
        return content


class _Headers:
    """A file of which no header is read that is larger than headers are."""

    def __init__(self, file: IO[bytes], limit_bytes: int) -> None:
        self._file, self._limit_bytes = file, limit_bytes
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        if not -1 <= size <= self._limit_bytes:
            raise ValueError(f"a header of {size:,} bytes")
        data = self._file.read(size)
        if self._limit_bytes == _HEADER_BYTES and _DIGITS.search(data):
            raise ValueError("a header with a number of too many digits")
        return data
