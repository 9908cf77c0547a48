"""Times of nodes: which records made them and last changed them.

A time is a *row*, the number of a record in `metashell.records.records`: rows are what folds know
and what can be compared. `metashell.image.touched.Moments` tells the meaning of a row (offset,
time, epoch, type). In arrays -1 stands for "not known".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from metashell.dataclass import dataclass

if TYPE_CHECKING:
    from metashell.fs.node import Directory
    from metashell.schema.arena import I64


@dataclass(frozen=True, slots=True)
class Times:
    """Rows of two records about a node; None where nothing is known."""

    created: int | None = None
    """The one that made it; None also for what was never made, as ``/image``."""
    changed: int | None = None
    """The one that last changed it or, of a directory, anything below, removals included."""


@dataclass(frozen=True, slots=True)
class GridTimes:
    """Last changes of everything in a `Grid`, as rows.

    ``directories``: int64[n], of its directories; ``leaves``: int64, of their leaves, one directory
    after the other; ``bounds``: int64[n + 1], where each directory's leaves begin.
    """

    directories: I64
    leaves: I64
    bounds: I64


class Dated(Protocol):
    """A table whose rows know their records."""

    created: I64
    changed: I64


@dataclass(frozen=True, slots=True)
class TableTimes:
    """Times of a directory over the rows of a table."""

    newest: Callable[[], int]
    """Gives the newest record about the whole, -1 for none."""
    table: Callable[[], Dated] | None = None
    """Gives the table; None where leaves know their times themselves."""
    groups: Callable[[], I64] | None = None
    """Gives, for each row, the newest record about the group that it belongs to."""

    def of(self, row: int) -> Times | None:
        """Times of a row of the table."""
        if self.table is None or row < 0:
            return None
        table = self.table()
        return Times(int(table.created[row]), int(table.changed[row]))

    def whole(self) -> Times | None:
        """Times of the directory itself."""
        return changed_at(self.newest())


def changed_at(row: int | None) -> Times | None:
    """Times of what was never made and last changed at a row; -1 or None for never."""
    return None if row is None or row < 0 else Times(None, row)


def ask_children(directory: Directory, names: Sequence[str]) -> tuple[I64, I64]:
    """Ask each child for its times: (created: int64[n], changed: int64[n])."""
    import numpy as np

    created = np.full(len(names), -1, dtype=np.int64)
    changed = created.copy()
    for i, name in enumerate(names):
        child = directory.child(name)
        times = None if child is None else child.times()
        if times is not None:
            created[i] = -1 if times.created is None else times.created
            changed[i] = -1 if times.changed is None else times.changed
    return created, changed
