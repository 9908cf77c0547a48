"""A directory whose files are read here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from metashell.errors import NoMetadataLogError
from metashell.log.changed import DirectoryState, Signature, changed_names, list_directory
from metashell.log.directory import MetadataLog, list_metadata_directory, read_directory
from metashell.log.fault import FaultKind
from metashell.log.read import ReadProgress
from metashell.places.place import Place, RemotePlace, place_of
from metashell.read_settings import ReadSettings
from metashell.sources.source import Source

if TYPE_CHECKING:
    from metashell.log.truncation import Truncation


class DirectorySource(Source):
    """A directory's newest state.

    Args:
        log: Its files.
        settings: How they are read and shown.
        place: The metadata directory.
    """

    def __init__(self, log: MetadataLog, settings: ReadSettings, place: Place) -> None:
        super().__init__(
            log, settings, directory=os.path.abspath(place) if isinstance(place, str) else place
        )
        self._place = place
        self._grown: Signature = ()

    def refreshed(self) -> Source:
        return self._read_again(list_directory(self._place))

    def standing(self) -> Source:
        now = list_directory(self._place)
        if now.signature == self._grown:
            return self
        # What a torn tail becomes is what an operator waits for.
        is_torn = any(fault.kind is FaultKind.TORN for fault in self.log.faults)
        if is_torn or self._truncation(now) is not None:
            return self._read_again(now)
        self._grown = now.signature
        return self

    def _read_again(self, now: DirectoryState) -> Source:
        if now.signature == self.log.signature:
            return self
        newest = open_directory(now, self.settings)
        newest.truncation = self._truncation(now)
        return newest

    def _truncation(self, now: DirectoryState) -> Truncation | None:
        """What was read and is not in the files any more; None where the log only grew."""
        from metashell.log.truncation import truncation_of

        changed = changed_names(self.log.signature, now.signature)
        return truncation_of(self.log.loaded, now.listing, self.log.path_of, changed)


def open_directory(
    state: DirectoryState,
    settings: ReadSettings,
    progress: ReadProgress | None = None,
) -> DirectorySource:
    """Read a directory.

    Args:
        state: As `metashell.log.directory.list_metadata_directory` gives it; what changes in it
            from then on is told by `Source.refreshed`.
        settings: How it is read and shown.
        progress: Called with (bytes read, bytes in all).

    Raises:
        SourceError: It can't be read, or holds no metadata log.
        SchemaError: A definition is malformed.
    """
    log = read_directory(state, settings, progress=progress)
    return DirectorySource(log, settings, state.place)


def open_place(path: str | RemotePlace, settings: ReadSettings) -> Source:
    """Open a directory here; a node's log directory also where it has coordinators' logs alone.

    Raises:
        SourceError: It can't be read, or holds neither.
        SchemaError: A definition is malformed.
    """
    try:
        return open_directory(list_metadata_directory(path), settings)
    except NoMetadataLogError:
        from metashell.sources.log_directories import open_log_directories

        found = open_log_directories(place_of(path), settings)
        if found is None:
            raise
        return found
