"""The log of a topic's partition: its batches can be told, and no record of it is ever read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from metashell.checks.coordinator_log import RecoveryCut
from metashell.errors import SourceError
from metashell.fs.node import Directory
from metashell.fs.nodes.root import RootDirectory
from metashell.lazy import lazy
from metashell.log.changed import list_directory
from metashell.log.directory import MetadataLog
from metashell.log.log_tail import LogTail
from metashell.log.names import METADATA_TOPIC_ID, Listing, list_names
from metashell.log.read import SLACK, Loaded
from metashell.node_files.checkpoint_file import (
    OffsetCheckpoint,
    TopicPartition,
    read_offset_checkpoint,
)
from metashell.node_files.clean_shutdown import FILE_NAME as CLEAN_SHUTDOWN
from metashell.node_files.log_name import LogName, parse_log_name
from metashell.node_files.partition_metadata import read_partition_metadata
from metashell.places.place import Place, base_name, child_of, is_file, parent_of
from metashell.read_settings import ReadSettings
from metashell.sources.coordinator import committed_end
from metashell.sources.status import Capabilities
from metashell.sources.without_image import SourceWithoutImage


class TopicSource(SourceWithoutImage):
    """The log of a topic's partition. It has batches, and neither records nor an image.

    Args:
        place: Its directory, or a segment.
        log: Whose log it is.
        names: The names in the directory, or that of the segment.
        settings: How it is read and shown.
    """

    capabilities = Capabilities(has_image=False)

    def __init__(
        self,
        place: Place,
        log: LogName,
        names: Sequence[str],
        settings: ReadSettings,
        *,
        alone: bool,
    ) -> None:
        listing = Listing(list_names(names).segments, ())
        remote = None if isinstance(place, str) else place
        files = MetadataLog(
            str(place), Loaded(bytes(SLACK), 0, []), listing, None, is_file=alone, remote=remote
        )
        super().__init__(files, settings, directory=None if alone else place)
        self.partition = TopicPartition(log.topic, log.partition)
        around = parent_of(place) if alone else place
        self.title = f"{log.topic}-{log.partition}"
        """The name that Kafka writes."""
        self.tail = LogTail(around, self.title, names)
        """The log."""
        self.around = parent_of(around)
        """The log directory that it lies in."""
        self.end: int | None = None
        """The first offset that is left out, as it may not be committed; None for none."""
        if settings.committed_only:
            self.end = committed_end(around, self.partition)

    def recovery_cut(self) -> RecoveryCut:
        """Where a broker that starts would cut the log, as far as the log directory tells."""
        recovery_point = 0
        with suppress(SourceError):  # A broker that can't read it begins with 0 too.
            points = read_offset_checkpoint(self.around, OffsetCheckpoint.RECOVERY_POINT) or {}
            recovery_point = points.get(self.partition, 0)
        is_clean = is_file(child_of(self.around, CLEAN_SHUTDOWN))
        return RecoveryCut(recovery_point, is_clean)

    @property
    def of_topic(self) -> TopicSource:
        return self

    @property
    def no_image(self) -> SourceError:
        return SourceError(
            f"{self.path}: {self.title} is a topic's log, and has no cluster metadata",
            hint="`log` and `stats` tell its batches, and `check` finds damage;"
            " `-d LOGDIR` opens the log directory around it",
        )

    @lazy
    def root(self) -> Directory:
        """The root of the file system.

        Raises:
            SourceError: Once it is looked into: there is none.
        """

        def no_tree() -> Mapping[str, Directory]:
            raise self.no_image

        return RootDirectory({}, no_tree)


def open_topic(place: Place, settings: ReadSettings, error: SourceError) -> TopicSource:
    """Open the log of a topic's partition.

    Args:
        place: Its directory.
        settings: How it is read and shown.
        error: Why it is no metadata log; raised where it is no log.

    Raises:
        SourceError: It can't be listed, or has no segment.
    """
    log, names = parse_log_name(base_name(place)), list_directory(place).names
    if log is None or not list_names(names).segments:
        raise error
    return TopicSource(place, log, names, settings, alone=False)


def open_topic_segment(place: Place, settings: ReadSettings) -> TopicSource | None:
    """Open a segment of a topic's log alone; None where nothing beside it says that it is one.

    Raises:
        SourceError: Its ``partition.metadata`` can't be read.
    """
    around, name = parent_of(place), base_name(place)
    log = parse_log_name(base_name(around))
    if log is None or not list_names([name]).segments:
        return None
    identity = read_partition_metadata(around)
    if identity is None or identity.topic_id == METADATA_TOPIC_ID:
        return None
    return TopicSource(place, log, [name], settings, alone=True)
