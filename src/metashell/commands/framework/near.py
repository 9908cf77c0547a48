"""The option or path that a mistyped one was meant to be, or nothing where none is near."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from metashell.errors import MetashellError
from metashell.fs.node import Directory
from metashell.fs.path import (
    CLUSTERS,
    NodePlace,
    cluster_path,
    encode_name,
    find_child,
    is_absolute,
    resolve,
    split,
)
from metashell.spelling import near

_SMALL: Final = 20_000
"""Names of a directory that are all compared; of a larger one, those that sort beside the word."""
_BESIDE: Final = 500
_MOST_CLUSTERS: Final = 3
"""Clusters of a fleet that are opened to look for a path that names none."""
_IMAGE: Final = "image"


def near_option(flag: str, flags: Iterable[str]) -> str | None:
    """The long option that a flag was meant to be; single letters are like any other."""
    if not flag.startswith("-") or len(flag.lstrip("-")) < 2:
        return None
    names = {known.lstrip("-"): known for known in flags if len(known.lstrip("-")) > 1}
    found = flag.lstrip("-") if flag.lstrip("-") in names else near(flag.lstrip("-"), names)
    return None if found is None else names[found]


def near_path(root: Directory, typed: str, cwd: str) -> str | None:
    """The path that one was meant to be, as it can be typed; None where nothing is near.

    Cost: may decode the names of the directory where the path ends.
    """
    try:
        place = NodePlace(root) if is_absolute(typed) else resolve(root, cwd)
        found = _corrected(place, typed.split("/"))
    except MetashellError:
        return None
    if found is None and is_absolute(typed):
        return _below(_bases(root, cwd), root, typed)
    return None if found is None else "/".join(found)


def _corrected(place: NodePlace, parts: Sequence[str]) -> list[str] | None:
    """The components with the slip of each taken back; None where one is like no name."""
    found: list[str] = []
    for part in parts:
        node = place.node
        if not isinstance(node, Directory):
            return None if part else found
        if part in ("", "."):
            found.append(part)
            continue
        if part == "..":
            place = place.parent or place
            found.append(part)
            continue
        child = find_child(node, part)
        if child is None:
            name = near(part, _candidates(node, part))
            found_there = None if name is None else node.child(name)
            if name is None or found_there is None:
                return None
            child = (name, found_there)
        place = NodePlace(child[1], child[0], place)
        found.append(encode_name(child[0], node))
    return found


def _bases(root: Directory, cwd: str) -> Iterator[str]:
    """Where a path may have been meant to begin: in a cluster of a fleet, first the current one.

    Each is a cluster's root, then its ``/image``, where all of a cluster's state is.
    """
    clusters = root.child(CLUSTERS)
    if not isinstance(clusters, Directory):
        yield f"/{_IMAGE}"
        return
    for name in split(cwd)[1:2] or clusters.names()[:_MOST_CLUSTERS]:
        yield cluster_path(name)
        yield f"{cluster_path(name)}/{_IMAGE}"


def _below(bases: Iterable[str], root: Directory, typed: str) -> str | None:
    """The typed path below the first base that has it; None where none does."""
    for base in bases:
        try:
            resolve(root, base + typed)
        except MetashellError:
            continue
        return base + typed
    return None


def _candidates(directory: Directory, part: str) -> Sequence[str]:
    """Names that are compared; none for a number, which is like any other."""
    if part.isdigit():
        return ()
    names = directory.names()
    if len(names) <= _SMALL:
        return names
    at = bisect_left(names, part)
    return names[max(at - _BESIDE, 0) : at + _BESIDE]
