"""Names of directories of the tree, kept for the next Tab: completion must not decode a log anew.

A file for each directory of the tree whose names were proposed, below the user's cache directory
and readable by its owner alone. It counts while the files of the log are as they were; of a log
that grows, for five minutes at most. So a new name can be missing that long, in proposals alone.
Nothing here imports numpy, and nothing is kept of a source other than one local directory.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Final
from zlib import crc32

from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.fs.node import Directory, Leaf, Node, TextLeaf
from metashell.fs.path import join, resolve
from metashell.places.user import cache_root

_FORMAT: Final = b"metashell names 1"
_FRESH_S: Final = 300.0
_MOST_BYTES: Final = 64 << 20
_MOST_FILES: Final = 200
_MANY: Final = 2_000
"""Names of a directory that are all of one kind, as far as its first and last tell."""
_LOG_DIR: Final = "__cluster_metadata-0"
_CHANGES_NOTHING: Final = frozenset({"--cluster", "--strict", "--timeout"})


class NotKept(Exception):
    """The names of a directory are not there, or are of an earlier state.

    Args:
        path: The directory in the tree.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


@dataclass(frozen=True, slots=True)
class KeptNames:
    """The names kept of one source."""

    folder: str
    key: bytes
    """What was opened, and how."""
    stamp: bytes
    """The files of the log as they are."""
    lasting: bytes
    """Their names."""
    asked: list[str] = field(default_factory=list)
    """Directories whose names were looked for."""

    @property
    def root(self) -> Directory:
        """The tree, as far as names are kept; it raises NotKept elsewhere."""
        return _KeptDirectory(self, "/")

    def read(self, path: str) -> bytes:
        """The names of a directory, each between line ends.

        Raises:
            NotKept: They are not there.
        """
        self.asked.append(path)
        try:
            with open(self._file(path), "rb") as file:
                raw = file.read(_MOST_BYTES)
        except OSError:
            raise NotKept(path) from None
        head, end, body = raw.partition(b"\n\n")
        fields = head.split(b"\n")
        is_whole = end and body[-1:] in (b"", b"\n") and len(fields) == 5 and fields[4].isdigit()
        if not is_whole or fields[:2] != [_FORMAT, self._key_of(path)]:
            raise NotKept(path)
        if fields[2] != self.stamp:
            age_s = time.time() - int(fields[4])
            if fields[3] != self.lasting or not 0 <= age_s < _FRESH_S:
                raise NotKept(path)
        return b"\n" + body

    def keep(self, path: str, root: Directory) -> bool:
        """Keep the names of a directory; returns whether that was possible."""
        try:
            node = resolve(root, path).node
            if not isinstance(node, Directory):
                return False
            body = "".join(f"{line}\n" for line in _lines(node)).encode()
        except (MetashellError, UnicodeEncodeError, ValueError):
            return False
        head = b"\n".join(
            (_FORMAT, self._key_of(path), self.stamp, self.lasting, b"%d" % time.time())
        )
        try:
            _write(self.folder, self._file(path), head + b"\n\n" + body)
        except OSError:
            return False
        return True

    def _key_of(self, path: str) -> bytes:
        return b"%s %s" % (self.key, repr(path).encode("ascii", "backslashreplace"))

    def _file(self, path: str) -> str:
        return os.path.join(self.folder, f"{crc32(self._key_of(path)):08x}.names")


