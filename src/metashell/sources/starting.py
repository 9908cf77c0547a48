"""Nodes that are to be started: their log directories, opened however broken they are.

A directory that cannot be read is kept: that it cannot be read decides what Kafka does with it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from metashell.dataclass import dataclass
from metashell.errors import MetashellError, SourceError, UsageError
from metashell.log.directory import list_metadata_directory
from metashell.log.names import METADATA_DIRECTORY
from metashell.log.other_logs import log_directories_below
from metashell.node_files.config import KafkaConfig
from metashell.node_files.meta_properties import FILE_NAME
from metashell.places.place import names_in, place_of
from metashell.places.uri import is_archive
from metashell.sources.archived import in_archives
from metashell.sources.directory import open_directory
from metashell.sources.log_directories import LogDirectoriesSource
from metashell.sources.node_places import NodePlaces, distinct, nodes_to_start_at
from metashell.sources.request import Choice, OpenRequest
from metashell.sources.source import Source

if TYPE_CHECKING:
    from metashell.sources.fleet.source import FleetSource


@dataclass(frozen=True, slots=True)
class StartingNode:
    """A node that is to be started."""

    source: Source
    """Its directories. It has no image where its metadata log cannot be read."""
    unread: str | None = None
    """Why its metadata log cannot be read."""
    notes: Sequence[str] = ()
    """Sentences that the user should read."""
    at_hand: frozenset[int] = frozenset()
    """The nodes whose directories were chosen."""


def nodes_to_start(request: OpenRequest) -> Iterator[StartingNode]:
    """Open the nodes whose directories were chosen, one after the other.

    Raises:
        UsageError: No directory was chosen.
        SourceError: An archive cannot be read.
    """
    choice = request.choice
    config = request.settings.config
    if choice.quorum is not None and config is not None and KafkaConfig(*config).names_node:
        raise UsageError(
            f"{config[0]} names no log directory: Kafka takes /tmp/kafka-logs",
            hint="set log.dirs to the directories of the node, if it has others;"
            f" `metashell -d /tmp/kafka-logs --config {shlex.quote(config[0])} preflight` judges"
            " these",
        )
    if choice.quorum is not None or choice.is_file:
        raise UsageError(
            "this needs the log directories of the node",
            hint="`metashell -d DIR -d DIR preflight`, or `metashell --config FILE preflight`",
        )
    if any(map(is_archive, choice.paths or (choice.path,))):
        request = in_archives(request, is_one=False)
        choice = request.choice
    given = choice.paths or (choice.path, *choice.log_dirs)
    is_one = request.settings.config is not None
    below = {path: () if is_one else _below(path) for path in distinct(given)}
    alone = [path for path, some in below.items() if not some]
    nodes = nodes_to_start_at(alone, is_one=is_one, is_fleet=choice.is_fleet) if alone else []
    for some in filter(None, below.values()):
        nodes += nodes_to_start_at(some, is_one=False, is_fleet=False)
    for node in nodes:
        beside = (one.node_id for one in nodes if one.cluster_id == node.cluster_id)
        at_hand = frozenset(one for one in beside if one is not None)
        yield replace(_opened(node, request), at_hand=at_hand)


def nodes_of(opened: Source | FleetSource) -> Iterator[StartingNode]:
    """Open the nodes anew whose directories a source or a fleet has.

    Raises:
        UsageError: It has none.
    """
    settings = opened.settings
    if isinstance(opened, Source):
        places = [one if isinstance(one, str) else one.uri for one in opened.log_places]
        paths = (*places, *settings.foreign_dirs)
    else:
        members = opened.members.values()
        paths = tuple(
            path for one in members for path in (one.path, *one.reading.settings.log_dirs)
        )
    is_fleet = not isinstance(opened, Source)
    config = None if is_fleet else settings.config
    settings = replace(settings, log_dirs=(), foreign_dirs=(), config=config)
    choice = Choice(paths[0], paths=paths, is_fleet=is_fleet) if paths else Choice(is_file=True)
    return nodes_to_start(OpenRequest(choice=choice, settings=settings))


def _below(path: str) -> Sequence[str]:
    """The log directories below a directory that is none itself."""
    place = place_of(path)
    with suppress(SourceError):
        names = names_in(place)
        if FILE_NAME not in names and METADATA_DIRECTORY not in names:
            return log_directories_below(place, names)
    return ()


def _opened(node: NodePlaces, request: OpenRequest) -> StartingNode:
    settings = replace(request.settings, log_dirs=node.log_dirs)
    try:
        source: Source = open_directory(list_metadata_directory(node.path), settings)
    except MetashellError as error:
        source = LogDirectoriesSource(place_of(node.path), settings)
        return StartingNode(source, error.message, node.notes)
    return StartingNode(source, None, node.notes)
