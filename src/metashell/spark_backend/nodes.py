"""The table `nodes`: every node of a source's file system, in the order of a walk.

Times are taken as ``stat`` takes them: from the node at the same path of the tree that remembers
most.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from metashell.commands.shared.node_times import Timed, Touch, moments_of
from metashell.errors import MetashellError
from metashell.fs.node import Directory, Leaf, Node
from metashell.schema.json_writer import to_json
from metashell.spark_backend.filters import TableFilter
from metashell.spark_backend.schemas import NODES_SCHEMA

if TYPE_CHECKING:
    from metashell.image.touched import Moment, Moments
    from metashell.sources.source import Source

_BATCH_ROWS: Final = 8192
_BATCH_CHARS: Final = 16 << 20
_PATH: Final = "path"

_Row = tuple[str, str, str | None, str | None, int | None, int | None, int | None, int | None]


def node_batches(source: Source, wanted: TableFilter) -> Iterator[pa.RecordBatch]:
    """The rows of a source, in batches of bounded size.

    Where filters say which paths or kinds are wanted, other nodes are not looked at.
    """
    rows: list[_Row] = []
    chars = 0
    for row in _rows(source, wanted):
        rows.append(row)
        chars += len(row[0]) + len(row[2] or "") + len(row[3] or "")
        if len(rows) >= _BATCH_ROWS or chars >= _BATCH_CHARS:
            yield _batch(rows)
            rows, chars = [], 0
    if rows:
        yield _batch(rows)


def _batch(rows: list[_Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [
        pa.array(values, type=field.type)
        for field, values in zip(NODES_SCHEMA, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=NODES_SCHEMA)


def _rows(source: Source, wanted: TableFilter) -> Iterator[_Row]:
    root, remembering = source.root, source.history_root
    own, oldest = moments_of(root), moments_of(remembering)
    start = Timed(remembering, oldest)
    if _is_wanted(wanted, "/", root):
        yield _row("/", root, start.touch())
    stack = [_children(root, "/", start, own, wanted)]
    while stack:
        found = next(stack[-1], None)
        if found is None:
            stack.pop()
            continue
        path, row, node, timed = found
        if row is not None:
            yield row
        if isinstance(node, Directory) and wanted.may_begin(_PATH, path + "/"):
            stack.append(_children(node, path + "/", timed, own, wanted))


def _is_wanted(wanted: TableFilter, path: str, node: Node) -> bool:
    return wanted.may_be(_PATH, path) and wanted.may_be("kind", _kind_of(node))


def _kind_of(node: Node) -> str:
    return "directory" if isinstance(node, Directory) else "leaf"


def _children(
    directory: Directory, base: str, timed: Timed, own: Moments | None, wanted: TableFilter
) -> Iterator[tuple[str, _Row | None, Node, Timed]]:
    """The children of a directory in order that can be wanted, or have something that can.

    A directory that needs a file that can't be used has none, as in a walk.

    Returns:
        Path, row, node, and the node that knows its times; no row where it is not wanted itself.
    """
    try:
        every = directory.names()
    except MetashellError:
        return
    names = [
        name
        for name in every
        if wanted.may_be(_PATH, base + name) or wanted.may_begin(_PATH, base + name + "/")
    ]
    touches = timed.children(names)
    for name, touch in zip(names, touches, strict=True):
        node = directory.child(name)
        if node is None:
            continue
        below = timed.node.child(name) if isinstance(timed.node, Directory) else None
        if below is None:
            # The tree that remembers most lacks it: it tells of itself.
            beside = Timed(node, own)
            touch = beside.touch()  # noqa: PLW2901
        else:
            beside = Timed(below, timed.moments)
        path = base + name
        yield (
            path,
            _row(path, node, touch) if _is_wanted(wanted, path, node) else None,
            node,
            beside,
        )


def _row(path: str, node: Node, touch: Touch) -> _Row:
    text = value = None
    if isinstance(node, Leaf):
        try:
            text = node.text()
            value = to_json(node.value())
        except MetashellError as e:
            text = text if text is not None else str(e)
    return (
        path,
        _kind_of(node),
        _utf8(text),
        _utf8(value),
        *_when(touch.created),
        *_when(touch.changed),
    )


def _when(moment: Moment | None) -> tuple[int | None, int | None]:
    """Offset and time; neither is known of what happened at or before a checkpoint."""
    if moment is None or moment.at_or_before is not None:
        return None, None
    return moment.offset, moment.timestamp_ms


def _utf8(text: str | None) -> str | None:
    """Text without lone surrogates, which Arrow has no bytes for."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()
