"""Walks over a subtree: depth first by component, iterative, and in bulk where a grid allows.

`walk` is the one traversal of find and ``ls -R``. It yields a `Visit` for each node; for a
directory whose whole subtree is a `Grid` it yields one `GridVisit` instead of millions of nodes,
and the caller does with it what it would have done with each. `paths` is the plain listing of all
paths as large pieces of text.

Order and names are those of the directories themselves; a child that is listed but not there is
visited with no node. Nothing here filters by what a user asked, or knows of a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.fs.node import Directory, Grid, Node
from metashell.fs.path import join

CHUNK_PATHS = 8192
"""About how many paths go into one piece of text: some 350 KB."""

Failed = Callable[[str, MetashellError], None]
"""Told of a node that can't be looked at: its path as printed, and why. The walk then goes on."""

NameWriter = Callable[[str, Directory], str]
"""How a component is written into a path, given its name and its parent."""


def refuse(path: str, error: MetashellError) -> None:
    """End a walk at the first node that can't be looked at."""
    raise error


@dataclass(slots=True)
class Visit:
    """One node on a walk."""

    path: str
    """The start path as given, and the names below it."""
    name: str
    """The node's real name; that of the start is the last component of the path given."""
    node: Node | None
    """None where the parent lists a name that it can't give."""
    depth: int
    """0 at the start."""
    pruned: bool = False
    """Set by the caller before it asks for the next: do not go below."""

    @property
    def is_dir(self) -> bool:
        """Whether the node has children."""
        return isinstance(self.node, Directory)


@dataclass(frozen=True, slots=True)
class GridVisit:
    """Everything below a directory, which was visited just before."""

    base: str
    """The prefix of its children's paths: its own path and a slash."""
    directory: Directory
    grid: Grid
    depth: int
    """The directory's depth: its children are one deeper, their leaves two."""
    is_flat: bool = False
    """Whether the grid's one directory, without a name, is the one that was visited. `base` is then
    its path, and `depth` that of its parent."""

    def child(self, name: str) -> Node | None:
        """A directory of the grid."""
        return self.directory if self.is_flat else self.directory.child(name)


def walk(
    node: Node,
    path: str,
    *,
    max_depth: int | None = None,
    write_name: NameWriter | None = None,
    enters: Callable[[str], bool] | None = None,
    names_of: Callable[[Directory], Sequence[str]] | None = None,
    once: bool = False,
    failed: Failed = refuse,
) -> Iterator[Visit | GridVisit]:
    """Visit a node and all below it, parents before children, children in order.

    Args:
        node: Where to start.
        path: The start as it is to be printed.
        max_depth: How many levels to go down; None for all.
        write_name: How names are written into paths; None for as they are.
        enters: Asked, before a directory's children are looked at, with what stands before their
            names in their paths; None for always.
        names_of: Gives the children of a directory that are visited, in order; None for all.
        once: Whether what has two paths is visited by one of them, unless the start has the other.
        failed: Told of a directory whose children can't be told, and of a child that can't be
            made; the others are visited.
    """
    start = Visit(path, path.rstrip("/").rpartition("/")[2] or "/", node, 0)
    stack: list[tuple[Directory, str, Iterator[str], int]] = []

    def below(visit: Visit) -> GridVisit | None:
        directory, depth = visit.node, visit.depth
        if visit.pruned or not isinstance(directory, Directory):
            return None
        if once and depth and directory.has_other_paths:
            return None
        # Only the start, as the user typed it, may bring its own slash.
        base = f"{visit.path}/" if depth else join(visit.path, "")
        if (max_depth is not None and depth >= max_depth) or (enters and not enters(base)):
            return None
        try:
            grid = directory.grid()
            if grid is not None:
                return GridVisit(base, directory, grid, depth)
            grid = directory.leaf_grid()
            if grid is not None:
                return GridVisit(base[:-1], directory, grid, depth - 1, is_flat=True)
            names = names_of(directory) if names_of else directory.names()
            stack.append((directory, base, iter(names), depth + 1))
        except MetashellError as error:
            failed(visit.path, error)
        return None

    for visit in chain([start], _visits(stack, write_name, failed)):
        yield visit
        whole = below(visit)
        if whole:
            yield whole


