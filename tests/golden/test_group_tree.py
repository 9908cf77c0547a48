"""The tree of groups, folded by columns, is what a replay of one record after the other leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from metashell.fs import record_paths
from metashell.fs.node import Leaf
from metashell.fs.record_changes import RecordReplay
from metashell.records.keyed_records import KeyedRecords
from metashell.schema.coordinators import CoordinatorLog, load_record_types
from support.coordinators import IDS, RecordedSegment, differing_segments
from support.group_trees import check_grids, directory_of, nodes_below
from support.seeds import examples

GROUPS, STATE, OFFSETS = "groups", "state", "offsets"
N_POINTS = examples(8)
"""How many states of each log are compared."""

Values = dict[tuple[str, ...], dict[str, Any]]


def _tree(records: KeyedRecords) -> Values:
    """Every leaf's value."""
    root = GROUPS if records.log is CoordinatorLog.GROUPS else "transactions"
    return {
        (root, *names): dict(node.value())
        for names, node in nodes_below(directory_of(records))
        if isinstance(node, Leaf)
    }


def _replayed(records: KeyedRecords) -> Values:
    replay = RecordReplay(records, "log", (), {})
    for _ in replay.by_record(None):
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
@pytest.mark.parametrize("segment", differing_segments(), ids=IDS)
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


@pytest.mark.cases(40)
@pytest.mark.parametrize("segment", differing_segments(), ids=IDS)
def test_plain_records_are_told_as_others(
    segment: RecordedSegment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Types whose fields are taken from columns as they are say what each record says."""
    log = CoordinatorLog(segment.topic)
    records = KeyedRecords(segment.load(), load_record_types(log))
    rows = np.flatnonzero(~records.frames.is_control)
    found = record_paths.tell(records, rows, {})
    monkeypatch.setattr(record_paths, "plain_fields", lambda _: None)
    assert record_paths.tell(records, rows, {}) == found


@pytest.mark.cases(40)
@pytest.mark.parametrize("segment", differing_segments(), ids=IDS)
def test_changes_without_fields_are_those_with(segment: RecordedSegment) -> None:
    """Changes that are only counted are the same ones, of the same records."""
    records = KeyedRecords(segment.load(), load_record_types(CoordinatorLog(segment.topic)))
    found = [
        [
            (change.path, change.offset, change.timestamp_ms, change.record, change.log)
            for changes in RecordReplay(records, "log", tests, {}, in_full=in_full).by_record(None)
            for change in changes
        ]
        for in_full in (True, False)
        for tests in ((), (bool, bool, OFFSETS.__eq__))
    ]
    assert found[:2] == found[2:]


@pytest.mark.cases(20)
@pytest.mark.parametrize("segment", differing_segments(), ids=IDS)
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
@pytest.mark.parametrize("segment", differing_segments(), ids=IDS)
def test_grids_are_their_nodes(segment: RecordedSegment) -> None:
    """What columns say of the offsets of a group is what each node says, one asked by one."""
    log = CoordinatorLog(segment.topic)
    if log is not CoordinatorLog.GROUPS:
        pytest.skip("groups only")
    check_grids(directory_of(KeyedRecords(segment.load(), load_record_types(log))))
