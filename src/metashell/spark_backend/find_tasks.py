"""``find`` in executors: each part of a directory is searched as the file system that it is.

A part's file system has all that stands above its topics, so tests, depths and ``-prune`` mean what
they mean in the whole one; what is not the part's own is searched and not told of. Text carries the
names on the way to the node that it begins with: sorted by these it is in the order of the walk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from metashell.commands.find.expression import Query
from metashell.commands.find.parser import parse
from metashell.commands.find.search import Search
from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import line_of, matches
from metashell.dataclass import dataclass
from metashell.errors import MetashellError, PathError, SourceError
from metashell.fs.glob import Match
from metashell.fs.node import Directory, FixedDirectory, Grid, Node
from metashell.fs.walk import Failed, GridVisit, Visit, indices, refuse
from metashell.read_settings import ReadSettings
from metashell.sources.fleet.member import why
from metashell.sources.fleet.reading import Reading
from metashell.sources.reduced import source_of
from metashell.sources.source import Source
from metashell.spark_backend.tasks import Failure, FoldJob, log_or_whole

FOUND: Final = pa.schema(
    [
        ("word", pa.int32()),
        ("components", pa.list_(pa.field("element", pa.binary()))),
        ("piece", pa.int32()),
        ("text", pa.binary()),
        ("quits", pa.bool_()),
    ]
)
"""``word``: which start; ``components``: names on the way to the first node of the text; ``piece``:
its place among texts of that node; a start that is there has a row with no text. A directory that
was looked at and can't be read has a row of the word `FAILED` with its name and why; what a user
should know of one has the word `WARNED`, and a node in it that can't be looked at the word
`LACKING`. A part's number of nodes has the word `COUNTED`."""

FAILED: Final = -1
WARNED: Final = -2
LACKING: Final = -3
COUNTED: Final = -4

_PIECE_CHARS: Final = 1 << 20
"""About how much text a row has at most."""
_TOPICS: Final = ("image", "topics")
_BY: Final = ("byId", "byName")

_Row = tuple[int, list[bytes], int, bytes, bool]


@dataclass(frozen=True, slots=True)
class FindTask:
    """A ``find``, as it was typed; picklable."""

    words: Sequence[str]
    """The words as the command got them."""
    cwd: str
    escapes: bool
    """Whether control characters are escaped: the output is a terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Which part of a file system is searched for itself."""

    above: tuple[str, ...] = ()
    """Names above the directory's own root: ``("clusters", "c1")`` in a fleet."""
    part: int = 0
    n_parts: int = 0
    is_first: bool = True
    """Whether what stands above all directories is its own."""

    def owns(self, components: Sequence[str]) -> bool:
        """Whether a node is this part's to tell of."""
        inner = components[len(self.above) :]
        if len(components) < len(self.above) or (self.above and not inner):
            return self.part == 0 and (self.is_first or len(components) == len(self.above))
        if not self.n_parts:
            return True
        of_topic = len(inner) > 3 and tuple(inner[:2]) == _TOPICS and inner[2] in _BY
        return of_topic == (self.part > 0)

    def is_border(self, components: Sequence[str]) -> bool:
        """Whether other parts may have what stands right before a node, or behind it."""
        inner = components[len(self.above) :]
        return bool(self.n_parts) and len(inner) in (3, 4) and tuple(inner[:2]) == _TOPICS


def find_in_pieces(
    job: FoldJob, pieces: pa.Table, share: Share, search: FindTask, settings: ReadSettings
) -> pa.Table:
    """Search what the pieces of a part hold; a table of `FOUND`."""
    log, is_whole = log_or_whole(job, pieces)
    if isinstance(log, Failure) or is_whole:
        if share.part:
            return FOUND.empty_table()
        share = replace(share, n_parts=0)
    if isinstance(log, Failure):
        return _found_nowhere(log.message, share, search)
    source = source_of(log, settings, job.place)
    found = _found_in(source, share, search)
    if share.part:
        return _table_of(share, *found)
    _ = source.reduced  # what is wrong with files is known now
    return _table_of(share, *found, source.warnings)


