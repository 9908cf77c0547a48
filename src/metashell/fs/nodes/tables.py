"""Directories over the rows of a table: what the parts of the image have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from metashell.fs.node import Directory, Grid, JsonValue, Leaf, Node


class RowLeaf(Leaf):
    """A leaf whose value is computed from a row, and whose text from that value."""

    __slots__ = ("_read", "_write")

    def __init__(
        self,
        read: Callable[[], Mapping[str, JsonValue]],
        write: Callable[[Mapping[str, JsonValue]], str],
    ) -> None:
        self._read, self._write = read, write

    def text(self) -> str:
        return self._write(self._read())

    def value(self) -> JsonValue:
        return self._read()


class RowDirectory(Directory):
    """A directory with a child for each row, by a name that the row has.

    Args:
        rows: Gives the row of each name.
        make: Makes the child of a name and row.
    """

    def __init__(
        self, rows: Callable[[], Mapping[str, int]], make: Callable[[str, int], Node]
    ) -> None:
        self._load, self._make = rows, make

    @cached_property
    def _rows(self) -> Mapping[str, int]:
        return self._load()

    @cached_property
    def _names(self) -> Sequence[str]:
        return sorted(self._rows)

    def names(self) -> Sequence[str]:
        return self._names

    def child(self, name: str) -> Node | None:
        row = self._rows.get(name)
        return None if row is None else self._make(name, row)


class GroupDirectory(Directory):
    """A directory of directories of leaves: rows grouped by a name, told apart by another.

    Args:
        groups: Gives the rows of each group, by leaf name.
        make: Makes the leaf of a group's name, its own name and its row.
    """

    def __init__(
        self,
        groups: Callable[[], Mapping[str, Mapping[str, int]]],
        make: Callable[[str, str, int], Leaf],
    ) -> None:
        self._load, self._make = groups, make

    @cached_property
    def _groups(self) -> Mapping[str, Mapping[str, int]]:
        return self._load()

    @cached_property
    def _names(self) -> Sequence[str]:
        return sorted(self._groups)

    def names(self) -> Sequence[str]:
        return self._names

    def child(self, name: str) -> Node | None:
        rows = self._groups.get(name)
        if rows is None:
            return None
        return RowDirectory(lambda: rows, lambda leaf, row: self._make(name, leaf, row))

    @cached_property
    def _grid(self) -> Grid:
        shapes: dict[tuple[str, ...], int] = {}
        shape_of = [
            shapes.setdefault(tuple(sorted(self._groups[name])), len(shapes))
            for name in self._names
        ]
        return Grid(self._names, list(shapes), shape_of)

    def grid(self) -> Grid:
        return self._grid


def group_rows(groups: Sequence[str], leaves: Sequence[str]) -> dict[str, dict[str, int]]:
    """Rows by group name and leaf name; of two rows with the same names the later one counts."""
    out: dict[str, dict[str, int]] = {}
    for row, (group, leaf) in enumerate(zip(groups, leaves, strict=True)):
        out.setdefault(group, {})[leaf] = row
    return out
