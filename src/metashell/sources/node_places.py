"""Which of several directories are log directories of one node, and which of them has its metadata.

Owns what is found out before anything is opened: the files beside the logs are read, and names are
listed. A place that can't be looked at is one by itself: opening it tells what is wrong.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Final

from metashell.checks.votes import OffsetAndEpoch, log_end
from metashell.dataclass import dataclass
from metashell.errors import MetashellError, NoMetadataLogError
from metashell.log.changed import list_directory
from metashell.log.directory import find_metadata_directory
from metashell.log.names import METADATA_DIRECTORY
from metashell.log.other_logs import log_directories_below
from metashell.node_files.meta_properties import FILE_NAME, MetaProperties
from metashell.node_files.node_directories import group_by_node
from metashell.node_files.node_files import NodeFiles
from metashell.places.archives import UNPACK_HINT
from metashell.places.place import Place, child_of, parent_of, place_of
from metashell.places.uri import is_uri, local_path, shown

_THREADS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlaces:
    """The log directories of a node, or of the nodes of a cluster that are taken for one."""

    path: str = field(repr=False)
    """Where its metadata log is, as it was given; any of them where none has one."""
    cluster_id: str | None = None
    """None where nothing tells it."""
    node_id: int | None = None
    """Likewise."""
    log_dirs: tuple[str, ...] = field(default=(), repr=False)
    """The others, as `metashell.read_settings.ReadSettings.log_dirs`."""
    notes: tuple[str, ...] = ()
    """Sentences that the user should read."""
    missing: tuple[str, ...] = ()
    """Why directories that its configuration names can't be read."""
    foreign: tuple[str, ...] = field(default=(), repr=False)
    """Directories that its configuration names and that are another node's."""
    unknown: str | None = field(default=None, repr=False)
    """Why nothing tells which node it is of; None where its ``meta.properties`` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A place that was looked at."""

    path: str
    place: Place
    """The log directory; what was given where that is none."""
    identity: MetaProperties | None = None
    cluster_id: str | None = None
    metadata: Place | None = None
    """Its metadata log."""
    error: str | None = None
    """Why it can't be looked at."""
    hint: str | None = None
    """The hint for that."""
    unknown: str | None = None
    """Why nothing tells which node it is of, see `NodePlaces.unknown`."""

    @property
    def has_metadata_log(self) -> bool:
        """Whether a metadata log is in it."""
        return self.metadata is not None


def distinct(paths: Sequence[str]) -> list[str]:
    """The paths without those that mean the same directory, by what it was first called.

    Raises:
        SourceError: A URI can't be meant.
    """
    first: dict[str, str] = {}
    for path in paths:
        first.setdefault(identity_of(path), path)
    return list(first.values())


def identity_of(path: str) -> str:
    """The part of a path that tells it from others and may be shown. Refuses a bad URI."""
    local = local_path(path)
    return shown(path) if local is None and is_uri(path) else os.path.abspath(local or path)


def nodes_at(paths: Sequence[str], *, joins: bool = False) -> list[NodePlaces]:
    """Put the directories of each node together, in the order of the paths.

    Args:
        paths: Directories or URIs, each once.
        joins: Whether all those with one cluster id are put together, of whatever node.
    """
    found = _look_at_all(paths)
    if not joins:
        nodes = _nodes_of(found)
        notes = [*filter(None, (_note_of_disks(found), _note_of_archives(found)))]
        if notes:
            nodes[0] = replace(nodes[0], notes=(*nodes[0].notes, *notes))
        return nodes
    clusters: dict[object, list[_Found]] = {}
    for i, one in enumerate(found):
        clusters.setdefault(i if one.cluster_id is None else one.cluster_id, []).append(one)
    return [replace(_joined(group), notes=()) for group in clusters.values()]


