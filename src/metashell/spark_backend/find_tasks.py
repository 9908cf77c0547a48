"""``find`` in executors: each part of a directory is searched as the file system that it is.

A part's file system has all that stands above its topics, so tests, depths and ``-prune`` mean what
they mean in the whole one; what is not the part's own is searched and not told of. Rows carry the
components of their paths: sorted by these they stand in the order of the walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.commands.find.expression import (
    Act,
    Constant,
    Exec,
    Expression,
    Printf,
    Query,
    WalkEffect,
)
from metashell.commands.find.grid import PRINTS
from metashell.commands.find.parser import parse
from metashell.commands.find.search import write_encoded
from metashell.commands.framework.command_line import Word
from metashell.commands.framework.targets import line_of
from metashell.dataclass import dataclass
from metashell.errors import MetashellError, PathError, SourceError
from metashell.fs.escape import escape
from metashell.fs.glob import Match, expand
from metashell.fs.node import Directory, FixedDirectory, Node
from metashell.fs.path import resolve
from metashell.fs.walk import Failed, GridVisit, Visit, indices, refuse, walk, written_grid
from metashell.read_settings import ReadSettings
from metashell.sources.condensed import source_of
from metashell.spark_backend.tasks import Failure, FoldJob, log_or_whole

FOUND: Final = pa.schema(
    [
        ("word", pa.int32()),
        ("components", pa.list_(pa.field("element", pa.binary()))),
        ("text", pa.binary()),
        ("quits", pa.bool_()),
    ]
)
"""``word``: which start; ``components``: names on the way; ``text``: what is printed; a start that
is there has a row with no text. A directory that was looked at and can't be read has a row of the
word `FAILED` with its name and why; what a user should know of one has the word `WARNED`, and a
node in it that can't be looked at the word `LACKING`."""

FAILED: Final = -1
WARNED: Final = -2
LACKING: Final = -3

_BATCH_ROWS: Final = 16_384
_TOPICS: Final = ("image", "topics")
_BY: Final = ("byId", "byName")

_Row = tuple[int, list[bytes], bytes, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindTask:
    """A ``find``, as it was typed; picklable."""

    words: tuple[tuple[str, str | None, bool], ...]
    """Each word: its text, its pattern, whether its wildcards are meant."""
    cwd: str
    escapes: bool
    """Whether control characters are escaped: the output is a terminal."""

    def typed(self) -> list[str]:
        """The words as the command got them."""
        return [
            text if pattern is None else Word(text, pattern, wild=wild)
            for text, pattern, wild in self.words
        ]


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


def find_in_pieces(
    job: FoldJob, pieces: pa.Table, share: Share, search: FindTask, settings: ReadSettings
) -> pa.Table:
    """Search what the pieces of a part hold; a table of `FOUND`."""
    log, is_whole = log_or_whole(job, pieces)
    if isinstance(log, Failure) or is_whole:
        if share.part:
            return FOUND.empty_table()
        share = replace(share, n_parts=0)
    name = _encoded(share.above[-1:] or [""])
    told: list[_Row] = []
    if isinstance(log, Failure):
        unread = _Unread()
        batches = list(find_part(unread, share, search))
        if unread.was_asked:
            told = [(FAILED, name, _encoded([log.message])[0], False)]
    else:
        source, lines = source_of(log, settings, job.place), dict[str, None]()

        def failed(path: str, error: MetashellError) -> None:
            lines[line_of(path, error)] = None

        batches = list(find_part(source.root, share, search, failed))
        told = [(LACKING, name, _encoded([line])[0], False) for line in lines]
        if not share.part:
            _ = source.condensed  # what is wrong with files is known now
            told += [(WARNED, name, _encoded([text])[0], False) for text in source.warnings]
    if told:
        batches.append(_batch(told))
    return pa.Table.from_batches(batches, schema=FOUND)


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
) -> Iterator[pa.RecordBatch]:
    """Search a part.

    Args:
        root: The directory's own file system.
        share: Which part of it.
        search: What for.
        failed: Told of a node that can't be looked at.

    Returns:
        Batches of `FOUND`, sorted within each start.
    """
    rows: list[_Row] = []
    for row in _Finder(part_root(root, share), share, search, failed).rows():
        rows.append(row)
        if len(rows) >= _BATCH_ROWS:
            yield _batch(rows)
            rows = []
    if rows:
        yield _batch(rows)


