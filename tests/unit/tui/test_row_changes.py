"""Rows compared with those of the state before."""

from __future__ import annotations

import pyarrow as pa

from metashell.tui.rows.cluster_rows import TableChanges


def test_marks_new_and_changed_rows() -> None:
    """A row is known by its key, wherever it stands; it changed where any of its cells did."""
    before = pa.table({"id": [1, 2, 3], "state": ["a", "b", None]})
    now = pa.table({"id": [3, 1, 4], "state": [None, "x", "a"]})
    found = TableChanges.between(now, before, "id")
    assert [False, True, True] == found.rows.to_pylist()
    assert {"state": [False, True, False]} == {n: c.to_pylist() for n, c in found.cells.items()}


def test_compares_columns_that_both_have() -> None:
    """Times of no calendar are compared, too."""
    time = pa.array([2**62], pa.int64()).cast(pa.timestamp("ms", tz="UTC"))
    before = pa.table({"id": [1], "time": time})
    now = pa.table({"id": [1], "lag": [6], "time": time})
    assert [False] == TableChanges.between(now, before, "id").rows.to_pylist()
