"""Directories over the rows of a table: what the parts of the image have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from metashell.fs.node import Directory, Grid, JsonValue, Leaf, Node
from metashell.fs.texts import GridCodes, Judge
from metashell.fs.touch_times import GridTimes, TableTimes, Times

if TYPE_CHECKING:
    from metashell.schema.arena import I64

Codes = Callable[[Judge], "I64"]
"""Gives what a judge says of each row of a table."""


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
        make: Makes the leaf of a name and row.
        times: Tells when the directory and its leaves were changed; None where nothing does.
        codes: Gives what a judge says of its leaves; None where that is nothing.
        sums_up: Whether the directory passes each test that one of its leaves does.
    """

    def __init__(
        self,
        rows: Callable[[], Mapping[str, int]],
        make: Callable[[str, int], Leaf],
        times: TableTimes | None = None,
        codes: Codes | None = None,
        *,
        sums_up: bool = False,
    ) -> None:
        self._load, self._make, self._table = rows, make, times
        self._codes, self._sums_up = codes, sums_up

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
        if table is not None and table.table is not None and row >= 0:
            child.timed(lambda: table.of(row))
        codes = self._codes
        if codes is not None and row >= 0:
            child.about(lambda judge: int(codes(judge)[row]))
        return child

    def times(self) -> Times | None:
        return None if self._table is None else self._table.whole()

    @property
    def has_plain_leaves(self) -> bool:
        return self._codes is None

    def judged(self, judge: Judge) -> int:
        if self._codes is None or not self._sums_up:
            return 0
        code = 0
        of_row = self._codes(judge)
        for row in self._rows.values():
            code |= int(of_row[row])
        return code


class GroupDirectory(Directory):
    """A directory of directories of leaves: rows grouped by a name, told apart by another.

    Args:
        groups: Gives the rows of each group, by leaf name.
        make: Makes the leaf of a group's name, its own name and its row.
        times: Tells when the directory, the groups and the leaves were changed.
        codes: Gives what a judge says of the leaves, and so of the groups; None for nothing.
    """

    def __init__(
        self,
        groups: Callable[[], Mapping[str, Mapping[str, int]]],
        make: Callable[[str, str, int], Leaf],
        times: TableTimes | None = None,
        codes: Codes | None = None,
    ) -> None:
        self._load, self._make = groups, make
        self.table, self.codes = times, codes

    @cached_property
    def groups(self) -> Mapping[str, Mapping[str, int]]:
        """Rows by leaf name, by the name of their group."""
        return self._load()

    @cached_property
    def _names(self) -> Sequence[str]:
        return sorted(self.groups)

    def names(self) -> Sequence[str]:
        return self._names

    def child(self, name: str) -> Node | None:
        rows = self.groups.get(name)
        if rows is None:
            return None
        table = self.table
        of_group = table and TableTimes(lambda: self.newest(rows), table.table)
        return RowDirectory(
            lambda: rows,
            lambda leaf, row: self._make(name, leaf, row),
            of_group,
            self.codes,
            sums_up=True,
        )

    def times(self) -> Times | None:
        return None if self.table is None else self.table.whole()

    def newest(self, rows: Mapping[str, int]) -> int:
        """The newest record about a group of rows."""
        assert self.table is not None
        assert self.table.groups is not None
        of_row = self.table.groups()
        # Resources whose names look alike share a directory.
        return max((int(of_row[row]) for row in rows.values()), default=-1)

    @cached_property
    def _grid(self) -> Grid:
        shapes: dict[tuple[str, ...], int] = {}
        shape_of = [
            shapes.setdefault(_sorted_names(self.groups[name]), len(shapes)) for name in self._names
        ]
        return _RowGrid(self, shapes=list(shapes), shape_of=shape_of)

    def grid(self) -> Grid:
        return self._grid


def _sorted_names(rows: Mapping[str, int]) -> tuple[str, ...]:
    """The names of a group, sorted; most groups have one."""
    return tuple(rows) if len(rows) == 1 else tuple(sorted(rows))


class _RowGrid(Grid):
    """A grid whose leaves are rows of a table."""

    def __init__(
        self, directory: GroupDirectory, shapes: Sequence[tuple[str, ...]], shape_of: Sequence[int]
    ) -> None:
        super().__init__(directory, directory.names(), shapes, shape_of)
        self._rows_of = directory

    def times(self) -> GridTimes:
        table = self._rows_of.table
        if table is None or table.table is None:
            return super().times()
        import numpy as np

        leaves = table.table().changed[self._order]
        newest = [self._rows_of.newest(group) for group in self._groups]
        return GridTimes(np.array(newest, dtype=np.int64), leaves, self.bounds)

    def judged(self, judge: Judge) -> GridCodes:
        import numpy as np

        codes = self._rows_of.codes
        if codes is None:
            groups, leaves = (
                np.zeros(n, dtype=np.int64) for n in (len(self.names), int(self.bounds[-1]))
            )
            return GridCodes(groups, leaves, self.bounds)
        leaves, bounds = codes(judge)[self._order], self.bounds
        # No group is empty.
        starts = bounds[:-1]
        groups = np.bitwise_or.reduceat(leaves, starts) if len(starts) else starts.copy()
        return GridCodes(groups, leaves, bounds)

    @cached_property
    def _groups(self) -> Sequence[Mapping[str, int]]:
        return [self._rows_of.groups[name] for name in self.names]

    @cached_property
    def _order(self) -> I64:
        """The rows of all leaves as they stand in the grid: int64."""
        import numpy as np

        order = [rows[leaf] for rows in self._groups for leaf in _sorted_names(rows)]
        return np.array(order, dtype=np.int64)
