"""A directory whose files are read here."""

from __future__ import annotations

import os

from metashell.errors import NoMetadataLogError, TopicLogError
from metashell.log.changed import DirectoryState
from metashell.log.directory import (
    MetadataLog,
    list_metadata_directory,
    read_directory,
    read_file,
)
from metashell.log.read import ReadProgress
from metashell.places.place import Place, RemotePlace, place_of
from metashell.read_settings import ReadSettings
from metashell.sources.reread import RereadSource
from metashell.sources.source import Source


class DirectorySource(RereadSource):
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

    def _opened(self, now: DirectoryState) -> Source:
        return open_directory(now, self.settings)


def open_directory(
    state: DirectoryState,
    settings: ReadSettings,
    progress: ReadProgress | None = None,
) -> DirectorySource:
    """Read a directory.

    Args:
        state: The listing from `metashell.log.directory.list_metadata_directory`.
            `Source.refreshed` tells of later changes.
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
    except (NoMetadataLogError, TopicLogError) as error:
        return open_without_log(place_of(path), settings, error)


def open_without_log(
    place: Place, settings: ReadSettings, error: NoMetadataLogError | TopicLogError
) -> Source:
    """Open the coordinators' logs of a log directory, else the records that it was formatted with.

    Args:
        place: The log directory; or the log of a topic, which is opened.
        settings: How it is read and shown.
        error: Why it has no metadata log; raised where there is neither.
    """
    if isinstance(error, TopicLogError):
        from metashell.sources.topic import open_topic

        return open_topic(place, settings, error)
    from metashell.sources.log_directories import open_log_directories

    found = open_log_directories(place, settings)
    if found is not None:
        return found
    if error.bootstrap is None:
        raise error
    log = read_file(error.bootstrap)
    log.notes.append(
        f"{place}: no node has started on it, or its metadata log is elsewhere or gone. The records"
        " of bootstrap.checkpoint are shown, with which it was formatted"
    )
    return Source(log, settings)
