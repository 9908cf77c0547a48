"""Where files are: local paths and URIs, told apart once and then used alike.

A place on this machine is a plain path, so that nothing is slower there; one elsewhere is a
`metashell.places.remote.RemotePlace`. Text becomes a place with `place_of`, patterns over
directories become texts with `expand`. Importing this module does not import pyarrow, nor does a
local path.

Files to read: on a disk, in memory, or in a store.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import translate
from functools import partial
from typing import Final, TypeAlias

from metashell.dataclass import dataclass
from metashell.errors import SourceError, UsageError
from metashell.places.archives import HEAD_BYTES, archive_format, is_archive_name, not_a_directory
from metashell.places.bounded_file import MIB, AnyPlace
from metashell.places.parallel import in_parallel
from metashell.places.remote import RemoteFile, RemotePlace, remote_place
from metashell.places.seen import StoreEntry, seen
from metashell.places.uri import is_uri, local_path, parse_uri, quoted, shown, unquoted
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


__all__ = [
    "Place",
    "RemotePlace",
    "StoreEntry",
    "base_name",
    "child_of",
    "entries_in",
    "expand",
    "file_at",
    "file_in",
    "has_glob",
    "is_directory",
    "is_file",
    "is_uri",
    "names_in",
    "parent_of",
    "place_of",
    "read_ahead",
    "read_beginning",
    "shown",
]

Place: TypeAlias = str | RemotePlace
"""A directory or file: a path of this machine, or a place in a store."""

_GLOB: Final = re.compile(r"[*?\[]")
_BRACES: Final = re.compile(r"\{[^{}]*,[^{}]*\}")
_ALTERNATIVES_MAX: Final = 1000


def place_of(given: str | os.PathLike[str] | RemotePlace) -> Place:
    """The place that a text names: a path, or a URI. A ``file:`` URI is a path.

    Raises:
        SourceError: The URI has no meaning.
    """
    if isinstance(given, RemotePlace):
        return given
    text = os.fspath(given)
    local = local_path(text)
    if local is not None:
        return local
    return remote_place(text) if is_uri(text) else text


def child_of(place: Place, name: str) -> Place:
    """The place of that name in a directory."""
    return os.path.join(place, name) if isinstance(place, str) else place.child(name)


def parent_of(place: Place) -> Place:
    """The directory that a place is in."""
    return os.path.dirname(os.path.abspath(place)) if isinstance(place, str) else place.parent


def base_name(place: Place) -> str:
    """The last component of a place."""
    return os.path.basename(os.path.abspath(place)) if isinstance(place, str) else place.name


def file_at(place: Place) -> FileRef:
    """The file at a place, ready to be read."""
    return place if isinstance(place, str) else RemoteFile(place)


def file_in(place: Place, name: str) -> FileRef:
    """The file of that name in a directory, ready to be read."""
    return file_at(child_of(place, name))


def names_in(place: Place) -> list[str]:
    """The names in a directory.

    Raises:
        SourceError: It can't be listed; the message says why, also that it is none.
    """
    if not isinstance(place, str):
        return [entry.name for entry in entries_in(place)]
    try:
        return os.listdir(place)
    except NotADirectoryError as e:
        raise not_a_directory(place, read_beginning(place, HEAD_BYTES)) from e
    except OSError as e:
        raise unreadable(place, e) from e


def entries_in(place: Place) -> list[StoreEntry]:
    """The names in a directory with their kinds, sizes and times; what vanishes is left out.

    Raises:
        SourceError: It can't be listed.
    """
    if not isinstance(place, str):
        try:
            return place.list()
        except VanishedError:
            raise SourceError(f"{place}: No such file or directory") from None
    found = []
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                try:
                    status = entry.stat()
                    is_directory = entry.is_dir()
                except OSError:
                    continue
                found.append(
                    StoreEntry(entry.name, is_directory, status.st_size, status.st_mtime_ns)
                )
    except OSError as e:
        raise unreadable(place, e) from e
    return found


def is_directory(place: Place) -> bool:
    """Whether it is a directory; False where that can't be found out."""
    return os.path.isdir(place) if isinstance(place, str) else place.is_directory()


