"""``find``: paths of a subtree, chosen by tests.

Nodes are visited one by one but for grids: there the expression is decided once for each distinct
list of leaf names, names of directories are picked by bisection where the pattern allows, and only
what is left to be asked of whole paths is asked one by one.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

from metashell.commands.base import Command, Completion, Context, Manual, Option
from metashell.commands.find_elsewhere import ask_elsewhere, relay
from metashell.commands.find_expression import (
    FALSE,
    Act,
    Constant,
    Effect,
    Expression,
    Query,
    parse,
)
from metashell.commands.find_grid import (
    NOTHING,
    PRINTS,
    Leaves,
    WrittenGrid,
    codes_left,
    decide,
    first_name,
    only_print,
)
from metashell.commands.find_times import GridCodes, TimeTests
from metashell.commands.targets import Targets, shown, stop_if_cancelled
from metashell.commands.times import Timed, Timeline
from metashell.fs.glob import Match
from metashell.fs.node import Directory, Grid
from metashell.fs.path import encode_name
from metashell.fs.pattern import prefix_span
from metashell.fs.walk import (
    CHUNK_PATHS,
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

_CHUNK_LINES = 2048


class Find(Command):
    """Print the paths below directories that pass a test."""

    name = "find"
    summary = "Print the paths of a subtree, all or those that pass tests."
    manual = Manual(
        synopsis="find [--encode] [PATH...] [EXPRESSION]",
        description=(
            "Prints each PATH (. without one) and every path below it, parents before children, "
            "in the order of the names. An EXPRESSION chooses: its tests are evaluated from left "
            "to right until one fails, as find of GNU does.\n\n"
            "Patterns know * ? [a-z] [!a-z] and the backslash; here * matches slashes too. "
            "Tests join by standing side by side (or -a), by -o, and are negated by !; "
            "( and ) group. Where no action is named, -print is meant.\n\n"
            "-newer-than, -changed-since and -changed-before ask for the last change, as ls -l "
            "shows it; a directory's is the newest of all below it, removals included. A time "
            "means the first batch that reaches it. What nothing is known of never passes, and "
            "what is known to be at or before a checkpoint only passes -changed-before where "
            "that asks for a later point."
        ),
        options=(
            Option(("-name",), "The last component matches the pattern.", metavar="PATTERN"),
            Option(("-iname",), "The same, whatever the case.", metavar="PATTERN"),
            Option(
                ("-path", "-wholename"),
                "The whole path as printed matches the pattern.",
                metavar="PATTERN",
            ),
            Option(("-ipath",), "The same, whatever the case.", metavar="PATTERN"),
            Option(
                ("-regex",),
                "The whole path matches the regular expression (Python's).",
                metavar="REGEX",
            ),
            Option(("-iregex",), "The same, whatever the case.", metavar="REGEX"),
            Option(
                ("-type",), "Directories (d) or leaves (f).", metavar="KIND", choices=("d", "f")
            ),
            Option(
                ("-newer-than",),
                "Changed at that time or later, or since so long ago (2h).",
                metavar="AGE|TIME",
            ),
            Option(
                ("-changed-since",),
                "Changed by the record of that offset or a later one, or since that time.",
                metavar="OFFSET|TIME",
            ),
            Option(("-changed-before",), "Last changed before that.", metavar="OFFSET|TIME"),
            Option(("-maxdepth",), "Go down at most N levels; 0 is PATH itself.", metavar="N"),
            Option(("-mindepth",), "Leave out what is fewer than N levels down.", metavar="N"),
            Option(("-true",), "Always passes."),
            Option(("-false",), "Never passes."),
            Option(("-print",), "Print the path and a newline."),
            Option(("-print0",), "Print the path and a zero byte."),
            Option(("-prune",), "Do not go below this directory."),
            Option(("-quit",), "Stop at once."),
            Option(("-not", "!"), "The next test fails."),
            Option(("-a", "-and"), "Both pass."),
            Option(("-o", "-or"), "One of both passes; binds less than -a."),
            Option(
                ("--encode",),
                "Print names so that each path can be typed: a slash in a name "
                "as %2F, likewise spaces, quotes and wildcards.",
            ),
        ),
        examples=(
            ("find /image/features", "everything below a directory"),
            ("find / -name 'orders*'", "nodes whose name begins with orders"),
            ("find /image/topics -name 11 -type f", "partitions with the number 11"),
            ("find / -path '*/configs/*retention*'", "settings that speak of retention"),
            ("find /image -regex '.*/byName/topic-0[0-3]\\d'", "a regular expression"),
            ("find /image -maxdepth 1 -type d", "the parts of the image"),
            ("find / -name topics -prune -o -type f -print", "leaves, but for those of topics"),
            ("find --encode /image/scram -type f", "paths that can be given to cat"),
            (
                "find /image/configs -changed-since 3680",
                "what a record from that offset on changed",
            ),
            (
                "find /image/topics/byName -newer-than 2026-11-21T08:28",
                "changed since a time; 2h: in the last two hours",
            ),
            ("find / -name cordoned.log.dirs -print -quit", "the first match alone"),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """Search each start in turn."""
        query = parse(args)
        elsewhere = None if query.time_tests else ask_elsewhere(context, args)
        if elsewhere is not None:
            return relay(context, elsewhere, query.starts or (".",))
        targets = Targets(context, self.name, query.starts or (".",))
        search = _Search(context, query)
        targets.before_warning = search.flush
        for match in targets:
            search.below(match)
            if search.quit:
                break
        search.flush()
        return targets.status

    def complete(self, context: Context, args: Sequence[str], word: str) -> list[Completion]:
        """Propose predicates, kinds, and paths before the expression."""
        from metashell.commands.complete import complete_options_and_paths

        if not word.startswith("-") and any(a.startswith("-") and a != "--encode" for a in args):
            value = self.value_of(args)
            return [] if value is None else complete_options_and_paths(self, context, args, word)
        return complete_options_and_paths(self, context, args, word)

    def value_of(self, args: Sequence[str]) -> Option | None:
        """The option whose value comes next, if it has known ones."""
        for option in self.manual.options:
            if args and args[-1] in option.flags and option.choices:
                return option
        return None


class _Search:
    """One run: the query, and lines on their way to the output."""

    def __init__(self, context: Context, query: Query) -> None:
        self.quit = False
        self._context = context
        self._query = query
        self._prefix = query.path_prefix
        self._needle = query.needle
        self._leaf = query.expression.given(is_dir=False)
        self._directory = query.expression.given(is_dir=True)
        self._first_names = (first_name(self._leaf), first_name(self._directory))
        self._lines: list[str] = []
        self._write_name: NameWriter | None = write_encoded if query.encode else None
        self._timeline = Timeline(context) if query.time_tests else None
        self._times: TimeTests | None = None
        self._moments: Moments | None = None
        self._since = query.since

    def below(self, match: Match) -> None:
        """Search a start and all below it."""
        query = self._query
        start = match.place.node
        if self._timeline is not None:
            # The same tree, but for what it remembers.
            timed = self._timeline.of(match.place)
            start = timed.node
            self._take_times(timed)
        every = query.expression
        if (
            isinstance(every, Act)
            and every.effect in PRINTS
            and query.max_depth is None
            and not query.min_depth
            and not self._context.out.is_terminal
        ):
            end = str(every.effect.value)
            self._write(paths(match.place.node, match.path, end=end, write_name=self._write_name))
            return
        visits = walk(
            start,
            match.path,
            max_depth=query.max_depth,
            write_name=self._write_name,
            enters=self._can_match_below if self._prefix else None,
        )
        for visit in visits:
            if isinstance(visit, GridVisit):
                self._grid(visit)
            else:
                self._visit(visit)
            if self.quit:
                return

    def _take_times(self, timed: Timed | None) -> None:
        """Take what rows mean from here on; None for no change."""
        if timed is None or (self._times is not None and timed.moments is self._moments):
            return
        self._moments = timed.moments
        self._times = TimeTests(self._context, self._query.time_tests, timed.moments)

    def flush(self) -> None:
        """Send what was collected."""
        if self._lines:
            lines, self._lines = self._lines, []
            self._write(["".join(lines)])

    def _write(self, pieces: Iterable[str]) -> None:
        self.flush()
        for piece in pieces:
            stop_if_cancelled(self._context)
            self._context.out.write(piece)

    def _can_match_below(self, base: str) -> bool:
        return base.startswith(self._prefix) or self._prefix.startswith(base)

    def _visit(self, visit: Visit) -> None:
        if self._timeline is not None:
            self._take_times(self._timeline.entered(visit.node))
        code = None if self._times is None else self._times.code(visit.node)
        if code is not None and code & self._since != self._since:
            # Above a fleet's clusters nothing has a time, and what is below may have.
            visit.pruned = self._moments is not None
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
        if not isinstance(kind, Constant):
            rest = kind.given(is_dir=is_dir, name=visit.name, times=code)
            visit.pruned = self._act(rest, visit.path)

    def _act(self, rest: Expression, path: str) -> bool:
        """Evaluate what is left for one path and do what it says.

        Returns:
            Whether the path is pruned.
        """
        if isinstance(rest, Constant):
            return False
        effects: list[Effect] = []
        rest.run(path, effects)
        pruned = False
        for effect in effects:
            if effect in PRINTS:
                self._lines.append(f"{shown(self._context, path)}{effect.value}")
            elif effect is Effect.QUIT:
                self.quit = True
            else:
                pruned = True
        if len(self._lines) >= _CHUNK_LINES:
            self.flush()
        return pruned

    def _grid(self, visit: GridVisit) -> None:
        """Search everything below a directory with a grid."""
        query = self._query
        depth = visit.depth + 1
        with_directories = depth >= query.min_depth
        with_leaves = depth + 1 >= query.min_depth and (
            query.max_depth is None or depth < query.max_depth
        )
        names, shapes = written_grid(visit, self._write_name)
        grid = WrittenGrid(
            base=visit.base,
            real=visit.grid.names,
            names=names,
            shape_of=indices(visit.grid.shape_of),
            shapes=shapes,
        )
        if self._times is not None:
            codes = GridCodes(self._times, visit.directory)
            self._timed_grid(visit.grid, grid, codes, (with_directories, with_leaves))
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
        silent = not any(shape.rest or shape.printed for shape in leaves)
        end = only_print(directory)
        ends = {shape.end for shape in leaves if shape.printed}
        asks = any(shape.rest or shape.match is not None for shape in leaves)
        plain = not asks and len(ends | {end or ""} - {""}) <= 1
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

    def _timed_grid(
        self, read: Grid, grid: WrittenGrid, codes: GridCodes, wanted: tuple[bool, bool]
    ) -> None:
        """Search a grid where times are asked for: only what passes is looked at one by one."""
        directory = self._directory if wanted[0] else FALSE
        leaf = self._leaf if wanted[1] else FALSE
        visits, positions, bounds = codes.chosen(
            codes_left(directory, codes.directories, is_dir=True),
            codes_left(leaf, codes.leaves, is_dir=False),
        )
        starts, places = bounds.tolist(), positions.tolist()
        first, of_leaf = codes.bounds.tolist(), codes.leaves[positions].tolist()
        start, stop = self._span(grid)
        busy: Iterable[int] = [
            i for i in range(start, stop) if visits[i] or starts[i] < starts[i + 1]
        ]
        busy = self._needle.candidates(grid.base, grid.names, grid.shape_of, grid.shapes, busy)
        decided: dict[tuple[int, int], Leaves] = {}
        for i in busy:
            path = grid.base + grid.names[i]
            if visits[i]:
                code = int(codes.directories[i])
                if self._act(directory.given(is_dir=True, name=grid.real[i], times=code), path):
                    continue
            shape, a, b = grid.shape_of[i], starts[i], starts[i + 1]
            real, written = read.shapes[shape], grid.shapes[shape]
            if b - a == len(written) and len(set(of_leaf[a:b])) == 1:
                key = shape, of_leaf[a]
                if key not in decided:
                    rest = leaf.given(is_dir=False, times=key[1])
                    decided[key] = decide(rest, real, written)
                if not self.quit:
                    self._grid_leaves(decided[key], path)
            else:
                for at, code in zip(places[a:b], of_leaf[a:b], strict=True):
                    if self.quit:
                        return
                    j = at - first[i]
                    rest = leaf.given(is_dir=False, name=real[j], times=code)
                    self._act(rest, f"{path}/{written[j]}")
            if self.quit:
                return
            if len(self._lines) >= _CHUNK_LINES:
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
        self._write(pieces)

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
        for i in candidates:
            path = grid.base + grid.names[i]
            pruned = False
            if decided:
                self._lines.append(f"{shown(self._context, path)}{decided}")
            elif not isinstance(directory, Constant) and i in chosen:
                rest = directory.given(is_dir=True, name=grid.real[i])
                pruned = self._act(rest, path)
            if not pruned and not self.quit:
                shape = leaves[grid.shape_of[i]]
                self._grid_leaves(shape, path)
                since += len(shape.printed) + 1
            if self.quit:
                return
            if since >= CHUNK_PATHS or len(self._lines) >= CHUNK_PATHS:
                stop_if_cancelled(self._context)
                self.flush()
                since = 0

    def _grid_leaves(self, shape: Leaves, path: str) -> None:
        base = f"{path}/"
        if shape.match is not None:
            match = shape.match
            found = [found for leaf in shape.printed if match(found := base + leaf)]
            self._lines += [f"{shown(self._context, leaf)}{shape.end}" for leaf in found]
        elif shape.rest:
            for written, rest in shape.rest:
                self._act(rest, base + written)
                if self.quit:
                    return
        elif shape.printed:
            base = shown(self._context, base)
            tails = shape.printed
            if self._context.out.is_terminal:
                tails = [shown(self._context, leaf) for leaf in tails]
            self._lines.append(f"{base}{(shape.end + base).join(tails)}{shape.end}")


def write_encoded(name: str, parent: Directory) -> str:
    """A name as ``--encode`` writes it."""
    return encode_name(name, parent, quoting=True)


COMMAND = Find()
