"""Where rows come from: metadata directories, and partitions of coordinators' topics.

Log directories with one cluster id are one cluster, as with ``--join``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import field
from functools import partial
from typing import TypeAlias, TypeVar

from metashell.dataclass import dataclass
from metashell.errors import MetashellError, SourceError
from metashell.log.directory import find_metadata_directory
from metashell.log.names import COORDINATOR_TOPICS, METADATA_DIRECTORY, topic_of
from metashell.node_files.log_directory import read_log_directory
from metashell.node_files.node_files import NodeFiles
from metashell.places.parallel import in_parallel
from metashell.places.place import Place, base_name, expand, is_uri, parent_of, place_of
from metashell.places.uri import local_path, shown
from metashell.schema.coordinators import CoordinatorLog
from metashell.sources.node_places import NodePlaces, distinct, nodes_at
from metashell.spark_backend.filters import TableFilter

T = TypeVar("T")

SiteOrigin: TypeAlias = tuple[str | None, int | None, str]
"""Cluster, node and directory: what the first columns of rows say."""


@dataclass(frozen=True, slots=True)
class Site:
    """A metadata directory, and the node that it is of."""

    directory: str
    """The name in rows, without passwords."""
    cluster_id: str | None = None
    node_id: int | None = None
    opened_by: str = field(default="", repr=False)
    """The path or URI that opens it."""

    @property
    def origin(self) -> SiteOrigin:
        """The values of the first columns of its rows."""
        return self.cluster_id, self.node_id, self.directory

    @property
    def place(self) -> Place:
        """Where it is."""
        return place_of(self.opened_by)


@dataclass(frozen=True, slots=True)
class BadSite:
    """A place that is no metadata directory, or can't be read."""

    directory: str
    reason: str

    @property
    def origin(self) -> SiteOrigin:
        """The values of the first columns of its rows, see `Site.origin`."""
        return None, None, self.directory


def find_sites(paths: Iterable[str], wanted: TableFilter) -> tuple[list[Site], list[BadSite]]:
    """The metadata directories that paths and globs mean, each once, without those not wanted.

    Raises:
        MetashellError: A glob matches nothing, or can't be followed.
    """
    places = list(dict.fromkeys(absolute(place) for path in paths for place in expand(path)))
    sites: dict[str, Site] = {}
    bad: dict[str, BadSite] = {}
    for found in at_once([partial(_look, place) for place in places], places):
        if not _is_wanted(found, wanted):
            continue
        if isinstance(found, Site):
            sites.setdefault(found.directory, found)
        else:
            bad.setdefault(found.directory, found)
    return list(sites.values()), list(bad.values())


def _is_wanted(found: Site | BadSite, wanted: TableFilter) -> bool:
    columns = ("cluster_id", "node_id", "directory")
    return all(map(wanted.may_be, columns, found.origin))


def absolute(place: str) -> str:
    """A local path that means the same in every process; a URI as it is."""
    path = local_path(place)
    if path is None and is_uri(place):
        return place
    return os.path.abspath(place if path is None else path)


def at_once(jobs: Sequence[Callable[[], T]], places: Iterable[str]) -> list[T]:
    """The results of some jobs; of a store, which answers slowly, at the same time."""
    return in_parallel(jobs) if any(map(is_uri, places)) else [job() for job in jobs]


def _look(place: str) -> Site | BadSite:
    try:
        directory = find_metadata_directory(place)
    except MetashellError as e:
        return BadSite(shown(place), str(e))
    files = NodeFiles(directory)
    cluster_id = node_id = None
    # The table `faults` tells of a file that can't be used: only its ids are missing.
    with suppress(SourceError):
        meta = files.meta_properties
        node_id = None if meta is None else meta.node_id
        cluster_id = files.cluster_id
    opened_by = directory if isinstance(directory, str) else directory.uri
    return Site(str(directory), cluster_id, node_id, opened_by)


@dataclass(frozen=True, slots=True)
class PartitionPiece:
    """A partition of a coordinators' topic; the logs of a node for `producers`."""

    node: NodePlaces
    number: int | None
    is_alone: bool = False
    """Whether no other node or cluster was asked for: if it can't be read, there is nothing."""


def nodes_of(
    places: Sequence[str], *, joins: bool
) -> tuple[list[NodePlaces], Collection[str] | None]:
    """The nodes, or joined clusters, that directories are of.

    Returns:
        These, and the names of the partitions that are meant alone; None for all.

    Raises:
        SourceError: Some are partitions alone, and some are not.
    """
    names = [base_name(place_of(path)) for path in places]
    of_one = [is_partition(place_of(path)) for path in places]
    if any(of_one) and not all(of_one):
        one = shown(places[of_one.index(True)])
        raise SourceError(
            f"{one}: one partition, beside whole log directories",
            hint="give log directories alone, or partitions alone",
        )
    whole = [_parent(path) if one else path for path, one in zip(places, of_one, strict=True)]
    return nodes_at(distinct(whole), joins=joins), {*names} if all(of_one) else None


def is_partition(place: Place) -> bool:
    """Whether a directory is, by its name, of one partition of a coordinators' topic."""
    topic = topic_of(base_name(place))
    return topic is not None and topic[0] in COORDINATOR_TOPICS


def numbers_of(node: NodePlaces, log: CoordinatorLog) -> list[int]:
    """The partitions of a coordinators' topic that lie in the log directories of a node.

    Raises:
        SourceError: One can't be listed.
    """
    found: set[int] = set()
    for path in (node.path, *node.log_dirs):
        directory = read_log_directory(log_directory(path))
        found.update(name.partition for name in directory.logs_of(log.value))
    return sorted(found)


def log_directory(path: str) -> Place:
    """The log directory that a path means, which may be that of its metadata log."""
    place = place_of(path)
    return parent_of(place) if base_name(place) == METADATA_DIRECTORY else place


def _parent(path: str) -> str:
    place = parent_of(place_of(path))
    return place if isinstance(place, str) else place.uri