def find_in_place(path: str, reading: Reading, share: Share, search: FindTask) -> pa.Table:
    """Open a directory and search it whole; a table of `FOUND`."""
    try:
        source = reading.open(path)
    except Exception as error:  # whatever is wrong with one is no reason to lose the others
        return _found_nowhere(why(error).message, share, search)
    found = _found_in(source, share, search)
    return _table_of(share, *found, source.warnings)


def _found_nowhere(reason: str, share: Share, search: FindTask) -> pa.Table:
    """The result for a directory that can't be read."""
    unread = _Unread()
    rows = find_part(unread, share, search)
    return _table_of(share, rows, [(FAILED, reason)] if unread.was_asked else [])


def _found_in(
    source: Source, share: Share, search: FindTask
) -> tuple[list[_Row], list[tuple[int, str]]]:
    """The rows of a part of a source, and the nodes that can't be looked at."""
    lines = dict[str, None]()

    def failed(path: str, error: MetashellError) -> None:
        lines[line_of(path, error)] = None

    return find_part(source.root, share, search, failed), [(LACKING, line) for line in lines]


def _table_of(
    share: Share,
    rows: Sequence[_Row],
    told: Sequence[tuple[int, str]] = (),
    warnings: Sequence[str] = (),
) -> pa.Table:
    name = [_encoded(share.above[-1] if share.above else "")]
    told = [*told, *((WARNED, text) for text in warnings)]
    rows = [*rows, *((word, name, 0, _encoded(text), False) for word, text in told)]
    columns = zip(*rows, strict=True) if rows else [[]] * len(FOUND)
    arrays = [pa.array(c, type=f.type) for c, f in zip(columns, FOUND, strict=True)]
    return pa.Table.from_arrays(arrays, schema=FOUND)


class _Unread(Directory):
    """The root of a directory that can't be read."""

    was_asked = False

    def names(self) -> Sequence[str]:
        self.was_asked = True
        return ()

    def child(self, name: str) -> Node | None:
        self.was_asked = True
        return None


def part_root(root: Directory, share: Share) -> Directory:
    """A part's file system, below the names above it."""
    whole = root
    if share.n_parts and share.part:
        image = root.child("image")
        assert isinstance(image, Directory)
        whole = FixedDirectory(
            {"image": lambda: FixedDirectory({"topics": lambda: _there(image, "topics")})}
        )
    elif share.n_parts:
        whole = _Covered(root, _TOPICS, _BY)
    for name in reversed(share.above):
        whole = FixedDirectory({name: _constantly(whole)})
    return whole


def _there(directory: Directory, name: str) -> Node:
    node = directory.child(name)
    assert node is not None
    return node


def _constantly(node: Node) -> Callable[[], Node]:
    return lambda: node


class _Covered(Directory):
    """A directory of which some directories further down are shown empty.

    Args:
        directory: The directory.
        way: Names that lead to the parent of those.
        covered: Their names.
    """

    def __init__(self, directory: Directory, way: Sequence[str], covered: Sequence[str]) -> None:
        self._directory, self._way, self._covered = directory, way, covered

    def names(self) -> Sequence[str]:
        return self._directory.names()

    def child(self, name: str) -> Node | None:
        node = self._directory.child(name)
        if not isinstance(node, Directory):
            return node
        if not self._way:
            return FixedDirectory({}) if name in self._covered else node
        return _Covered(node, self._way[1:], self._covered) if name == self._way[0] else node


