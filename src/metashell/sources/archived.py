"""Log directories in archives: where they are, and requests to open them.

Owns what is not done with an archive: no Spark and no cache, as another process has no use for the
memory of this one.
"""

from __future__ import annotations

from dataclasses import replace

from metashell.errors import SourceError, UsageError
from metashell.log.names import COORDINATOR_TOPICS, METADATA_DIRECTORY, list_names, topic_of
from metashell.node_files.meta_properties import FILE_NAME
from metashell.places.archives import is_archive_name
from metashell.places.place import base_name, child_of, entries_in, place_of
from metashell.places.remote import RemotePlace
from metashell.places.uri import is_archive, shown
from metashell.sources.request import OpenRequest


def log_directories_in(archive: str) -> list[str]:
    """The log directories in an archive, as URIs; the text where it is no archive's.

    Directories of segments or checkpoints are taken where no directory is a node's.

    Raises:
        SourceError: It can't be read, or holds none.
    """
    if not is_archive(archive):
        return [archive]
    root = place_of(archive)
    assert isinstance(root, RemotePlace)
    nodes, alone, todo, packed = [], [], [root], list[str]()
    while todo:
        place = todo.pop()
        entries = entries_in(place)
        names = [entry.name for entry in entries]
        packed += filter(is_archive_name, names)
        if METADATA_DIRECTORY in names:
            entries_in(child_of(place, METADATA_DIRECTORY))  # It may be a link out of the archive.
        if FILE_NAME in names or any(map(_is_a_nodes, names)):
            nodes.append(place)
            continue
        if topic_of(base_name(place)) is None and not list_names(names).is_empty:
            alone.append(place)
        todo += [place.child(entry.name) for entry in entries if entry.is_directory]
    found = nodes or alone
    if not found:
        hint = f"put {METADATA_DIRECTORY} into it, and the {FILE_NAME} that lies beside it"
        if packed:
            hint = f"unpack it: archives in it, such as {packed[0]}, are not opened"
        raise SourceError(f"{shown(archive)}: no log directory of Kafka in it", hint=hint)
    return sorted(place.uri for place in found)


def _is_a_nodes(name: str) -> bool:
    topic = topic_of(name)
    return topic is not None and (name == METADATA_DIRECTORY or topic[0] in COORDINATOR_TOPICS)


def in_archives(request: OpenRequest, *, is_one: bool) -> OpenRequest:
    """The request for the log directories in the archives that a request names.

    Args:
        request: The request.
        is_one: Whether several log directories are an error.

    Raises:
        UsageError: Spark is asked for.
        SourceError: The only archive can't be read, or holds several where one is wanted.
    """
    choice = request.choice
    given = choice.paths or (choice.path,)
    if request.engine.engine == "spark":
        raise UsageError(
            "an archive is read by this process, not by Spark",
            hint="leave out `--engine spark`, or unpack the archive",
        )
    paths: list[str] = []
    for path in given:
        try:
            paths += log_directories_in(path)
        except SourceError:
            if len(given) == 1:
                raise
            paths.append(path)  # A row of the fleet tells the reason.
    if is_one and len(paths) > 1:
        message = f"{shown(given[0])}: {len(paths)} log directories in it, and one is wanted"
        raise SourceError(message, hint="`metashell.open_fleet` and `-d` open them")
    several = tuple(paths) if choice.paths or len(paths) > 1 else ()
    return replace(
        request,
        choice=replace(choice, path=paths[0], paths=several),
        engine=replace(request.engine, engine="local"),
    )
