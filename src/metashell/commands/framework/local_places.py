"""Files and directories of the file system that the shell runs on: completed, and where to write.

Owns the rule that nothing is written into a directory of Kafka's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from metashell.commands.framework.command import Completion, Context
from metashell.commands.framework.command_line import quote
from metashell.errors import MetashellError
from metashell.fs.escape import escape
from metashell.log.names import METADATA_DIRECTORY

_KAFKAS: Final = ("meta.properties", "partition.metadata")
"""Files that make a directory Kafka's."""


def complete_local(word: str, *, files: bool = False) -> list[Completion]:
    """Propose directories of the file system that the shell runs on, and files if wanted."""
    return [
        Completion(quote(text), -len(getattr(word, "raw", word)), escape(display))
        for text, display in _local_paths(word, files=files)
    ]


def _local_paths(word: str, *, files: bool) -> Iterator[tuple[str, str]]:
    """Paths that begin so: (the path, its last name), directories with a slash behind."""
    head, last = os.path.split(word)
    try:
        with os.scandir(os.path.expanduser(head) or ".") as entries:
            found = sorted(
                (e.name, e.is_dir())
                for e in entries
                if e.name.startswith(last) and (files or e.is_dir())
            )
    except OSError:
        return
    for name, is_directory in found[:200]:
        if not name.startswith(".") or last.startswith("."):
            tail = "/" if is_directory else ""
            yield os.path.join(head, name) + tail, name + tail


def kafka_directories(context: Context) -> Sequence[str]:
    """The directories of this machine that are open, or that a command opens itself."""
    if context.opened is not None:
        return context.opened.local_directories
    if context.to_open is None:
        return ()
    choice = context.to_open.choice
    return [path for path in (*choice.paths, choice.path, *choice.log_dirs) if path]


def refuse_kafkas(name: str, target: str, directories: Iterable[str]) -> None:
    """Refuse what lies in one of these directories, or in another of Kafka's.

    Metashell never writes there.
    """
    own = {os.path.realpath(path) for path in directories}
    place = target
    while True:
        is_kafkas = place in own or os.path.basename(place) == METADATA_DIRECTORY
        is_kafkas |= any(os.path.lexists(os.path.join(place, file)) for file in _KAFKAS)
        if is_kafkas:
            raise MetashellError(
                f"{name}: is inside {escape(place)}, a Kafka directory",
                hint="choose another place; metashell never writes into Kafka directories",
            )
        if place == os.path.dirname(place):
            return
        place = os.path.dirname(place)
