"""The directory tree of an archive's members, which are held in memory.

Owns the rules for names of members. Stands for pyarrow's file system in `RemotePlace`. Must never
read an archive: `metashell.places.unpacking` does.
"""

from __future__ import annotations

from typing import Final, TypeAlias, Union

from metashell.dataclass import dataclass
from metashell.errors import SourceError
from metashell.places.store_entry import StoreEntry

Node: TypeAlias = Union["dict[str, Node]", memoryview, str]
"""A directory, the bytes of a file, or the reason why a member can't be read."""

_NODES_MAX: Final = 1_000_000
_DEPTH_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class OpenMember:
    """A file of an archive, as pyarrow opens files."""

    content: memoryview

    def size(self) -> int:
        """Bytes of it."""
        return len(self.content)

    def read_at(self, size: int, pos: int) -> memoryview:
        """Bytes at a position, fewer only where the file ends."""
        return self.content[pos : pos + size]

    def close(self) -> None:
        """Nothing: the bytes belong to the tree."""


class ArchiveTree:
    """The members of an archive by their names.

    Args:
        name: The name of the archive in messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._root: dict[str, Node] = {}
        self._n_nodes = 0

    def error(self, member: str, reason: str) -> SourceError:
        """The error about a member."""
        return SourceError(f"{self.name}: {member}: {reason}")

    def add(self, member: str, content: memoryview | str | None) -> None:
        """Add a member; it replaces a file of the same name.

        Args:
            member: Its name.
            content: Its bytes, or the reason why it can't be read; None for a directory.

        Raises:
            SourceError: The name is outside of the archive, or there are too many.
        """
        parts = self._parts(member)
        directory = self._directory(member, parts if content is None else parts[:-1])
        if content is None or not parts:
            return
        if not isinstance(directory.get(parts[-1]), dict):
            self._put(directory, parts[-1], content)
        elif not isinstance(content, str):
            raise self.error(member, "is both a file and a directory")

    def _parts(self, member: str) -> list[str]:
        parts = [part for part in member.split("/") if part not in ("", ".")]
        if member.startswith("/") or ".." in parts:
            raise self.error(member, "names a place outside of the archive")
        if len(parts) > _DEPTH_MAX:
            raise self.error(f"{member[:99]}...", f"is more than {_DEPTH_MAX} directories deep")
        return parts

    def _directory(self, member: str, parts: list[str]) -> dict[str, Node]:
        """The directory at a path, made where it is not there."""
        directory = self._root
        for part in parts:
            node = directory.get(part)
            if node is None or isinstance(node, str):
                node = self._put(directory, part, {})
            if not isinstance(node, dict):
                raise self.error(member, f"{part} is both a file and a directory")
            directory = node
        return directory

    def _put(self, directory: dict[str, Node], name: str, node: Node) -> Node:
        self._n_nodes += 1
        if self._n_nodes > _NODES_MAX:
            raise SourceError(
                f"{self.name}: more than {_NODES_MAX:,} files",
                hint="unpack it, and open the directory with -d",
            )
        directory[name] = node
        return node

    def at(self, path: str) -> Node | None:
        """The node at a path without slashes around it; None where there is none."""
        node: Node | None = self._root
        for part in path.split("/") if path else ():
            node = node.get(part) if isinstance(node, dict) else None
        return node

    # A store answers these questions of `RemotePlace`.

    def kind(self, path: str) -> str:
        """The kind of a node, as pyarrow calls it."""
        node = self.at(path)
        return "NotFound" if node is None else "Directory" if isinstance(node, dict) else "File"

    def entries(self, path: str) -> list[StoreEntry]:
        """The names in a directory.

        Raises:
            FileNotFoundError: It is not there.
            NotADirectoryError: It is a file.
            SourceError: It is a member that can't be read.
        """
        node = self._readable(path)
        if not isinstance(node, dict):
            raise NotADirectoryError(path)
        return [
            StoreEntry(name, isinstance(inner, dict), len(inner), None)
            for name, inner in node.items()
        ]

    def open_input_file(self, path: str) -> OpenMember:
        """Open a file; errors as `entries`."""
        node = self._readable(path)
        if isinstance(node, dict):
            raise FileNotFoundError(path)
        return OpenMember(node)

    def _readable(self, path: str) -> dict[str, Node] | memoryview:
        node = self.at(path)
        if node is None:
            raise FileNotFoundError(path)
        if isinstance(node, str):
            raise self.error(path, node)
        return node
