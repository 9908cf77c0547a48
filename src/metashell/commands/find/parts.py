"""``find`` where the log is: in executors and other processes, each with a part of the tree.

A part is a cluster of a fleet, or has some topics of a cluster. Its file system has all that stands
above, so tests, depths and ``-prune`` mean what they mean in the whole one; what is not the part's
own is searched and not told of. Text carries the names on the way to the node that it begins with:
sorted by these it is in the order of the walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from metashell.commands.find.expression import Query
from metashell.commands.find.parser import parse
from metashell.commands.find.search import Search
from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import line_of, matches, stop_if_cancelled
from metashell.dataclass import dataclass
from metashell.errors import MetashellError, PathError, SourceError
from metashell.fs.glob import Match
from metashell.fs.node import Directory, FixedDirectory, Grid, Node
from metashell.fs.path import CLUSTERS, normalise
from metashell.fs.pattern import has_wildcard
from metashell.fs.walk import Failed, GridVisit, Visit, indices, refuse
from metashell.sources.fleet.member import error_fields, error_of
from metashell.sources.fleet.reading import Reading
from metashell.sources.fleet.source import FleetSource
from metashell.sources.node_places import NodePlaces

if TYPE_CHECKING:
    from metashell.sources.fleet.member import FleetMember
    from metashell.sources.source import Source

FAILED: Final = -1
WARNED: Final = -2
LACKING: Final = -3
COUNTED: Final = -4
"""Words of `FoundPiece.told`: a directory that was looked at and can't be read, what a user should
know of one, a node that can't be looked at, and a part's number of nodes."""

_PIECE_CHARS: Final = 1 << 20
"""About how much text a row has at most."""
_TOPICS: Final = ("image", "topics")
_BY: Final = ("byId", "byName")

PartRow: TypeAlias = tuple[int, Sequence[str], int, str, bool]
"""Which start, names on the way to the first node of a text, the text's place among those of that
node, the text, and whether the search ends there. A start that is there has a row with no text."""


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
) -> list[PartRow]:
    """Search a part.

    Args:
        root: The directory's own file system.
        share: Which part of it.
        search: The search.
        failed: Told of a node that can't be looked at.

    Returns:
        The rows, in the order of the walk.
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
        out.rows.append((COUNTED, ("",), 0, str(searching.count), False))
    return out.rows


class _Texts:
    """Makes rows of what a search writes; a `metashell.commands.framework.command.Output`.

    Args:
        is_terminal: Whether control characters are escaped.
    """

    width = 80

    def __init__(self, is_terminal: bool) -> None:
        self.is_terminal = is_terminal
        self.rows: list[PartRow] = []
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
        self.rows.append((self.word, tuple(way), len(self.rows), text, quits))


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


# The findings of parts, put together.


@dataclass(frozen=True, slots=True)
class FoundPiece:
    """Some of what a search found."""

    text: str
    words: Sequence[int] = ()
    """Starts that are there."""
    quits: bool = False
    """Whether the search ends here."""
    told: Sequence[tuple[int, str, str]] = ()
    """A word such as `FAILED`, what a directory is called, and what is to be said of it."""


@dataclass(slots=True)
class PartsSearch:
    """A search: iterate over it for the text to print; then `matched` are the starts there are.

    Raises:
        SourceError: While iterating: the directory can't be read, and nobody wants to be told.
    """

    pieces: Callable[[], Iterator[FoundPiece]]
    failed: Callable[[str, str], None] | None = None
    """Told the name of each directory that can't be read, and why."""
    matched: set[int] = field(default_factory=set)
    missing: dict[str, None] = field(default_factory=dict)
    """Nodes that can't be looked at, each with why."""

    def __iter__(self) -> Iterator[str]:
        count: int | None = None
        for piece in self.pieces():
            for kind, name, text in piece.told:
                if kind == FAILED:
                    if self.failed is None:
                        raise SourceError(text)
                    self.failed(name, text)
                elif kind == COUNTED:
                    count = (count or 0) + int(text)
                elif kind == LACKING:
                    self.missing[text] = None
            self.matched.update(piece.words)
            if piece.text:
                yield piece.text
            if piece.quits:
                # Rows behind this one were not searched.
                self.matched.update(range(max(piece.words), 1 << 16))
                return
        if count is not None:
            yield f"{count}\n"


# Members of a fleet, each searched whole.


