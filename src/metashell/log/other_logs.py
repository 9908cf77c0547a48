"""Other places than a metadata log: how they are recognised, and what a user is told of them.

Owns the refusal of what is surely no metadata log. A place that may be a damaged metadata log is
let pass.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import Final

from metashell.errors import NoMetadataLogError, SourceError, TopicLogError
from metashell.log.control import first_key
from metashell.log.crc import crc32c
from metashell.log.layout import HEAD, HEADER_BYTES, MIN_LENGTH
from metashell.log.names import (
    BOOTSTRAP,
    COORDINATOR_TOPICS,
    METADATA_DIRECTORY,
    Listing,
    list_names,
    topic_of,
)
from metashell.node_files.partition_metadata import topics_text
from metashell.places.place import Place, child_of, read_beginning

_ELSEWHERE: Final = "the metadata log is in another log directory of the node: give that one too"
_LOOKED_BELOW: Final = 16
"""Names in a directory that is looked through for log directories."""
_BEGINNING_BYTES: Final = 1 << 20
_SUMMED: Final = 21
"""Where the bytes of a batch begin that its CRC is of."""
_MAGIC: Final = 2
_LOOKED_INTO: Final = 3
"""Segments whose beginning is read: the first ones may be empty or damaged."""


def refuse_other_logs(path: Place, name: str, names: Sequence[str], topic_id: str | None) -> None:
    """Let a renamed copy of a metadata log pass; raise for what is surely none.

    Args:
        path: The directory.
        name: Its own name.
        names: The names in it.
        topic_id: That of its ``partition.metadata``; None without one.

    Raises:
        SourceError: It is surely no metadata log; the message says what it is instead.
    """
    topic = topic_of(name)
    hint = f"give a node's {METADATA_DIRECTORY} directory, or the log dir that holds it"
    listing = list_names(names)
    if topic is not None and (
        topic_id is not None or (not listing.is_empty and not listing.checkpoints)
    ):
        known = f" (topic id {topic_id})" if topic_id else ""
        error: type[SourceError] = TopicLogError
        if topic[0] in COORDINATOR_TOPICS:
            error = SourceError
            hint = "`metashell -d DIR log` prints the records there, and `check` finds damage"
        raise error(
            f"{path}: the log of topic `{topic[0]}`, partition {topic[1]}{known},"
            " not the cluster's metadata log",
            hint=hint,
        )
    if not listing.is_empty:
        if not listing.checkpoints and _segments_have_keys(path, listing):
            raise keyed_error(path)
        return
    logs = [(found[0], child_of(path, one)) for one in names if (found := topic_of(one))]
    if "meta.properties" in names or any(topic in COORDINATOR_TOPICS for topic, _ in logs):
        hint, bootstrap = _ELSEWHERE, None
        if logs:
            hint += f"; logs of topics lie here: {topics_text(logs)}"
        elif BOOTSTRAP in names:
            file = child_of(path, BOOTSTRAP)
            bootstrap = file if isinstance(file, str) else file.uri
            hint = (
                "no node has started on it, or its metadata log is in another directory or gone: "
                f"`metashell -s {shlex.quote(str(file))}` shows what it was formatted with"
            )
        raise NoMetadataLogError(
            f"{path}: a log directory without a metadata log", hint=hint, bootstrap=bootstrap
        )
    below = log_directories_below(path, names)
    if below:
        words = " ".join(f"-d {shlex.quote(place)}" for place in below)
        hint = f"log directories are below it: `metashell {words}`"
    elif "(id " in (topics := topics_text(logs)):
        hint = f"{_ELSEWHERE}; logs of topics lie here: {topics}"
    raise SourceError(f"{path}: no segment or checkpoint there", hint=hint)


def log_directories_below(path: Place, names: Sequence[str]) -> list[str]:
    """The log directories in a directory of this machine with these names, if they are few."""
    if not isinstance(path, str) or len(names) > _LOOKED_BELOW:
        return []
    places = [os.path.join(path, name) for name in sorted(names)]
    return [place for place in places if os.path.isfile(os.path.join(place, "meta.properties"))]


def _segments_have_keys(path: Place, listing: Listing) -> bool:
    for segment in listing.segments[:_LOOKED_INTO]:
        content = read_beginning(child_of(path, segment.name), _BEGINNING_BYTES) or b""
        if has_keys(memoryview(content)):
            return True
    return False


def has_keys(view: memoryview) -> bool:
    """Whether the first sound batch of data at the beginning of a segment has a key.

    No record of a metadata log has one, so it is the log of a topic. A batch that is damaged or cut
    off proves nothing.

    Args:
        view: The segment, or its beginning.
    """
    pos = 0
    while pos + HEADER_BYTES <= len(view):
        _, length, _, magic, crc, _, _ = HEAD.unpack_from(view, pos)
        end = pos + 12 + length
        if length < MIN_LENGTH or end > len(view) or magic != _MAGIC:
            return False
        if crc32c(view[pos + _SUMMED : end]) == crc:
            key = first_key(view[:end], pos)
            if key is not None and not key.is_control:
                return key.n_bytes >= 0
        pos = end
    return False


def keyed_error(place: Place) -> SourceError:
    """The error for a place whose records have keys, and whose name tells no topic."""
    return SourceError(
        f"{place}: its records have keys: the log of a topic, not the cluster's metadata log",
        hint="call its directory as the broker does, TOPIC-PARTITION, such as"
        " `__consumer_offsets-0`: `metashell -d DIR log` reads a coordinator's log by this name",
    )
