"""The node of a source: the files beside its log, and the node's log directories."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from metashell.errors import SourceError
from metashell.lazy import lazy
from metashell.log.directory import MetadataLog, read_file
from metashell.log.names import BOOTSTRAP, COORDINATOR_TOPICS, METADATA_DIRECTORY
from metashell.places.place import Place, base_name, child_of, is_file, parent_of, place_of
from metashell.read_settings import ReadSettings
from metashell.sources.contents import SourceContents

if TYPE_CHECKING:
    from metashell.node_files.log_directory import LogDirectory
    from metashell.node_files.meta_properties import MetaProperties
    from metashell.node_files.node_files import NodeFiles
    from metashell.schema.coordinators import CoordinatorLog
    from metashell.schema.registry import Registry
    from metashell.sources.coordinator_logs import CoordinatorLogs


class NodeSource(SourceContents):
    """The part of a source that asks only for its directory and its settings."""

    log: MetadataLog
    settings: ReadSettings
    _directory: Place | None

    @property
    @abstractmethod
    def registry(self) -> Registry:
        """Message definitions, the user's included."""

    @property
    @abstractmethod
    def moment_ms(self) -> int | None:
        """The time to which other logs are read; None for their end."""

    @property
    def has_coordinator_logs(self) -> bool:
        """Whether a log directory of the node has partitions of a coordinators' topic."""
        return not self._topics_of_logs.isdisjoint(COORDINATOR_TOPICS)

    @property
    def has_logs(self) -> bool:
        """Whether a log directory of the node has the log of a topic."""
        return bool(self._topics_of_logs)

    @lazy
    def _topics_of_logs(self) -> frozenset[str]:
        """Topics that have a log in the log directories, but for the metadata log."""
        from metashell.node_files.log_directory import METADATA_TOPIC

        directories: Sequence[LogDirectory] = ()
        with suppress(SourceError):  # Asking for such logs tells the reason.
            directories = self.log_directories
        return frozenset(log.topic for d in directories for log in d.logs) - {METADATA_TOPIC}

    @lazy
    def _node_files(self) -> NodeFiles:
        from metashell.node_files.node_files import NodeFiles

        return NodeFiles(self._directory)

    @property
    def metadata_directory(self) -> Place | None:
        """The directory that the log is in; None for a file by itself and for a quorum."""
        return self._directory

    @property
    def log_places(self) -> Sequence[Place]:
        """The node's log directories; none of a file by itself and of a quorum.

        A metadata log under another name is a copy: the directory around it may be anybody's.
        """
        if self._directory is None:
            return ()
        is_copy = base_name(self._directory) != METADATA_DIRECTORY
        around = () if is_copy else (parent_of(self._directory),)
        return (*around, *map(place_of, self.settings.log_dirs))

    def coordinator_logs(self, log: CoordinatorLog) -> CoordinatorLogs | None:
        """The partitions of a coordinators' topic that lie in the node's log directories.

        A source made by `at` has them up to the same time, all others to their end.

        Args:
            log: Which coordinator's.

        Returns:
            None where it can't have any: a quorum, a file, the log of another coordinator.

        Raises:
            SourceError: A log directory can't be listed.
        """
        if not self.log_directories:
            return None
        from metashell.sources.coordinator_logs import NodeCoordinatorLogs

        image = (lambda: self.image) if self.capabilities.has_image else None
        return NodeCoordinatorLogs(
            log, self.log_directories, self.settings, image, until_ms=self.moment_ms
        )

    @lazy
    def log_directories(self) -> Sequence[LogDirectory]:
        """The log directories, as they were listed when they were first looked at.

        Raises:
            SourceError: One can't be listed.
        """
        places = self.log_places
        if not places:
            return ()
        from metashell.node_files.log_directory import read_log_directory

        return [read_log_directory(place) for place in places]

    @property
    def local_directories(self) -> Sequence[str]:
        """The directory, or file, of this machine that it is read from."""
        is_here = self.log.in_memory is None and self.log.remote is None
        return (str(self.log.path),) if is_here else ()

    @property
    def meta_properties(self) -> MetaProperties | None:
        """The node's ``meta.properties``, None where there is none."""
        return self._node_files.meta_properties

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id, None where the source does not tell it."""
        return self._node_files.cluster_id

    @property
    def node_id(self) -> int | None:
        """Id of the node whose directory it is, None where nothing says."""
        return None if self.meta_properties is None else self.meta_properties.node_id

    @property
    def leaders(self) -> Mapping[int, int]:
        """The leader of each epoch that the node's ``quorum-state`` or the live quorum tells."""
        return self._node_files.leaders

    def _bootstrap_texts(self) -> Sequence[str]:
        """The formatter's metadata records.

        From Kafka 4.4 on they are in the zero checkpoint, before that in ``bootstrap.checkpoint``
        beside the log.
        """
        if self._directory is None:
            return ()
        from metashell.records.rows import record_texts

        zero = [c.name for c in self.log.listing.checkpoints if c.is_bootstrap]
        places = [child_of(self._directory, name) for name in zero]
        places.append(child_of(parent_of(self._directory), BOOTSTRAP))
        for place in places:
            if not is_file(place):
                continue
            # The replay tells of damage, which must not end a walk over everything.
            with suppress(SourceError):
                texts = record_texts(read_file(place).loaded, self.registry, self.redaction)
                if texts:
                    return texts
        return ()
