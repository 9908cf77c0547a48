"""Whether the files of a metadata directory changed since they were looked at."""

from __future__ import annotations

import os
from contextlib import suppress

from metashell.log.names import parse_name
from metashell.log.places import Place, entries_in
from metashell.log.read import unreadable


def signature(place: Place) -> object:
    """What tells one state of a directory from another: names, sizes and times of its files.

    Only segments and checkpoints count, and nothing of them is read. Equal signatures mean that
    nothing was written; a file that vanishes meanwhile is left out, as it is the next time. On this
    machine an inode number tells a file that was replaced by another of its size.

    Raises:
        SourceError: The directory can't be listed.
    """
    if not isinstance(place, str):
        return tuple(
            sorted(
                (entry.name, entry.size, entry.mtime_ns or 0)
                for entry in entries_in(place)
                if parse_name(entry.name) is not None
            )
        )
    found = []
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                if parse_name(entry.name) is None:
                    continue
                with suppress(OSError):
                    status = entry.stat()
                    found.append((entry.name, status.st_size, status.st_mtime_ns, status.st_ino))
    except OSError as error:
        raise unreadable(place, error) from error
    return tuple(sorted(found))