def is_file(place: Place) -> bool:
    """Whether it is a file; False where that can't be found out."""
    return os.path.isfile(place) if isinstance(place, str) else place.is_file()


def read_beginning(place: Place, limit_bytes: int) -> bytes | None:
    """The first bytes of a small file; None where it is not there or can't be read."""
    if not isinstance(place, str):
        return place.read_beginning(limit_bytes)
    try:
        # Opening a named pipe must not wait for a writer.
        fd = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return os.read(fd, limit_bytes) if stat.S_ISREG(os.fstat(fd).st_mode) else None
        finally:
            os.close(fd)
    except OSError:
        return None


def read_ahead(places: Iterable[AnyPlace]) -> None:
    """Read small files of a store side by side, where reading each then finds what was seen.

    Files that a listing shows to be larger are left out, and those that half of the memory does not
    hold.
    """
    jobs, left = [], seen().limit_bytes // 2
    for place in places:
        if isinstance(place, RemotePlace) and place.seen.limit_bytes:
            known = place.seen.file(place)
            n_bytes = MIB if known is None else known.size
            if n_bytes <= min(MIB, left):
                left -= n_bytes
                jobs.append(partial(place.read_beginning, MIB))
    if jobs:
        in_parallel(jobs)


# Patterns.


def has_glob(text: str) -> bool:
    """Whether a place is a pattern: it has ``*``, ``?``, ``[`` or ``{a,b}``."""
    path = parse_uri(text).path if _is_remote(text) else text
    return _GLOB.search(path) is not None or _BRACES.search(path) is not None


def expand(pattern: str | os.PathLike[str], sure: Collection[str] = ()) -> list[str]:
    """The directories that a pattern names, sorted. A place without wildcards is returned
    unchanged.

    Patterns have ``*``, ``?``, ``[...]`` and ``{a,b}``. A name that begins with a dot matches only
    a pattern that does so too. Only directories are listed that the fixed parts of a pattern leave.
    Archives are found too: their opener says that they are not read. A pattern in a store gives
    URIs to open, credentials included: `shown` makes one fit to show.

    Args:
        pattern: The pattern, or a place.
        sure: URIs of directories in stores that need not be looked for.

    Raises:
        SourceError: Nothing matches, or a directory can't be listed.
        UsageError: It has too many alternatives.
    """
    text = os.fspath(pattern)
    if not has_glob(text) or (not _is_remote(text) and os.path.lexists(text)):
        return [text]
    found = _expand_remote(text, sure) if _is_remote(text) else _expand_local(text)
    if not found:
        raise SourceError(
            f"{shown(text)}: no directory matches",
            hint="`*` does not match `/`, and the pattern needs quotes",
        )
    return found


def _is_remote(text: str) -> bool:
    return is_uri(text) and local_path(text) is None


def _expand_local(text: str) -> list[str]:
    path = local_path(text)
    found: set[tuple[str, ...]] = set()
    for alternative in _alternatives(text if path is None else path, text):
        absolute = alternative.startswith("/")
        start = _Spot("/" if absolute else ".", ("",) if absolute else ())
        for spot in _matches(start, _components(alternative, lambda component: component)):
            found.add(spot.shown)
    return ["/".join(components) or "/" for components in sorted(found)]


def _expand_remote(text: str, sure: Collection[str]) -> list[str]:
    uri = parse_uri(text)
    root = remote_place(uri.text(""))
    found: set[tuple[str, ...]] = set()

    def opened_by(components: Sequence[str]) -> str:
        return uri.text(quoted("/".join(components)))

    def is_sure(spot: _Spot) -> bool:
        return bool(sure) and opened_by(spot.shown) in sure

    for alternative in _alternatives(uri.path, uri.shown):
        components = _components(alternative, lambda component: unquoted(component, uri.shown))
        for spot in _matches(_Spot(root, ()), components, is_sure):
            found.add(spot.shown)
    return [opened_by(components) for components in sorted(found)]


