"""Trees of coordinators' logs, asked node by node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from metashell.fs.coordinator_paths import OFFSETS
from metashell.fs.coordinator_states import GroupsOf, TransactionsOf
from metashell.fs.grid import Grid
from metashell.fs.node import Directory, Leaf, Node, newest_of
from metashell.fs.nodes.groups import CoordinatorDirectory, CoordinatorReader
from metashell.fs.nodes.offsets import OffsetsDirectory
from metashell.fs.texts import GridTexts
from metashell.parts.spec import NodeNames
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog
from metashell.schema.json_writer import to_json

_JUDGE: Final[Any] = None
"""Of a search whose tests no group passes."""


def directory_of(records: KeyedRecords) -> CoordinatorDirectory:
    """The tree of some records, which are those of the only partition."""
    is_groups = records.log is CoordinatorLog.GROUPS
    reader = CoordinatorReader(
        records.log.value, [0], lambda _: (records, ()), lambda _: None, dict
    )
    return CoordinatorDirectory(reader, GroupsOf if is_groups else TransactionsOf)


def nodes_below(directory: Directory) -> Iterator[tuple[NodeNames, Node]]:
    """All nodes below a directory, asked one by one."""
    for name in directory.names():
        child = directory.child(name)
        assert child is not None
        yield (name,), child
        if isinstance(child, Directory):
            yield from (((name, *names), node) for names, node in nodes_below(child))


def check_grids(groups: Directory) -> None:
    """What columns say of the offsets of groups is what each node says, one asked by one."""
    for names, node in nodes_below(groups):
        if not isinstance(node, Directory):
            continue
        assert newest_of(node) == node.times(), names
        assert isinstance(node, OffsetsDirectory) == (names[1:] == (OFFSETS,)), names
        if isinstance(node, OffsetsDirectory):
            # Small ones have one, too, that is not used.
            _check_grid(node, node._grid)
        else:
            assert node.grid() is None


def _check_grid(directory: Directory, grid: Grid) -> None:
    shapes = [grid.shapes[number] for number in grid.shape_of]
    assert grid.names == directory.names()
    assert shapes == [tuple(_child(directory, name).names()) for name in grid.names]
    for found, expected in (
        (grid.times(), Grid.times(grid)),
        (grid.judged(_JUDGE), Grid.judged(grid, _JUDGE)),
    ):
        assert found.directories.tolist() == expected.directories.tolist()
        assert found.leaves.tolist() == expected.leaves.tolist()
        assert found.bounds.tolist() == expected.bounds.tolist()
    topics = [_child(directory, name) for name in grid.names]
    each = [_leaf(topic, name) for topic in topics for name in topic.names()]
    _check_texts(grid.texts(), [leaf.text() for leaf in each])
    _check_texts(grid.json(), [to_json(leaf.value(), ascii_only=True) for leaf in each])


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
