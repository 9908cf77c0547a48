"""The node of a source: the files beside its log, and the node's log directories.

The content of an opened source for programs and notebooks: tables, records, nodes by path.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING, ClassVar

from metashell.errors import SourceError, UnknownNameError
from metashell.lazy import lazy
from metashell.log.directory import MetadataLog, read_file
from metashell.log.names import BOOTSTRAP, COORDINATOR_TOPICS, METADATA_DIRECTORY
from metashell.log.unread import Unread, UnreadReport
from metashell.places.place import Place, base_name, child_of, is_file, parent_of, place_of
from metashell.read_settings import ReadSettings
from metashell.sources.questions import Questions
from metashell.sources.status import Capabilities
from metashell.spelling import did_you_mean, near_names

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.image.image import Image
    from metashell.node_files.log_directory import LogDirectory
    from metashell.node_files.meta_properties import MetaProperties
    from metashell.node_files.node_files import NodeFiles
    from metashell.redact import Redaction
    from metashell.schema.coordinators import CoordinatorLog
    from metashell.schema.model import Registry
    from metashell.sources.coordinator_logs import CoordinatorLogs
    from metashell.sources.coordinator_tables import SourceTables


class SourceContents(Questions):
    """The part of a source that asks only for its image, its tree and its coordinators' logs."""

    capabilities: ClassVar[Capabilities]
    lock: RLock
    redaction: Redaction

    @property
    @abstractmethod
    def image(self) -> Image:
        """The parts of the image."""

    @property
    @abstractmethod
    def coordinator_tables(self) -> SourceTables | None:
        """The tables of coordinators' logs; None where it has none."""

    @lazy
    def unread(self) -> Unread:
        """The faults and remarks from reading tables of coordinators' logs."""
        return Unread()

    @property
    def tables(self) -> Sequence[str]:
        """Names of the tables that `table` gives."""
        from metashell.image.arrow import table_names

        of_image = tuple(table_names()) if self.capabilities.has_image else ()
        more = self.coordinator_tables
        return of_image if more is None else (*of_image, *more.states)

    def table(self, name: str) -> pa.Table:
        """A part of the image as an Arrow table, secrets redacted; or what coordinators' logs tell.

        Each of the image has, behind its own columns, ``created_*`` and ``changed_*``: offset
        (int64), epoch (int32) and timestamp (ms) of the record that made and last changed the row;
        null where that happened at or before the checkpoint that the replay begins with.

        The tables ``groups``, ``members``, ``offsets``, ``transactions``, ``share_partitions`` and
        ``producers`` are there if the log directory is a broker's. Each call reads the logs anew;
        `warnings` then tells what was not read.

        Raises:
            UnknownNameError: There is no such table; see `tables`. It is a KeyError.
            SourceError: The log directories can't be read.
        """
        more = self.coordinator_tables
        if more is not None and name in more.states:
            return more.table(name, UnreadReport(self.unread))
        _check("table", name, self.tables)
        from metashell.image.arrow import image_table

        return image_table(name, self.image, self.redaction)

    def records(self, message: str) -> pa.Table:
        """Every record of a type that counts, decoded, as an Arrow table, secrets redacted.

        Records of coordinators' logs are included if they decode, also those of aborted
        transactions.

        Args:
            message: Such as ``PartitionChangeRecord``, or ``OffsetCommit`` of a broker's logs.

        Raises:
            UnknownNameError: There is no such message. It is a KeyError.
            SourceError: The log directories can't be read.
        """
        more = self.coordinator_tables
        if more is not None and message in more.messages:
            return more.table(message, UnreadReport(self.unread))
        known = [*self.image.records.registry.by_name, *(() if more is None else more.messages)]
        _check("record type", message, known)
        from metashell.image.arrow import records_table

        return records_table(self.image.records, message, self.redaction)

    def unknown_records(self) -> pa.Table:
        """Records that no definition describes, kept raw.

        Columns: offset, epoch, time, api_key, version and ``raw`` (binary), the whole value; unless
        secrets are shown, a text in its place that tells its length, position and digest.
        """
        from metashell.image.arrow import unknown_table

        return unknown_table(self.image.records, self.redaction)


def _check(what: str, name: str, names: Iterable[str]) -> None:
    """Refuse a name that is none of these.

    Raises:
        UnknownNameError: It is such.
    """
    if name not in names:
        hint = did_you_mean(near_names(name, names)) or f"there are {', '.join(names)}"
        raise UnknownNameError(f"there is no {what} {name}", hint=hint)


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
