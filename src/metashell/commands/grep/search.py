"""The search of ``grep``: a walk over leaves, the texts of a grid's leaves many at a time.

Such a chunk of texts is decoded, and its lines are asked one by one, only where the bytes hold what
every match holds (`metashell.commands.find.literal.required_literal`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, TypeAlias

from metashell.commands.find.literal import required_literal
from metashell.commands.find.search import write_encoded
from metashell.commands.framework.command import Context
from metashell.commands.framework.targets import shown, stop_if_cancelled
from metashell.commands.rows.query import RowMapping
from metashell.commands.shared.colour import has_colour
from metashell.dataclass import dataclass
from metashell.errors import MetashellError, UsageError
from metashell.fs.escape import Coloured, escape_text
from metashell.fs.glob import Match
from metashell.fs.node import Directory, Leaf
from metashell.fs.path import encode_name
from metashell.fs.texts import GridTexts, Texts
from metashell.fs.walk import Failed, GridVisit, NameWriter, indices, walk, written_grid

_CHUNK_LEAVES: Final = 16_384
_CHUNK_LINES: Final = 1024
_Hits: TypeAlias = list[tuple[int, str]]
"""Lines with their numbers in their leaf's text."""
_RED, _PLAIN = "\x1b[1;31m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class GrepQuery:
    """The pattern to look for, and how matches are printed."""

    patterns: tuple[re.Pattern[str], ...]
    literal: bytes
    """The bytes that the text of every leaf with a match contains; empty where nothing is known."""
    ignore_case: bool
    switches: Collection[str]
    most: int | None
    """Lines of each leaf at most."""

    @classmethod
    def of(cls, texts: Sequence[str], switches: Collection[str], most: int | None) -> GrepQuery:
        """Make it of patterns as typed.

        Raises:
            UsageError: A pattern is none.
        """
        ignore_case = "-i" in switches
        flags = re.IGNORECASE if ignore_case else re.NOFLAG
        is_plain = "-F" in switches
        patterns = []
        for text in texts:
            try:
                patterns.append(re.compile(re.escape(text) if is_plain else text, flags))
            except (re.error, RecursionError, OverflowError) as error:
                raise UsageError(f"{text}: {error}") from error
        literal = b""
        if len(texts) == 1 and "-v" not in switches:
            literal = _literal(texts[0] if is_plain else required_literal(texts[0]), ignore_case)
        return cls(tuple(patterns), literal, ignore_case, frozenset(switches), most)

    def among(self, lines: Sequence[str]) -> list[int]:
        """Which of some lines are to be printed."""
        inverted = "-v" in self.switches
        if len(self.patterns) == 1:
            search = self.patterns[0].search
            return [i for i, line in enumerate(lines) if (search(line) is None) is inverted]
        searches = [pattern.search for pattern in self.patterns]
        return [
            i
            for i, line in enumerate(lines)
            if any(search(line) for search in searches) is not inverted
        ]

    def spans(self, line: str) -> Iterator[tuple[int, int]]:
        """Where in a line matches stand, in order and apart."""
        end = 0
        for start, stop in sorted(m.span() for p in self.patterns for m in p.finditer(line)):
            if stop > max(start, end):
                yield max(start, end), stop
                end = stop


def _literal(text: str, ignore_case: bool) -> bytes:
    if ignore_case and not text.isascii():
        return b""
    # A pattern that is no UTF-8 matches no text; the pattern itself finds that out.
    raw = text.encode("utf-8", "ignore")
    if raw.decode() != text or "\n" in text:
        return b""
    return raw.lower() if ignore_case else raw