def _alternatives(text: str, whole: str) -> list[str]:
    """A pattern without braces for each alternative, innermost braces first."""
    done, todo = [], [text]
    while todo:
        one = todo.pop()
        found = _BRACES.search(one)
        if found is None:
            done.append(one)
        else:
            before, after = one[: found.start()], one[found.end() :]
            todo += [before + choice + after for choice in found[0][1:-1].split(",")]
        if len(done) + len(todo) > _ALTERNATIVES_MAX:
            reason = f"stands for more than {_ALTERNATIVES_MAX:,} patterns"
            raise UsageError(f"{shown(whole)}: {reason}")
    return done


@dataclass(frozen=True, slots=True)
class _Component:
    """One part of a pattern."""

    literal: str
    matches: Callable[[str], object] | None
    """None for a part that is a name."""
    takes_hidden: bool = False


@dataclass(frozen=True, slots=True)
class _Spot:
    """A directory on the way."""

    place: Place
    shown: tuple[str, ...]
    """Its components as they come out."""

    def down(self, name: str) -> _Spot:
        return _Spot(child_of(self.place, name), (*self.shown, name))


def _components(text: str, unquote: Callable[[str], str]) -> list[_Component]:
    found = []
    for part in text.split("/"):
        if not part:
            continue
        name = unquote(part)
        if _GLOB.search(part):
            # A `^` negates in shells as `!` does.
            matches = re.compile(translate(name.replace("[^", "[!"))).match
            found.append(_Component(name, matches, name.startswith(".")))
        else:
            found.append(_Component(name, None))
    return found


def _matches(
    start: _Spot,
    components: Sequence[_Component],
    is_sure: Callable[[_Spot], bool] = lambda _: False,
) -> Iterator[_Spot]:
    """The directories that components lead to, level by level."""
    spots = [start]
    was_listed = True
    for component in components:
        if component.matches is None:
            spots = [spot.down(component.literal) for spot in spots]
            was_listed = False
            continue
        spots = [spot for level in _listed(spots, component) for spot in level]
        was_listed = True
    if was_listed:
        yield from spots
        return
    yield from filter(is_sure, spots)
    yield from _existing([spot for spot in spots if not is_sure(spot)])


def _listed(spots: Sequence[_Spot], component: _Component) -> Iterable[list[_Spot]]:
    """For each directory its directories that fit."""
    if len(spots) > 1 and not isinstance(spots[0].place, str):
        return in_parallel([partial(_fitting, spot, component) for spot in spots])
    return (_fitting(spot, component) for spot in spots)


def _fitting(spot: _Spot, component: _Component) -> list[_Spot]:
    place, matches = spot.place, component.matches
    assert matches is not None
    try:
        if isinstance(place, str):
            if not os.path.isdir(place):
                return []
            entries = entries_in(place)
        else:
            entries = place.list()
    except VanishedError:
        return []
    return [
        spot.down(entry.name)
        for entry in entries
        if matches(entry.name)
        and (component.takes_hidden or not entry.name.startswith("."))
        and (entry.is_directory or _is_archive(spot.down(entry.name).place))
    ]


def _is_archive(place: Place) -> bool:
    """Whether a file is an archive; in a store by its name, where each look would be paid for."""
    if not isinstance(place, str):
        return is_archive_name(place.name)
    head = read_beginning(place, HEAD_BYTES)
    return head is not None and archive_format(head) is not None


def _existing(spots: Sequence[_Spot]) -> Iterable[_Spot]:
    """The spots that may be directories; opening them tells the rest."""
    remote = [spot.place for spot in spots if not isinstance(spot.place, str)]
    if remote:
        kinds = in_parallel([partial(_may_be_opened, place) for place in remote])
        return [spot for spot, kept in zip(spots, kinds, strict=True) if kept]
    return [spot for spot in spots if _may_be_directory(str(spot.place)) or _is_archive(spot.place)]


def _may_be_opened(place: RemotePlace) -> bool:
    return not place.is_missing() or (_is_archive(place) and place.is_file())


def _may_be_directory(path: str) -> bool:
    try:
        os.stat(path)
    except PermissionError:
        return True
    except OSError:
        return False
    return os.path.isdir(path)
