"""A metadata directory as it is listed, and whether its files changed since."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple, TypeAlias

from metashell.dataclass import dataclass
from metashell.log.names import Listing, list_names, parse_name
from metashell.places.archives import HEAD_BYTES, not_a_directory
from metashell.places.place import Place, entries_in, read_beginning, unreadable
from metashell.places.seen import seen

Signature: TypeAlias = tuple[tuple[str | int, ...], ...]
"""Name, size, time and, on this machine, inode number of each segment and checkpoint."""


class ListedFile(NamedTuple):
    """A segment or checkpoint in a listing."""

    size: int
    """Bytes."""
    mtime_ns: int
    inode: int | None
    """None in a store."""
    allocated: int
    """Bytes that it takes on the disk: fewer where it has holes."""


@dataclass(frozen=True, slots=True)
class DirectoryState:
    """A directory at the moment when it was listed; nothing of its files was read."""

    place: Place
    names: tuple[str, ...]
    """All names in the directory."""
    files: Mapping[str, ListedFile]
    """Segments and checkpoints, but for those that vanished meanwhile."""
    directories: frozenset[str] = frozenset()
    """The names of directories, links to directories included."""

    @property
    def listing(self) -> Listing:
        """Its segments and checkpoints by their names."""
        return list_names(self.names)

    @property
    def signature(self) -> Signature:
        """The state of the directory; see `signature`."""
        return tuple(
            sorted(
                (name, file.size, file.mtime_ns, *(() if file.inode is None else (file.inode,)))
                for name, file in self.files.items()
            )
        )


def list_directory(place: Place) -> DirectoryState:
    """List a directory.

    Raises:
        SourceError: That can't be done.
    """
    if not isinstance(place, str):
        entries = entries_in(place)
        files = {
            entry.name: ListedFile(entry.size, entry.mtime_ns or 0, None, entry.size)
            for entry in entries
            if parse_name(entry.name) is not None
        }
        below = frozenset(entry.name for entry in entries if entry.is_directory)
        return DirectoryState(place, tuple(entry.name for entry in entries), files, below)
    names, files, directories = [], {}, set()
    try:
        with os.scandir(place) as scanned:
            for one in scanned:
                names.append(one.name)
                with suppress(OSError):
                    if one.is_dir():
                        directories.add(one.name)
                if parse_name(one.name) is None:
                    continue
                with suppress(OSError):
                    status = one.stat()
                    allocated = getattr(status, "st_blocks", -(-status.st_size // 512)) * 512
                    files[one.name] = ListedFile(
                        status.st_size, status.st_mtime_ns, status.st_ino, allocated
                    )
    except NotADirectoryError as error:
        raise not_a_directory(place, read_beginning(place, HEAD_BYTES)) from error
    except OSError as error:
        raise unreadable(place, error) from error
    return DirectoryState(place, tuple(names), files, frozenset(directories))


def list_anew(place: Place) -> DirectoryState:
    """List a directory as it is now, whatever was seen of its store.

    Raises:
        SourceError: That can't be done.
    """
    seen().look_anew()
    return list_directory(place)


def signature(place: Place) -> Signature:
    """The state of a directory now, to be compared: names, sizes and times of its files.

    Only segments and checkpoints count, and nothing of them is read. Equal signatures mean that
    nothing was written; a file that vanishes meanwhile is left out, as it is the next time. On this
    machine an inode number tells a file that was replaced by another of its size.

    Raises:
        SourceError: The directory can't be listed.
    """
    return list_anew(place).signature


def changed_names(before: Signature, after: Signature) -> frozenset[str]:
    """Names of the files that are not what they were, or are gone."""
    return frozenset(str(file[0]) for file in set(before) - set(after))
