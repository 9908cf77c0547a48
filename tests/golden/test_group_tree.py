"""The tree of groups, folded by columns, is what a replay of one record after the other leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from metashell.fs.coordinator_changes import CoordinatorReplay
from metashell.fs.coordinator_paths import GROUPS, OFFSETS, STATE, TRANSACTIONS
from metashell.fs.coordinator_states import GroupsOf, TransactionsOf
from metashell.fs.grid import Grid
from metashell.fs.node import Directory, Leaf, Node, newest_of
from metashell.fs.nodes.groups import CoordinatorDirectory, CoordinatorReader
from metashell.fs.texts import GridTexts
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog, load_record_types
from metashell.schema.json_writer import to_json
from support.coordinators import IDS, RecordedSegment, recorded_segments
from support.seeds import examples

N_POINTS = examples(12)
"""How many states of each log are compared."""

Values = dict[tuple[str, ...], dict[str, Any]]


def _directory(records: KeyedRecords) -> CoordinatorDirectory:
    """The tree of some records, which are those of the only partition."""
    is_groups = records.log is CoordinatorLog.GROUPS
    reader = CoordinatorReader(
        records.log.value, [0], lambda _: (records, ()), lambda _: None, dict
    )
    return CoordinatorDirectory(reader, GroupsOf if is_groups else TransactionsOf)


def _tree(records: KeyedRecords) -> Values:
    """Every leaf's value."""
    root = GROUPS if records.log is CoordinatorLog.GROUPS else TRANSACTIONS
    return {
        (root, *names): dict(node.value())
        for names, node in _nodes(_directory(records))
        if isinstance(node, Leaf)
    }


def _nodes(directory: Directory) -> Iterator[tuple[tuple[str, ...], Node]]:
    """All nodes below a directory, asked one by one."""
    for name in directory.names():
        child = directory.child(name)
        assert child is not None
        yield (name,), child
        if isinstance(child, Directory):
            yield from (((name, *names), node) for names, node in _nodes(child))


def _replayed(records: KeyedRecords) -> Values:
    replay = CoordinatorReplay(records, "log", (), {})
    for _ in replay.run(None):
        pass
    return {path: dict(fields) for path, fields in replay.nodes().items()}


def _comparable(values: Mapping[tuple[str, ...], Mapping[str, Any]]) -> Values:
    """Without what only one side has: derived fields, and how pending commits are told."""
    found: Values = {}
    for path, fields in values.items():
        shown = dict(fields)
        if path[0] == GROUPS and path[2:] == (STATE,):
            shown.pop("type", None)
            shown.pop("state", None)
            if not shown:
                continue  # a simple group, of which no record tells
        if path[2:3] == (OFFSETS,):
            shown["pending"] = "pending" in shown
            shown.pop("producerId", None)
        found[path] = shown
    return found


@pytest.mark.cases(30)
@pytest.mark.parametrize("segment", recorded_segments(), ids=IDS)
def test_tree_is_the_replay(segment: RecordedSegment) -> None:
    """At the end of each recorded log, and after some of its batches."""
    log = CoordinatorLog(segment.topic)
    if log is CoordinatorLog.SHARE:
        pytest.skip("share state is merged, and has a fold of its own")
    whole = KeyedRecords(segment.load(), load_record_types(log))
    ends = whole.frames.batches.first_row
    for end in {int(ends[len(ends) * k // N_POINTS]) for k in range(N_POINTS)} | {int(ends[-1])}:
        records = whole.until(end)
        assert _comparable(_replayed(records)) == _comparable(_tree(records)), end


@pytest.mark.cases(20)
@pytest.mark.parametrize("segment", recorded_segments(), ids=IDS)
def test_one_group_alone(segment: RecordedSegment) -> None:
    """A group looked up by its own records is the one that a fold of all gives."""
    log = CoordinatorLog(segment.topic)
    if log is not CoordinatorLog.GROUPS:
        pytest.skip("groups only")
    records = KeyedRecords(segment.load(), load_record_types(log))
    every = _tree(records)
    for name in {path[1] for path in every if "\ufffd" not in path[1]}:
        alone = _tree(records.about(name))
        assert {path: value for path, value in every.items() if path[1] == name} == alone


@pytest.mark.cases(20)
@pytest.mark.parametrize("segment", recorded_segments(), ids=IDS)
def test_grids_are_their_nodes(segment: RecordedSegment) -> None:
    """What columns say of the offsets of a group is what each node says, one asked by one."""
    log = CoordinatorLog(segment.topic)
    if log is not CoordinatorLog.GROUPS:
        pytest.skip("groups only")
    records = KeyedRecords(segment.load(), load_record_types(log))
    for names, node in _nodes(_directory(records)):
        if not isinstance(node, Directory):
            continue
        assert newest_of(node) == node.times(), names
        grid = node.grid()
        assert (grid is not None) == (names[1:] == (OFFSETS,)), names
        if grid is not None:
            shapes = [grid.shapes[number] for number in grid.shape_of]
            assert grid.names == node.names()
            assert shapes == [tuple(_child(node, name).names()) for name in grid.names]
            for found, expected in (
                (grid.times(), Grid.times(grid)),
                (grid.judged(_JUDGE), Grid.judged(grid, _JUDGE)),
            ):
                assert found.directories.tolist() == expected.directories.tolist()
                assert found.leaves.tolist() == expected.leaves.tolist()
                assert found.bounds.tolist() == expected.bounds.tolist()

            leaves = [(name, leaf) for name in grid.names for leaf in _child(node, name).names()]
            each = [_leaf(_child(node, name), leaf) for name, leaf in leaves]
            check_texts(grid.texts(), [leaf.text() for leaf in each])
            check_texts(grid.json(), [to_json(leaf.value(), ascii_only=True) for leaf in each])


def check_texts(texts: GridTexts | None, expected: Sequence[str]) -> None:
    """Texts made together are those of each leaf, in whatever order they are asked for."""
    assert texts is not None
    n = len(expected)
    assert texts.bounds[-1] == n
    for chosen in (np.arange(n), np.arange(n)[::-1], np.arange(0, n, 3)):
        found = texts.texts_of(chosen)
        assert [found.text(i) for i in range(len(chosen))] == [expected[i] for i in chosen]
    assert texts.texts(0, n).data == "".join(f"{text}\n" for text in expected).encode()


_JUDGE: Any = None
"""Of a search whose tests no group passes."""


def _child(directory: Directory, name: str) -> Directory:
    child = directory.child(name)
    assert isinstance(child, Directory)
    return child


def _leaf(directory: Directory, name: str) -> Leaf:
    child = directory.child(name)
    assert isinstance(child, Leaf)
    return child
