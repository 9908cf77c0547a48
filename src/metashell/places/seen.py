"""The memory of a run for stores, so that it asks a store for nothing twice.

A store answers slowly, and each request is paid for. While `seeing` holds, a directory is listed
once, and bytes that were read are not read again. A listing answers which names are missing, too.
Outside of it nothing is kept, and neither is a piece of a large read.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Final

from metashell.dataclass import dataclass

if TYPE_CHECKING:
    from metashell.places.remote import RemotePlace

READ_LIMIT_BYTES: Final = 8 << 20
"""Only shorter reads are kept."""
_LIMIT_BYTES: Final = 64 << 20
"""Where all that is kept takes more, it is let go."""
_ENTRY_BYTES: Final = 400
"""About what a name of a listing takes."""

_LOCK: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class StoreEntry:
    """A name in a directory."""

    name: str
    is_directory: bool
    size: int
    mtime_ns: int | None
    """None where the store does not say."""


@dataclass(slots=True)
class SeenFile:
    """A file of which something is known."""

    size: int
    mtime_ns: int | None = None
    is_listed: bool = False
    """Whether a listing said so."""
    ranges: list[tuple[int, bytes]] = field(default_factory=list)

    def read(self, pos: int, size: int) -> bytes | None:
        """Bytes of it; None where they were not all read."""
        for start, data in self.ranges:
            if start <= pos and pos + size <= start + len(data):
                return data[pos - start : pos - start + size]
        return None


@dataclass(slots=True)
class Seen:
    """Listings and bytes; of neither anything where `limit_bytes` is 0."""

    limit_bytes: int = _LIMIT_BYTES
    _listings: dict[RemotePlace, Mapping[str, StoreEntry]] = field(default_factory=dict)
    _kinds: dict[RemotePlace, str] = field(default_factory=dict)
    _files: dict[RemotePlace, SeenFile] = field(default_factory=dict)
    _n_bytes: int = 0

    def listing(self, place: RemotePlace) -> Sequence[StoreEntry] | None:
        """The names in a directory; None where it was not listed."""
        found = self._listings.get(place)
        return None if found is None else list(found.values())

    def keep_listing(self, place: RemotePlace, entries: Sequence[StoreEntry]) -> None:
        """Keep the names in a directory."""
        if self.limit_bytes:
            self._listings[place] = {entry.name: entry for entry in entries}
            self._count(_ENTRY_BYTES * (1 + len(entries)))

    def kind(self, place: RemotePlace) -> str | None:
        """``Directory``, ``File`` or ``NotFound``; None where it is not known."""
        if place in self._listings:
            return "Directory"
        beside = self._listings.get(place.parent)
        if beside is None or not place.path:
            return self._kinds.get(place)
        entry = beside.get(place.name)
        return "NotFound" if entry is None else "Directory" if entry.is_directory else "File"

    def keep_kind(self, place: RemotePlace, kind: str) -> None:
        """Keep the kind of a place, as `kind` gives it."""
        if self.limit_bytes and kind:
            self._kinds[place] = kind
            self._count(_ENTRY_BYTES)

    def file(self, place: RemotePlace) -> SeenFile | None:
        """The file at a place; None where nothing of it is known."""
        entry = self._listings.get(place.parent, {}).get(place.name)
        known = self._files.get(place)
        if entry is None:
            return known
        if entry.is_directory:
            return None
        if known is None or (known.size, known.mtime_ns) != (entry.size, entry.mtime_ns):
            known = self._files[place] = SeenFile(entry.size, entry.mtime_ns, is_listed=True)
        return known

    def keep_file(self, place: RemotePlace, size: int) -> SeenFile:
        """Keep the size of a file that no listing has."""
        known = SeenFile(size)
        if self.limit_bytes:
            self._files[place] = known
            self._count(_ENTRY_BYTES)
        return known

    def keep_bytes(self, file: SeenFile, pos: int, data: bytes) -> None:
        """Keep what was read of a file."""
        if self.limit_bytes and len(data) < READ_LIMIT_BYTES:
            file.ranges.append((pos, data))
            self._count(len(data))

    def look_anew(self) -> None:
        """Forget all that may be otherwise by now: bytes count on, if a new listing says so."""
        with _LOCK:
            self._listings, self._kinds = {}, {}
            self._files = {place: file for place, file in self._files.items() if file.is_listed}

    def is_gone(self, place: RemotePlace) -> None:
        """Be told that a place is missing, whatever a listing says."""
        self._listings.pop(place.parent, None)
        self._files.pop(place, None)
        self.keep_kind(place, "NotFound")

    def _count(self, n_bytes: int) -> None:
        with _LOCK:
            self._n_bytes += n_bytes
            if self._n_bytes > self.limit_bytes:
                # Whoever still reads has what it reads.
                self._listings, self._kinds, self._files, self._n_bytes = {}, {}, {}, 0


NOTHING: Final = Seen(limit_bytes=0)
"""A memory that keeps nothing."""
_NOW: Final = [NOTHING]


def seen() -> Seen:
    """The memory of this run, to be asked and added to."""
    return _NOW[0]


def begin_seeing(known: Seen) -> None:
    """Keep from now on what is seen, besides what another process saw."""
    _NOW[0] = known


def stop_seeing() -> None:
    """Keep nothing from now on: a session looks anew whenever it is asked."""
    begin_seeing(NOTHING)


@contextmanager
def seeing() -> Iterator[None]:
    """Keep what is seen as long as the context lasts."""
    begin_seeing(Seen())
    try:
        yield
    finally:
        stop_seeing()
