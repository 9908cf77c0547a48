"""Remembers bookmarks, columns and sorting from one run of the explorer to the next.

They are in one JSON file in the user's state directory, readable by its owner alone. It holds
paths, offsets, cluster ids and names of columns: no values, addresses or credentials. If the file
can't be read or written, only the bookmarks and settings are lost. The explorer goes on.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from metashell.dataclass import dataclass
from metashell.places.user import replace_file, user_directory

if TYPE_CHECKING:
    from metashell.tui.view_state import CommandResult, ViewState


FLEET: Final = "/clusters"
"""Stands for the cluster id of several directories, whose paths name clusters."""
_MOST_BYTES: Final = 1 << 20
_MOST: Final = 200
"""Bookmarks of a cluster, and kinds of tables, that are kept: the newest."""


def default_path() -> Path:
    """The file's place on this platform."""
    return Path(user_directory("state")) / "explorer.json"


def bookmarked_cluster(view_state: ViewState) -> str:
    """The owner of a view state's bookmarks; empty if unknown. Cost: may read a file."""
    from metashell.sources.fleet.rows import cluster_id_of

    if view_state.fleet is not None:
        return FLEET
    return "" if view_state.cluster is None else cluster_id_of(view_state.cluster) or ""


class Remembered:
    """The file's contents.

    Args:
        path: The file, made when there is something to keep; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.problem: str | None = None
        """Why nothing is kept, or None."""
        self._tables: dict[frozenset[str], dict[str, Any]] = {}
        """The tables as the file has them, by all columns, which tell the kind of table."""
        self._bookmarks: dict[str, list[VisitedNode]] = {}
        if path is not None:
            # Everything behind a part of another form is dropped.
            with suppress(AttributeError, KeyError, TypeError):
                self._take(_read(path))

    def columns(self, names: Iterable[str]) -> tuple[str, ...] | None:
        """The columns that the user chose of a table with these; None where they did not."""
        return tuple(self._tables.get(frozenset(names), {}).get("shown", ())) or None

    def choose_columns(self, names: Iterable[str], chosen: Iterable[str]) -> None:
        """Remember the columns chosen of a table with these."""
        self._put(names, shown=list(chosen))

    def sort(self, names: Iterable[str]) -> tuple[str, bool] | None:
        """(column, whether descending) that the user sorted a table with these columns by."""
        found = self._tables.get(frozenset(names), {})
        return (found["sort"], found["descending"]) if found.get("sort") else None

    def choose_sort(self, names: Iterable[str], sort: tuple[str, bool] | None) -> None:
        """Remember how a table with these columns was sorted; None for the order given."""
        column, is_descending = sort or (None, False)
        self._put(names, sort=column, descending=is_descending)

    def _put(self, names: Iterable[str], **values: Any) -> None:
        """Keep something of a kind of table, which is the newest one then."""
        kind = frozenset(names)
        self._tables[kind] = {"of": sorted(kind), **self._tables.pop(kind, {}), **values}
        while len(self._tables) > _MOST:
            self._tables.pop(next(iter(self._tables)))
        self._write()

    def bookmarks(self, cluster_id: str) -> list[VisitedNode]:
        """The bookmarks of a cluster, in the order in which they were made."""
        return list(self._bookmarks.get(cluster_id, ()))

    def keep_bookmarks(self, cluster_id: str, places: Iterable[VisitedNode]) -> None:
        """Remember the bookmarks of a cluster."""
        self._bookmarks[cluster_id] = list(places)[-_MOST:]
        self._write()

    def _take(self, found: Any) -> None:
        """Take over what has the right form."""
        for table in found["tables"][-_MOST:]:
            names, column = frozenset(map(str, table["of"])), table.get("sort")
            self._tables[names] = {
                "of": sorted(names),
                "shown": [name for name in table["shown"] if name in names],
                "sort": column if column in names else None,
                "descending": table.get("descending") is True,
            }
        for name, places in found["bookmarks"].items():
            kept = ((place["path"], place["offset"]) for place in places[-_MOST:])
            self._bookmarks[name] = [VisitedNode(*place) for place in kept if _is_place(*place)]

    def _write(self) -> None:
        if self._path is None:
            return
        tables = list(self._tables.values())
        bookmarks = {
            name: [{"path": place.path, "offset": place.offset} for place in places]
            for name, places in self._bookmarks.items()
            if places
        }
        try:
            _replace(self._path, json.dumps({"tables": tables, "bookmarks": bookmarks}, indent=1))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self.problem = f"bookmarks, columns and sorting are not kept: {self._path}: {reason}"
            self._path = None


def _is_place(path: Any, offset: Any) -> bool:
    is_offset = offset is None or (type(offset) is int and offset >= 0)
    return is_offset and isinstance(path, str) and path.startswith("/")


def _read(path: Path) -> Any:
    """The file's JSON value; None if it is no readable JSON file."""
    try:
        # A named pipe in its place can't hang the program.
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        return json.loads(data) if len(data) <= _MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None


