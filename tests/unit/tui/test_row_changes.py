"""Rows compared with those of the state before."""

from __future__ import annotations

import pyarrow as pa

from metashell.tui.rows.cluster_rows import changed_rows


def test_marks_new_and_changed_rows() -> None:
    """A row is known by its key, wherever it stands."""
    before = pa.table({"id": [1, 2, 3], "state": ["a", "b", None]})
    now = pa.table({"id": [3, 1, 4], "state": [None, "x", "a"]})
    marked = changed_rows(now, before, "id")
    assert marked is not None
    assert marked.to_pylist() == [False, True, True]


def test_compares_what_is_asked_for() -> None:
    """Other columns may change; times of no calendar are compared too."""
    time = pa.array([2**62], pa.int64()).cast(pa.timestamp("ms", tz="UTC"))
    before = pa.table({"id": [1], "lag": [5], "time": time})
    now = pa.table({"id": [1], "lag": [6], "time": time})
    marked = changed_rows(now, before, "id", ("time",))
    assert marked is not None
    assert marked.to_pylist() == [False]


def test_says_nothing_without_a_state_before() -> None:
    """No rows before, or rows of another kind, are no change."""
    now = pa.table({"id": [1], "lag": [6]})
    assert changed_rows(now, None, "id") is None
    assert changed_rows(now, pa.table({"id": [1]}), "id") is None
