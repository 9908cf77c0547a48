"""A node's log directory: which logs lie in it, and what the files beside them say.

Owns the listing of one directory, by names alone; files are read when they are asked for. Nothing
here opens a log. Works on this machine and in stores alike.

Source: org.apache.kafka.storage.internals.log.LogManager.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.node_files.checkpoint_file import (
    OffsetCheckpoint,
    TopicPartition,
    read_offset_checkpoint,
)
from metashell.node_files.log_name import LogName, LogState, is_ignored, parse_log_name
from metashell.node_files.meta_properties import FILE_NAME as META_PROPERTIES
from metashell.node_files.meta_properties import MetaProperties, read_meta_properties
from metashell.places.place import Place, child_of, entries_in

METADATA_TOPIC: Final = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """A log directory as it was listed."""

    place: Place
    files: frozenset[str]
    """Names of its files."""
    logs: tuple[LogName, ...]
    """Its logs, by topic, partition and state."""
    not_logs: tuple[str, ...]
    """Other directories in it, sorted: with one of these the node does not start."""
    identity: MetaProperties | None
    """Its ``meta.properties``; None where there is none, or none that can be used."""
    identity_fault: str | None = None
    """Why its ``meta.properties`` can't be used: a node does not start with it, or takes the
    directory offline."""
    fault: str | None = None
    """Why it can't be listed; then nothing else is known of it."""
    is_gone: bool = False
    """Whether that is because there is no such directory."""

    @property
    def has_metadata_log(self) -> bool:
        """Whether a metadata log is in it."""
        return bool(self.logs_of(METADATA_TOPIC))

    @property
    def logs_of_topics(self) -> tuple[LogName, ...]:
        """Its logs but for the metadata log."""
        return tuple(log for log in self.logs if log.topic != METADATA_TOPIC)

    def logs_of(self, topic: str, *states: LogState) -> tuple[LogName, ...]:
        """The logs of a topic's name in some states, `LogState.CURRENT` unless others are given."""
        wanted = states or (LogState.CURRENT,)
        return tuple(log for log in self.logs if log.topic == topic and log.state in wanted)

    def place_of(self, log: LogName) -> Place:
        """Where a log of it is."""
        return child_of(self.place, log.name)

    def offsets(self, which: OffsetCheckpoint) -> Mapping[TopicPartition, int]:
        """The offsets of a checkpoint file; empty where there is none.

        Raises:
            SourceError: It can't be read or is malformed.
        """
        if which not in self.files:
            return {}
        return read_offset_checkpoint(self.place, which) or {}


def look_at_log_directory(place: Place) -> LogDirectory:
    """Read a log directory as `read_log_directory`; one that can't be listed has a fault."""
    try:
        return read_log_directory(place)
    except SourceError as error:
        is_gone = isinstance(error.__cause__, FileNotFoundError)
        return LogDirectory(place, frozenset(), (), (), None, fault=error.message, is_gone=is_gone)


def read_log_directory(place: Place) -> LogDirectory:
    """List a log directory and read its ``meta.properties``.

    Args:
        place: Where it is.

    Raises:
        SourceError: It can't be listed.
    """
    entries = entries_in(place)
    files = frozenset(entry.name for entry in entries if not entry.is_directory)
    directories = [e.name for e in entries if e.is_directory and not is_ignored(e.name)]
    parsed = {name: parse_log_name(name) for name in directories}
    identity = fault = None
    if META_PROPERTIES in files:
        try:
            identity = read_meta_properties(child_of(place, META_PROPERTIES))
        except SourceError as error:
            fault = error.message
    return LogDirectory(
        place,
        files,
        tuple(sorted(log for log in parsed.values() if log is not None)),
        tuple(sorted(name for name, log in parsed.items() if log is None)),
        identity,
        fault,
    )
