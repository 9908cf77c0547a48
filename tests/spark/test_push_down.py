"""Filters spare work and never change a result; what they leave out is not even opened."""

from __future__ import annotations

import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from metashell.spark_backend import tables
from metashell.spark_backend.filters import TableFilter
from support.fixtures import copy_of, fixture
from support.kraft import plan, read, rows
from support.logs import make_directory, topic_batch

ds = pytest.importorskip("pyspark.sql.datasource")

LIVE = "real-44-live"


def one(at: str, *others: Any) -> tuple[str, ...]:
    """A column's path."""
    return (at, *others)


def some_filters() -> list[tuple[str, list[Any], Any]]:
    """Table, filters, and what they say of a row."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        (
            "records",
            [ds.EqualTo(one("type"), "TOPIC_RECORD")],
            lambda r: r["type"] == "TOPIC_RECORD",
        ),
        (
            "records",
            [ds.In(one("type"), ("TOPIC_RECORD", "LeaderChange", "nothing"))],
            lambda r: r["type"] in {"TOPIC_RECORD", "LeaderChange"},
        ),
        ("records", [ds.In(one("api_key"), (2, 3))], lambda r: r["api_key"] in {2, 3}),
        (
            "records",
            [ds.EqualTo(one("api_key"), 2), ds.EqualTo(one("type"), "PARTITION_RECORD")],
            lambda r: False,
        ),
        (
            "records",
            [ds.GreaterThan(one("offset"), 100), ds.LessThanOrEqual(one("offset"), 200)],
            lambda r: 100 < r["offset"] <= 200,
        ),
        ("records", [ds.EqualTo(one("offset"), 150)], lambda r: r["offset"] == 150),
        ("records", [ds.Not(ds.EqualTo(one("offset"), 150))], lambda r: r["offset"] != 150),
        ("records", [ds.GreaterThan(one("timestamp"), moment)], lambda r: r["timestamp"] > moment),
        ("records", [ds.LessThan(one("timestamp"), moment)], lambda r: r["timestamp"] < moment),
        ("records", [ds.EqualTo(one("node_id"), 1)], lambda r: r["node_id"] == 1),
        ("records", [ds.IsNull(one("api_key"))], lambda r: r["api_key"] is None),
        ("records", [ds.EqualNullSafe(one("api_key"), None)], lambda r: r["api_key"] is None),
        ("records", [ds.StringContains(one("value"), "a")], lambda r: "a" in (r["value"] or "")),
        (
            "records",
            [ds.StringEndsWith(one("file"), ".log"), ds.IsNotNull(one("file"))],
            lambda r: r["file"].endswith(".log"),
        ),
        (
            "records",
            [ds.StringStartsWith(one("type"), "PART"), ds.StringContains(one("type"), "_C")],
            lambda r: r["type"] == "PARTITION_CHANGE_RECORD",
        ),
        ("records", [ds.StringContains(one("type"), "(")], lambda r: "(" in (r["type"] or "")),
        ("records", [ds.StringEndsWith(one("type"), "9)")], lambda r: False),
        ("records", [ds.IsNull(one("type"))], lambda r: r["type"] is None),
        ("records", [ds.IsNotNull(one("api_key"))], lambda r: r["api_key"] is not None),
        ("records", [ds.IsNull(one("node_id"))], lambda r: r["node_id"] is None),
        (
            "records",
            [ds.IsNull(one("api_key")), ds.GreaterThan(one("api_key"), 2)],
            lambda r: False,
        ),
        ("topics", [ds.StringContains(one("topic"), "o")], lambda r: "o" in r["topic"]),
        (
            "nodes",
            [ds.StringStartsWith(one("path"), "/image/configs/")],
            lambda r: r["path"].startswith("/image/configs/"),
        ),
        (
            "nodes",
            [ds.In(one("path"), ("/", "/image", "/image/cluster/nothing", "/log/faults"))],
            lambda r: r["path"] in {"/", "/image", "/log/faults"},
        ),
        (
            "nodes",
            [ds.StringEndsWith(one("path"), "/name"), ds.EqualTo(one("kind"), "leaf")],
            lambda r: r["path"].endswith("/name"),
        ),
        ("PartitionRecord", [ds.LessThan(one("partition_id"), 3)], lambda r: r["partition_id"] < 3),
        ("partitions", [ds.EqualTo(one("topic"), "UPPER")], lambda r: r["topic"] == "UPPER"),
        ("faults", [ds.EqualTo(one("kind"), "torn")], lambda r: r["kind"] == "torn"),
    ]


@cache
def every_row(table: str) -> list[dict[str, Any]]:
    """All rows of a table, read once."""
    return read(table, fixture(LIVE).input).to_pylist()


@pytest.mark.cases(10)
@pytest.mark.parametrize("at", range(len(some_filters())))
def test_filters_leave_what_they_say(at: int) -> None:
    """All rows that Spark keeps are there; those that it drops may be."""
    table, filters, keeps = some_filters()[at]
    wanted = [row for row in every_row(table) if keeps(row)]
    read_rows = read(table, fixture(LIVE).input, filters=filters).to_pylist()
    found = [row for row in read_rows if keeps(row)]
    assert sorted(map(repr, wanted)) == sorted(map(repr, found))


@pytest.mark.parametrize(
    ("test", "n_files"),
    [
        (ds.StringEndsWith(("file",), ".log"), 2),
        (ds.StringStartsWith(("file",), f"{0:020d}"), 1),
        (ds.StringContains(("file",), "checkpoint"), 1),
        (ds.In(("file",), (f"{0:020d}.log", "other")), 1),
        (ds.IsNull(("file",)), 0),
        (ds.IsNotNull(("file",)), 3),
    ],
)
def test_texts_choose_files(tmp_path: Path, test: Any, n_files: int) -> None:
    """Only tasks are left that read a file whose name fits."""
    path = make_directory(tmp_path, (0, topic_batch(0, 5)), (5, topic_batch(5, 5)))
    (path / f"{5:020d}-0000000001.checkpoint").write_bytes(topic_batch(0, 5))
    for table in ("records", "files"):
        tasks, read_task, _ = plan(table, path, filters=[test])
        assert n_files == sum(len(task.pieces) for task in tasks)
        files = {b["file"][0].as_py() for task in tasks for b in read_task(task)}
        assert n_files == len(files)


def test_paths_choose_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the tree only what leads to the nodes wanted is looked at."""
    looked: list[str] = []

    def note(path: str, node: object, touch: object) -> object:
        looked.append(path)
        return row_of(path, node, touch)

    row_of = tables._row
    monkeypatch.setattr(tables, "_row", note)
    path = fixture(LIVE).input
    found = read("nodes", path, filters=[ds.StringStartsWith(("path",), "/image/configs/")])
    assert found.num_rows
    assert sorted(looked) == sorted(found["path"].to_pylist())