def _nodes_of(found: Sequence[_Found]) -> list[NodePlaces]:
    """The nodes of places; those that tell no node are of the only node that lies beside them.

    A node has one metadata log. So of two that lie together and both have one, each is a node.
    """
    groups = group_by_node(found)
    lost = [one for one in found if one.unknown is not None]
    known = [one for one in found if one.unknown is None]
    is_one = (
        len(groups) == len(lost) + 1
        and sum(one.has_metadata_log for one in found) <= 1
        and len({str(parent_of(one.place)) for one in found}) == 1
        and len({one.cluster_id for one in found} - {None}) <= 1
        and not any(one.error for one in found)
    )
    if not (lost and is_one):
        return [_joined(group) for group in groups]
    node = _joined(found)
    of = next(one for one in known if one.identity is not None)
    notes = [
        f"{one.unknown}: it is taken for a log directory of the node of {shown(of.path)}"
        for one in lost
    ]
    return [replace(node, cluster_id=of.cluster_id, notes=(*notes, *node.notes))]


def _note_of_disks(found: Sequence[_Found]) -> str | None:
    """The pattern for log directories that are below the places given; None where none are."""
    for one in found:
        if one.error is None or not isinstance(one.place, str) or not os.path.isdir(one.place):
            continue
        with suppress(MetashellError):
            below = log_directories_below(one.place, list_directory(one.place).names)
            if below:
                initials = {os.path.basename(place)[0] for place in below}
                disks = f"{initials.pop()}*" if len(initials) == 1 else "*"
                pattern = os.path.join(os.path.dirname(one.path.rstrip("/")), "*", disks)
                return (
                    f"{shown(one.path)} has log directories below it: "
                    f"`-d {shlex.quote(pattern)}` opens them"
                )
    return None


def _note_of_archives(found: Sequence[_Found]) -> str | None:
    """The hint about archives among the places; None where none is."""
    packed = [one for one in found if one.hint == UNPACK_HINT]
    return f"{packed[0].error}: {UNPACK_HINT}" if packed else None


def node_at(paths: Sequence[str]) -> NodePlaces:
    """Take directories for those of one node, as its configuration does.

    One that can't be read, or that is of another node, is left out and noted.

    Args:
        paths: The first is where the metadata log should be.
    """
    found = _look_at_all(paths)
    first, notes, same = next((one for one in found if one.error is None), found[0]), [], []
    foreign = []
    missing = [] if first.error else [one.error for one in found if one.error is not None]
    for one in found:
        if one.error is None and not _is_of(one, first):
            notes.append(f"{shown(one.path)} is of another node than {shown(first.path)}: left out")
            foreign.append(_text(one.place))
        elif one.error is None or one is first:
            same.append(one)
    node = _joined(same)
    notes += [f"{error}: what lies there is missing" for error in missing]
    return replace(
        node,
        notes=(*notes, *node.notes),
        missing=tuple(missing),
        foreign=tuple(foreign),
    )


def nodes_to_start_at(paths: Sequence[str], *, is_one: bool, is_fleet: bool) -> list[NodePlaces]:
    """Put directories together as they would be started; none is left out.

    A directory without a metadata log is no node by itself. So it is of the only node that has one.
    Two metadata logs that lie together in directories of different ids are of one node.

    Args:
        paths: Directories or URIs, each once. The first is where the metadata log should be.
        is_one: Whether a configuration says that they are of one node.
        is_fleet: Whether each node is told by its files alone.
    """
    found = _look_at_all(paths)
    if is_one:
        return [replace(_joined(found), path=paths[0], log_dirs=_texts(found[1:]), notes=())]
    groups = group_by_node(found)
    having = [one for one in found if one.has_metadata_log]
    telling = having or [one for one in found if one.identity is not None]
    ids = {one.identity.directory_id if one.identity else None for one in having}
    lie_together = len({str(parent_of(one.place)) for one in having}) <= 1
    are_of_one = len({_node_of(one) for one in telling}) <= 1 and len(ids) == len(having)
    if not is_fleet and are_of_one and lie_together:
        groups = [found]
    return [_joined(group) for group in groups]


