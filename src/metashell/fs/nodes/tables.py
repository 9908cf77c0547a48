"""Directories over the rows of a table: what the parts of the image have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from metashell.fs.node import Directory, Grid, JsonValue, Leaf, Node
from metashell.fs.times import GridTimes, TableTimes, Times, ask_grid


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
        times: Tells when the directory and its leaves were changed; None where nothing does.
    """

    def __init__(
        self,
        rows: Callable[[], Mapping[str, int]],
        make: Callable[[str, int], Node],
        times: TableTimes | None = None,
    ) -> None:
        self._load, self._make, self._table = rows, make, times

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
        if row is None:
            return None
        child, table = self._make(name, row), self._table
        if table is not None and table.table is not None and row >= 0 and isinstance(child, Leaf):
            child.timed(lambda: table.of(row))
        return child

    def times(self) -> Times | None:
        return None if self._table is None else self._table.whole()


class GroupDirectory(Directory):
    """A directory of directories of leaves: rows grouped by a name, told apart by another.

    Args:
        groups: Gives the rows of each group, by leaf name.
        make: Makes the leaf of a group's name, its own name and its row.
        times: Tells when the directory, the groups and the leaves were changed.
    """

    def __init__(
        self,
        groups: Callable[[], Mapping[str, Mapping[str, int]]],
        make: Callable[[str, str, int], Leaf],
        times: TableTimes | None = None,
    ) -> None:
        self._load, self._make, self._table = groups, make, times

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
        table = self._table
        of_group = table and TableTimes(lambda: self._newest(rows), table.table)
        return RowDirectory(lambda: rows, lambda leaf, row: self._make(name, leaf, row), of_group)

    def times(self) -> Times | None:
        return None if self._table is None else self._table.whole()

    def _newest(self, rows: Mapping[str, int]) -> int:
        assert self._table is not None
        assert self._table.groups is not None
        of_row = self._table.groups()
        # Resources whose names look alike share a directory.
        return max((int(of_row[row]) for row in rows.values()), default=-1)

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

    def grid_times(self) -> GridTimes:
        if self._table is None or self._table.table is None:
            return ask_grid(self)
        import numpy as np

        groups = [self._groups[name] for name in self._names]
        bounds = np.zeros(len(groups) + 1, dtype=np.int64)
        np.cumsum([len(rows) for rows in groups], out=bounds[1:])
        order = [rows[leaf] for rows in groups for leaf in sorted(rows)]
        leaves = self._table.table().changed[np.array(order, dtype=np.int64)]
        newest = [self._newest(rows) for rows in groups]
        return GridTimes(np.array(newest, dtype=np.int64), leaves, bounds)


def group_rows(groups: Sequence[str], leaves: Sequence[str]) -> dict[str, dict[str, int]]:
    """Rows by group name and leaf name; of two rows with the same names the later one counts."""
    out: dict[str, dict[str, int]] = {}
    for row, (group, leaf) in enumerate(zip(groups, leaves, strict=True)):
        out.setdefault(group, {})[leaf] = row
    return out
