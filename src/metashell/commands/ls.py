"""``ls``: the children of directories, in columns on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from metashell.commands.framework.command import Context, Manual
from metashell.commands.framework.options import Option, Parsed
from metashell.commands.framework.targets import Targets, shown, stop_if_cancelled
from metashell.commands.rows.columns import CHANGED, KIND, integer, kind_of, one_table, text
from metashell.commands.rows.command import RowsCommand
from metashell.commands.rows.query import RowMapping, RowsQuery
from metashell.commands.shared.columns import layout
from metashell.commands.shared.node_times import (
    NOTHING,
    UNKNOWN,
    NodeTimeline,
    Timed,
    Touch,
    moment_cells,
    moment_fields,
)
from metashell.dataclass import dataclass
from metashell.errors import MetashellError
from metashell.fs.glob import Match
from metashell.fs.node import Directory, Node
from metashell.fs.path import encode_name, join
from metashell.fs.walk import Failed, GridVisit, indices, walk

_CHUNK_NAMES = 1 << 16
_CHUNK_LISTINGS = 1024
_TABLES = one_table(
    text("path", "The node's path.", shown=False),
    text("name", "Its name in the directory listed, or the path that was given."),
    KIND,
    integer("size", "Bytes of a file below /log; null for other nodes.", shown=False),
    *CHANGED,
)


class LsCommand(RowsCommand):
    """List the children of directories.

    Lists the children of each PATH that is a directory, and each PATH that is a leaf. Without a
    PATH it lists the current directory. Names are sorted by code point. They stand in columns
    on a terminal, and one a line elsewhere.

    Leaves come first, then each directory under a heading. * ? [a-z] [!a-z] {a,b} match within
    one component of a path. Quote them, or put a backslash before them, to take them literally.

    -l shows the last change of each node: d for a directory, then time, offset, leader epoch
    and record type, then the name. A directory changes when anything below it changes or is
    removed. <=3262 means: at or before the checkpoint of offset 3262. - means: no record tells.
    A file below /log has its bytes before the time, and the place of its last record.

    Rows (-o) have the columns of -l, for the nodes of all directories.
    """

    group = "look"
    takes_paths = True
    noun = ("node", "nodes")
    tables = _TABLES
    manual = Manual(
        synopsis="ls [-1dlrRt] [-o FORMAT] [PATH...]",
        options=(
            Option(("-1",), "Print one name a line, also on a terminal."),
            Option(("-d",), "List directories themselves, not their children."),
            Option(("-l",), "Print one node a line, with its last change."),
            Option(("-t",), "Sort by the last change, newest first."),
            Option(("-r",), "Reverse the order."),
            Option(("-R",), "List all directories below too, each under a heading."),
            Option(
                ("-a", "-h", "-S"),
                "Accepted without effect: no name is hidden, and `du` shows sizes.",
            ),
        ),
        examples=(
            ("ls", "list the current directory"),
            ("ls /image/topics/byName", "list the topics"),
            ("ls -d /image/topics/byName/pay*", "the paths that match"),
            ("ls /image/cluster/*", "list brokers and controllers, each under a heading"),
            ("ls -1R /image/scram", "list a subtree"),
            ("ls -lt /image/topics/byName", "the topics, the last change first"),
            ("ls -ldr /image/*", "the last change of each part of the image"),
            ("ls -o json --columns path,changed_time /image", "for a script"),
        ),
    )

    def _targets(
        self, context: Context, parsed: Parsed
    ) -> tuple[Targets, list[Match], list[Match]]:
        """The nodes that are listed themselves, and the directories whose children are listed."""
        targets = Targets(context, self.name, parsed.arguments or ["."])
        alone: list[Match] = []
        directories: list[Match] = []
        for match in targets:
            is_listed = isinstance(match.place.node, Directory) and "-d" not in parsed.switches
            (directories if is_listed else alone).append(match)
        return targets, alone, directories

    def answer(self, query: RowsQuery) -> None:
        """A row for each node: leaves first, then those of directories."""
        targets, alone, directories = self._targets(query.context, query.parsed)
        # Times cost a look at the oldest state: only where they are asked for.
        needs_times = any(name.startswith("changed_") for name in query.columns or ())
        listing = _TimedListing(
            query.context,
            query.parsed.switches,
            targets.failed,
            one_a_line=True,
            times=needs_times,
            nodes=True,
        )
        query.add(listing.mappings(alone, directories))
        query.status = targets.status

    def write_text(self, context: Context, parsed: Parsed) -> int:
        """List the targets: leaves first, then directories."""
        one_a_line = "-1" in parsed.switches or not context.out.is_terminal
        targets, alone, directories = self._targets(context, parsed)
        paths = [match.path for match in alone]
        recursive = "-R" in parsed.switches
        if parsed.switches & {"-l", "-t", "-r"}:
            timed = _TimedListing(context, parsed.switches, targets.failed, one_a_line=one_a_line)
            timed.several = recursive or len(directories) + bool(alone) > 1
            timed.alone(alone)
            timed.directories(directories)
            return targets.status
        listing = _Listing(context, targets.failed, one_a_line=one_a_line)
        listing.names(paths)
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

    def __init__(self, context: Context, failed: Failed, *, one_a_line: bool) -> None:
        self.headings = False
        self.gap = False
        self._failed = failed
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

    def lines(self, lines: Iterable[str]) -> None:
        """Write lines as they are."""
        self._pieces.extend(lines)
        self.flush()

    def directory(self, path: str, node: object) -> None:
        """Write a directory's children under its heading."""
        self.heading(path)
        if not isinstance(node, Directory):
            return
        try:
            names = node.names()
        except MetashellError as error:
            self._failed(path, error)
        else:
            self.names(names)

    def recurse(self, match: Match) -> None:
        """Write a directory and all below it, parents before children."""
        for visit in walk(match.place.node, match.path, failed=self._failed):
            if isinstance(visit, GridVisit):
                if not visit.is_flat:
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
            self.heading(visit.base + name)
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

    def heading(self, path: str) -> None:
        """Write the heading of a directory, where there are any."""
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


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of a timed listing."""

    name: str
    node: Node | None
    timed: Timed | None
    """The node with its times, where they were looked up already; else None."""
    touch: Touch


class _TimedListing:
    """Listings in the order of changes, or that tell the changes."""

    def __init__(
        self,
        context: Context,
        switches: set[str],
        failed: Failed,
        *,
        one_a_line: bool,
        times: bool = False,
        nodes: bool = False,
    ) -> None:
        self._needs_times = times or not switches.isdisjoint({"-l", "-t"})
        # The nodes of a fleet tell whether there are several clusters.
        self._needs_nodes = (
            nodes or not switches.isdisjoint({"-l", "-R"}) or context.fleet is not None
        )
        self.several = False
        """Whether directories get headings."""
        self._context = context
        self._timeline = NodeTimeline(context)
        self._switches = switches
        self._listing = _Listing(context, failed, one_a_line=one_a_line)
        self._failed = failed

    def alone(self, matches: Sequence[Match]) -> None:
        """List nodes themselves."""
        entries = []
        for match in matches:
            timed = self._timeline.of(match.place)
            entries.append(_Entry(match.path, match.place.node, timed, timed.touch()))
        self._write(self._ordered(entries))
        self._listing.headings, self._listing.gap = self.several, bool(entries)

    def directories(self, matches: Sequence[Match]) -> None:
        """List directories, and with -R those below; in the order asked for."""
        entries = []
        for match in matches:
            timed = self._timeline.of(match.place)
            # Only where several are sorted their own times matter.
            touch = timed.touch() if len(matches) > 1 and "-t" in self._switches else NOTHING
            entries.append(_Entry(match.path, match.place.node, timed, touch))
        stack = self._ordered(entries)[::-1]
        while stack:
            entry = stack.pop()
            if not isinstance(entry.node, Directory) or entry.timed is None:
                continue
            self._listing.heading(entry.name)
            children = self._children(entry.name, entry.node, entry.timed)
            self._write(children)
            self._listing.flush()
            if "-R" in self._switches:
                for child in reversed(children):
                    if isinstance(child.node, Directory):
                        timed = self._timeline.below(entry.timed, child.node, child.name)
                        path = join(entry.name, child.name)
                        stack.append(_Entry(path, child.node, timed, child.touch))
        self._listing.flush()

    def mappings(
        self, alone: Sequence[Match], directories: Sequence[Match]
    ) -> Iterator[RowMapping]:
        """The listing as rows: the nodes themselves, then those of each directory."""
        paths = {match.path: match.place.encoded() for match in (*alone, *directories)}
        for entry in self._entries(alone):
            yield _mapping(paths[entry.name], entry)
        stack = [(paths[entry.name], entry) for entry in self._entries(directories)[::-1]]
        while stack:
            path, entry = stack.pop()
            if not isinstance(entry.node, Directory) or entry.timed is None:
                continue
            stop_if_cancelled(self._context)
            below = []
            for child in self._children(path, entry.node, entry.timed):
                child_path = join(path, encode_name(child.name, entry.node))
                yield _mapping(child_path, child)
                if "-R" in self._switches and isinstance(child.node, Directory):
                    timed = self._timeline.below(entry.timed, child.node, child.name)
                    below.append((child_path, _Entry(child.name, child.node, timed, child.touch)))
            stack += reversed(below)

    def _entries(self, matches: Sequence[Match]) -> list[_Entry]:
        """Nodes that were named, in the order asked for."""
        entries = []
        for match in matches:
            timed = self._timeline.of(match.place)
            touch = timed.touch() if self._needs_times else NOTHING
            entries.append(_Entry(match.path, match.place.node, timed, touch))
        return self._ordered(entries)

    def _children(self, path: str, directory: Directory, timed: Timed) -> list[_Entry]:
        needs_times = self._needs_times
        try:
            names = directory.names()
            touches = timed.children(names) if needs_times else [NOTHING] * len(names)
            nodes = [directory.child(name) if self._needs_nodes else None for name in names]
        except MetashellError as error:
            self._failed(path, error)
            return []
        entries = []
        for name, node, found in zip(names, nodes, touches, strict=True):
            touch = found
            if needs_times and touch.row < 0 and isinstance(timed.node, Directory) and node:
                # Where the tree that remembers most does not have it, the node itself tells.
                touch = self._timeline.below(timed, node, name).touch()
            entries.append(_Entry(name, node, None, touch))
        return self._ordered(entries)

    def _ordered(self, entries: list[_Entry]) -> list[_Entry]:
        """Sort as asked; equal times stay in the order of the names, as ls of GNU does."""
        if "-t" in self._switches:
            # Offsets of two clusters tell nothing of which is newer.
            order = _time if len(set(map(_member, entries))) > 1 else _order
            entries = sorted(entries, key=order, reverse=True)
        return entries[::-1] if "-r" in self._switches else entries

    def _write(self, entries: Sequence[_Entry]) -> None:
        if "-l" not in self._switches:
            self._listing.names([entry.name for entry in entries])
            return
        rows: list[tuple[str, ...]] = [
            ("d" if isinstance(e.node, Directory) else "-", *moment_fields(e.touch.changed))
            for e in entries
        ]
        sizes = [_size(entry) for entry in entries]
        if any(size is not None for size in sizes):
            texts = [UNKNOWN if size is None else str(size) for size in sizes]
            rows = [(kind, size, *rest) for size, (kind, *rest) in zip(texts, rows, strict=True)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for start in range(0, len(entries), _CHUNK_LISTINGS):
            self._listing.lines(
                f"{_listed(row, widths)} {shown(self._context, entry.name)}\n"
                for entry, row in zip(
                    entries[start : start + _CHUNK_LISTINGS],
                    rows[start : start + _CHUNK_LISTINGS],
                    strict=True,
                )
            )


def _listed(row: Sequence[str], widths: Sequence[int]) -> str:
    """The cells of a line, to the right but for the type, which is the last."""
    *cells, kind = row
    padded = [cell.rjust(width) for cell, width in zip(cells, widths[:-1], strict=True)]
    return " ".join([*padded, kind.ljust(widths[-1])])


def _size(entry: _Entry) -> int | None:
    """The bytes of a file; None of every other node."""
    size: int | None = getattr(entry.node, "size", None)
    return size


def _mapping(path: str, entry: _Entry) -> RowMapping:
    changed = moment_cells("changed", entry.touch.changed)
    return {
        "path": path,
        "name": entry.name,
        "kind": kind_of(entry.node),
        "size": _size(entry),
        **changed,
    }


def _order(entry: _Entry) -> tuple[int, int]:
    return entry.touch.order


def _time(entry: _Entry) -> tuple[int, int]:
    changed = entry.touch.changed
    return (-1 if changed is None or changed.timestamp_ms is None else changed.timestamp_ms, 0)


def _member(entry: _Entry) -> object:
    """The directory of a fleet that an entry is of; None for all where there is no fleet."""
    return entry.timed.member if entry.timed else getattr(entry.node, "member", None)


COMMAND = LsCommand()
