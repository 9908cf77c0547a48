"""The search of ``find``.

Nodes are visited one by one but for grids: there the expression is decided once for each distinct
list of leaf names, names of directories are picked by bisection where the pattern allows, tests
that nodes answer are answered for all at once, and only what is left to be asked of whole paths is
asked one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from metashell.commands.find.actions import Doing
from metashell.commands.find.codes import Codes, SearchedGrid
from metashell.commands.find.contents import ContentTests
from metashell.commands.find.expression import FALSE, Act, Constant, Expression, Query
from metashell.commands.find.grid import (
    COUNTS,
    NOTHING,
    PRINTS,
    Leaves,
    WrittenGrid,
    codes_left,
    decide,
    first_name,
    only_count,
    only_print,
)
from metashell.commands.find.printf import FoundNode
from metashell.commands.find.times import GridChanges, TimeTests, last_change
from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import shown, stop_if_cancelled
from metashell.commands.rows.query import RowMapping
from metashell.commands.shared.node_times import NodeTimeline, Timed, has_own_times
from metashell.errors import NotCoveredError
from metashell.fs.glob import Match
from metashell.fs.node import Directory, Node
from metashell.fs.nodes.root import RootDirectory
from metashell.fs.path import cluster_path, encode_name
from metashell.fs.pattern import prefix_span
from metashell.fs.walk import (
    CHUNK_PATHS,
    Failed,
    GridVisit,
    NameWriter,
    Visit,
    grid_paths,
    indices,
    paths,
    walk,
    written_grid,
)

if TYPE_CHECKING:
    from metashell.image.touched import Moments


class Search:
    """One run of a query.

    Args:
        context: Where it is run.
        query: The query.
        failed: Told of a node that can't be looked at.
        add: Takes rows, where these are asked for.
    """

    visits_each = False
    """Whether each node is visited also where all are printed."""

    def __init__(
        self,
        context: Context,
        query: Query,
        failed: Failed,
        add: Callable[[Sequence[RowMapping]], None] | None = None,
    ) -> None:
        self._context = context
        self._failed = failed
        self._query = query
        self._doing = Doing(context, query, add)
        self._prefix = query.path_prefix
        self._needle = query.needle
        self._leaf = query.expression.given(is_dir=False)
        self._directory = query.expression.given(is_dir=True)
        self._plain_leaf = query.expression.given(is_dir=False, code=0)
        self._first_names = (first_name(self._leaf), first_name(self._directory))
        self._write_name: NameWriter | None = write_encoded if query.encode else None
        if (query.execs or add is not None) and not query.encode:
            # A path in a command's arguments or in a row must lead to the node.
            self._write_name = encode_name
        self._timeline = NodeTimeline(context) if query.needs_times else None
        self._timed: list[tuple[int, Timed]] = []
        """The moments of rows where the walk is and above; each holds from a depth on."""
        self._taken: Timed | None = None
        self._contents = ContentTests(context, query.content_tests) if query.content_tests else None
        self._codes = None if self._contents is None else Codes(None, self._contents)
        if self._contents is not None and context.source is not None:
            self._contents.expect_lists(context.source)
        self._since = query.since
        self._start = ""

    @property
    def quit(self) -> bool:
        """Whether it ends here."""
        return self._doing.quits

    def flush(self) -> None:
        """Send what was collected."""
        self._doing.flush()

    def finish(self) -> bool:
        """Do what is left for the end; returns whether no command that took many paths failed."""
        return self._doing.finish()

    def below(self, match: Match) -> None:
        """Search a start and all below it."""
        query = self._query
        start, self._start = match.place.node, match.path
        if self._timeline is not None:
            # The timed tree is the same as this one, but remembers times.
            timed = self._timeline.of(match.place)
            start = timed.node
            self._timed = [(-1, timed)]
            self._take_times(timed)
        every = query.expression
        if (
            isinstance(every, Act)
            and every.effect in PRINTS
            and query.max_depth is None
            and not query.min_depth
            and not self._context.out.is_terminal
            and not self.visits_each
        ):
            self._doing.write(
                paths(
                    start,
                    match.path,
                    end=str(every.effect.value),
                    write_name=self._write_name,
                    once=query.once,
                    failed=self._failed,
                )
            )
            return
        visits = walk(
            start,
            match.path,
            max_depth=query.max_depth,
            write_name=self._write_name,
            enters=self._can_match_below if self._prefix else None,
            names_of=self._names if self._since else None,
            once=query.once,
            failed=self._failed,
        )
        for visit in visits:
            if isinstance(visit, GridVisit):
                self._grid(visit)
            else:
                self._visit(visit)
                visit.pruned |= self._skips(visit.node)
            if self.quit:
                return

    def _skips(self, node: Node | None) -> bool:
        """Whether nothing can happen for anything in a directory, whatever its names are."""
        return (
            self._timeline is None
            and self._contents is not None
            and isinstance(node, Directory)
            and node.has_plain_leaves
            and isinstance(self._plain_leaf, Constant)
        )

    @property
    def _moments(self) -> Moments | None:
        return self._timed[-1][1].moments if self._timed else None

    def _enter(self, visit: Visit) -> None:
        """Take what rows mean in a node, and in what it does not lie in no more."""
        assert self._timeline is not None
        while visit.depth <= self._timed[-1][0]:
            self._timed.pop()
        timed = self._timeline.entered(visit.node, self._timed[-1][1])
        if timed is not None:
            self._timed.append((visit.depth, timed))
        self._take_times(self._timed[-1][1])

    def _take_times(self, timed: Timed) -> None:
        """Test with what rows mean from here on."""
        if self._taken is not None and self._taken.moments is timed.moments:
            return
        self._taken = timed
        if self._query.time_tests:
            member = timed.member
            source = self._context.source if member is None else member.source()
            try:
                times = TimeTests(self._context, self._query.time_tests, timed.moments, source)
            except NotCoveredError as error:
                if member is None:
                    raise
                # Other clusters may reach further.
                self._failed(cluster_path(member.name), error)
                times = TimeTests(self._context, (), timed.moments, source)
            self._codes = Codes(times, self._contents)

    def _can_match_below(self, base: str) -> bool:
        return base.startswith(self._prefix) or self._prefix.startswith(base)

    def _names(self, directory: Directory) -> Sequence[str]:
        """The children that changes are new enough of; all where nothing tells at once."""
        names = directory.names()
        if self._codes is None or getattr(directory, "moments", None) is None:
            return names
        codes = self._codes.changed_codes(directory.child_times(names)[1])
        return [names[i] for i in np.flatnonzero(codes & self._since == self._since).tolist()]

    def _visit(self, visit: Visit) -> None:
        if self._timeline is not None:
            self._enter(visit)
        code = None if self._codes is None else self._codes.code(visit.node)
        if code is not None and code & self._since != self._since:
            # Nodes below may have times of other logs.
            visit.pruned = self._moments is not None and not _holds_others(visit.node)
            return
        if visit.depth < self._query.min_depth:
            return
        if not self._needle.may_be_in(visit.path):
            return
        is_dir = visit.is_dir
        first = self._first_names[is_dir]
        if first is not None and not first.pattern.match(visit.name):
            return
        kind = self._directory if is_dir else self._leaf
        if isinstance(kind, Constant):
            return
        rest = kind.given(is_dir=is_dir, name=visit.name, code=code)
        if self._query.formats:
            # A written name has no slash; one that is not may have.
            name = visit.path.rpartition("/")[2] if self._write_name else visit.name
            self._doing.found = self._found(
                name if visit.depth else visit.name, visit.depth, visit.node, is_dir=is_dir
            )
        visit.pruned = self._act(rest, visit.path)

    def _found(self, name: str, depth: int, node: Node | None, *, is_dir: bool) -> FoundNode:
        changed = partial(last_change, node, self._moments)
        return FoundNode(self._start, name, depth, is_dir, changed)

    def _act(self, rest: Expression, path: str) -> bool:
        """Evaluate what is left for one path and do what it says; returns whether it is pruned."""
        return not isinstance(rest, Constant) and self._doing.evaluate(rest, path)

    def _act_in(
        self, rest: Expression, path: str, grid: WrittenGrid, i: int, leaf: int | None = None
    ) -> bool:
        """Evaluate the rest for directory `i` of a grid, or for one of its leaves."""
        if isinstance(rest, Constant):
            return False
        if self._query.formats:
            self._doing.found = self._found_in(grid, i, leaf)
        return self._doing.evaluate(rest, path)

    def _found_in(self, grid: WrittenGrid, i: int, leaf: int | None) -> FoundNode:
        name = grid.names[i] if leaf is None else grid.shapes[grid.shape_of[i]][leaf]
        depth = grid.visit.depth + (1 if leaf is None else 2)
        changed = partial(grid.changes.of, i, leaf)
        return FoundNode(self._start, name, depth, leaf is None, changed)

    def _grid(self, visit: GridVisit) -> None:
        """Search everything below a directory with a grid."""
        query = self._query
        depth = visit.depth + 1
        with_directories = depth >= query.min_depth and not visit.is_flat
        with_leaves = depth + 1 >= query.min_depth and (
            query.max_depth is None or depth < query.max_depth
        )
        names, shapes = written_grid(visit, self._write_name)
        grid = WrittenGrid(
            visit=visit,
            base=visit.base,
            real=visit.grid.names,
            names=names,
            shape_of=indices(visit.grid.shape_of),
            shapes=shapes,
            changes=GridChanges(visit, self._moments),
        )
        if self._codes is not None:
            codes = self._codes.of_grid(visit.grid)
            self._coded_grid(grid, codes, (with_directories, with_leaves))
            return
        leaves = [
            decide(self._leaf, real, written) if with_leaves else NOTHING
            for real, written in zip(visit.grid.shapes, shapes, strict=True)
        ]
        self._grid_span(grid, leaves, with_directories)

    def _grid_span(
        self, grid: WrittenGrid, leaves: Sequence[Leaves], with_directories: bool
    ) -> None:
        directory = self._directory if with_directories else FALSE
        start, stop = self._span(grid)
        silent = not any(shape.rest or shape.printed or shape.counted for shape in leaves)
        end = only_print(directory)
        ends = {shape.end for shape in leaves if shape.printed}
        asks = any(shape.rest or shape.match is not None for shape in leaves)
        counted = any(shape.counted for shape in leaves)
        counts = directory == COUNTS
        if not (asks or ends) and (counts or (counted and isinstance(directory, Constant))):
            self._count(grid, leaves, range(start, stop), int(counts))
            return
        plain = not asks and not counted and len(ends | {end or ""} - {""}) <= 1
        if plain and (end or isinstance(directory, Constant)):
            if end or not silent:
                self._bulk(grid, leaves, (start, stop), end or "", ends)
            return
        if silent and isinstance(directory, Constant):
            return
        candidates: Iterable[int] = range(start, stop)
        chosen: Container[int] = range(start, stop)
        if (test := first_name(directory)) is not None:
            selected = [i for i in test.pattern.select(grid.real) if start <= i < stop]
            chosen = set(selected)
            candidates = selected if silent else candidates
        candidates = self._needle.candidates(
            grid.base, grid.names, grid.shape_of, grid.shapes, candidates
        )
        self._one_by_one(grid, leaves, directory, candidates, chosen)

    def _count(
        self, grid: WrittenGrid, leaves: Sequence[Leaves], span: range, directories: int
    ) -> None:
        """Count where nothing else happens and nothing is left to be asked."""
        sizes = [shape.counted for shape in leaves]
        shape_of = grid.shape_of[span.start : span.stop]
        self._doing.count += directories * len(span) + sum(sizes[shape] for shape in shape_of)

    def _coded_grid(
        self, grid: WrittenGrid, codes: SearchedGrid, wanted: tuple[bool, bool]
    ) -> None:
        """Search a grid whose nodes are asked: only what passes is looked at one by one."""
        directory = self._directory if wanted[0] else FALSE
        leaf = self._leaf if wanted[1] else FALSE
        directories_left = codes_left(directory, codes.directories, is_dir=True)
        leaves_left = codes_left(leaf, codes.leaves, is_dir=False)
        visits, positions, bounds = codes.chosen(directories_left, leaves_left)
        start, stop = self._span(grid)
        if only_count(directory, directories_left, is_dir=True) and only_count(
            leaf, leaves_left, is_dir=False
        ):
            self._doing.count += sum(visits[start:stop]) + int(bounds[stop] - bounds[start])
            return
        starts, places = bounds.tolist(), positions.tolist()
        first, of_leaf = codes.bounds.tolist(), codes.leaves[positions].tolist()
        busy: Iterable[int] = [
            i for i in range(start, stop) if visits[i] or starts[i] < starts[i + 1]
        ]
        busy = self._needle.candidates(grid.base, grid.names, grid.shape_of, grid.shapes, busy)
        decided: dict[tuple[int, int], Leaves] = {}
        asked = _Rests(leaf)
        for i in busy:
            path = grid.base + grid.names[i]
            if visits[i]:
                code = int(codes.directories[i])
                rest = directory.given(is_dir=True, name=grid.real[i], code=code)
                pruned = self._act_in(rest, path, grid, i)
                if self.quit:
                    return
                if pruned:
                    continue
            shape, a, b = grid.shape_of[i], starts[i], starts[i + 1]
            real, written = grid.visit.grid.shapes[shape], grid.shapes[shape]
            if b - a == len(written) and len(set(of_leaf[a:b])) == 1:
                key = shape, of_leaf[a]
                if key not in decided:
                    rest = leaf.given(is_dir=False, code=key[1])
                    decided[key] = decide(rest, real, written)
                self._grid_leaves(decided[key], path, grid, i)
            else:
                for at, code in zip(places[a:b], of_leaf[a:b], strict=True):
                    j = at - first[i]
                    rest, end = asked.of(code)
                    if end:
                        self._doing.lines.append(
                            f"{shown(self._context, f'{path}/{written[j]}')}{end}"
                        )
                        continue
                    rest = rest.given(is_dir=False, name=real[j])
                    self._act_in(rest, f"{path}/{written[j]}", grid, i, j)
                    if self.quit:
                        return
            if self.quit:
                return
            if len(self._doing.lines) >= CHUNK_PATHS:
                self.flush()

    def _span(self, grid: WrittenGrid) -> tuple[int, int]:
        """The range of a grid's directories that a literal beginning of the path leaves."""
        rest = self._prefix[len(grid.base) :]
        if not rest or grid.names is not grid.real:
            return 0, len(grid.names)
        return prefix_span(grid.names, rest.partition("/")[0])

    def _bulk(
        self,
        grid: WrittenGrid,
        leaves: Sequence[Leaves],
        span: tuple[int, int],
        directory_end: str,
        ends: set[str],
    ) -> None:
        """Print without a question left: directories all or none, leaves by shape."""
        start, stop = span
        whole = (start, stop) == (0, len(grid.names))
        names = grid.names if whole else grid.names[start:stop]
        shape_of = grid.shape_of if whole else grid.shape_of[start:stop]
        shapes: list[Sequence[str]] = [shape.printed for shape in leaves]
        base = grid.base
        if self._context.out.is_terminal:
            base = shown(self._context, base)
            names = [shown(self._context, name) for name in names]
            shapes = [[shown(self._context, leaf) for leaf in shape] for shape in shapes]
        pieces = grid_paths(
            base,
            names,
            shape_of,
            shapes,
            end=directory_end or next(iter(ends)),
            directories=bool(directory_end),
            leaves=any(shapes),
        )
        self._doing.write(pieces)

    def _one_by_one(
        self,
        grid: WrittenGrid,
        leaves: Sequence[Leaves],
        directory: Expression,
        candidates: Iterable[int],
        chosen: Container[int],
    ) -> None:
        """Ask each directory of `chosen`, and do what was decided for the leaves of all."""
        since = 0
        decided = only_print(directory)
        lines = self._doing.lines
        for i in candidates:
            path = grid.base + grid.names[i]
            pruned = False
            if decided:
                lines.append(f"{shown(self._context, path)}{decided}")
            elif not isinstance(directory, Constant) and i in chosen:
                rest = directory.given(is_dir=True, name=grid.real[i])
                pruned = self._act_in(rest, path, grid, i)
            if not pruned and not self.quit:
                shape = leaves[grid.shape_of[i]]
                self._grid_leaves(shape, path, grid, i)
                since += len(shape.printed) + 1
            if self.quit:
                return
            if since >= CHUNK_PATHS or len(lines) >= CHUNK_PATHS:
                stop_if_cancelled(self._context)
                self.flush()
                since = 0

    def _grid_leaves(self, shape: Leaves, path: str, grid: WrittenGrid, i: int) -> None:
        base = f"{path}/"
        lines = self._doing.lines
        self._doing.count += shape.counted
        if shape.match is not None:
            match = shape.match
            found = [found for leaf in shape.printed if match(found := base + leaf)]
            lines += [f"{shown(self._context, leaf)}{shape.end}" for leaf in found]
        elif shape.rest:
            for j, rest in shape.rest:
                self._act_in(rest, base + grid.shapes[grid.shape_of[i]][j], grid, i, j)
                if self.quit:
                    return
        elif shape.printed:
            base = shown(self._context, base)
            tails = shape.printed
            if self._context.out.is_terminal:
                tails = [shown(self._context, leaf) for leaf in tails]
            lines.append(f"{base}{(shape.end + base).join(tails)}{shape.end}")


def _holds_others(node: Node | None) -> bool:
    """Whether what is below a node may be of other logs, with newer changes than its own."""
    return isinstance(node, RootDirectory) or (node is not None and has_own_times(node))


class _Rests:
    """The rest of an expression for leaves of each code, and the terminator if it only prints.

    Args:
        leaf: The expression, for leaves.
    """

    def __init__(self, leaf: Expression) -> None:
        self._leaf = leaf
        self._known: dict[int, tuple[Expression, str]] = {}

    def of(self, code: int) -> tuple[Expression, str]:
        """For a code."""
        known = self._known.get(code)
        if known is None:
            rest = self._leaf.given(is_dir=False, code=code)
            known = self._known[code] = (rest, only_print(rest))
        return known


def write_encoded(name: str, parent: Directory) -> str:
    """A name as ``--encode`` writes it."""
    return encode_name(name, parent, quoting=True)
