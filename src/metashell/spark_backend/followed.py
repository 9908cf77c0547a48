"""The logs that a stream follows: metadata directories, or partitions of a coordinators' topic.

Each partition is read from the replica that reaches furthest in the newest leader epoch, so it may
move from one broker's directory to another's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from metashell.checks.replicas import Reach, reach_of
from metashell.dataclass import dataclass
from metashell.errors import MetashellError, SourceError
from metashell.log.chain import METADATA, LogKind
from metashell.log.log_tail import LogTail
from metashell.log.partition import CoordinatorPartition
from metashell.node_files.checkpoint_file import OffsetCheckpoint, TopicPartition
from metashell.node_files.epoch_checkpoint import FILE_NAME as EPOCH_CHECKPOINT
from metashell.node_files.epoch_checkpoint import EpochStart, read_epoch_checkpoint
from metashell.node_files.log_directory import LogDirectory, read_log_directory
from metashell.places.place import Place, child_of, is_uri, shown
from metashell.schema.coordinators import CoordinatorLog
from metashell.sources.coordinator_logs import LogReplica, by_node
from metashell.sources.node_places import NodePlaces
from metashell.spark_backend.cursor import NO_LIMIT, Cursor, ListedLog, PartitionWalk, Walk
from metashell.spark_backend.filters import TableFilter
from metashell.spark_backend.options import Options
from metashell.spark_backend.sites import (
    Site,
    SiteOrigin,
    at_once,
    find_sites,
    log_directory,
    nodes_of,
)


@dataclass(frozen=True, slots=True)
class FollowedLog:
    """A log as it is read now."""

    name: str
    """The log's name in the checkpoint and in messages."""
    log: ListedLog
    origin: SiteOrigin
    partition: CoordinatorPartition | None = None
    """None for a metadata log."""
    last_offset: int = NO_LIMIT
    """The last offset that counts."""

    @property
    def kind(self) -> LogKind:
        """The kind of the log."""
        return METADATA if self.partition is None else self.partition.kind

    @property
    def facts(self) -> object:
        """A value that changes when there is more to read."""
        return self.log.facts, self.last_offset

    @property
    def end(self) -> int:
        """The offset behind the last one.

        Raises:
            SourceError: It can't be read, or has no segment.
        """
        return LogTail(self.log.place, self.name).end().end_offset

    def walk(self, **limits: Any) -> Walk:
        """Goes over it."""
        if self.partition is None:
            return Walk(self.log, **limits)
        return PartitionWalk(self.log, self.kind, partial(_epochs, self.log.place), **limits)


class FollowedLogs(ABC):
    """Finds the logs.

    Args:
        options: The options of the query.
    """

    title: str
    """A name for the things that have a cursor, in the query's checkpoint."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.known: dict[str, Site] = {}
        """Directories in stores, by the URI that led there: what they are is asked once."""

    @abstractmethod
    def there(self, places: Sequence[str]) -> Mapping[str, FollowedLog | SourceError]:
        """The logs that are at some places now, by name; or why one can't be read."""

    def moved(self, one: FollowedLog, before: Cursor | None, cursor: Cursor) -> None:
        """Note that something was read of a log."""
        # It may be another log than it was, or tell by now whose it is.
        if one.origin[0] is None or (before and cursor.begun):
            self.known = {uri: s for uri, s in self.known.items() if s.directory != one.name}


class FollowedDirectories(FollowedLogs):
    """Metadata directories."""

    title = "directories"

    def there(self, places: Sequence[str]) -> Mapping[str, FollowedLog | SourceError]:
        looks = at_once([partial(self._look, place) for place in places], places)
        return {one.name: one for one in looks if one is not None}

    def _look(self, place: str) -> FollowedLog | None:
        """The directory at a place, if there is one; one that is known is listed, no more."""
        known = self.known.pop(place, None)
        if known is not None:
            with suppress(SourceError):
                listed = _listed(known)
                if listed.log.segments:
                    self.known[place] = known
                    return listed
        sites, _ = find_sites([place], TableFilter())
        with suppress(SourceError):
            if sites and is_uri(sites[0].opened_by):
                self.known[place] = sites[0]
            return _listed(sites[0]) if sites else None
        return None


def _listed(site: Site) -> FollowedLog:
    return FollowedLog(site.directory, ListedLog.at(site.place), site.origin)