def find_part(
    root: Directory, share: Share, search: FindTask, failed: Failed = refuse
) -> list[_Row]:
    """Search a part.

    Args:
        root: The directory's own file system.
        share: Which part of it.
        search: The search.
        failed: Told of a node that can't be looked at.

    Returns:
        Rows of `FOUND`.
    """
    query, out = parse(search.words), _Texts(search.escapes)
    context = Context(part_root(root, share), out, lambda _: None, search.cwd)
    searching = _PartSearch(context, query, failed, share, out)
    for word, start in enumerate(query.starts or (".",)):
        out.word = word
        try:
            for match in matches(context, start, failed):
                searching.below(match)
                if searching.quit:
                    return out.rows
        except PathError:
            # Another part may have it; where none has, whoever asked says so.
            continue
        except SourceError as error:
            # It is told of; whether the start is there is not known.
            failed(str(start), error)
            out.add([])
        finally:
            searching.flush()
            out.end(quits=searching.quit)
    if query.counts:
        out.rows.append((COUNTED, [b""], 0, _encoded(str(searching.count)), False))
    return out.rows


class _Texts:
    """Makes rows of what a search writes; a `metashell.commands.framework.command.Output`.

    Args:
        is_terminal: Whether control characters are escaped.
    """

    width = 80

    def __init__(self, is_terminal: bool) -> None:
        self.is_terminal = is_terminal
        self.rows: list[_Row] = []
        self.word = 0
        self.way: Sequence[str] = ()
        """Names on the way to the node that the next text begins with."""
        self._text: list[str] = []
        self._n_chars = 0

    def write(self, text: str) -> None:
        """Take text."""
        self._text.append(text)
        self._n_chars += len(text)
        if self._n_chars >= _PIECE_CHARS:
            self.end()

    def flush(self) -> None:
        """Nobody waits."""

    def end(self, *, quits: bool = False) -> None:
        """Make a row of the text that there is."""
        if self._text or quits:
            self.add(self.way, "".join(self._text), quits=quits)
        self._text, self._n_chars = [], 0

    def add(self, way: Sequence[str], text: str = "", *, quits: bool = False) -> None:
        """Add a row."""
        self.rows.append((self.word, [*map(_encoded, way)], len(self.rows), _encoded(text), quits))


class _PartSearch(Search):
    """Searches a part, and tells of what is the part's own.

    Args:
        context: The argument of `Search`.
        query: Likewise.
        failed: Likewise.
        share: Which part.
        out: Where the context writes.
    """

    visits_each = True

    def __init__(
        self, context: Context, query: Query, failed: Failed, share: Share, out: _Texts
    ) -> None:
        super().__init__(context, query, failed)
        self._share, self._out = share, out
        self._n_at = 0
        """Names on the way to the start."""
        self._way: list[str] = []
        self._is_border = True
        """Whether other parts may have what comes behind the last node."""

    @property
    def count(self) -> int:
        """The part's own nodes that reached ``-count``."""
        return self._doing.count

    def below(self, match: Match) -> None:
        """Search a start and all below it."""
        self._way = list(match.place.names())
        self._n_at, self._is_border = len(self._way), True
        if self._share.owns(self._way):
            self._out.add(self._way)
        super().below(match)

    def _visit(self, visit: Visit) -> None:
        del self._way[self._n_at + max(visit.depth - 1, 0) :]
        if visit.depth:
            self._way.append(visit.name)
        is_own, is_border = self._share.owns(self._way), self._share.is_border(self._way)
        if is_border or self._is_border:
            self._begin(self._way)
        self._is_border = is_border or not is_own
        count = self.count
        super()._visit(visit)
        if not is_own:
            self._doing.lines.clear()
            self._doing.quits, self._doing.count = False, count

    def _begin(self, way: Sequence[str]) -> None:
        """Begin another row, with the node at the end of a way."""
        self.flush()
        self._out.end()
        self._out.way = tuple(way)

    def _grid(self, visit: GridVisit) -> None:
        below, grid = [*self._way, ""], visit.grid
        if not self._share.owns(below):
            return
        if not self._share.is_border(below):
            super()._grid(visit)
            return
        for name, shape in zip(grid.names, indices(grid.shape_of), strict=True):
            self._begin([*self._way, name])
            one = Grid(grid.directory, [name], [grid.shapes[shape]], [0])
            super()._grid(replace(visit, grid=one))
            if self.quit:
                return


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
