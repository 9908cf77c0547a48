"""``ls``: the children of directories, in columns on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metashell.commands.base import Command, Context, Manual, Option
from metashell.commands.columns import layout
from metashell.commands.options import parse_options
from metashell.commands.targets import Targets, shown, stop_if_cancelled
from metashell.fs.glob import Match
from metashell.fs.node import Directory
from metashell.fs.walk import GridVisit, indices, walk

_CHUNK_NAMES = 1 << 16
_CHUNK_LISTINGS = 1024


class Ls(Command):
    """List names."""

    name = "ls"
    summary = "List the children of directories."
    manual = Manual(
        synopsis="ls [-1dR] [PATH...]",
        description=(
            "Lists the children of each directory, and each PATH that is a leaf; without a PATH, "
            "the current directory. Names are sorted by code point. On a terminal they stand in "
            "columns, elsewhere one a line.\n\n"
            "Several directories get a heading each, after the leaves. * ? [a-z] [!a-z] {a,b} "
            "match within one component of a path; quotes or a backslash take their meaning away."
        ),
        options=(
            Option(("-1",), "One name a line, on a terminal too."),
            Option(("-d",), "List directories themselves, not their children."),
            Option(("-R",), "List the directories below as well, each under a heading."),
        ),
        examples=(
            ("ls", "list the current directory"),
            ("ls /image/topics/byName", "list the topics"),
            ("ls -d /image/topics/byName/topic-00[0-3]", "the paths that match"),
            ("ls /image/cluster/*", "list brokers and controllers, each under a heading"),
            ("ls -1R /image/scram", "list a subtree"),
        ),
    )

    def run(self, context: Context, args: Sequence[str]) -> int:
        """List the targets: leaves first, then directories."""
        parsed = parse_options(self, args)
        one_a_line = "-1" in parsed.switches or not context.out.is_terminal
        targets = Targets(context, self.name, parsed.arguments or ["."])
        paths: list[str] = []
        directories: list[Match] = []
        for match in targets:
            if isinstance(match.place.node, Directory) and "-d" not in parsed.switches:
                directories.append(match)
            else:
                paths.append(match.path)
        listing = _Listing(context, one_a_line=one_a_line)
        listing.names(paths)
        recursive = "-R" in parsed.switches
        listing.headings = recursive or bool(paths) or len(directories) > 1
        listing.gap = bool(paths)
        for match in directories:
            if recursive:
                listing.recurse(match)
            else:
                listing.directory(match.path, match.place.node)
        listing.flush()
        return targets.status


class _Listing:
    """Lists of names on their way to the output, with headings and gaps between them."""

    def __init__(self, context: Context, *, one_a_line: bool) -> None:
        self.headings = False
        self.gap = False
        self._context = context
        self._one_a_line = one_a_line
        self._pieces: list[str] = []

    def names(self, names: Sequence[str]) -> None:
        """Write names, in columns where that is asked for."""
        if not self._one_a_line:
            self._pieces.append(self._block(names))
            return
        for start in range(0, len(names), _CHUNK_NAMES):
            piece = names[start : start + _CHUNK_NAMES]
            self._pieces.append(self._block(piece))
            if len(piece) == _CHUNK_NAMES:
                self.flush()

    def directory(self, path: str, node: object) -> None:
        """Write a directory's children under its heading."""
        self._heading(path)
        if isinstance(node, Directory):
            self.names(node.names())

    def recurse(self, match: Match) -> None:
        """Write a directory and all below it, parents before children."""
        for visit in walk(match.place.node, match.path):
            if isinstance(visit, GridVisit):
                self._grid(visit)
            elif isinstance(visit.node, Directory):
                self.directory(visit.path, visit.node)
            if len(self._pieces) >= _CHUNK_LISTINGS:
                self.flush()

    def flush(self) -> None:
        """Send what was collected."""
        if self._pieces:
            stop_if_cancelled(self._context)
            self._context.out.write("".join(self._pieces))
            self._pieces.clear()

    def _grid(self, visit: GridVisit) -> None:
        """Write the directories of a grid; those of one shape share the block of their names."""
        grid = visit.grid
        for name, block in self._grid_blocks(grid.names, indices(grid.shape_of), grid.shapes):
            self._heading(visit.base + name)
            self._pieces.append(block)
            if len(self._pieces) >= _CHUNK_LISTINGS:
                self.flush()

    def _grid_blocks(
        self, names: Sequence[str], shape_of: Sequence[int], shapes: Sequence[tuple[str, ...]]
    ) -> Iterator[tuple[str, str]]:
        blocks: dict[int, str] = {}
        for name, shape in zip(names, shape_of, strict=True):
            block = blocks.get(shape)
            if block is None:
                block = blocks[shape] = self._block(shapes[shape])
            yield name, block

    def _heading(self, path: str) -> None:
        if self.headings:
            gap = "\n" if self.gap else ""
            self._pieces.append(f"{gap}{shown(self._context, path)}:\n")
            self.gap = True

    def _block(self, names: Sequence[str]) -> str:
        """Names as text: each with its newline, or laid out in columns."""
        if len(names) == 0:
            return ""
        lines: Sequence[str] = names
        if self._context.out.is_terminal:
            lines = [shown(self._context, name) for name in names]
        if not self._one_a_line:
            lines = layout(lines, self._context.out.width)
        return "\n".join(lines) + "\n"


COMMAND = Ls()
