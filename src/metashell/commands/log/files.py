"""Which files of a metadata log ``log`` reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from metashell.commands.log.options import Request, file_names
from metashell.errors import UsageError

if TYPE_CHECKING:
    from metashell.places.place import FileRef
    from metashell.records.stream import LogPath
    from metashell.sources.source import Source


def paths_of(source: Source, request: Request) -> list[LogPath]:
    """The files to read, in order: one of them, the checkpoints, or the segments.

    Raises:
        UsageError: There is no file of the name that was given.
    """
    from metashell.log.names import SegmentName, parse_name
    from metashell.records.stream import LogPath, checkpoint_paths, segment_paths

    log = source.log
    if request.file is not None:
        parsed = parse_name(request.file)
        base = parsed.base_offset if isinstance(parsed, SegmentName) else None
        return [LogPath(_path_of(source, request.file), request.file, base)]
    if request.checkpoints:
        return checkpoint_paths(log)
    alone = file_alone(source)
    if alone is not None:
        return [LogPath(log.path_of(alone), alone, None)]
    return segment_paths(log, request.selection)


def file_alone(source: Source) -> str | None:
    """The name of the file that was opened alone (``-s``), None for a directory."""
    return source.log.loaded.files[0].name if source.log.is_file else None


def _path_of(source: Source, name: str) -> FileRef:
    """Where a file of the source is read from.

    Raises:
        UsageError: There is none of that name.
    """
    log, known = source.log, file_names(source)
    path: FileRef | None
    if log.in_memory is not None:
        path = log.in_memory.get(name)
    else:
        path = None if "/" in name else log.path_of(name)
        if log.is_file and name != file_alone(source):
            path = None
        if isinstance(path, str) and not os.path.isfile(path):
            path = None
    if path is None:
        raise no_such_file(name, known)
    return path


def no_such_file(name: str, known: Sequence[str]) -> UsageError:
    """The error that there is no file of the name that was given, with some that there are."""
    hint = f"one of {', '.join(known[:3])}{', ...' if known[3:] else ''}" if known else None
    return UsageError(f"--file {name}: no such file in the directory", hint=hint)