def test_times_between_two_records() -> None:
    """To the millisecond, on both sides."""
    path = fixture(LIVE).input
    every = read("records", path)
    times = sorted(set(every["timestamp"].to_pylist()))
    low, high = times[len(times) // 3], times[2 * len(times) // 3]
    filters = [ds.GreaterThanOrEqual(("timestamp",), low), ds.LessThan(("timestamp",), high)]
    found = read("records", path, filters=filters)
    inside = [t for t in every["timestamp"].to_pylist() if low <= t < high]
    assert sorted(inside) == sorted(found["timestamp"].to_pylist())
    assert timedelta(0) < high - low


@pytest.mark.parametrize("message", ["PartitionRecord", "TopicRecord", "PartitionChangeRecord"])
def test_topic_ids_are_looked_for_before_decoding(message: str) -> None:
    """A topic's records alone come back."""
    path = fixture(LIVE).input
    every = read(message, path)
    wanted = every["topic_id"].to_pylist()[0]
    found = read(message, path, filters=[ds.EqualTo(("topic_id",), wanted)])
    assert rows(every.filter(pa.compute.equal(every["topic_id"], wanted))) == rows(found)


def test_files_that_offsets_exclude_are_not_opened(tmp_path: Path) -> None:
    """Not while planning, nor by a task: they may be unreadable."""
    path = make_directory(
        tmp_path, (0, topic_batch(0, 5)), (5, topic_batch(5, 5)), (10, topic_batch(10, 5))
    )
    wanted = [ds.GreaterThanOrEqual(("offset",), 6), ds.LessThan(("offset",), 9)]
    for base in (0, 10):
        name = path / f"{base:020d}.log"
        name.unlink()
        name.symlink_to("/nothing/there")
    tasks, read_task, _ = plan("records", path, filters=wanted)
    assert 1 == sum(len(task.pieces) for task in tasks)
    (batch,) = [batch for task in tasks for batch in read_task(task)]
    assert [6, 7, 8] == batch["offset"].to_pylist()


@pytest.mark.parametrize("column", ["file", "directory", "cluster_id", "node_id"])
def test_files_and_directories_that_are_excluded_are_not_planned(
    tmp_path: Path, column: str
) -> None:
    """Whatever is in them."""
    good = copy_of(LIVE, tmp_path)
    other = tmp_path / "other"
    shutil.copytree(good, other)
    meta = (other / "meta.properties").read_text()
    meta = meta.replace("cluster.id=", "cluster.id=x").replace("node.id=", "node.id=9")
    (other / "meta.properties").write_text(meta)
    table = read("records", good)
    value = table[column].to_pylist()[0]
    tasks, read_task, _ = plan("records", f"{tmp_path}/*", filters=[ds.EqualTo((column,), value)])
    names = {getattr(piece.split, "name", "") for task in tasks for piece in task.pieces}
    found = [row for task in tasks for b in read_task(task) for row in b.to_pylist()]
    assert found
    assert {value} == {row[column] for row in found}
    if column == "file":
        assert {value} == names
    else:
        assert {str(good / "__cluster_metadata-0")} == {row["directory"] for row in found}
    nothing = [ds.In((column,), ())]
    tasks, read_task, _ = plan("records", f"{tmp_path}/*", filters=nothing)
    assert [] == [batch for task in tasks for batch in read_task(task)]


def test_spark_takes_it_for_a_reader_without_push_down_where_that_is_off() -> None:
    """Spark refuses readers that define it; see `PushFilters`."""
    from support.kraft import source

    made = source("records", fixture(LIVE).input)
    reader = made.reader(made.schema())
    assert reader.pushFilters.__func__ is ds.DataSourceReader.pushFilters


def test_filters_that_exclude_each_other() -> None:
    """Nothing is read."""
    wanted = TableFilter()
    wanted.take([ds.GreaterThan(("offset",), 5), ds.LessThan(("offset",), 4)])
    assert wanted.is_nothing
    wanted = TableFilter()
    wanted.take([ds.EqualTo(("a", "b"), 1), ds.EqualTo(("c",), 1.5), ds.LessThan(("d",), "x")])
    assert (wanted.values, wanted.ranges) == ({}, {})


def test_importing_the_package_imports_no_pyspark() -> None:
    """Only who asks for the data source needs it."""
    code = "import sys, metashell.spark_backend; print('pyspark' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "False\n" == out.stdout
