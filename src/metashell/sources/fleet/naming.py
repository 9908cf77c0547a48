"""Names the directories of a fleet. Pure.

A directory's name is the id of its cluster. Where several have one cluster, or none tells its
cluster, the name is the part of the path that differs from the others': one component (``node-1``
of ``/backups/node-1/__cluster_metadata-0``), else as many of the last components as it takes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from metashell.fs.escape import UNSAFE
from metashell.log.names import METADATA_DIRECTORY

_NOT_IN_NAMES: Final = re.compile(f"[/\\\\%\\s*?\\[\\]{{}}{UNSAFE}]")
_NAME_CHARS_MAX: Final = 200
_UNNAMED: Final = "directory"


def unique_names(places: Sequence[tuple[str, str | None]]) -> list[str]:
    """Name directories, each given by its path or URI and the id of its cluster, None if unknown.

    Returns:
        A name for each, all of them different and each one component of a path. They depend on the
        set of places and, where paths tell nothing, on their order.
    """
    ids = Counter(cluster_id for _, cluster_id in places)
    by_path = [
        i for i, (_, cluster_id) in enumerate(places) if not cluster_id or ids[cluster_id] > 1
    ]
    labels = dict(zip(by_path, _labels([_components(places[i][0]) for i in by_path]), strict=True))
    taken: set[str] = set()
    names = [""] * len(places)
    # Ids first: no path takes the name that a script knows a cluster by.
    for i in sorted(range(len(places)), key=lambda i: i in labels):
        names[i] = _free(labels[i] if i in labels else _component(places[i][1] or ""), taken)
        taken.add(names[i])
    return names


def _free(label: str, taken: Collection[str]) -> str:
    """A label, with a number where it is taken."""
    name, n = label, 1
    while name in taken:
        n += 1
        name = f"{label}-{n}"
    return name


def _components(place: str) -> list[str]:
    """The parts of a path or URI, without what all metadata directories are called."""
    parts = [part for part in re.split(r"[/\\]", place) if part not in ("", ".")]
    if len(parts) > 1 and parts[-1] == METADATA_DIRECTORY:
        parts.pop()
    return parts


def _labels(paths: Sequence[Sequence[str]]) -> list[str]:
    """The shortest labels that tell paths apart; equal ones where nothing does."""
    deepest = max(map(len, paths), default=0)
    for depth in range(1, deepest + 1):
        found = [_component(path[-depth]) if len(path) >= depth else "" for path in paths]
        if _all_differ(found):
            return found
    found = []
    for depth in range(1, deepest + 1):
        found = [_component("-".join(path[-depth:])) for path in paths]
        if _all_differ(found):
            break
    return found or [_UNNAMED] * len(paths)


def _all_differ(labels: Sequence[str]) -> bool:
    return "" not in labels and len(set(labels)) == len(labels)


def _component(text: str) -> str:
    """A text as one component that can be typed as it is."""
    name = _NOT_IN_NAMES.sub("_", text)[-_NAME_CHARS_MAX:]
    return _UNNAMED if name in ("", ".", "..") else name
