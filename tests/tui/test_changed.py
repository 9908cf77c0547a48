"""What changed from one stop to another: in the words of `changes`, and marked."""

from __future__ import annotations

import pyarrow as pa

from metashell.commands.partitions.command import COLUMNS
from metashell.commands.rows.cell_colours import with_colours
from metashell.fs.node import JsonValue
from metashell.tui.node.value import changed_lines
from metashell.tui.rows.cluster_rows import changed_cells


def test_lines_of_changed_values() -> None:
    """What is nested is compared field by field; what one side lacks is said so."""
    old: JsonValue = {"same": 1, "ends": [{"host": "a", "port": 1}], "gone": 2, "old": {"x": [{}]}}
    new: JsonValue = {"same": 1, "ends": [{"host": "b", "port": 1}], "new": {"y": {"z": 1}}}
    assert [
        ("  same  1", False),
        ("• ends", True),
        ("•   - #0", True),
        ("•     host  a → b", True),
        ("      port  1", False),
        ("• new  created", True),
        ("    y", False),
        ("      z  1", False),
        ("• gone  2 → none", True),
        ("• old  removed", True),
        ("    x", False),
        ("      - {}", False),
    ] == [(line.text, line.is_marked) for line in changed_lines(old, new)]


def test_a_state_that_is_shown_the_same_has_no_mark() -> None:
    """Of several states a cell shows the worst: a lesser one that came is no change of the cell."""

    def rows(*states: list[str]) -> pa.Table:
        table = pa.table({"partition": [0, 1], "state": list(states)})
        return with_colours(table, COLUMNS)

    before = rows(["offline"], ["offline", "under-min-isr"])
    now = rows(["offline", "under-min-isr"], ["under-min-isr"])
    found = changed_cells(now, before, [0, 1], [0, 1])
    assert {"state": [False, True]} == {name: marks.to_pylist() for name, marks in found.items()}
