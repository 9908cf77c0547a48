"""Trees of coordinators' logs, asked node by node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from metashell.fs.node import Directory, Grid, Leaf, Node, newest_of
from metashell.fs.nodes.leaves import LeavesDirectory, TopicLeavesDirectory
from metashell.fs.nodes.partitioned import PartitionsDirectory, PartitionsReader
from metashell.fs.texts import GridTexts
from metashell.fs.touch_times import ask_children
from metashell.parts.known import coordinator_roots
from metashell.parts.spec import NodeNames
from metashell.records.keyed_records import KeyedRecords
from metashell.redact import Redaction
from metashell.schema.coordinators import CoordinatorLog
from metashell.schema.dump import to_json

_JUDGE: Final[Any] = None
"""Of a search whose tests no group passes."""


def directory_of(*records: KeyedRecords) -> PartitionsDirectory:
    """The tree of some records, which are those of all partitions, from 0 on."""
    log = records[0].log
    reader = PartitionsReader(
        log.value,
        range(len(records)),
        lambda number: (records[number], ()),
        lambda _: None,
        dict,
        Redaction(),
        is_shards=log is CoordinatorLog.SHARE,
    )
    parts = next(parts for parts in coordinator_roots().values() if parts[0].log == log)
    return PartitionsDirectory(reader, parts)


def nodes_below(directory: Directory) -> Iterator[tuple[NodeNames, Node]]:
    """All nodes below a directory, asked one by one."""
    for name in directory.names():
        child = directory.child(name)
        assert child is not None
        yield (name,), child
        if isinstance(child, Directory):
            yield from (((name, *names), node) for names, node in nodes_below(child))


def check_grids(root: Directory) -> None:
    """What columns say of leaves is what each node says, one asked by one."""
    for names, node in [((), root), *nodes_below(root)]:
        if not isinstance(node, Directory):
            continue
        grid, leaf_grid = node.grid(), node.leaf_grid()
        # Small ones have one, too, that is not used.
        if isinstance(node, TopicLeavesDirectory):
            assert newest_of(node) == node.times(), names
            grid = node._grid
        elif isinstance(node, LeavesDirectory):
            leaf_grid = node._leaf_grid
        if grid is not None:
            _check_grid(node, grid)
        if leaf_grid is not None:
            _check_leaf_grid(node, leaf_grid)
        created, changed = node.child_times(node.names())
        expected = ask_children(node, node.names())
        assert (created.tolist(), changed.tolist()) == tuple(each.tolist() for each in expected)


def _check_grid(directory: Directory, grid: Grid) -> None:
    assert grid.names == directory.names()
    topics = [_child(directory, name) for name in grid.names]
    shapes = [grid.shapes[number] for number in grid.shape_of]
    assert shapes == [tuple(topic.names()) for topic in topics]
    for found, expected in (
        (grid.times(), Grid.times(grid)),
        (grid.judged(_JUDGE), Grid.judged(grid, _JUDGE)),
    ):
        assert found.directories.tolist() == expected.directories.tolist()
        assert found.leaves.tolist() == expected.leaves.tolist()
        assert found.bounds.tolist() == expected.bounds.tolist()
    _check_leaves(grid, [_leaf(topic, name) for topic in topics for name in topic.names()])


def _check_leaf_grid(directory: Directory, grid: Grid) -> None:
    names = directory.names()
    assert (grid.names, grid.shapes, list(grid.shape_of)) == ([""], [tuple(names)], [0])
    times = grid.times()
    assert times.leaves.tolist() == ask_children(directory, names)[1].tolist()
    assert times.bounds.tolist() == [0, len(names)]
    assert not grid.judged(_JUDGE).leaves.any()
    _check_leaves(grid, [_leaf(directory, name) for name in names])


def _check_leaves(grid: Grid, leaves: Sequence[Leaf]) -> None:
    _check_texts(grid.texts(), [leaf.text() for leaf in leaves])
    _check_texts(grid.json(), [to_json(leaf.value(), ascii_only=True) for leaf in leaves])


def _check_texts(texts: GridTexts | None, expected: Sequence[str]) -> None:
    """Texts made together are those of each leaf, in whatever order they are asked for."""
    assert texts is not None
    n = len(expected)
    assert texts.bounds[-1] == n
    for chosen in (np.arange(n), np.arange(n)[::-1], np.arange(0, n, 3)):
        found = texts.texts_of(chosen)
        assert [found.text(i) for i in range(len(chosen))] == [expected[i] for i in chosen]
    assert texts.texts(0, n).data == "".join(f"{text}\n" for text in expected).encode()


def _child(directory: Directory, name: str) -> Directory:
    child = directory.child(name)
    assert isinstance(child, Directory)
    return child


def _leaf(directory: Directory, name: str) -> Leaf:
    child = directory.child(name)
    assert isinstance(child, Leaf)
    return child
