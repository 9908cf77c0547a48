"""Paths of the virtual file system: split, look up, and write so that they can be read back.

A path is split at ``/``; ``.``, ``..`` and repeated slashes mean what they mean everywhere. Names
come from a cluster and can hold anything, a slash included, so each component is looked up as typed
first and, where there is no such name, with its ``%XX`` decoded (UTF-8, two hex digits): ``a%2Fb``
is the name ``a/b``, ``%2E%2E`` the name ``..`` and ``%00`` alone the empty name.

Nothing here expands globs or writes output. Lookups are iterative: a path's depth is bounded by
nothing but its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from metashell.dataclass import dataclass
from metashell.errors import NoSuchPathError, NotADirectoryPathError
from metashell.fs.escape import UNSAFE
from metashell.fs.node import Directory, Node

_ENCODED = re.compile("%([0-9A-Fa-f]{2})")
_EMPTY_NAME = "%00"
_DOTS = (".", "..")
_UNREACHABLE = re.compile(f"[/{UNSAFE}]")
_SPECIAL = re.compile(f"[/{UNSAFE}\\s'\"\\\\*?\\[\\]{{}}|;&>]")


CLUSTERS: Final = "clusters"
"""The directory of a fleet's root that holds its clusters."""


def cluster_path(name: str) -> str:
    """The path of one of a fleet's clusters, whose names need no encoding."""
    return f"/{CLUSTERS}/{name}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NodePlace:
    """A node and how it is reached from the root."""

    node: Node
    name: str = ""
    """The node's real name in its parent; empty for the root."""
    parent: NodePlace | None = None

    def names(self) -> tuple[str, ...]:
        """Real names of the components from the root to this node."""
        return tuple(place.name for place in self._chain())

    def encoded(self) -> str:
        """An absolute path that leads here again, with as little encoded as can be."""
        parts = []
        for place in self._chain():
            parent = place.parent.node if place.parent else None
            parts.append(encode_name(place.name, parent if isinstance(parent, Directory) else None))
        return "/" + "/".join(parts)

    def _chain(self) -> list[NodePlace]:
        chain: list[NodePlace] = []
        place = self
        while place.parent is not None:
            chain.append(place)
            place = place.parent
        return chain[::-1]


def split(path: str) -> list[str]:
    """Split a path into its components, without the empty ones and ``.``."""
    return [part for part in path.split("/") if part not in ("", ".")]


def is_absolute(path: str) -> bool:
    """Whether the path starts at the root."""
    return path.startswith("/")


def join(path: str, name: str) -> str:
    """Append a name to a path as it is printed: no second slash after one."""
    return path + name if path.endswith("/") else f"{path}/{name}"


def normalise(path: str, cwd: str = "/") -> str:
    """Make a path absolute and free of ``.``, ``..`` and repeated slashes, looking nothing up."""
    parts: list[str] = []
    for part in split(path) if is_absolute(path) else split(cwd) + split(path):
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
    return "/" + "/".join(parts)


def resolve(root: Directory, path: str, cwd: str = "/") -> NodePlace:
    """Look up what a path, relative to `cwd`, names.

    Raises:
        NoSuchPathError: Nothing is there; names the path as typed.
        NotADirectoryPathError: A leaf stands where the path goes on, or ends with a slash.
    """
    if not path:
        raise NoSuchPathError("''")
    place = NodePlace(root)
    if not is_absolute(path):
        place = _walk_down(place, split(cwd), path)
    return _walk_down(place, path.split("/"), path)


def find_child(directory: Directory, typed: str) -> tuple[str, Node] | None:
    """Look up one component: the name as typed, else as decoded.

    Returns:
        The child's real name and the child, or None.
    """
    child = directory.child(typed)
    if child is not None:
        return typed, child
    if "%" not in typed:
        return None
    for name in _decoded(typed):
        child = directory.child(name)
        if child is not None:
            return name, child
    return None


def step(place: NodePlace, typed: str, path: str) -> NodePlace:
    """Go from a place to what one typed component names; `path` is for the error.

    Raises:
        NoSuchPathError: There is no such child.
        NotADirectoryPathError: `place` is a leaf.
    """
    node = place.node
    if not isinstance(node, Directory):
        raise NotADirectoryPathError(path)
    if typed in ("", "."):
        return place
    if typed == "..":
        return place.parent or place
    found = find_child(node, typed)
    if found is None:
        raise node.missing(path)
    return NodePlace(found[1], found[0], place)


def _walk_down(place: NodePlace, parts: Iterable[str], path: str) -> NodePlace:
    for part in parts:
        place = step(place, part, path)
    return place


def decode_name(typed: str) -> str:
    """Decode the ``%XX`` of a component; what is not UTF-8 stays as typed."""
    return _decoded(typed)[0]


def _decoded(typed: str) -> Sequence[str]:
    if typed == _EMPTY_NAME:
        return ("", "\0")
    pieces = _ENCODED.split(typed)
    if len(pieces) == 1:
        return (typed,)
    data = bytearray()
    try:
        for i, piece in enumerate(pieces):
            data += bytes([int(piece, 16)]) if i % 2 else piece.encode(errors="surrogatepass")
        return (data.decode(errors="surrogatepass"),)
    except UnicodeError:
        return (typed,)


def needs_encoding(name: str, *, quoting: bool = False) -> bool:
    """Whether a name, typed as it is, would not be read back.

    Args:
        name: A real name.
        quoting: Also count what a command line would split, unquote or glob.
    """
    if name == "" or name in _DOTS:
        return True
    return (_SPECIAL if quoting else _UNREACHABLE).search(name) is not None


def encode_name(name: str, parent: Directory | None = None, *, quoting: bool = False) -> str:
    """Write a real name as a component that is looked up as this name.

    Args:
        name: A real name.
        parent: The directory that holds it: a sibling whose name looks like the encoded one is
            then evaded by encoding more.
        quoting: Also encode what a command line would split, unquote or glob, so that the result
            can stand in a script or go through xargs without quotes.
    """
    if not needs_encoding(name, quoting=quoting):
        return name
    if name == "":
        return _EMPTY_NAME
    special = _SPECIAL if quoting else _UNREACHABLE
    encoded = [
        _percent(character)
        if name in _DOTS or character == "%" or special.match(character)
        else character
        for character in name
    ]
    for i, character in enumerate(name):
        if parent is None or parent.child("".join(encoded)) is None:
            break
        encoded[i] = _percent(character)
    return "".join(encoded)


def encode_path(names: Iterable[str], *, quoting: bool = False) -> str:
    """Write an absolute path of real names so that it can be typed."""
    return "/" + "/".join(encode_name(name, quoting=quoting) for name in names)


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode(errors="surrogatepass"))