class FollowedPartitions(FollowedLogs):
    """Partitions of a coordinators' topic.

    Args:
        options: The options of the query.
        log: The topic.
    """

    title = "partitions"

    def __init__(self, options: Options, log: CoordinatorLog) -> None:
        super().__init__(options)
        self._log = log
        self._nodes: tuple[Sequence[str], list[NodePlaces]] | None = None
        """The places that nodes were looked for at, and these."""
        self._only: Collection[str] | None = None
        """Names of the partitions that are meant alone; None for all."""

    def there(self, places: Sequence[str]) -> Mapping[str, FollowedLog | SourceError]:
        if self._nodes is None or self._nodes[0] != places:
            nodes, self._only = nodes_of(places, joins=True)
            # One that does not tell its cluster yet may come to.
            known = places if all(node.cluster_id is not None for node in nodes) else []
            self._nodes = known, nodes
        found: dict[str, tuple[str | None, CoordinatorPartition, list[LogReplica]]] = {}
        for node in self._nodes[1]:
            replicas: dict[int, list[LogReplica]] = {}
            for directory in _directories(node):
                for name in directory.logs_of(self._log.value):
                    if self._only is None or name.name in self._only:
                        replica = LogReplica(directory=directory, name=name)
                        replicas.setdefault(name.partition, []).append(replica)
            for number, own in replicas.items():
                which = CoordinatorPartition(self._log, number)
                whose = node.cluster_id or shown(str(own[0].directory.place))
                found[f"{whose}/{which}"] = node.cluster_id, which, by_node(own)
        bounds = self._high_watermarks(replicas for _, _, replicas in found.values())
        jobs = [partial(self._chosen, name, *found[name], bounds) for name in sorted(found)]
        return dict(zip(sorted(found), at_once(jobs, places), strict=True))

    def _chosen(
        self,
        name: str,
        cluster_id: str | None,
        which: CoordinatorPartition,
        replicas: Sequence[LogReplica],
        bounds: Mapping[Place, Mapping[TopicPartition, int]] | None,
    ) -> FollowedLog | SourceError:
        """The replica that is read of a partition: the one that reaches furthest."""
        best: tuple[Reach, FollowedLog] | None = None
        error = SourceError(f"{name}: no replica there")
        topic, last = TopicPartition(self._log.value, which.number), NO_LIMIT
        if bounds is not None:
            last = max(bounds[one.directory.place].get(topic, 0) for one in replicas) - 1
        for replica in replicas:
            origin = cluster_id, replica.node_id, str(replica.directory.place)
            try:
                log = ListedLog.at(replica.place)
                one = FollowedLog(name, log, origin, which, last)
                reach = (0, 0) if len(replicas) == 1 else _reach(replica)
            except SourceError as e:
                error = e
                continue
            if best is None or reach > best[0]:
                best = reach, one
        return error if best is None else best[1]

    def _high_watermarks(
        self, replicas: Iterable[Sequence[LogReplica]]
    ) -> Mapping[Place, Mapping[TopicPartition, int]] | None:
        """With option `committedOnly` what each log directory says is committed."""
        if not self._options.settings.committed_only:
            return None
        found: dict[Place, Mapping[TopicPartition, int]] = {}
        for directory in {
            one.directory.place: one.directory for o in replicas for one in o
        }.values():
            found[directory.place] = {}
            # A file that can't be used tells as little as one that is missing: the query waits.
            with suppress(SourceError):
                found[directory.place] = directory.offsets(OffsetCheckpoint.HIGH_WATERMARK)
        return found


def _reach(replica: LogReplica) -> Reach:
    """How far a replica reaches.

    Raises:
        SourceError: It can't be read, or has no segment.
    """
    end = LogTail(replica.place, replica.name.name).end()
    epochs = (start.epoch for start in _epochs(replica.place))
    return reach_of(end.last_epoch, epochs, end.end_offset)


def _directories(node: NodePlaces) -> list[LogDirectory]:
    """The log directories that can be listed; those of a store at the same time."""

    def listed(path: str) -> LogDirectory | None:
        with suppress(MetashellError):
            return read_log_directory(log_directory(path))
        return None

    paths = (node.path, *node.log_dirs)
    found = at_once([partial(listed, path) for path in paths], paths)
    return [one for one in found if one is not None]


def _epochs(place: Place) -> Sequence[EpochStart]:
    """Where leader epochs begin; nothing where the file can't be read, as batches tell most."""
    with suppress(SourceError):
        return read_epoch_checkpoint(child_of(place, EPOCH_CHECKPOINT)) or ()
    return ()