class GrepSearch:
    """One run.

    Args:
        context: Where it is run.
        query: The query.
        failed: Told of a node that can't be looked at.
        encode: Whether names are printed as ``find --encode`` does.
        add: Takes rows, where these are asked for in place of text.
    """

    def __init__(
        self,
        context: Context,
        query: GrepQuery,
        failed: Failed,
        *,
        encode: bool,
        add: Callable[[Sequence[RowMapping]], None] | None = None,
    ) -> None:
        self.found = False
        """Whether there was a line."""
        self.quits = False
        """Whether no more has to be known."""
        self._context = context
        self._query = query
        self._failed = failed
        self._write_name: NameWriter | None = write_encoded if encode else None
        if add is not None and not encode:
            # A row's path must lead to its node.
            self._write_name = encode_name
        self._add_rows, self._rows = add, list[RowMapping]()
        self._lines: list[str] = []
        self._has_colour = has_colour(context) and "-v" not in query.switches

    def below(self, match: Match) -> None:
        """Search a start and all below it."""
        start, write_name = match.place.node, self._write_name
        path = match.path if self._add_rows is None else match.place.encoded()
        for visit in walk(start, path, write_name=write_name, failed=self._failed):
            if isinstance(visit, GridVisit):
                self._grid(visit)
            elif isinstance(visit.node, Leaf):
                stop_if_cancelled(self._context)
                try:
                    hits = self._hits(visit.node.text())
                except MetashellError as error:
                    self._failed(visit.path, error)
                    continue
                if hits:
                    self._tell(visit.path, hits)
            if self.quits:
                return

    def flush(self) -> None:
        """Send what was collected."""
        if self._add_rows is not None:
            self._add_rows(self._rows)
            self._rows = []
        if self._lines:
            text = "".join(self._lines)
            self._lines.clear()
            self._context.write(Coloured(text) if self._has_colour else text)

    def _grid(self, visit: GridVisit) -> None:
        paths = _GridPaths(visit, self._write_name)
        texts = visit.grid.texts()
        if texts is None:
            self._each(visit, paths)
        else:
            self._bulk(texts, paths)

    def _each(self, visit: GridVisit, paths: _GridPaths) -> None:
        """Ask each leaf of a grid for its text."""
        grid = visit.grid
        for i, (name, shape) in enumerate(zip(grid.names, indices(grid.shape_of), strict=True)):
            directory = visit.child(name)
            if not isinstance(directory, Directory):
                continue
            stop_if_cancelled(self._context)
            for j, leaf_name in enumerate(grid.shapes[shape]):
                leaf = directory.child(leaf_name)
                if isinstance(leaf, Leaf) and (hits := self._hits(leaf.text())):
                    self._tell(paths.of(i, j), hits)
                if self.quits:
                    return

    def _bulk(self, texts: GridTexts, paths: _GridPaths) -> None:
        """Search the texts of a grid's leaves, a chunk after the other."""
        bounds: list[int] = texts.bounds.tolist()
        literal = self._query.literal.decode()
        held = texts.holders(literal) if literal else None
        n = bounds[-1] if held is None else len(held)
        for start in range(0, n, _CHUNK_LEAVES):
            stop_if_cancelled(self._context)
            stop = min(start + _CHUNK_LEAVES, n)
            if held is None:
                leaves: Sequence[int] = range(start, stop)
                chunk = texts.texts(start, stop)
            else:
                leaves = held[start:stop].tolist()
                chunk = texts.texts_of(held[start:stop])
            for at, hits in self._in_chunk(chunk):
                leaf = leaves[at]
                i = bisect_right(bounds, leaf) - 1
                self._tell(paths.of(i, leaf - bounds[i]), hits)
                if self.quits:
                    return

    def _in_chunk(self, chunk: Texts) -> Iterator[tuple[int, _Hits]]:
        """The wanted lines of the texts of a chunk that have some."""
        literal, data = self._query.literal, chunk.data
        n = len(chunk.bounds) - 1
        if literal and self._query.ignore_case:
            # Letters that are not ASCII may be the other case of one that is.
            literal, data = (literal, data.lower()) if data.isascii() else (b"", data)
        if not literal:
            lines = data.decode("utf-8", "replace").split("\n")
            if len(lines) == n + 1:
                for i in self._query.among(lines[:n]):
                    yield i, [(1, lines[i])]
                return
        for i in range(n) if not literal else _holders(data, literal, chunk.bounds.tolist()):
            if hits := self._hits(chunk.text(i)):
                yield i, hits

    def _hits(self, text: str) -> _Hits:
        """The lines of a leaf's text that are wanted."""
        query, lines = self._query, text.split("\n")
        found = query.among(lines)[: query.most]
        return [(i + 1, lines[i]) for i in found]

    def _tell(self, path: str, hits: _Hits) -> None:
        """Print what is wanted of a leaf with such lines."""
        switches = self._query.switches
        self.found = True
        if self._add_rows is not None:
            self._rows += ({"path": path, "line": i, "text": line} for i, line in hits)
            if len(self._rows) >= _CHUNK_LINES:
                stop_if_cancelled(self._context)
                self.flush()
        elif "-q" in switches:
            self.quits = True
        elif "-l" in switches:
            self._add(shown(self._context, path))
        elif "-c" in switches:
            self._add(f"{self._before(path)}{len(hits)}")
        else:
            for number, line in hits:
                self._print(self._before(path, number), line)

    def _before(self, path: str, number: int | None = None) -> str:
        """The text before a line."""
        at = "" if number is None or "-n" not in self._query.switches else f"{number}:"
        if "-h" in self._query.switches:
            return at
        return f"{shown(self._context, path)}:{at} "

    def _print(self, before: str, line: str) -> None:
        if not self._has_colour:
            self._add(before + line)
            return
        pieces, end = [before], 0
        for start, stop in self._query.spans(line):
            pieces.append(escape_text(line[end:start]))
            pieces.append(f"{_RED}{escape_text(line[start:stop])}{_PLAIN}")
            end = stop
        self._add("".join([*pieces, escape_text(line[end:])]))

    def _add(self, line: str) -> None:
        self._lines.append(f"{line}\n")
        if len(self._lines) >= _CHUNK_LINES:
            stop_if_cancelled(self._context)
            self.flush()


def _holders(data: bytes, literal: bytes, bounds: Sequence[int]) -> Iterator[int]:
    """Numbers of the texts that hold some bytes."""
    at = data.find(literal)
    while at >= 0:
        i = bisect_right(bounds, at) - 1
        yield i
        at = data.find(literal, bounds[i + 1])


class _GridPaths:
    """The paths of a grid's leaves as they are printed; written when the first is asked for."""

    def __init__(self, visit: GridVisit, write_name: NameWriter | None) -> None:
        self._visit, self._write_name = visit, write_name
        self._written: tuple[Sequence[str], Sequence[Sequence[str]]] | None = None

    def of(self, i: int, j: int) -> str:
        """The path of leaf `j` of directory `i`."""
        if self._written is None:
            self._written = written_grid(self._visit, self._write_name)
        names, shapes = self._written
        return f"{self._visit.base}{names[i]}/{shapes[self._visit.grid.shape_of[i]][j]}"