def _replace(path: Path, text: str) -> None:
    """Write the file anew, and make its directory."""
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    replace_file(path, text.encode("utf-8", "surrogatepass"))


_MOST_PLACES: Final = 200


@dataclass(frozen=True, slots=True)
class VisitedNode:
    """A node at an offset."""

    path: str
    offset: int | None = None
    """The last offset shown; None for the end of the log."""

    def __str__(self) -> str:
        return self.path if self.offset is None else f"{self.path} at offset {self.offset}"


@dataclass(frozen=True, slots=True)
class VisitedView:
    """A node, and where it was looked at."""

    node: VisitedNode
    view: str
    """Id of the view."""
    result: CommandResult | None = None
    """The command's result that it showed."""
    was_left_for_a_time: bool = False
    """Whether it was left for a node at another time: going back goes to its own time."""

    def differs(self, here: VisitedView) -> bool:
        """Whether going there from another place shows anything else."""
        is_there = (self.node.path, self.view, self.result) == (
            here.node.path,
            here.view,
            here.result,
        )
        return not is_there or (self.was_left_for_a_time and self.node != here.node)


class Places:
    """The places before and behind the current one, and the bookmarks."""

    def __init__(self) -> None:
        self._before: list[VisitedView] = []
        self._behind: list[VisitedView] = []
        self.bookmarks: list[VisitedNode] = []
        """The bookmarks in the order in which they were made."""

    def visit(self, left: VisitedView) -> None:
        """Note the place that is left for a new one."""
        if not self._before or self._before[-1] != left:
            self._before.append(left)
            del self._before[:-_MOST_PLACES]
        self._behind.clear()

    def back(self, here: VisitedView) -> VisitedView | None:
        """The place before; None where there is none."""
        return _step(here, self._before, self._behind)

    def forward(self, here: VisitedView) -> VisitedView | None:
        """The place that `back` left; None where there is none."""
        return _step(here, self._behind, self._before)

    def stay_in_time(self) -> None:
        """Have ways back keep the time that is shown: the user has chosen it."""
        self._before = [replace(place, was_left_for_a_time=False) for place in self._before]
        self._behind = [replace(place, was_left_for_a_time=False) for place in self._behind]

    def can_go_back(self, here: VisitedView) -> bool:
        """Whether there is a place before."""
        return any(place.differs(here) for place in self._before)

    def recent(self, most: int = 20) -> list[VisitedNode]:
        """The places that were left last, each once, the newest first."""
        left = [*reversed(self._before), *self._behind]
        return list(dict.fromkeys(place.node for place in left))[:most]

    def toggle_bookmark(self, place: VisitedNode) -> bool:
        """Keep a place, or forget it where it is kept; returns whether it is kept now."""
        if place in self.bookmarks:
            self.bookmarks.remove(place)
            return False
        self.bookmarks.append(place)
        return True


def _step(
    here: VisitedView, source: list[VisitedView], target: list[VisitedView]
) -> VisitedView | None:
    while source:
        place = source.pop()
        if place.differs(here):
            target.append(replace(here, was_left_for_a_time=place.was_left_for_a_time))
            return place
    return None