def _visits(
    stack: list[tuple[Directory, str, Iterator[str], int]],
    write_name: NameWriter | None,
    failed: Failed,
) -> Iterator[Visit]:
    """The children of the directories of a stack, which grows with those that are entered."""
    while stack:
        directory, base, names, depth = stack[-1]
        name = next(names, None)
        if name is None:
            stack.pop()
            continue
        written = name if write_name is None else write_name(name, directory)
        visit = Visit(base + written, name, None, depth)
        try:
            visit.node = directory.child(name)
        except MetashellError as error:
            failed(visit.path, error)
            continue
        yield visit


def paths(
    node: Node,
    path: str,
    *,
    end: str = "\n",
    write_name: NameWriter | None = None,
    once: bool = False,
    failed: Failed = refuse,
) -> Iterator[str]:
    """Yield the paths of a node and all below it, each followed by `end`, as pieces of text.

    Cost: on a grid, one join a directory, whatever the number of its leaves.
    """
    lines: list[str] = []
    for visit in walk(node, path, write_name=write_name, once=once, failed=failed):
        if isinstance(visit, Visit):
            lines.append(visit.path)
            if len(lines) < CHUNK_PATHS:
                continue
        if lines:
            lines.append("")
            yield end.join(lines)
            lines = []
        if isinstance(visit, GridVisit):
            names, shapes = written_grid(visit, write_name)
            yield from grid_paths(
                visit.base,
                names,
                indices(visit.grid.shape_of),
                shapes,
                end=end,
                directories=not visit.is_flat,
            )
    if lines:
        lines.append("")
        yield end.join(lines)


def grid_paths(
    base: str,
    names: Sequence[str],
    shape_of: Sequence[int],
    shapes: Sequence[Sequence[str]],
    *,
    end: str = "\n",
    directories: bool = True,
    leaves: bool = True,
) -> Iterator[str]:
    """Yield the paths of a grid's directories and their leaves as pieces of text.

    Args:
        base: The text before each directory's name.
        names: Directories, as written.
        shape_of: Index into `shapes` for each.
        shapes: The leaves to print, as written.
        end: The text behind each path.
        directories: Whether the directories themselves are printed.
        leaves: Whether their leaves are.
    """
    if directories and not leaves:
        for start in range(0, len(names), CHUNK_PATHS):
            piece = names[start : start + CHUNK_PATHS]
            yield base + (end + base).join(piece) + end
        return
    lines: list[str] = []
    size = 0
    for name, shape in zip(names, shape_of, strict=True):
        tails = shapes[shape]
        path = base + name
        if tails:
            between = f"{end}{path}/"
            joined = between.join(tails)
            lines.append(f"{path}{between}{joined}" if directories else f"{path}/{joined}")
        elif directories:
            lines.append(path)
        size += len(tails) + 1
        if size >= CHUNK_PATHS and lines:
            lines.append("")
            yield end.join(lines)
            lines.clear()
            size = 0
    if lines:
        lines.append("")
        yield end.join(lines)


def written_grid(
    visit: GridVisit, write_name: NameWriter | None
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The directories and shapes of a grid as they are written into paths."""
    grid = visit.grid
    if write_name is None:
        return grid.names, grid.shapes
    names: Sequence[str] = grid.names
    if not visit.is_flat:
        names = [write_name(name, visit.directory) for name in names]
    samples: dict[int, str] = {}
    for name, shape in zip(grid.names, indices(grid.shape_of), strict=True):
        samples.setdefault(shape, name)
    shapes: list[Sequence[str]] = []
    for shape, leaves in enumerate(grid.shapes):
        # All directories of a shape have the same leaves, so any of them tells how to write one.
        holder = visit.child(samples[shape]) if shape in samples else None
        if isinstance(holder, Directory):
            shapes.append([write_name(leaf, holder) for leaf in leaves])
        else:
            shapes.append(leaves)
    return names, shapes


def indices(shape_of: Sequence[int]) -> Sequence[int]:
    """A grid's indices as plain ints: an array's own are slow to iterate over."""
    tolist: Callable[[], Sequence[int]] | None = getattr(shape_of, "tolist", None)
    return shape_of if tolist is None else tolist()
