"""``partitions --reassigning``: which replicas come and which go."""

from __future__ import annotations

import metashell
from support.fixtures import DEMO
from support.shell import run_on


def test_table_shows_what_is_added_and_removed() -> None:
    """Both columns are in the table of reassignments, and in no other one."""
    source = metashell.open(DEMO)
    header, *lines = run_on(source, "partitions --reassigning").out.splitlines()
    at = header.split().index("ADDING_REPLICAS")
    assert "REMOVING_REPLICAS" == header.split()[at + 1]
    columns = "topic,partition,adding_replicas,removing_replicas"
    rows = run_on(source, f"partitions --reassigning --columns {columns} -o csv").out.splitlines()
    assert ["csv-imports,1,101,104", "csv-imports,3,102,104"] == rows[1:]
    assert 2 == len(lines)
    assert "ADDING_REPLICAS" not in run_on(source, "partitions").out.splitlines()[0]