def _batch(rows: list[_Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(c, type=f.type) for c, f in zip(columns, FOUND, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=FOUND)


class _Finder:
    def __init__(self, root: Directory, share: Share, search: FindTask, failed: Failed) -> None:
        self.root, self.share, self.search, self.failed = root, share, search, failed
        self.query: Query = parse(search.typed())
        self.kinds = {
            is_dir: cache(self._given(self.query.expression.given(is_dir=is_dir), is_dir))
            for is_dir in (False, True)
        }
        self.quits = False

    @staticmethod
    def _given(kind: Expression, is_dir: bool) -> Callable[[str], Expression]:
        return lambda name: kind.given(is_dir=is_dir, name=name)

    def rows(self) -> Iterator[_Row]:
        for word, start in enumerate(self.query.starts or (".",)):
            try:
                for match in self._matches(start):
                    yield from self._below(word, match)
                    if self.quits:
                        return
            except PathError:
                # Another part may have it; where none has, whoever asked says so.
                continue
            except SourceError as error:
                # It is told of; whether the start is there is not known.
                self.failed(str(start), error)
                yield word, [], b"", False

    def _matches(self, start: str) -> Iterator[Match]:
        if not isinstance(start, Word):
            yield from expand(self.root, start, None, self.search.cwd, self.failed)
        elif start.wild:
            yield from expand(self.root, str(start), start.pattern, self.search.cwd, self.failed)
        else:
            yield Match(str(start), resolve(self.root, str(start), self.search.cwd))

    def _below(self, word: int, match: Match) -> Iterator[_Row]:
        at = match.place.names()
        if self.share.owns(at):
            yield word, _encoded(at), b"", False
        query, prefix = self.query, self.query.path_prefix
        visits = walk(
            match.place.node,
            match.path,
            max_depth=query.max_depth,
            write_name=write_encoded if query.encode else None,
            enters=(lambda base: base.startswith(prefix) or prefix.startswith(base))
            if prefix
            else None,
            once=query.once,
            failed=self.failed,
        )
        way = list(at)
        for visit in visits:
            if isinstance(visit, GridVisit):
                found = self._grid(visit, list(way))
            else:
                del way[len(at) + max(visit.depth - 1, 0) :]
                if visit.depth:
                    way.append(visit.name)
                found = self._visit(visit, way)
            for components, text, quits in found:
                yield word, _encoded(components), text, quits
                if quits:
                    self.quits = True
                    return

    def _visit(self, visit: Visit, way: Sequence[str]) -> Iterator[tuple[list[str], bytes, bool]]:
        if visit.depth < self.query.min_depth:
            return
        text, pruned, quits = self._ask(visit.is_dir, visit.name, visit.path)
        visit.pruned = pruned
        if (text or quits) and self.share.owns(way):
            yield list(way), text, quits

    def _grid(self, visit: GridVisit, way: list[str]) -> Iterator[tuple[list[str], bytes, bool]]:
        query, depth = self.query, visit.depth + 1
        with_directories = depth >= query.min_depth and not visit.is_flat
        with_leaves = depth + 1 >= query.min_depth and (
            query.max_depth is None or depth < query.max_depth
        )
        if not self.share.owns([*way, ""]):
            return
        names, shapes = written_grid(visit, write_encoded if query.encode else None)
        grid = visit.grid
        for real, name, shape in zip(grid.names, names, indices(grid.shape_of), strict=True):
            path, pruned = visit.base + name, False
            here = way if visit.is_flat else [*way, real]
            if with_directories:
                text, pruned, quits = self._ask(True, real, path)
                if text or quits:
                    yield here, text, quits
            if pruned or not with_leaves:
                continue
            for leaf, written in zip(grid.shapes[shape], shapes[shape], strict=True):
                text, _, quits = self._ask(False, leaf, f"{path}/{written}")
                if text or quits:
                    yield [*here, leaf], text, quits

    def _ask(self, is_dir: bool, name: str, path: str) -> tuple[bytes, bool, bool]:
        """What a node prints, whether it is pruned, and whether the search ends with it."""
        rest = self.kinds[is_dir](name)
        if isinstance(rest, Constant):
            return b"", False, False
        told = _Told(escapes=self.search.escapes)
        rest.run(path, told)
        return told.text.encode("utf-8", "surrogatepass"), told.pruned, told.quits


class _Told:
    """What an evaluation says; a `metashell.commands.find.expression.Doer`."""

    def __init__(self, *, escapes: bool) -> None:
        self.text = ""
        self.pruned = self.quits = False
        self._escapes = escapes

    def do(self, action: Act | Printf | Exec, path: str) -> bool:
        # Other actions are not sent: see `Query.is_plain`.
        assert isinstance(action, Act)
        if action.effect in PRINTS:
            self.text += f"{escape(path) if self._escapes else path}{action.effect.value}"
        elif action.effect is WalkEffect.QUIT:
            self.quits = True
        else:
            self.pruned = True
        return True


def _encoded(components: Sequence[str]) -> list[bytes]:
    return [name.encode("utf-8", "surrogatepass") for name in components]


def join_found(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What is printed, in few pieces; nothing behind the first row that ends the search.

    Args:
        batches: Of `FOUND`, sorted.

    Returns:
        Batches of `JOINED`.
    """
    for batch in batches:
        is_told = pc.less(batch.column("word"), 0)
        told = [
            {"word": word, "name": name, "text": text}
            for word, (name,), text in zip(
                *map(pa.Array.to_pylist, batch.filter(is_told).columns[:3]), strict=True
            )
        ]
        batch = batch.filter(pc.invert(is_told))  # noqa: PLW2901
        quits = batch.column("quits").to_pylist()
        end = quits.index(True) + 1 if True in quits else len(quits)
        words = batch.column("word").slice(0, end).unique().to_pylist()
        text = b"".join(batch.column("text").slice(0, end).to_pylist())
        row = {
            "text": text,
            "words": words,
            "quits": end > 0 and bool(quits[end - 1]),
            "told": told,
        }
        yield pa.RecordBatch.from_pylist([row], schema=JOINED)
        if row["quits"]:
            return


_TOLD: Final = pa.struct([("word", pa.int32()), ("name", pa.binary()), ("text", pa.binary())])

JOINED: Final = pa.schema(
    [
        ("text", pa.binary()),
        ("words", pa.list_(pa.field("element", pa.int32()))),
        ("quits", pa.bool_()),
        ("told", pa.list_(pa.field("element", _TOLD))),
    ]
)