class _KeptDirectory(Directory):
    """A directory of which only names are known."""

    def __init__(self, kept: KeptNames, path: str) -> None:
        self._kept, self._path = kept, path
        self._body: bytes | None = None

    @property
    def _lines(self) -> bytes:
        if self._body is None:
            self._body = self._kept.read(self._path)
        return self._body

    def names(self) -> Sequence[str]:
        """Child names sorted by code point."""
        return [line.removesuffix("/") for line in self._lines.decode().split("\n")[1:-1]]

    def child(self, name: str) -> Node | None:
        """The child of that name; leaves have no text."""
        typed = name.encode(errors="surrogateescape")
        if b"\n" in typed or b"/" in typed:
            return None
        if b"\n%s/\n" % typed in self._lines:
            return _KeptDirectory(self._kept, join(self._path, name))
        return _LEAF if b"\n%s\n" % typed in self._lines else None

    def names_from(self, prefix: str, limit: int) -> Sequence[str]:
        """At most `limit` child names that begin with `prefix`, in order."""
        begin = self._lines.find(self._begun(prefix))
        if begin < 0 or "/" in prefix:
            return []
        found: list[str] = []
        pos = begin + 1
        while pos < len(self._lines) and len(found) < limit:
            end = self._lines.index(b"\n", pos)
            name = self._lines[pos:end].decode().removesuffix("/")
            if not name.startswith(prefix):
                break
            found.append(name)
            pos = end + 1
        return found

    def last_from(self, prefix: str) -> str | None:
        """The last child name that begins with `prefix`."""
        begin = self._lines.rfind(self._begun(prefix), 0, len(self._lines) - 1)
        if begin < 0 or "/" in prefix:
            return None
        end = self._lines.index(b"\n", begin + 1)
        return self._lines[begin + 1 : end].decode().removesuffix("/")

    @staticmethod
    def _begun(prefix: str) -> bytes:
        return b"\n" + prefix.encode(errors="surrogateescape")


_LEAF: Final[Leaf] = TextLeaf("")


def kept_names(values: Mapping[str, tuple[str, ...]], sample: str | None) -> KeptNames | None:
    """The names kept of what the options choose; None for what is not one local directory or file.

    Args:
        values: Options by long name.
        sample: The directory of the bundled sample, where that was chosen.
    """
    directories = values.get("--directory", ())
    paths = [*directories, *values.get("--snapshot", ()), *([sample] if sample else ())]
    others = {"--bootstrap-controllers", "--config", "--no-cache"}
    if len(paths) != 1 or not others.isdisjoint(values):
        return None
    folder = _folder()
    place = os.path.realpath(paths[0])
    if folder is None or not os.path.exists(place):
        return None
    files = list(_files(place))
    if not files:
        return None  # Nothing would tell when names change: a log directory without a metadata log.
    settings = sorted(item for item in values.items() if item[0] not in _CHANGES_NOTHING)
    lasting = [name for name, *_ in files]
    key, stamp, names = (
        repr(one).encode("ascii", "backslashreplace") for one in ((place, settings), files, lasting)
    )
    return KeptNames(folder, key, stamp, names)


def _files(place: str) -> Iterator[tuple[str, int, int]]:
    """Names, sizes and times of the log's files in a directory, and in its log's directory."""
    if os.path.isfile(place):
        status = os.stat(place)
        yield place, status.st_size, status.st_mtime_ns
        return
    for directory in (place, os.path.join(place, _LOG_DIR)):
        try:
            with os.scandir(directory) as entries:
                found = sorted(e.name for e in entries if e.name.endswith((".log", ".checkpoint")))
        except OSError:
            continue
        for name in found:
            with suppress(OSError):
                status = os.stat(os.path.join(directory, name))
                yield name, status.st_size, status.st_mtime_ns


def _folder() -> str | None:
    """Where the files are; None for a user without a home."""
    root = cache_root()
    return os.path.join(root, "names") if root is not None and os.path.isabs(root) else None


def _lines(directory: Directory) -> Iterator[str]:
    """The names of a directory, those of directories with a slash behind.

    Raises:
        ValueError: A name can't be kept.
    """
    names = directory.names()
    if any("\n" in name or "/" in name or not name for name in names):
        raise ValueError("a name that does not fit a line")
    if len(names) > _MANY:
        kinds = {isinstance(directory.child(name), Directory) for name in (names[0], names[-1])}
        if len(kinds) == 1:
            tail = "/" if kinds.pop() else ""
            yield from (name + tail for name in names)
            return
    for name in names:
        yield name + ("/" if isinstance(directory.child(name), Directory) else "")


def _write(folder: str, path: str, data: bytes) -> None:
    """Write a file for its owner alone, whole or not at all, and remove the oldest of many."""
    from metashell.commands.save import refuse_kafkas

    try:
        refuse_kafkas(folder, os.path.realpath(folder), None)
    except MetashellError as error:
        raise OSError(error.message) from error
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    with os.scandir(folder) as entries:
        by_age = sorted((entry.stat().st_mtime, entry.path) for entry in entries)
    for _, old in by_age[:-_MOST_FILES]:
        with suppress(OSError):
            os.unlink(old)
