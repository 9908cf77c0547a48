"""Files that are not on this machine's disks: object stores and HDFS, by what pyarrow.fs opens.

Owns listings and ranged reads; `metashell.places.connecting` has the connections.
A place is the store's URI and a path: it can be pickled, and a process that gets one connects by
itself. pyarrow is imported when a store is spoken to. A place's text never holds credentials.

Latency rules, not bandwidth: large pieces are read by several threads, and a file that is read from
front to back is read ahead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.places.archives import HEAD_BYTES, not_a_directory
from metashell.places.connecting import connected
from metashell.places.parallel import THREADS, in_parallel
from metashell.places.patience import lost_its_reason, patiently
from metashell.places.seen import NOTHING, READ_LIMIT_BYTES, Seen, SeenFile, StoreEntry, seen
from metashell.places.uri import ANY_NAME, Uri, parse_uri, quoted, unquoted
from metashell.places.vanished import VanishedError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

PIECE_BYTES: Final = READ_LIMIT_BYTES
"""Bytes of one request of a large read."""

_AHEAD: Final = 2
"""Pieces read ahead of a reader that goes from front to back."""


@dataclass(frozen=True, slots=True)
class Store:
    """A file system somewhere, by what a URI of it says; equal where they say the same."""

    uri: Uri
    """Without a path."""

    @property
    def is_archive(self) -> bool:
        """Whether it is an archive of this machine, in memory."""
        return self.uri.archive is not None

    @property
    def has_credentials(self) -> bool:
        """Whether credentials were given, as far as is known here."""
        from metashell.places.store_errors import has_s3_credentials

        if self.uri.scheme != "s3":
            return True
        settings = self.uri.settings
        return bool(self.uri.user_info) or "access_key" in settings or has_s3_credentials()


@dataclass(frozen=True, slots=True)
class RemotePlace:
    """A directory or file in a store; its text is the URI without credentials."""

    store: Store = field(repr=False)
    path: str
    """Below the store's root, without slashes around it; nothing in it is quoted."""

    def __str__(self) -> str:
        return replace(self.store.uri, path=quoted(self.path)).shown

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def name(self) -> str:
        """The last component; the store's own name for its root."""
        uri = self.store.uri
        return self.path.rpartition("/")[2] or os.path.basename(uri.archive or uri.host)

    @property
    def parent(self) -> RemotePlace:
        """The directory that it is in; the root's is the root."""
        return RemotePlace(self.store, self.path.rpartition("/")[0])

    @property
    def uri(self) -> str:
        """The URI to open it by, credentials included: not for showing."""
        return self.store.uri.text(quoted(self.path))

    @property
    def seen(self) -> Seen:
        """The memory of its store; that of an archive keeps nothing, as all of it is in memory."""
        return NOTHING if self.store.is_archive else seen()

    def child(self, name: str) -> RemotePlace:
        """The place of that name in the directory."""
        return RemotePlace(self.store, f"{self.path}/{name}" if self.path else name)

    def error(self, error: Exception) -> SourceError:
        """The error that says why it can't be read."""
        from metashell.places.store_errors import explain

        uri = self.store.uri
        return explain(
            error, str(self), uri.scheme, uri.secrets, has_credentials=self.store.has_credentials
        )

    def list(self) -> list[StoreEntry]:
        """The names in the directory.

        Raises:
            VanishedError: It is not there.
            SourceError: It can't be listed, or is a file.
        """
        from metashell.places.store_errors import is_missing

        known = self.seen
        found = known.listing(self)
        if found is not None:
            return list(found)
        if known.kind(self) == "NotFound":
            raise VanishedError(str(self))
        fs, path = self._opened()
        try:
            if self.store.is_archive:
                return [StoreEntry(*entry) for entry in fs.entries(path)]
            from pyarrow.fs import FileSelector, FileType

            infos = patiently(self.store, lambda: fs.get_file_info(FileSelector(path)))
        except SourceError:
            raise
        except Exception as error:
            missing = is_missing(error)
            if (missing or isinstance(error, NotADirectoryError)) and self.is_file():
                raise not_a_directory(str(self), self.read_beginning(HEAD_BYTES)) from None
            if missing:
                raise VanishedError(str(self)) from None
            raise self.error(error) from None
        found = [
            StoreEntry(
                info.base_name, info.type == FileType.Directory, info.size or 0, info.mtime_ns
            )
            for info in infos
        ]
        known.keep_listing(self, found)
        return found

    def read_beginning(self, limit_bytes: int) -> bytes | None:
        """The first bytes of the file; None where it is not there or can't be read."""
        try:
            with RemoteFile(self).opened() as file:
                return file.read(0, limit_bytes)
        except (SourceError, VanishedError):
            return None

    def is_directory(self) -> bool:
        """Whether it is a directory; False where that can't be found out."""
        return self._type() == "Directory"

    def is_file(self) -> bool:
        """Whether it is a file; False where that can't be found out."""
        return self._type() == "File"

    def is_missing(self) -> bool:
        """Whether it is surely no directory; what can't be found out may be one."""
        return self._type() in ("NotFound", "File")

    def _type(self) -> str:
        known = self.seen
        kind = known.kind(self)
        if kind is None:
            try:
                fs, path = self._opened()
                if self.store.is_archive:
                    return str(fs.kind(path))
                kind = str(patiently(self.store, lambda: fs.get_file_info(path)).type.name)
            except Exception:
                return ""
            known.keep_kind(self, kind)
        return kind

    def read_whole(self, limit_bytes: int) -> bytes | None:
        """The content of a small file; None where there is none.

        Raises:
            SourceError: It can't be read or is larger.
        """
        try:
            with RemoteFile(self).opened() as file:
                if file.size > limit_bytes:
                    reason = f"larger than {limit_bytes:,} bytes, the limit for such a file"
                    raise SourceError(f"{self}: {reason}")
                return file.read(0, file.size)
        except VanishedError:
            return None

    def _opened(self) -> tuple[Any, str]:
        """The file system, and the path as it wants it."""
        if (archive := self.store.uri.archive) is not None:
            from metashell.places.unpacking import unpacked

            return unpacked(archive), self.path
        try:
            fs, base = connected(self.store, os.getpid())
        except SourceError:
            raise
        except Exception as error:
            raise self.error(error) from None
        return fs, (base + self.path).rstrip("/") or base


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file in a store."""

    place: RemotePlace

    @property
    def name(self) -> str:
        """Its name, without directories."""
        return self.place.name

    def __str__(self) -> str:
        return str(self.place)

    @contextmanager
    def opened(self) -> Iterator[OnStore]:
        """Open it for reading.

        Raises:
            VanishedError: It is not there.
            SourceError: It can't be opened.
        """
        file = self._open()
        try:
            yield file
        finally:
            file.close()

    def _open(self) -> OnStore:
        known = self.place.seen
        if known.kind(self.place) == "NotFound":
            raise VanishedError(str(self.place))
        there = known.file(self.place)
        if there is not None:
            return OnStore(self.place, there)
        file = _open_input(self.place)
        return OnStore(self.place, known.keep_file(self.place, int(file.size())), file)


def remote_place(text: str) -> RemotePlace:
    """The place that a URI names; `file:` is none of these.

    Raises:
        SourceError: It is no URI.
    """
    uri = parse_uri(text)
    path = unquoted(uri.path, uri.shown, "strict" if uri.archive is None else ANY_NAME)
    return RemotePlace(Store(replace(uri, path="")), path)


def _lost(place: RemotePlace, error: Exception) -> VanishedError | SourceError:
    """The error to raise for a failed read of a file."""
    from metashell.places.store_errors import is_missing

    if isinstance(error, SourceError | VanishedError):
        return error
    if not is_missing(error):
        return place.error(error)
    place.seen.is_gone(place)
    return VanishedError(str(place))


def _open_input(place: RemotePlace) -> Any:
    """Open a file in the store; errors as `RemoteFile.opened`. Cost: a request, for its size."""
    fs, path = place._opened()
    try:
        return patiently(place.store, lambda: fs.open_input_file(path))
    except Exception as error:
        raise _lost(place, error) from None


# Reading.


@dataclass(slots=True)
class OnStore:
    """A file of a store; its size is that of a listing, or at the time of opening."""

    place: RemotePlace
    known: SeenFile
    file: Any = None
    """None before something is read that is not known."""
    step: int = THREADS * PIECE_BYTES
    _pieces: dict[int, Future[bytes]] = field(default_factory=dict)
    _pool: ThreadPoolExecutor | None = None
    _last: int = -1
    """The last piece that was asked for."""
    _lock: Lock = field(default_factory=Lock)

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.known.size

    def read(self, pos: int, size: int) -> bytes:
        """Bytes at a position, fewer only where the file ends."""
        size = min(size, self.size - pos)
        if size <= 0:
            return b""
        data = self.known.read(pos, size)
        if data is not None:
            return data
        with self._lock:
            self.file = self.file or _open_input(self.place)
        try:
            data = patiently(self.place.store, lambda: self._fetched(pos, size))
        except Exception as error:
            if "INVALID_RANGE" in str(error) or "InvalidRange" in str(error):
                return b""  # It was replaced by a shorter one.
            raise _lost(self.place, error) from None
        self.place.seen.keep_bytes(self.known, pos, data)
        return data

    def _fetched(self, pos: int, size: int) -> bytes:
        try:
            return bytes(self.file.read_at(size, pos))
        except Exception as error:
            if lost_its_reason(error):
                _open_input(self.place)  # Where this fails too, it says why.
            raise

    def read_into(self, target: memoryview, pos: int) -> int:
        """Fill `target` from a position on; fewer bytes only where the file ends.

        Raises:
            VanishedError: It was deleted since it was opened.
            SourceError: It can't be read.
        """
        end = min(pos + len(target), self.size)
        if end <= pos:
            return 0
        if end - pos < PIECE_BYTES and pos // PIECE_BYTES not in self._pieces:
            # A few bytes somewhere: a piece around them would be a waste.
            data = self.read(pos, end - pos)
            target[: len(data)] = data
            return len(data)
        return self._read_pieces(target, pos, end)

    def _read_pieces(self, target: memoryview, pos: int, end: int) -> int:
        first, last = pos // PIECE_BYTES, (end - 1) // PIECE_BYTES
        ahead = _AHEAD if first - 1 <= self._last <= first else 0
        stop = min(last + ahead, (self.size - 1) // PIECE_BYTES)
        done = pos
        for i in range(first, last + 1):
            for j in range(i, min(i + THREADS - 1, stop) + 1):
                self._ask(j)
            data = self._pieces[i].result()
            begin = i * PIECE_BYTES
            piece = memoryview(data)[max(done - begin, 0) : end - begin]
            target[done - pos : done - pos + len(piece)] = piece
            done += len(piece)
            if i < last:
                del self._pieces[i]
            if done < min(begin + PIECE_BYTES, end):
                break
        for i in [i for i in self._pieces if not last <= i <= stop]:
            del self._pieces[i]
        self._last = last
        return done - pos

    def _ask(self, piece: int) -> None:
        """Begin to read a piece, unless that was begun."""
        if piece in self._pieces:
            return
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(THREADS, "metashell-read")
        self._pieces[piece] = self._pool.submit(self.read, piece * PIECE_BYTES, PIECE_BYTES)

    def close(self) -> None:
        """Let go of it; what is being read ahead is not waited for."""
        self._pieces.clear()
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
        elif self.file is not None:
            # Not while a thread may still read: it is closed when that lets go of it.
            self.file.close()


@contextmanager
def opened_together(files: Sequence[RemoteFile]) -> Iterator[list[OnStore]]:
    """Open several files at once; errors as `RemoteFile.opened`."""
    found = in_parallel([file._open for file in files])
    try:
        yield found
    finally:
        for file in found:
            file.close()


def fill(
    files: Sequence[OnStore], view: memoryview, progress: Callable[[int, int], None] | None
) -> list[int]:
    """Read files one behind the other into memory, several pieces at a time.

    Returns:
        The bytes of each that are there from its beginning on; fewer than its size where it has
        become shorter.
    """
    ends, at, pieces = [], 0, []
    for i, file in enumerate(files):
        for pos in range(0, file.size, PIECE_BYTES):
            pieces.append((i, pos, at + pos, min(PIECE_BYTES, file.size - pos)))
        at += file.size
        ends.append(file.size)

    def read(i: int, pos: int, begin: int, size: int) -> int:
        data = files[i].read(pos, size)
        view[begin : begin + len(data)] = data
        return len(data)

    done = 0

    def count(n: int) -> None:
        nonlocal done
        done += n
        if progress is not None:
            progress(done, at)

    jobs = [partial(read, *piece) for piece in pieces]
    for (i, pos, _, size), n in zip(pieces, in_parallel(jobs, count), strict=True):
        if n < size:
            ends[i] = min(ends[i], pos + n)
    return ends