def _node_of(one: _Found) -> tuple[object, object]:
    """The cluster and the node of a directory."""
    of = one.identity
    return (None, one.path) if of is None else (of.cluster_id, of.node_id)


def _is_of(one: _Found, other: _Found) -> bool:
    """Whether nothing says that two directories are of different nodes."""
    a, b = one.identity, other.identity
    if a is None or b is None:
        return True
    pairs = ((a.cluster_id, b.cluster_id), (a.node_id, b.node_id))
    return all(x == y or x is None or y is None for x, y in pairs)


def _look_at_all(paths: Sequence[str]) -> list[_Found]:
    if len(paths) == 1:
        return [_look(paths[0])]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(_THREADS, len(paths) or 1)) as threads:
        return list(threads.map(_look, paths))


def _look(path: str) -> _Found:
    """Read what the files beside a log say; what is wrong with it is told when it is opened."""
    place = place_of(path)
    try:
        metadata = find_metadata_directory(path)
    except NoMetadataLogError:
        files, directory, found = NodeFiles(child_of(place, "any")), place, None
    except (MetashellError, OSError) as error:
        hint = error.hint if isinstance(error, MetashellError) else None
        return _Found(path=path, place=place, error=str(error), hint=hint)
    else:
        files, directory, found = NodeFiles(metadata), parent_of(metadata), metadata
    identity = cluster_id = None
    unknown: str | None = f"{shown(path)}: its meta.properties is missing or names no node"
    try:
        identity = files.meta_properties
        cluster_id = files.cluster_id
    except (MetashellError, OSError) as error:
        unknown = f"{shown(path)}: its meta.properties can't be used: {_reason(error)}"
    if identity is not None and None not in (identity.cluster_id, identity.node_id):
        unknown = None
    return _Found(
        path=path,
        place=directory,
        identity=identity,
        cluster_id=cluster_id,
        metadata=found,
        unknown=unknown,
    )


def _reason(error: Exception) -> str:
    """Why a file can't be used, without its name where that begins it."""
    text = error.message if isinstance(error, MetashellError) else str(error)
    return text.rpartition(f"{FILE_NAME}: ")[2]


def _joined(group: Sequence[_Found]) -> NodePlaces:
    """The directories of a node, that with the metadata log first."""
    having = [one for one in group if one.has_metadata_log]
    first, notes = having[0] if having else group[0], []
    if len(having) > 1:
        first = max(having, key=_end)
        left = ", ".join(shown(one.path) for one in having if one is not first)
        notes.append(
            f"the metadata log in {shown(first.path)} is read, not that in {left}, which ends"
            " in an earlier epoch or sooner"
        )
    return NodePlaces(
        path=first.path,
        cluster_id=first.cluster_id,
        node_id=None if first.identity is None else first.identity.node_id,
        log_dirs=_texts(one for one in group if one is not first),
        notes=tuple(notes),
        unknown=first.unknown,
    )


def _end(found: _Found) -> OffsetAndEpoch:
    """Where a metadata log ends, as a vote compares it. Cost: reads the end of its last segment."""
    # The end of a coordinator's log is found in the same way, so its readers come along.
    from metashell.log.log_tail import LogTail

    with suppress(MetashellError):
        place = found.metadata or found.place
        listing, ends = list_directory(place).listing, []
        if listing.segments:
            tail = LogTail(place, METADATA_DIRECTORY).end()
            ends.append(OffsetAndEpoch(tail.last_epoch, tail.end_offset))
        return log_end(listing, ends)
    return OffsetAndEpoch(-1, -1)


def _texts(found: Iterable[_Found]) -> tuple[str, ...]:
    return tuple(_text(one.place) for one in found)


def _text(place: Place) -> str:
    """A path or URI that opens a place, from wherever."""
    return os.path.abspath(place) if isinstance(place, str) else place.uri
