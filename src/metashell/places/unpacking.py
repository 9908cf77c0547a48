"""Archives in memory: tar, also in gzip or zstd, and zip. A `RemotePlace` asks one as a store.

Owns the bound on the bytes that all archives of this process may hold. It counts bytes while they
are inflated: headers may lie. Nothing is written to a disk.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import tarfile
import zipfile
from threading import Lock
from typing import IO, Any, Final, TypeAlias, Union, cast

from metashell.errors import MetashellError, SourceError
from metashell.places.archives import HEAD_BYTES, OPENED, UNPACK_HINT, archive_format
from metashell.places.bounded_file import read_bounded

ArchiveEntry: TypeAlias = Union["dict[str, ArchiveEntry]", memoryview, str]
"""A directory, the bytes of a file, or the reason why a member can't be read."""

LIMIT_BYTES: Final = 512 << 20
"""Bytes that the files of all archives may have, inflated. The guide names it too."""
_HINT: Final = "unpack it, and open the directory; or put only the metadata log into it"
_NODES_MAX: Final = 300_000
_DEPTH_MAX: Final = 64
_HEADER_BYTES: Final = 64 << 10
"""Bytes of a header of tar."""
_DIRECTORY_BYTES: Final = 16 << 20
"""Bytes of a zip archive's directory."""
_GLOBAL_MAX: Final = 64
"""Keywords for all later members of a tar archive; each member gets a copy of them."""
_STEP: Final = 1 << 20
_BLOCK: Final = 512
_DIGITS: Final = re.compile(rb"\d{100}")
"""Digits of no number; older versions of Python take long to look behind them."""
_ZIPPED: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Methods that inflate no more at once than they are asked for."""
_DUMPED: Final = b"D"
"""The type of a directory in an incremental archive of GNU tar."""

_lock = Lock()
_archives: dict[str, tuple[object, Archive | SourceError]] = {}
"""The time of each archive's file, and its members, or why it can't be read."""
_held: dict[str, int] = {}
"""Bytes by archive."""


def unpacked(path: str) -> Archive:
    """The members of an archive. It is read once, and again where its file was replaced.

    Raises:
        SourceError: It can't be read, is damaged, or is larger than the bound.
    """
    with _lock:
        time = os.path.isfile(path) and os.path.getmtime(path)
        if path not in _archives or time not in (False, _archives[path][0]):
            _held[path] = 0
            try:
                _archives[path] = time, Archive(path)
            except SourceError as error:
                _archives[path], _held[path] = (time, error), 0
        found = _archives[path][1]
        if isinstance(found, SourceError):
            raise found
        return found


class Archive:
    """The directory tree of an archive's members; errors as `unpacked`.

    Args:
        path: A file.
    """

    def __init__(self, path: str) -> None:
        self._path, self._n_nodes, self._where = path, 0, path
        self._root: dict[str, ArchiveEntry] = {}
        file = io.BytesIO(read_bounded(path, limit_bytes=LIMIT_BYTES, pipes=True, hint=_HINT))
        what = archive_format(file.getbuffer()[:HEAD_BYTES].tobytes())
        try:
            if what == "a zip archive":
                self._read_zip(file)
            elif what in OPENED:
                self._read_tar(self._inflated(file, what))
            elif file.getvalue().strip(b"\0"):
                raise SourceError(f"{path}: {what or 'not an archive'}", hint=UNPACK_HINT)
        except (MetashellError, MemoryError):
            raise
        except Exception as error:
            # Readers of archives raise many kinds of errors: at damage, they also raise KeyErrors.
            reason = " ".join(str(error).split()) or type(error).__name__
            raise SourceError(
                f"{self._where}: damaged or cut off: {reason}", hint="make the archive again"
            ) from error
        if not self._root:
            raise SourceError(f"{path}: the archive is empty")

    # A store answers these questions of `RemotePlace`.

    def kind(self, path: str) -> str:
        """The kind of a node, as pyarrow calls it."""
        node = self._at(path)
        return "NotFound" if node is None else "Directory" if isinstance(node, dict) else "File"

    def entries(self, path: str) -> list[tuple[str, bool, int, None]]:
        """The names in a directory, as a `StoreEntry` tells of each.

        Raises:
            FileNotFoundError: It is not there.
            NotADirectoryError: It is a file.
            SourceError: It is a member that can't be read.
        """
        node = self._readable(path)
        if not isinstance(node, dict):
            raise NotADirectoryError(path)
        return [(name, isinstance(one, dict), len(one), None) for name, one in node.items()]

    def open_input_file(self, path: str) -> Any:
        """Open a file, as pyarrow does; errors as `entries`."""
        import pyarrow as pa

        node = self._readable(path)
        if isinstance(node, dict):
            raise FileNotFoundError(path)
        return pa.BufferReader(node)

    def _at(self, path: str) -> ArchiveEntry | None:
        node: ArchiveEntry | None = self._root
        for part in path.split("/") if path else ():
            node = node.get(part) if isinstance(node, dict) else None
        return node

    def _readable(self, path: str) -> dict[str, ArchiveEntry] | memoryview:
        node = self._at(path)
        if node is None:
            raise FileNotFoundError(path)
        if isinstance(node, str):
            raise SourceError(f"{self._path}: {path}: {node}")
        return node

    # Reading.

    def _add(self, name: str, content: ArchiveEntry | None) -> None:
        """Add a member; None for a directory. It replaces another of its name."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts or len(parts) > _DEPTH_MAX:
            raise SourceError(f"{self._where[:999]}: names no place in the archive")
        directory = self._root
        for part in parts if content is None else parts[:-1]:
            node = directory.get(part)
            if not isinstance(node, dict):
                self._n_nodes += 1
                node = directory[part] = {}
            directory = node
        if content is not None and parts:
            self._n_nodes += 1
            directory[parts[-1]] = content
        if self._n_nodes > _NODES_MAX:
            raise SourceError(f"{self._path}: more than {_NODES_MAX:,} files", hint=_HINT)

    def _take(self, n_bytes: int) -> None:
        """Count bytes that will be held.

        Raises:
            SourceError: They are too many.
        """
        _held[self._path] += n_bytes
        if sum(_held.values()) > LIMIT_BYTES:
            is_alone = _held[self._path] > LIMIT_BYTES
            others = "" if is_alone else ", with the archives before it"
            raise SourceError(
                f"{self._where}: more than {LIMIT_BYTES >> 20} MiB{others}, the limit for archives",
                hint=_HINT,
            )

    def _copied(self, file: IO[bytes] | gzip.GzipFile) -> io.BytesIO:
        """The bytes that are left in a stream."""
        held = io.BytesIO()
        while piece := file.read(_STEP):
            self._take(len(piece))
            held.write(piece)
        return held

    def _inflated(self, file: io.BytesIO, what: str | None) -> io.BytesIO:
        """The tar archive in a file."""
        if what == "a tar archive":
            self._take(file.getbuffer().nbytes)
            return file
        if what == "a gzip file":
            held = self._copied(gzip.GzipFile(fileobj=file))
        else:
            import pyarrow as pa

            held = self._copied(pa.CompressedInputStream(file, "zstd"))
        inside = archive_format(held.getbuffer()[:HEAD_BYTES].tobytes())
        if inside != "a tar archive":
            raise SourceError(
                f"{self._path}: {what} that holds {inside or 'no tar archive'}", hint=UNPACK_HINT
            )
        return held

    def _read_tar(self, held: io.BytesIO) -> None:
        view, last = held.getbuffer().toreadonly(), -1
        held.seek(0)
        headers: Any = _Headers(held, _HEADER_BYTES)
        with tarfile.open(fileobj=headers, mode="r:", encoding="utf-8") as tar:
            known: Any = tar
            while (info := tar.next()) is not None:
                self._where = f"{self._path}: {info.name}"
                if info.size < 0 or tar.offset <= last or len(tar.pax_headers) > _GLOBAL_MAX:
                    raise ValueError("a header that makes no sense")
                last = tar.offset
                known.members.clear()
                self._add(info.name, self._content(info, view))
            if view[tar.offset : tar.offset + _BLOCK] != bytes(_BLOCK):
                what = "end" if tar.offset >= len(view) else "header"
                raise ValueError(f"no {what} follows this member")

    def _content(self, info: tarfile.TarInfo, view: memoryview) -> memoryview | str | None:
        """The content of a member, as `_add` takes it."""
        if info.isdir() or info.type == _DUMPED:
            return None
        if info.issym():
            return f"a link to {info.linkname}, which is not followed"
        if info.islnk():
            node = self._at("/".join(part for part in info.linkname.split("/") if part != "."))
            missing = f"a link to {info.linkname}, which is no file of the archive"
            return node if isinstance(node, memoryview) else missing
        if not info.isreg():
            return "not a regular file"
        at, pieces = info.offset_data, cast(Any, info.sparse)
        if not info.issparse():
            if at + info.size > len(view):
                raise ValueError("the archive ends inside of it")
            return view[at : at + info.size]
        self._take(info.size)
        content = bytearray(info.size)
        for pos, size in pieces:
            if pos < 0 or size < 0 or pos + size > info.size or at + size > len(view):
                raise ValueError("a map of its holes that makes no sense")
            content[pos : pos + size] = view[at : at + size]
            at += size
        return memoryview(content).toreadonly()

    def _read_zip(self, file: io.BytesIO) -> None:
        headers: Any = _Headers(file, _DIRECTORY_BYTES)
        with zipfile.ZipFile(headers) as archive:
            for info in archive.infolist():
                self._where = f"{self._path}: {info.filename}"
                if info.is_dir():
                    self._add(info.filename, None)
                elif stat.S_ISLNK(info.external_attr >> 16):
                    self._add(info.filename, "a link, which is not followed")
                elif info.flag_bits & 1 or info.compress_type not in _ZIPPED:
                    raise ValueError(f"encrypted, or packed by method {info.compress_type}")
                else:
                    with archive.open(info) as member:
                        content = self._copied(member).getbuffer()
                        self._add(info.filename, content.toreadonly())


class _Headers:
    """A file of which no header is read that is larger than headers are."""

    def __init__(self, file: io.BytesIO, limit_bytes: int) -> None:
        self._file, self._limit_bytes = file, limit_bytes
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        if not -1 <= size <= self._limit_bytes:
            raise ValueError(f"a header of {size:,} bytes")
        data = self._file.read(size)
        if self._limit_bytes == _HEADER_BYTES and _DIGITS.search(data):
            raise ValueError("a header with a number of too many digits")
        return data
