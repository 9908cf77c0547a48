"""A subtree of the file system as one JSON or YAML document.

Directories are objects and leaves their values. Nothing is held but the way down to where the
writing is, so that a tree of millions of nodes takes no memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from operator import add
from typing import Final

from metashell.commands.rows.yaml_text import yaml_text
from metashell.errors import MetashellError
from metashell.fs.node import Directory, Grid, Node
from metashell.fs.path import join
from metashell.fs.texts import GridTexts
from metashell.fs.walk import Failed, refuse
from metashell.schema.dump import finite, null, to_json

_STEP: Final = 1024
"""Pieces that are put together into one."""
_STEP_LEAVES: Final = 16_384
_INDENT: Final = "  "
_encode: Final = partial(to_json, ascii_only=True, stand_in=null)


def json_pieces(node: Node, path: str = "/", failed: Failed = refuse) -> Iterator[str]:
    """The document, in pieces of many lines each.

    Args:
        node: The top of it.
        path: Where that is, for `failed`.
        failed: Told of a node that can't be looked at, in whose place stands null.
    """
    return _joined(_json(_Reading(path, failed), node))


def yaml_pieces(node: Node, path: str = "/", failed: Failed = refuse) -> Iterator[str]:
    """The document, in pieces of many lines each; arguments as `json_pieces`."""
    return _joined(_yaml(_Reading(path, failed), node))


class _Reading:
    """Asks nodes, and tells of those that can't be looked at.

    Args:
        path: That of the document's top.
        failed: Told of them.
    """

    def __init__(self, path: str, failed: Failed) -> None:
        self._failed = failed
        self.way = [path]
        """Paths of the directories that are open, from the top on."""

    def names(self, directory: Directory) -> Iterator[str] | None:
        """Names of the children of the directory that was opened last; None where it fails."""
        try:
            return iter(directory.names())
        except MetashellError as error:
            self._failed(self.way[-1], error)
            return None

    def child(self, directory: Directory, name: str) -> Node | None:
        """A child of the directory that was opened last."""
        try:
            return directory.child(name)
        except MetashellError as error:
            self._failed(join(self.way[-1], name), error)
            return None

    def value(self, leaf: Node | None, name: str | None = None) -> object:
        """The value of a leaf of the directory that was opened last, or of the top."""
        # Kafka's tree has names without a node.
        if leaf is None or isinstance(leaf, Directory):
            return None
        try:
            return leaf.value()
        except MetashellError as error:
            self._failed(self.way[-1] if name is None else join(self.way[-1], name), error)
            return None


def _joined(pieces: Iterator[str]) -> Iterator[str]:
    held: list[str] = []
    for piece in pieces:
        held.append(piece)
        if len(held) >= _STEP:
            yield "".join(held)
            held.clear()
    yield "".join(held)


def _json(reading: _Reading, node: Node) -> Iterator[str]:
    if not isinstance(node, Directory):
        yield _encode(reading.value(node)) + "\n"
        return
    if (grid := node.grid()) is not None and (texts := grid.json()) is not None:
        yield "{"
        yield from _grid(grid, texts, 0)
        yield "\n"
        return
    top = reading.names(node)
    if top is None:
        yield "null\n"
        return
    yield "{"
    stack = [(node, top)]
    between = "\n"
    while stack:
        directory, names = stack[-1]
        name = next(names, None)
        if name is None:
            stack.pop()
            reading.way.pop()
            # An empty directory closes where it opened.
            yield "}" if between == "\n" else f"\n{_INDENT * len(stack)}}}"
            between = ",\n"
            continue
        child = reading.child(directory, name)
        before = f"{between}{_INDENT * len(stack)}{_encode(name)}: "
        between = ",\n"
        if not isinstance(child, Directory):
            yield before + _encode(reading.value(child, name))
            continue
        if (grid := child.grid()) is not None and (texts := grid.json()) is not None:
            yield before + "{"
            yield from _grid(grid, texts, len(stack))
            continue
        reading.way.append(join(reading.way[-1], name))
        below = reading.names(child)
        if below is None:
            reading.way.pop()
            yield before + "null"
            continue
        yield before + "{"
        stack.append((child, below))
        between = "\n"
    yield "\n"


def _grid(grid: Grid, texts: GridTexts, depth: int) -> Iterator[str]:
    """The rest of a directory with a grid, so deep in the document, whose brace is open."""
    outer, inner = (f"\n{_INDENT * deeper}" for deeper in (depth + 1, depth + 2))
    before = [[f"{inner}{_encode(leaf)}: " for leaf in shape] for shape in grid.shapes]
    bounds: list[int] = texts.bounds.tolist()
    first, last, between = 0, len(grid.names), ""
    while first < last:
        stop = max(first + 1, bisect_right(bounds, bounds[first] + _STEP_LEAVES) - 1)
        at = bounds[first]
        values = texts.texts(at, bounds[stop]).data.decode().split("\n")
        for i in range(first, stop):
            pairs = map(add, before[grid.shape_of[i]], values[bounds[i] - at : bounds[i + 1] - at])
            inside = ",".join(pairs)
            end = outer if inside else ""
            yield f"{between}{outer}{_encode(grid.names[i])}: {{{inside}{end}}}"
            between = ","
        first = stop
    yield f"\n{_INDENT * depth}}}" if between else "}"


def _yaml(reading: _Reading, node: Node) -> Iterator[str]:
    if not isinstance(node, Directory):
        yield yaml_text(finite(reading.value(node), null)).removesuffix("...\n")
        return
    top = reading.names(node)
    if top is None:
        yield yaml_text(None).removesuffix("...\n")
        return
    stack = [(node, top)]
    if not node.names():
        yield "{}\n"
    while stack:
        directory, names = stack[-1]
        name = next(names, None)
        if name is None:
            stack.pop()
            reading.way.pop()
            continue
        child = reading.child(directory, name)
        depth = len(stack) - 1
        if not isinstance(child, Directory):
            yield _nested(yaml_text, depth, {name: finite(reading.value(child, name), null)})
            continue
        reading.way.append(join(reading.way[-1], name))
        below = reading.names(child)
        if below is None or not child.names():
            reading.way.pop()
            yield _nested(yaml_text, depth, {name: None if below is None else {}})
            continue
        # Ends with the null, in whose place the children come on lines of their own.
        yield _nested(yaml_text, depth, {name: None}).removesuffix(" null\n") + "\n"
        stack.append((child, below))


def _nested(write: Callable[[object], str], depth: int, value: object) -> str:
    """A mapping as it is written so deep in a document."""
    for _ in range(depth):
        value = {"x": value}
    text = write(value)
    for _ in range(depth):
        text = text.partition("\n")[2]
    return text
