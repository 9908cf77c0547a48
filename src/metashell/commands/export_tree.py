"""A subtree of the file system as one JSON or YAML document.

Directories are objects and leaves their values. Nothing is held but the way down to where the
writing is, so that a tree of millions of nodes takes no memory.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import add
from typing import TYPE_CHECKING, Final

from metashell.fs.node import Directory, Node

if TYPE_CHECKING:
    from metashell.fs.texts import GridTexts

_STEP: Final = 1024
"""Pieces that are put together into one."""
_STEP_LEAVES: Final = 16_384
_INDENT: Final = "  "
_encode: Final = json.JSONEncoder(allow_nan=False).encode


def json_pieces(node: Node) -> Iterator[str]:
    """The document, in pieces of many lines each."""
    return _joined(_json(node))


def yaml_pieces(node: Node) -> Iterator[str]:
    """The document, in pieces of many lines each."""
    return _joined(_yaml(node))


def _joined(pieces: Iterator[str]) -> Iterator[str]:
    held: list[str] = []
    for piece in pieces:
        held.append(piece)
        if len(held) >= _STEP:
            yield "".join(held)
            held.clear()
    yield "".join(held)


def _json(node: Node) -> Iterator[str]:
    if not isinstance(node, Directory):
        yield _value_text(node) + "\n"
        return
    yield "{"
    if (texts := node.grid_json()) is not None:
        yield from _grid(node, texts, 0)
        yield "\n"
        return
    stack = [(node, iter(node.names()))]
    between = "\n"
    while stack:
        directory, names = stack[-1]
        name = next(names, None)
        if name is None:
            stack.pop()
            # An empty directory closes where it opened.
            yield "}" if between == "\n" else f"\n{_INDENT * len(stack)}}}"
            between = ",\n"
            continue
        child = directory.child(name)
        before = f"{between}{_INDENT * len(stack)}{_encode(name)}: "
        if isinstance(child, Directory):
            yield before + "{"
            if (texts := child.grid_json()) is not None:
                yield from _grid(child, texts, len(stack))
                between = ",\n"
                continue
            stack.append((child, iter(child.names())))
            between = "\n"
        else:
            yield before + _value_text(child)
            between = ",\n"
    yield "\n"


def _grid(directory: Directory, texts: GridTexts, depth: int) -> Iterator[str]:
    """The rest of a directory with a grid, so deep in the document, whose brace is open."""
    grid = directory.grid()
    assert grid is not None
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


def _value_text(leaf: Node | None) -> str:
    value = _value_of(leaf)
    try:
        return _encode(value)
    except (TypeError, ValueError):
        return _encode(_plain(value))


def _value_of(leaf: Node | None) -> object:
    # Kafka's tree has names without a node.
    return None if leaf is None or isinstance(leaf, Directory) else leaf.value()


def _plain(value: object) -> object:
    """The value with nothing in it but what JSON has; a number that is none becomes null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


def _yaml(node: Node) -> Iterator[str]:
    from metashell.commands.yaml_text import yaml_text

    if not isinstance(node, Directory):
        yield yaml_text(_plain(_value_of(node))).removesuffix("...\n")
        return
    stack = [iter(_children(node))]
    if not node.names():
        yield "{}\n"
    while stack:
        found = next(stack[-1], None)
        if found is None:
            stack.pop()
            continue
        name, child = found
        depth = len(stack) - 1
        if not isinstance(child, Directory):
            yield _nested(yaml_text, depth, {name: _plain(_value_of(child))})
        elif not child.names():
            yield _nested(yaml_text, depth, {name: {}})
        else:
            # Ends with the null, in whose place the children come on lines of their own.
            yield _nested(yaml_text, depth, {name: None}).removesuffix(" null\n") + "\n"
            stack.append(iter(_children(child)))


def _children(directory: Directory) -> Iterator[tuple[str, Node | None]]:
    for name in directory.names():
        yield name, directory.child(name)


def _nested(write: Callable[[object], str], depth: int, value: object) -> str:
    """A mapping as it is written so deep in a document."""
    for _ in range(depth):
        value = {"x": value}
    text = write(value)
    for _ in range(depth):
        text = text.partition("\n")[2]
    return text
