"""Tables of coordinators' logs for Spark's SQL: the rows and words of tasks; no session."""

from __future__ import annotations

from pathlib import Path

import pytest

import metashell
from metashell.errors import SourceError
from metashell.parts.known import coordinator_parts
from metashell.read_settings import ReadSettings
from metashell.sources.node_places import NodePlaces
from support.fixtures import copy_of, fixture_dir
from support.kraft import as_spark, rows

pytest.importorskip("pyspark")

import pyarrow as pa

from metashell.spark_backend.coordinator_frames import _TOLD, CoordinatorFrames, _piece_batches
from metashell.spark_backend.sites import nodes_of
from metashell.spark_backend.unread import FAILED, REMARKED, UNREAD

ONE = "node-44/broker102/d1"


def run(
    table: str, *paths: Path, names: list[str] | None = None
) -> tuple[pa.Table, set[tuple[int, str]]]:
    """The rows of a table, and what the tasks tell."""
    settings = ReadSettings()
    frames = CoordinatorFrames([NodePlaces(path=str(path)) for path in paths], settings, names)
    schema, (work, told) = frames._schema(table), frames._plan(table)
    found = [batch for one in work for batch in _piece_batches(one, table, schema, settings)]
    every = pa.Table.from_batches(found, schema=schema)
    own = every.filter(every["told_by"].is_null()).drop_columns(_TOLD.names)
    more = every.filter(every["told_by"].is_valid()).to_pylist()
    texts = {(kind, text) for _, kind, text in told}
    return own, texts | {(row["told_kind"], row["told"]) for row in more}


@pytest.mark.parametrize("table", [*coordinator_parts(), "OffsetCommit", "TransactionLog"])
def test_tables_of_the_local_engine(table: str) -> None:
    """In every column and row."""
    local = metashell.open(fixture_dir(ONE))
    wanted = local.table(table) if table in coordinator_parts() else local.records(table)
    found, told = run(table, fixture_dir(ONE))
    assert rows(as_spark(wanted)) == rows(found)
    assert {kind for kind, _ in told} <= {REMARKED}


def test_what_is_told(tmp_path: Path) -> None:
    """Each broker of a fleet has its rows; what can't be read or is elsewhere is told."""
    node = copy_of(ONE, tmp_path)
    for segment in (node / "__consumer_offsets-2").glob("*.log"):
        segment.unlink()
    found, told = run("offsets", node, fixture_dir(ONE), tmp_path / "none", names=["a", "b", "c"])
    assert "cluster" == found.schema.names[0]
    counts = found["cluster"].value_counts().to_pylist()
    assert {"a": 8, "b": 27} == {one["values"]: one["counts"] for one in counts}
    by_kind = {kind: [text for one, text in told if one == kind] for kind, _ in told}
    assert ["partitions of __consumer_offsets here: 2 of 4"] == by_kind[REMARKED]
    assert "__consumer_offsets-2: no segment of" in by_kind[UNREAD][0]
    assert str(tmp_path / "none") in by_kind[FAILED][0]
    _, told = run("offsets", fixture_dir("node-44/controller1"))
    assert {(REMARKED, "partitions of __consumer_offsets here: 0 of 4")} == told


def test_partitions_alone_stand_beside_no_log_directory() -> None:
    """All of the partition's broker would be read."""
    broker = fixture_dir(ONE)
    one = next(path for path in broker.iterdir() if path.name.startswith("__consumer_offsets-"))
    with pytest.raises(SourceError, match=f"{one.name}: one partition, beside whole log"):
        nodes_of([str(broker), str(one)], joins=True)