def search_members(context: Context, args: Sequence[str]) -> PartsSearch | None:
    """Have the members of a fleet searched by others; None where this process is as good.

    Args:
        context: Where the command is run.
        args: The words behind ``find``.
    """
    fleet = context.fleet
    assert fleet is not None
    query = parse(args)
    starts = [normalise(start, context.cwd).split("/") for start in query.starts or (".",)]
    if query.quits and len(starts) > 1:
        return None  # Where one start ends the search, others were not looked at.
    if list(fleet.root.names()) != [CLUSTERS] and any(way[1] != CLUSTERS for way in starts):
        return None  # The rest of the tree is made of all members.
    members = list(fleet.members.values())
    if all(len(way) > 2 and not has_wildcard(way[2]) for way in starts):
        members = [member for member in members if member.name in {way[2] for way in starts}]
    closed = [member for member in members if member.opened is None]
    if not fleet.is_for_others(closed, keeps=context.interactive):
        return None
    task = FindTask(args, context.cwd, context.out.is_terminal)
    asked = {member.name: member for member in closed if not fleet.is_spread(member)}

    def pieces() -> Iterator[FoundPiece]:
        first = next(iter(fleet.members))
        shares = {
            name: Share(above=(CLUSTERS, name), is_first=name == first) for name in fleet.members
        }
        rows = fleet.compute(
            find_in_member,
            find_in_source,
            lambda member: (shares[member.name], task),
            members=list(asked.values()),
            stop=lambda: stop_if_cancelled(context),
        )
        for member in members:
            if member.name in asked:
                yield from _taken(fleet, member, next(rows), shares[member.name], task)
            else:
                yield from _of_opened(member, shares[member.name], task)

    def failed(name: str, reason: str) -> None:
        fleet.failed(fleet.members[name], SourceError(reason))

    return PartsSearch(lambda: in_order_of_starts(pieces()), failed)


def in_order_of_starts(pieces: Iterable[FoundPiece]) -> Iterator[FoundPiece]:
    """Put what members found into the order of the starts: what later ones have waits."""
    later: dict[int, list[FoundPiece]] = {}
    for piece in pieces:
        word = max(piece.words, default=0)
        if word:
            later.setdefault(word, []).append(piece)
        else:
            yield piece
    for word in sorted(later):
        yield from later[word]


def find_in_member(place: str, reading: Reading, share: Share, task: FindTask) -> dict[str, Any]:
    """Search a directory, which is opened when it is first looked at; never raises.

    ``found`` has what it found, ``notes`` and ``stopped_by`` what the user should know of it.
    """
    fleet = FleetSource([NodePlaces(path=place)], reading)
    (member,) = fleet.members.values()
    member.reading = reading
    row: dict[str, Any] = {"found": _found_in(member.directory, share, task), "error": None}
    for error in fleet.failures().values():
        row |= error_fields(error)
    return {**row, "notes": tuple(member.warnings), "stopped_by": member.stopped_by}


def find_in_source(source: Source, share: Share, task: FindTask) -> dict[str, Any]:
    """Search an opened source."""
    return {
        "found": _found_in(source.root, share, task),
        "notes": tuple(source.warnings),
        "stopped_by": source.stopped_by,
    }


def _found_in(root: Directory, share: Share, task: FindTask) -> list[FoundPiece]:
    lines = dict[str, None]()

    def failed(path: str, error: MetashellError) -> None:
        lines[line_of(path, error)] = None

    texts: dict[int, list[PartRow]] = {}
    told = []
    for row in find_part(root, share, task, failed):
        if row[0] < 0:
            told.append((row[0], share.above[-1], row[3]))
        else:
            texts.setdefault(row[0], []).append(row)
    told += [(LACKING, share.above[-1], line) for line in lines]
    found = [FoundPiece("", told=told)] if told else []
    for word, rows in sorted(texts.items()):
        found.append(
            FoundPiece("".join(row[3] for row in rows), [word], any(row[4] for row in rows))
        )
    return found


def _taken(
    fleet: FleetSource, member: FleetMember, row: dict[str, Any], share: Share, task: FindTask
) -> Iterator[FoundPiece]:
    """Take over the findings of another process, with all that it would have left behind here."""
    error = error_of(row)
    if error is not None:
        fleet.failed(member, error)
    if "found" not in row:  # The process died.
        yield from _found_in(FixedDirectory({}), share, task)
        return
    member.was_read(row["notes"], row["stopped_by"])
    yield from row["found"]


def _of_opened(member: FleetMember, share: Share, task: FindTask) -> Iterator[FoundPiece]:
    """Search a member that is open, or that its engine searches in parts."""
    delegated = None
    with suppress(SourceError):  # Its directory is empty then, and the fleet knows why.
        delegated = member.source().delegate(
            lambda they: they.search(task.words, task.cwd, escapes=task.escapes)
        )
    if delegated is None:
        yield from _found_in(member.directory, share, task)
    else:
        yield from delegated.pieces()
